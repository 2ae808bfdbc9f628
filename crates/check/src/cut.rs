//! Cuts toward a goal: what neurons can do at those points of a part whose value is at least the goal.
//!
//! With `k + s·p ≥ f` everywhere, points with `f ≥ goal` satisfy `k − goal + s·p ≥ 0`. So for every `μ ≥ 0` a function `c + v·p` is there at
//! most `c + μ (k − goal)` plus the support of `v + μ s`.

use std::sync::Arc;

use crate::number::Number;
use crate::region::{Failure, Region, checked};
use crate::relax::{Interval, Line, LinePair, Relaxation};

/// The first `μ` tried, as a share of what makes the steepest slopes of both functions equal; then doubled and halved so many times at most.
const FIRST: f64 = 0.25;
const MORE: usize = 3;

impl<'p, N: Number> Region<'p, N> {
    /// Bounds over those points of the part at which the objective is at least `goal`; `above` is a function above the objective. Lines of
    /// deeper neurons are made anew, by the guide.
    ///
    /// # Errors
    /// When there is no such point, or numbers overflow.
    pub fn cut(
        &self,
        goal: f64,
        above: &Line<N>,
        guide: Option<Vec<Vec<Relaxation>>>,
    ) -> Result<Self, Failure> {
        let room = above.constant.sub_up(&N::of(goal));
        let mut region = Self { guide: guide.map(Arc::new), ..self.clone() };
        for j in region.unstable(0) {
            let known = &self.intervals[0][j];
            region.intervals[0][j] = self.narrowed(&self.first[j], known, above, &room)?;
        }
        for layer in 1..self.intervals.len() {
            let unstable = region.unstable(layer);
            let mut lines = vec![None; self.intervals[layer].len()];
            for (&j, pair) in unstable.iter().zip(region.best_lines(layer, &unstable)?) {
                let known = region.interval(&pair, Some(&self.intervals[layer][j]))?;
                region.intervals[layer][j] = self.narrowed(&pair, &known, above, &room)?;
                lines[j] = Some(Arc::new(pair));
            }
            Arc::make_mut(&mut region.lines)[layer] = lines;
        }
        Ok(region)
    }

    /// Intervals over those points of the part at which the objective is at least `goal`. Lines stay as they are.
    ///
    /// # Errors
    /// When there is no such point, or numbers overflow.
    pub fn narrowed_toward(&self, goal: f64, above: &Line<N>) -> Result<Self, Failure> {
        let room = above.constant.sub_up(&N::of(goal));
        let mut region = self.clone();
        for j in region.unstable(0) {
            let known = &self.intervals[0][j];
            region.intervals[0][j] = self.narrowed(&self.first[j], known, above, &room)?;
        }
        for layer in 1..self.intervals.len() {
            let unstable = region.unstable(layer);
            for (&j, pair) in unstable.iter().zip(region.best_lines(layer, &unstable)?) {
                let known = region.interval(&pair, Some(&self.intervals[layer][j]))?;
                region.intervals[layer][j] = self.narrowed(&pair, &known, above, &room)?;
            }
        }
        Ok(region)
    }

    /// A neuron's interval, narrowed by a function that is at least the objective; `room` is at least its constant minus the goal.
    fn narrowed(
        &self,
        pair: &LinePair<N>,
        known: &Interval<N>,
        above: &Line<N>,
        room: &N,
    ) -> Result<Interval<N>, Failure> {
        let upper = self.largest_beyond(&pair.above, above, room);
        let lower = self.largest_beyond(&pair.below, above, room).map(|lower| lower.negated());
        let lower = lower.map_or(known.lower.clone(), |lower| lower.larger(&known.lower));
        let upper = upper.map_or(known.upper.clone(), |upper| upper.smaller(&known.upper));
        checked(Interval { lower, upper })
    }

    /// The steepest slope of a line in a move that has room.
    fn steepest(&self, line: &Line<N>) -> f64 {
        let moves = line.slopes.iter().zip(&self.room.caps);
        let open = moves.filter(|(_, cap)| **cap > N::zero());
        open.map(|(slope, _)| slope.nearest().abs()).fold(0.0, f64::max)
    }

    /// At least the largest value of a line where the objective may be at least the goal: the smallest over a few `μ`, in which it is convex.
    fn largest_beyond(&self, line: &Line<N>, above: &Line<N>, room: &N) -> Option<N> {
        let first = FIRST * self.steepest(line) / self.steepest(above);
        if !(first > 0.0 && first.is_finite()) {
            return None;
        }
        let value = |multiplier: f64| {
            let multiplier = N::of(multiplier);
            let sum = |(v, s): (&N, &N)| v.add_up(&multiplier.mul_up(s));
            let slopes: Vec<N> = line.slopes.iter().zip(above.slopes.iter()).map(sum).collect();
            let constant = line.constant.add_up(&multiplier.mul_up(room));
            constant.add_up(&self.room.support(&slopes))
        };
        let mut best = value(first);
        for factor in [2.0, 0.5] {
            let (mut multiplier, before) = (first, best.clone());
            for _ in 0..MORE {
                multiplier *= factor;
                let other = value(multiplier);
                if other >= best {
                    break;
                }
                best = best.smaller(&other);
            }
            if best < before {
                break;
            }
        }
        Some(best)
    }
}
