//! Which moves a linear function is steepest in. Few moves are ever used, so that one pass over the slopes that remembers the steepest is
//! enough.

use pulp::{Arch, NullaryFnOnce};

/// Moves looked at at once.
const CHUNK: usize = 16;

/// Moves that stand for all while slopes are improved.
const FEW: usize = 96;

/// The moves with the largest slopes.
pub(super) struct Steepest {
    /// These moves, in no order.
    pub moves: Vec<usize>,
    /// Every move with a larger slope than this is among them. At least 0.
    pub floor: f64,
}

impl Steepest {
    /// The steepest moves: about so many, fewer if few have a positive slope.
    ///
    /// The many-th largest one of the chunks' largest slopes is exceeded by that many moves or more, and in these chunks alone.
    pub fn new(slopes: &[f64], many: usize) -> Self {
        let largest = largest_of_chunks(slopes);
        // Any floor is right here: what is steeper is added.
        let floor = if many < slopes.len() / 4 {
            largest_but(&largest, many.min(3 * largest.len() / 4)).max(0.0)
        } else {
            0.0
        };
        let mut moves = Vec::with_capacity(2 * many + CHUNK);
        let chunks = slopes.chunks(CHUNK).zip((0..).step_by(CHUNK));
        for ((chunk, start), _) in chunks.zip(&largest).filter(|(_, most)| **most > floor) {
            let steep = chunk.iter().zip(start..).filter(|(slope, _)| **slope > floor);
            moves.extend(steep.map(|(_, k)| k));
        }
        Self { moves, floor }
    }

    /// All moves with a positive slope.
    pub fn look_at_all(&mut self, slopes: &[f64]) {
        self.moves = (0..slopes.len()).filter(|&k| slopes[k] > 0.0).collect();
        self.floor = 0.0;
    }

    /// Puts the steepest first; of equals, the first in the list of all moves. Their slopes are positive.
    pub fn sort(&mut self, slopes: &[f64]) {
        // The bits of positive numbers are in the order of the numbers. Such keys are sorted faster than places by what they refer to.
        let key = |&k: &usize| (u128::from(slopes[k].to_bits()) << 64) | u128::from(!(k as u64));
        let mut keys: Vec<u128> = self.moves.iter().map(key).collect();
        keys.sort_unstable();
        self.moves.clear();
        self.moves.extend(keys.into_iter().rev().map(|key| !(key as u64) as usize));
    }
}

/// The larger one, and `a` if `b` is not a number: one instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The largest magnitude of a slope, and the sum of all magnitudes times caps.
pub(super) fn magnitudes(slopes: &[f64], caps: &[f64]) -> (f64, f64) {
    Arch::new().dispatch(SumOfMagnitudes { slopes, caps })
}

/// Work that is compiled for the machine at hand; numbers do not depend on it. (A closure is only where it happens to be inlined.)
struct SumOfMagnitudes<'m> {
    slopes: &'m [f64],
    caps: &'m [f64],
}

impl NullaryFnOnce for SumOfMagnitudes<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn call(self) -> (f64, f64) {
        let (mut most, mut sums) = ([0.0_f64; CHUNK], [0.0_f64; CHUNK]);
        for (slopes, caps) in self.slopes.chunks(CHUNK).zip(self.caps.chunks(CHUNK)) {
            for (((most, sum), slope), cap) in most.iter_mut().zip(&mut sums).zip(slopes).zip(caps)
            {
                *most = larger(*most, slope.abs());
                *sum += slope.abs() * cap;
            }
        }
        (most.into_iter().fold(0.0, larger), sums.iter().sum())
    }
}

/// The largest slope of each chunk.
fn largest_of_chunks(slopes: &[f64]) -> Vec<f64> {
    let mut largest = vec![f64::NEG_INFINITY; slopes.len().div_ceil(CHUNK)];
    let (chunks, rest) = slopes.as_chunks::<CHUNK>();
    Arch::new().dispatch(LargestOfChunks { chunks, largest: &mut largest });
    if let Some(last) = largest.last_mut().filter(|_| !rest.is_empty()) {
        *last = rest.iter().fold(f64::NEG_INFINITY, |a, &b| larger(a, b));
    }
    largest
}

/// The same for whole chunks.
struct LargestOfChunks<'c> {
    chunks: &'c [[f64; CHUNK]],
    largest: &'c mut [f64],
}

impl NullaryFnOnce for LargestOfChunks<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (largest, chunk) in self.largest.iter_mut().zip(self.chunks) {
            let mut most = [f64::NEG_INFINITY; CHUNK / 2];
            for (k, most) in most.iter_mut().enumerate() {
                *most = larger(larger(*most, chunk[k]), chunk[k + CHUNK / 2]);
            }
            *largest = most.iter().fold(f64::NEG_INFINITY, |a, &b| larger(a, b));
        }
    }
}

/// The number that so many others are not below.
fn largest_but(numbers: &[f64], many: usize) -> f64 {
    let mut numbers = numbers.to_vec();
    *numbers.select_nth_unstable_by(many, |a, b| b.total_cmp(a)).1
}

fn steeper(slopes: &[f64], a: usize, b: usize) -> std::cmp::Ordering {
    slopes[b].total_cmp(&slopes[a]).then(a.cmp(&b))
}

/// A few of the steepest moves, in the order of all moves. `None` where there are few anyway.
pub(super) fn few_of_many(slopes: &[f64]) -> Option<Vec<usize>> {
    if slopes.len() < 4 * FEW {
        return None;
    }
    let mut moves: Vec<usize> = (0..slopes.len()).collect();
    moves.select_nth_unstable_by(FEW - 1, |a, b| steeper(slopes, *a, *b));
    moves.truncate(FEW);
    moves.sort_unstable();
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_move_above_the_floor_is_left_out(
            slopes in prop::collection::vec(prop_oneof![-1.0f64..1.0, Just(0.5), Just(0.0)], 0..900),
            many in 1usize..40,
        ) {
            let steepest = Steepest::new(&slopes, many);
            prop_assert!(steepest.floor >= 0.0);
            for (k, &slope) in slopes.iter().enumerate() {
                prop_assert!(slope <= steepest.floor || steepest.moves.contains(&k));
            }
        }
    }
}
