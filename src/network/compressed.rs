//! Lines of a sparse matrix, all rows or all columns, in compressed form: lines that are the same but for a shift are stored once.
//!
//! The rows of a convolution are such lines: what belongs to one output channel has the same weights, and its places are those of the neighbouring
//! output, shifted by the convolution's stride. Up to the border of the image they are one [`Stencil`], and a product with all of them reads its
//! weights once and runs along the vector, as many lines at a time as the machine adds up side by side. That a matrix is a convolution is nowhere
//! said: stencils are found among its lines.

use pulp::{Arch, NullaryFnOnce};

/// Lines that begin with one of a matrix, each some lines behind the one before.
#[derive(Clone, Copy)]
struct Stencil {
    /// The first line.
    first: usize,
    /// From one line to the next, in lines.
    stride: usize,
    /// Number of lines.
    lines: usize,
    /// How far the places move from one line to the next.
    shift: usize,
}

/// Lines of a stencil are at most so far apart, and their places are shifted by at most so much: strides of convolutions.
const MOST_STRIDE: usize = 4;

/// Sums that are added up side by side within one line, and at most with the lines of a stencil.
const LANES: usize = 8;
const MOST_LANES: usize = 32;

/// With fewer lines, a stencil is multiplied line by line.
const FEWEST_LINES: usize = 4;

/// What an entry costs in a product, when one of a single line costs 1: for each 4 lines of a stencil, and where lines are added to places here
/// and there.
const STENCIL_COST: f64 = 0.75;
const SCATTER_COST: f64 = 2.0;

/// A matrix by its lines.
#[derive(Clone)]
pub(super) struct Compressed {
    stencils: Vec<Stencil>,
    /// Where the entries of each stencil begin, and where the last ones end.
    starts: Vec<usize>,
    /// The places of each stencil's first line, ascending.
    places: Vec<u32>,
    values: Values,
    /// For each line its stencil, and its number within it.
    stencil_from_line: Vec<(u32, u32)>,
    /// Entries of all lines.
    entries: usize,
    /// What [`Compressed::gather`] costs, in entries of single lines.
    gather_cost: f64,
    /// The largest shift of a stencil that is not multiplied line by line; 0 without any.
    most_shift: usize,
}

#[derive(Clone)]
enum Values {
    Wide(Vec<f64>),
    /// If all weights are numbers of `f32`.
    Narrow(Vec<f32>),
}

impl Values {
    fn new(wide: Vec<f64>) -> Self {
        let exact = wide.iter().all(|&w| f64::from(w as f32) == w);
        if exact {
            Self::Narrow(wide.iter().map(|&w| w as f32).collect())
        } else {
            Self::Wide(wide)
        }
    }

    #[inline]
    fn get(&self, at: usize) -> f64 {
        match self {
            Self::Wide(values) => values[at],
            Self::Narrow(values) => values[at].into(),
        }
    }
}

/// Lines one after the other, before stencils are looked for.
pub(super) struct PlainLines {
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
    /// The place of each entry in its line, ascending within a line.
    places: Vec<u32>,
    values: Vec<f64>,
}

impl PlainLines {
    /// For each line the places that have a weight, ascending.
    pub fn new<L: IntoIterator<Item = (u32, f64)>>(lines: impl Iterator<Item = L>) -> Self {
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for line in lines {
            for (place, value) in line.into_iter().filter(|(_, value)| *value != 0.0) {
                places.push(place);
                values.push(value);
            }
            starts.push(places.len());
        }
        Self { starts, places, values }
    }

    fn lines(&self) -> usize {
        self.starts.len() - 1
    }

