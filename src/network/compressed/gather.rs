//! Products of all stencils with a vector.
//!
//! The lines of a stencil read one weight after the other together: the sums of several lines are side by side in the machine's registers. One line of
//! a stencil reads, for the same weight, `shift` places behind what the line before reads. These numbers are brought together first, as
//! [`Phases`] of the vector, so that they are loaded at once.

use pulp::{Arch, NullaryFnOnce};

use super::stencil::{MOST_STRIDE, Stencil};

/// Sums that are added up side by side within one line, and at most with the lines of a stencil.
const LANES: usize = 8;
const MOST_LANES: usize = 32;

/// With fewer lines, a stencil is multiplied line by line. It is also the fewest sums that are added up side by side.
const FEWEST_LINES: usize = MOST_LANES / 8;

/// What an entry of a stencil costs for each [`FEWEST_LINES`] lines, when an entry of a single line costs 1.
const STENCIL_COST: f64 = 0.75;

/// What an entry of a stencil costs in a product, in entries of single lines.
pub(super) fn cost(stencil: &Stencil) -> f64 {
    if stencil.lines < FEWEST_LINES {
        stencil.lines as f64
    } else {
        STENCIL_COST * stencil.lines.div_ceil(FEWEST_LINES) as f64
    }
}

/// `out[line] += Σ value · v[place]`.
pub(super) struct Gather<'g, T> {
    pub stencils: &'g [Stencil],
    /// Where the entries of each stencil begin, and where the last ones end.
    pub starts: &'g [usize],
    /// The places and weights of each stencil's first line.
    pub places: &'g [u32],
    pub values: &'g [T],
    pub v: &'g [f64],
    pub out: &'g mut [f64],
}

impl<T: Copy + Into<f64>> Gather<'_, T> {
    /// Compiled for the machine at hand.
    pub fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl<T: Copy + Into<f64>> NullaryFnOnce for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { stencils, starts, places, values, v, out } = self;
        // Of the shifts that there are.
        let mut phases = [const { None }; MOST_STRIDE];
        for (stencil, ends) in stencils.iter().zip(starts.windows(2)) {
            let range = ends[0]..ends[1];
            let (places, values) = (&places[range.clone()], &values[range]);
            let Stencil { first, stride, lines, shift } = *stencil;
            if lines < FEWEST_LINES {
                for k in 0..lines {
                    out[first + k * stride] += dot(places, values, &v[k * shift..]);
                }
                continue;
            }
            let out = &mut out[first..];
            let phases = phases[shift - 1].get_or_insert_with(|| Phases::new(v, shift));
            let Phases { numbers, each } = &*phases;
            match shift {
                1 => add_stencil(places, values, numbers, stencil, |place| place, out),
                // The compiler divides by a number that it knows.
                2 => {
                    let at = |place: usize| place % 2 * each + place / 2;
                    add_stencil(places, values, numbers, stencil, at, out);
                }
                _ => {
                    let at = |place: usize| place % shift * each + place / shift;
                    add_stencil(places, values, numbers, stencil, at, out);
                }
            }
        }
    }
}

/// The polyphase components of a vector, one behind the other: every `shift`-th number from place 0 on, then every `shift`-th from place 1 on, and so
/// forth. What the lines of a stencil with that shift read for one weight lies side by side. Zeros are behind the last one, so that more may be read
/// than there are lines.
struct Phases {
    numbers: Vec<f64>,
    /// The length of each component.
    each: usize,
}

impl Phases {
    #[inline(always)]
    fn new(v: &[f64], shift: usize) -> Self {
        let each = v.len().div_ceil(shift);
        let mut numbers = Vec::with_capacity(shift * each + MOST_LANES);
        for first in 0..shift {
            numbers.extend(v.iter().skip(first).step_by(shift));
            numbers.resize((first + 1) * each, 0.0);
        }
        numbers.resize(shift * each + MOST_LANES, 0.0);
        Self { numbers, each }
    }
}

