//! First-order ascent in a box: every coordinate steps in the direction of its slope's sign, with momentum and shrinking steps
//! (APGD, Croce and Hein 2020, for L∞ balls of different widths).
//!
//! Frank-Wolfe, which is quick where a budget leaves few coordinates to move, gets stuck at the first ridge of a box
//! with many: there its line searches follow hundreds of pieces for ever smaller gains.

use crate::budget::Budget;
use crate::network::{ActivationPattern, Trace};
use crate::problem::{Candidate, Problem};

/// The first step of an ascent from anywhere, as a share of the box.
pub(super) const WHOLE_BOX: f64 = 1.0;

/// Steps of one ascent.
const STEPS: usize = 100;

/// The weight of the gradient step; the rest is momentum.
const STEP_WEIGHT: f64 = 0.75;

/// Steps shrink unless this share of them was uphill.
const UPHILL_SHARE: f64 = 0.75;

/// Climbs from `start`; the first step is `first_step` times the width of the box.
pub(super) fn sign_ascent(
    problem: &Problem,
    start: Candidate,
    first_step: f64,
    trace: &mut Trace,
    budget: &Budget,
) -> Candidate {
    let set = &problem.set;
    let ranges: Vec<(f64, f64)> = (0..set.dimension()).map(|i| set.range(i)).collect();
    let mut step = first_step;
    let mut gradient = gradient_at(problem, &start.point, trace);
    let (mut here, mut before) = (start.clone(), start.point.clone());
    let (mut best, mut best_gradient) = (start, gradient.clone());
    let mut checkpoint = Checkpoint::first();
    let (mut uphill, mut best_before, mut shrunk) = (0, best.margin, true);
    for k in 1..=STEPS {
        if budget.is_spent() {
            break;
        }
        // The first step has no momentum.
        let weight = if k == 1 { 1.0 } else { STEP_WEIGHT };
        let moved = ranges.iter().enumerate().map(|(i, &(lower, upper))| {
            let x = here.point[i];
            let slope = gradient[i];
            let aim = if slope == 0.0 { x } else { x + (step * (upper - lower)).copysign(slope) };
            let aim = aim.clamp(lower, upper);
            (x + weight * (aim - x) + (1.0 - weight) * (x - before[i])).clamp(lower, upper)
        });
        let moved: Vec<f64> = moved.collect();
        let next = problem.evaluate(moved, trace);
        let pattern = ActivationPattern::at(trace);
        gradient = problem.network.gradient(problem.weights(), &pattern);
        uphill += usize::from(next.margin > here.margin);
        before = std::mem::replace(&mut here, next).point;
        if here.margin > best.margin {
            best = here.clone();
            best_gradient.clone_from(&gradient);
        }
        if k == checkpoint.at {
            let stalled = (uphill as f64) < UPHILL_SHARE * checkpoint.length as f64;
            let idle = !shrunk && best.margin <= best_before;
            shrunk = stalled || idle;
            if shrunk {
                step /= 2.0;
                here = best.clone();
                before.clone_from(&best.point);
                gradient.clone_from(&best_gradient);
            }
            (uphill, best_before) = (0, best.margin);
            checkpoint = checkpoint.next();
        }
    }
    best
}

fn gradient_at(problem: &Problem, point: &[f64], trace: &mut Trace) -> Vec<f64> {
    problem.network.forward(point, trace);
    problem.network.gradient(problem.weights(), &ActivationPattern::at(trace))
}

/// When to compare with the last checkpoint: after 22 % of the steps, then in shorter and shorter intervals down to 6 %.
#[derive(Clone, Copy)]
struct Checkpoint {
    at: usize,
    length: usize,
}

impl Checkpoint {
    fn first() -> Self {
        let length = STEPS * 22 / 100;
        Self { at: length, length }
    }

    fn next(self) -> Self {
        let length = self.length.saturating_sub(STEPS * 3 / 100).max(STEPS * 6 / 100);
        Self { at: self.at + length, length }
    }
}