    fn line(&self, line: usize) -> (&[u32], &[f64]) {
        let range = self.starts[line]..self.starts[line + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// The same matrix by its other lines, of which there are so many.
    pub fn turned(&self, others: usize) -> Self {
        let mut starts = vec![0; others + 1];
        self.places.iter().for_each(|&place| starts[place as usize + 1] += 1);
        for line in 0..others {
            starts[line + 1] += starts[line];
        }
        let mut next = starts.clone();
        let (mut places, mut values) = (vec![0; self.places.len()], vec![0.0; self.places.len()]);
        for line in 0..self.lines() {
            let (of_line, weights) = self.line(line);
            for (&place, &weight) in of_line.iter().zip(weights) {
                let to = &mut next[place as usize];
                (places[*to], values[*to]) = (line as u32, weight);
                *to += 1;
            }
        }
        Self { starts, places, values }
    }

    /// How far the places of a line are shifted against those of an earlier one, if it is the same but for that.
    fn shift(&self, line: usize, next: usize) -> Option<usize> {
        let ((places, values), (next_places, next_values)) = (self.line(line), self.line(next));
        let shift = next_places.first()?.checked_sub(*places.first()?)?;
        let may_be = (1..=MOST_STRIDE).contains(&(shift as usize))
            && values.len() == next_values.len()
            && places.iter().zip(next_places).all(|(place, next)| place + shift == *next)
            && values == next_values;
        may_be.then_some(shift as usize)
    }

    /// The longest stencil that begins with a line, of lines that are not in another one.
    fn stencil(&self, first: usize, is_taken: &[bool]) -> Stencil {
        let mut longest = Stencil { first, stride: 1, lines: 1, shift: 1 };
        for stride in 1..=MOST_STRIDE {
            let shift_to = |next: usize| {
                let is_free = next < self.lines() && !is_taken[next];
                if is_free { self.shift(next - stride, next) } else { None }
            };
            let Some(shift) = shift_to(first + stride) else { continue };
            let mut lines = 2;
            while shift_to(first + lines * stride) == Some(shift) {
                lines += 1;
            }
            if lines > longest.lines {
                longest = Stencil { first, stride, lines, shift };
            }
        }
        longest
    }
}

impl Compressed {
    /// Finds the stencils among some lines.
    pub fn new(all: &PlainLines) -> Self {
        let mut is_taken = vec![false; all.lines()];
        let mut stencil_from_line = vec![(0, 0); all.lines()];
        let (mut stencils, mut starts) = (Vec::new(), vec![0]);
        let (mut places, mut values, mut gather_cost) = (Vec::new(), Vec::new(), 0.0);
        for first in 0..all.lines() {
            if is_taken[first] {
                continue;
            }
            let stencil = all.stencil(first, &is_taken);
            for k in 0..stencil.lines {
                let line = first + k * stencil.stride;
                is_taken[line] = true;
                stencil_from_line[line] = (stencils.len() as u32, k as u32);
            }
            let (of_first, weights) = all.line(first);
            places.extend_from_slice(of_first);
            values.extend_from_slice(weights);
            starts.push(places.len());
            gather_cost += stencil.cost() * of_first.len() as f64;
            stencils.push(stencil);
        }
        places.shrink_to_fit();
        let of_many = stencils.iter().filter(|stencil| stencil.lines >= FEWEST_LINES);
        let most_shift = of_many.map(|stencil| stencil.shift).max().unwrap_or(0);
        let (values, entries) = (Values::new(values), all.places.len());
        Self {
            stencils,
            starts,
            places,
            values,
            stencil_from_line,
            entries,
            gather_cost,
            most_shift,
        }
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.stencil_from_line.len()
    }

    /// Entries of all lines.
    pub fn entries(&self) -> usize {
        self.entries
    }

    #[inline]
    fn range(&self, stencil: usize) -> std::ops::Range<usize> {
        self.starts[stencil]..self.starts[stencil + 1]
    }

    #[inline]
    pub fn line(&self, line: usize) -> SparseLine<'_> {
        let (stencil, k) = self.stencil_from_line[line];
        let shifted = k * self.stencils[stencil as usize].shift as u32;
        SparseLine { of: self, shifted, range: self.range(stencil as usize) }
    }

    pub fn get(&self, line: usize, place: usize) -> f64 {
        let SparseLine { shifted, range, .. } = self.line(line);
        let Some(place) = (place as u32).checked_sub(shifted) else { return 0.0 };
        let found = self.places[range.clone()].binary_search(&place);
        found.map_or(0.0, |at| self.values.get(range.start + at))
    }

    /// `out += M v`, where these are the lines of `M` and `others` its other lines.
    pub fn add_product(&self, others: &Self, v: &[f64], out: &mut [f64]) {
        let used = v.iter().filter(|v| **v != 0.0).count() as f64 / v.len().max(1) as f64;
        if used * SCATTER_COST * (self.entries as f64) < self.gather_cost {
            others.scatter(v, out);
        } else {
            self.gather(v, out);
        }
    }

    /// `out[place] += v[line] · value`, line by line where `v` is not 0.
    fn scatter(&self, v: &[f64], out: &mut [f64]) {
        fn add<T: Copy + Into<f64>>(places: &[u32], values: &[T], factor: f64, out: &mut [f64]) {
            for (&place, &value) in places.iter().zip(values) {
                out[place as usize] += factor * value.into();
            }
        }
        for (line, &factor) in v.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            let SparseLine { shifted, range, .. } = self.line(line);
            let (places, out) = (&self.places[range.clone()], &mut out[shifted as usize..]);
            match &self.values {
                Values::Wide(values) => add(places, &values[range], factor, out),
                Values::Narrow(values) => add(places, &values[range], factor, out),
            }
        }
    }

