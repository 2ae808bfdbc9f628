//! Which moves a linear function is steepest in. Few moves are ever used, so that one pass over the slopes that remembers the steepest is
//! enough.

/// Moves looked at to guess how steep the steepest are.
const SAMPLE: usize = 96;

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
    /// The steepest moves: at least so many, unless fewer have a positive slope or the guess at a floor was too high; less than twice as many.
    pub fn new(slopes: &[f64], many: usize) -> Self {
        let mut moves: Vec<usize> = Vec::with_capacity(2 * many);
        // Any floor is right here: what is steeper is added.
        let mut floor = guess_floor(slopes, many);
        for (chunk, start) in slopes.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            // Most moves are not steep: many are looked at at once.
            if !chunk.iter().fold(false, |any, &slope| any | (slope > floor)) {
                continue;
            }
            for (&slope, k) in chunk.iter().zip(start..) {
                if slope > floor {
                    moves.push(k);
                    if moves.len() == 2 * many {
                        moves.select_nth_unstable_by(many - 1, |a, b| steeper(slopes, *a, *b));
                        moves.truncate(many);
                        floor = slopes[moves[many - 1]];
                    }
                }
            }
        }
        Self { moves, floor }
    }

    /// All moves with a positive slope.
    pub fn look_at_all(&mut self, slopes: &[f64]) {
        self.moves = (0..slopes.len()).filter(|&k| slopes[k] > 0.0).collect();
    }

    /// Puts the steepest first; of equals, the first in the list of all moves.
    pub fn sort(&mut self, slopes: &[f64]) {
        self.moves.sort_unstable_by(|a, b| steeper(slopes, *a, *b));
    }
}

fn steeper(slopes: &[f64], a: usize, b: usize) -> std::cmp::Ordering {
    slopes[b].total_cmp(&slopes[a]).then(a.cmp(&b))
}

/// A slope that about twice as many moves exceed, by a look at a few of them.
fn guess_floor(slopes: &[f64], many: usize) -> f64 {
    if slopes.len() < 4 * SAMPLE {
        return 0.0;
    }
    let mut sample = [0.0; SAMPLE];
    for (sampled, slope) in sample.iter_mut().zip(slopes.iter().step_by(slopes.len() / SAMPLE)) {
        *sampled = *slope;
    }
    let rank = (2 * many * SAMPLE).div_ceil(slopes.len());
    if rank >= SAMPLE {
        return 0.0;
    }
    let (_, guess, _) = sample.select_nth_unstable_by(rank, |a, b| b.total_cmp(a));
    guess.max(0.0)
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
