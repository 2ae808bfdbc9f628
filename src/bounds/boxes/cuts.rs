//! Cuts toward the goal: where a question is worth asking, its own bound says where that is.
//!
//! A bound of a question is a line `a·x + c` above its value, so a point with a value of at least the goal has `a·x + c ≥ goal`. For a
//! neuron's line `v·x + k` and every price `μ ≥ 0`, weak duality gives `v·x + k ≤ (v + μa)·x + k + μ(c − goal)` at such points. With several
//! questions open, a point that counts is worth asking for one of them: the largest of what their cuts give.
//!
//! Intervals made with cuts hold only at points with a value of at least the goal. At all others the value is below it, so that the larger of
//! the bound and the goal is a bound of the part.

use super::padded_weights::LANES;

/// With more open questions, cuts are not worth their time.
pub(super) const MOST_CUTS: usize = 4;

/// How far the goal is below the cutoff.
const GOAL: f64 = 1e-7;

/// Points with a smaller value do not count: somewhat below what is to be shown.
pub(super) fn goal(cutoff: f64) -> f64 {
    cutoff - GOAL * (1.0 + cutoff.abs())
}

/// Halvings of the interval that the best price is in.
const HALVINGS: usize = 8;

/// Doublings of the first price, at most.
const DOUBLINGS: usize = 12;

/// `slopes·x + room ≥ 0` at every point that counts.
#[derive(Clone, Debug)]
pub(super) struct GoalCut {
    /// What it is a cut of.
    pub question: usize,
    /// One for each input, padded.
    pub slopes: Vec<f64>,
    /// The line's constant less the goal, rounded up.
    pub room: f64,
}

/// A price for a cut: which one, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Price {
    pub cut: usize,
    pub price: f64,
}

/// The largest value of a function over a box, and what goes into its rounding errors.
#[derive(Clone, Copy)]
pub(super) struct Largest {
    pub sum: f64,
    pub size: f64,
    /// The cut's slopes times the point where the function is largest.
    of_cut: f64,
}

/// Bounds of inputs, padded.
#[derive(Clone, Copy)]
pub(super) struct PaddedBox<'b> {
    pub lower: &'b [f64],
    pub upper: &'b [f64],
}

impl PaddedBox<'_> {
    /// The largest value of `(slopes + price · cut) · x`.
    #[inline(always)]
    fn largest(&self, slopes: &[f64], cut: &[f64], price: f64) -> Largest {
        let (mut sums, mut sizes, mut of_cut) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let bounds = self.lower.chunks_exact(LANES).zip(self.upper.chunks_exact(LANES));
        let slopes = slopes.chunks_exact(LANES).zip(cut.chunks_exact(LANES));
        for ((slopes, cut), (lower, upper)) in slopes.zip(bounds) {
            for lane in 0..LANES {
                let slope = slopes[lane] + price * cut[lane];
                let x = if slope > 0.0 { upper[lane] } else { lower[lane] };
                let far = lower[lane].abs().max(upper[lane].abs());
                sums[lane] += slope * x;
                sizes[lane] += (slopes[lane].abs() + (price * cut[lane]).abs()) * far;
                of_cut[lane] += cut[lane] * x;
            }
        }
        Largest { sum: sums.iter().sum(), size: sizes.iter().sum(), of_cut: of_cut.iter().sum() }
    }

    /// The price that makes a function's largest value about the least, and that value.
    #[inline(always)]
    pub fn best_price(&self, slopes: &[f64], cut: &GoalCut, first: f64) -> Option<(f64, Largest)> {
        let at = |price: f64| self.largest(slopes, &cut.slopes, price);
        // The value's slope in the price.
        let rises = |largest: &Largest| largest.of_cut + cut.room >= 0.0;
        if rises(&at(0.0)) {
            return None;
        }
        let (mut low, mut high) = (0.0, first);
        let mut found = at(high);
        for _ in 0..DOUBLINGS {
            if rises(&found) {
                break;
            }
            low = high;
            high *= 2.0;
            found = at(high);
        }
        let value = |price: f64, largest: &Largest| largest.sum + price * cut.room;
        let mut best = (high, found);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let largest = at(middle);
            if value(middle, &largest) < value(best.0, &best.1) {
                best = (middle, largest);
            }
            if rises(&largest) { high = middle } else { low = middle }
        }
        (best.0.is_finite() && best.1.sum.is_finite()).then_some(best)
    }
}