    /// `out[line] += Σ value · v[place]`.
    fn gather(&self, v: &[f64], out: &mut [f64]) {
        match &self.values {
            Values::Wide(values) => Arch::new().dispatch(Gather { of: self, values, v, out }),
            Values::Narrow(values) => Arch::new().dispatch(Gather { of: self, values, v, out }),
        }
    }
}

impl Stencil {
    /// What an entry of it costs in [`Compressed::gather`].
    fn cost(&self) -> f64 {
        if self.lines < FEWEST_LINES {
            self.lines as f64
        } else {
            STENCIL_COST * self.lines.div_ceil(FEWEST_LINES) as f64
        }
    }
}

/// [`Compressed::gather`], compiled for the machine at hand.
struct Gather<'g, T> {
    of: &'g Compressed,
    values: &'g [T],
    v: &'g [f64],
    out: &'g mut [f64],
}

impl<T: Copy + Into<f64>> NullaryFnOnce for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { of, values, v, out } = self;
        let apart: Vec<Apart> = (1..=of.most_shift).map(|shift| Apart::new(v, shift)).collect();
        for (number, stencil) in of.stencils.iter().enumerate() {
            let range = of.range(number);
            let (places, values) = (&of.places[range.clone()], &values[range]);
            let Stencil { first, stride, lines, shift } = *stencil;
            if lines < FEWEST_LINES {
                for k in 0..lines {
                    out[first + k * stride] += dot(places, values, &v[k * shift..]);
                }
                continue;
            }
            let out = &mut out[first..];
            let Apart { numbers, each } = &apart[shift - 1];
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

/// A vector of which the numbers that the lines of a stencil with some shift read for one place lie side by side: first every `shift`-th number
/// from place 0 on, then every `shift`-th from place 1 on, and so forth. Zeros are behind them, so that more may be read than there are lines.
struct Apart {
    numbers: Vec<f64>,
    /// How many numbers there are from each place on.
    each: usize,
}

impl Apart {
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

/// Adds the products with all lines of a stencil. What the first line reads for a place is number `at(place)`; each further line reads the number behind.
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

/// One row or column: places and weights, ascending.
#[derive(Clone)]
pub(super) struct SparseLine<'m> {
    of: &'m Compressed,
    /// How far its places are behind those that are stored.
    shifted: u32,
    range: std::ops::Range<usize>,
}

impl SparseLine<'_> {
    #[inline]
    fn at(&self, at: usize) -> (usize, f64) {
        ((self.of.places[at] + self.shifted) as usize, self.of.values.get(at))
    }
}