/// `Σ value · v[place]`.
#[inline(always)]
fn dot<T: Copy + Into<f64>>(places: &[u32], values: &[T], v: &[f64]) -> f64 {
    // Several sums, so that additions need not wait for each other.
    let mut sums = [0.0; LANES];
    let (chunks, last) = places.as_chunks::<LANES>();
    let (of_chunks, of_last) = values.as_chunks::<LANES>();
    for (places, values) in chunks.iter().zip(of_chunks) {
        for ((sum, &place), &value) in sums.iter_mut().zip(places).zip(values) {
            *sum += value.into() * v[place as usize];
        }
    }
    for ((sum, &place), &value) in sums.iter_mut().zip(last).zip(of_last) {
        *sum += value.into() * v[place as usize];
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Adds the products with all lines of a stencil. What the first line reads for a place is number `at(place)`; each further line reads the next number.
#[inline(always)]
fn add_stencil<T: Copy + Into<f64>>(
    places: &[u32],
    values: &[T],
    numbers: &[f64],
    &Stencil { stride, lines, .. }: &Stencil,
    at: impl Fn(usize) -> usize,
    out: &mut [f64],
) {
    let mut done = 0;
    while done < lines {
        let left = lines - done;
        let numbers = &numbers[done..];
        let mut keep = |sums: &[f64]| {
            let many = sums.len().min(left);
            let out = out[done * stride..].iter_mut().step_by(stride);
            out.zip(&sums[..many]).for_each(|(out, sum)| *out += sum);
            done += many;
        };
        if left > MOST_LANES / 2 {
            keep(&sums::<T, MOST_LANES>(places, values, numbers, &at));
        } else if left > MOST_LANES / 4 {
            keep(&sums::<T, { MOST_LANES / 2 }>(places, values, numbers, &at));
        } else if left > MOST_LANES / 8 {
            keep(&sums::<T, { MOST_LANES / 4 }>(places, values, numbers, &at));
        } else {
            keep(&sums::<T, { MOST_LANES / 8 }>(places, values, numbers, &at));
        }
    }
}

/// `Σ value · numbers[at(place) + k]` for several `k` side by side.
#[inline(always)]
fn sums<T: Copy + Into<f64>, const WIDTH: usize>(
    places: &[u32],
    values: &[T],
    numbers: &[f64],
    at: impl Fn(usize) -> usize,
) -> [f64; WIDTH] {
    let mut sums = [0.0; WIDTH];
    for (&place, &value) in places.iter().zip(values) {
        let at = at(place as usize);
        let numbers: &[f64; WIDTH] = numbers[at..].first_chunk().expect("a number for each line");
        let value: f64 = value.into();
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += value * number;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_every_so_many_numbers() {
        let v = [0.0, 1.0, 2.0, 3.0, 4.0];
        let of_shift = |shift: usize| {
            let Phases { numbers, each } = Phases::new(&v, shift);
            assert_eq!(numbers.len(), shift * each + MOST_LANES);
            numbers[..shift * each].to_vec()
        };
        assert_eq!(of_shift(1), v);
        assert_eq!(of_shift(2), [0.0, 2.0, 4.0, 1.0, 3.0, 0.0]);
        assert_eq!(of_shift(3), [0.0, 3.0, 1.0, 4.0, 2.0, 0.0]);
    }

    #[test]
    fn stencils_of_any_length_are_multiplied_line_by_line() {
        // Line k has weights 2 and 3 at places k·shift and k·shift + 1; whole numbers, so that sums are exact.
        for (lines, shift) in (1..=70).flat_map(|lines| (1..=4).map(move |shift| (lines, shift))) {
            for stride in [1, 3] {
                let stencils = [Stencil { first: 1, stride, lines, shift }];
                let v: Vec<f64> = (0..(lines - 1) * shift + 2).map(|k| (k * k) as f64).collect();
                let mut out = vec![0.5; 2 + (lines - 1) * stride];
                let (starts, places, values) = (&[0, 2], &[0, 1], &[2.0_f32, 3.0]);
                Gather { stencils: &stencils, starts, places, values, v: &v, out: &mut out }.run();
                for (line, out) in out.into_iter().enumerate() {
                    let k = line.checked_sub(1).filter(|line| line.is_multiple_of(stride));
                    let sum =
                        |k: usize| 2.0 * v[k / stride * shift] + 3.0 * v[k / stride * shift + 1];
                    assert_eq!(out, 0.5 + k.map_or(0.0, sum), "{lines} {shift} {stride} {line}");
                }
            }
        }
    }
}