impl Iterator for SparseLine<'_> {
    type Item = (usize, f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(|at| self.at(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl DoubleEndedIterator for SparseLine<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.next_back().map(|at| self.at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::point;
    use proptest::prelude::*;

    /// A two-dimensional convolution: image side, channels below and above, kernel, stride, padding.
    #[derive(Clone, Copy, Debug)]
    struct Convolution {
        side: usize,
        below: usize,
        above: usize,
        kernel: usize,
        stride: usize,
        padding: usize,
    }

    impl Convolution {
        fn inputs(&self) -> usize {
            self.below * self.side * self.side
        }

        /// Its rows, one for each output.
        fn rows(&self, seed: u64) -> Vec<Vec<(u32, f64)>> {
            let Self { side, below, above, kernel, stride, padding } = *self;
            let weights = point(above * below * kernel * kernel, seed);
            let outputs = (side + 2 * padding - kernel) / stride + 1;
            let mut rows = Vec::new();
            for (channel, y, x) in positions(above, outputs) {
                let mut row = Vec::new();
                for (c, (from, dy, dx)) in positions(below, kernel).enumerate() {
                    let at = |place: usize, d: usize| (place * stride + d).checked_sub(padding);
                    let at = |place, d| at(place, d).filter(|place| *place < side);
                    if let (Some(y), Some(x)) = (at(y, dy), at(x, dx)) {
                        let weight = weights[channel * below * kernel * kernel + c];
                        row.push((((from * side + y) * side + x) as u32, weight));
                    }
                }
                rows.push(row);
            }
            rows
        }
    }

    fn positions(channels: usize, side: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..channels * side * side).map(move |k| (k / side / side, k / side % side, k % side))
    }

    /// Rows and columns of a matrix, and both compressed.
    fn both(inputs: usize, rows: &[Vec<(u32, f64)>]) -> [(PlainLines, Compressed); 2] {
        let rows = PlainLines::new(rows.iter().cloned());
        let columns = rows.turned(inputs);
        [rows, columns].map(|plain| {
            let compressed = Compressed::new(&plain);
            (plain, compressed)
        })
    }

    /// Every way to ask for the weights, against the lines as they came.
    fn assert_is(inputs: usize, rows: &[Vec<(u32, f64)>], seed: u64) {
        let [(rows, by_rows), (columns, by_columns)] = both(inputs, rows);
        let pairs = [(&rows, &by_rows, &by_columns), (&columns, &by_columns, &by_rows)];
        for (plain, compressed, others) in pairs {
            assert_eq!(compressed.lines(), plain.lines());
            assert_eq!(compressed.entries(), plain.places.len());
            for line in 0..plain.lines() {
                let (places, values) = plain.line(line);
                let expected = places.iter().map(|&p| p as usize).zip(values.iter().copied());
                let expected: Vec<(usize, f64)> = expected.collect();
                assert_eq!(compressed.line(line).collect::<Vec<_>>(), expected);
                let mut backwards: Vec<_> = compressed.line(line).rev().collect();
                backwards.reverse();
                assert_eq!(backwards, expected);
                for place in 0..others.lines() {
                    let weight = expected.iter().find(|(p, _)| *p == place).map_or(0.0, |w| w.1);
                    assert_eq!(compressed.get(line, place), weight);
                }
            }
            let drawn = point(others.lines(), seed);
            for every in [1, 3, 40] {
                let v = |j: usize| if j.is_multiple_of(every) { drawn[j] } else { 0.0 };
                let v: Vec<f64> = (0..drawn.len()).map(v).collect();
                let mut products = [(); 3].map(|()| vec![0.5; plain.lines()]);
                compressed.gather(&v, &mut products[0]);
                others.scatter(&v, &mut products[1]);
                compressed.add_product(others, &v, &mut products[2]);
                for line in 0..plain.lines() {
                    let (places, values) = plain.line(line);
                    let terms = places.iter().zip(values).map(|(&p, w)| w * v[p as usize]);
                    let expected = 0.5 + terms.sum::<f64>();
                    assert!(products.iter().all(|out| (out[line] - expected).abs() < 1e-12));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn convolutions_are_what_their_rows_say(
            side in 3usize..20, below in 1usize..3, above in 1usize..4, kernel in 1usize..4,
            stride in 1usize..6, padding in 0usize..2, seed in any::<u64>(),
        ) {
            let convolution = Convolution { side, below, above, kernel, stride, padding };
            assert_is(convolution.inputs(), &convolution.rows(seed), seed ^ 1);
        }

        /// Weights of few kinds, so that there are stencils by chance, and lines that are nearly like others.
        #[test]
        fn any_matrix_is_what_its_rows_say(
            weights in prop::collection::vec(prop::collection::vec(0u8..5, 9), 1..30), seed in any::<u64>(),
        ) {
            let entry = |(j, w): (usize, &u8)| (j as u32, f64::from(*w) * 0.1 - 0.2);
            let row = |row: &Vec<u8>| row.iter().enumerate().map(entry).collect();
            let rows: Vec<Vec<(u32, f64)>> = weights.iter().map(row).collect();
            assert_is(9, &rows, seed);
        }
    }

    #[test]
    fn a_convolution_is_stored_once_for_each_line_of_its_image() {
        for stride in [1, 2] {
            let (side, below, above, kernel, padding) = (32, 2, 3, 3, 1);
            let convolution = Convolution { side, below, above, kernel, stride, padding };
            let [(_, rows), (_, columns)] = both(convolution.inputs(), &convolution.rows(1));
            for lines in [rows, columns] {
                let longest = lines.stencils.iter().map(|stencil| stencil.lines).max();
                assert!(longest.is_some_and(|longest| longest >= 30 / stride));
                let outputs = side / stride;
                assert!(lines.places.len() * (outputs / 4) < lines.entries());
            }
        }
    }

    #[test]
    fn lines_that_differ_in_one_weight_are_no_stencil() {
        let row = |i: u32, w: f64| vec![(i, 1.0), (i + 1, w)];
        let alike = [0, 1, 2, 3, 4].map(|i| row(i, 0.5));
        let [(_, rows), _] = both(6, &alike);
        assert_eq!(rows.stencils.len(), 1);
        let odd = [0, 1, 2, 3, 4].map(|i| row(i, if i == 2 { 0.25 } else { 0.5 }));
        let [(_, rows), _] = both(6, &odd);
        // Lines 0 and 1, 2, and 3 and 4; or every other one.
        assert!(rows.stencils.len() >= 3);
        assert_eq!(rows.get(2, 3), 0.25);
    }
}
