//! APGD for L1 balls cut by the pixel box (Croce and Hein 2021, "Mind the box"). Sets without a budget get projected gradient.

use rand_chacha::ChaCha8Rng;

use super::iterate::{GradientAscent, Iterate};
use crate::encode::{LpWork, Vertices};
use crate::search::incumbent::Incumbent;
use crate::search::sampling::sample;
use crate::search::task::{MethodResult, SearchTask};
use crate::sets::InputSet;
use crate::tolerance;

/// Iterations of one run of APGD, all phases together.
const ITERATIONS: usize = 100;

/// The phases: how much larger than the budget the ball is, and for which share of the iterations.
const PHASES: [(f64, f64); 3] = [(3.0, 0.3), (2.0, 0.3), (1.0, 0.4)];

/// Iterations between two updates of the sparsity, as a share of a phase's.
const CHECKPOINT: f64 = 0.04;

/// The share of the pixels that the first steps move.
const FIRST_SPARSITY: f64 = 0.2;

/// By how much steps shrink, and how many fewer pixels than the best point changes the next steps move.
const SHRINK: f64 = 1.5;

/// The smallest step, as a share of the first.
const SMALLEST_STEP: f64 = 0.1;

/// The sparsity has settled when it is no longer below this share of the last one.
const SETTLED: f64 = 0.95;

/// Ascends from one random point after the other until the incumbent says stop.
pub(in crate::search) fn apgd(task: &SearchTask, incumbent: &mut Incumbent) -> MethodResult {
    let (problem, mut rng) = (task.problem, task.rng());
    let mut ascent = GradientAscent::new(problem);
    let (mut starts, mut finished) = (0, 0);
    let stop = loop {
        if let Some(stop) = incumbent.stop() {
            break stop;
        }
        let gained = match problem.set.budget() {
            Some(budget) => ascent.apgd(budget, &mut rng, incumbent),
            None => ascent.projected_gradient(&mut rng, incumbent),
        };
        starts += 1;
        finished += usize::from(!incumbent.budget.is_spent());
        incumbent.finish_start(gained);
    };
    MethodResult { stop, starts, finished, work: LpWork::default(), claimed_bound: None }
}

impl GradientAscent<'_> {
    /// One run through all phases, from a random point of the largest ball. Whether the incumbent gained.
    fn apgd(&mut self, budget: f64, rng: &mut ChaCha8Rng, incumbent: &mut Incumbent) -> bool {
        let mut best: Option<Iterate> = None;
        for (factor, share) in PHASES {
            let radius = factor * budget;
            let set = self.problem.set.with_budget(radius);
            let (start, sparsity, changed) = match best {
                None => {
                    let Ok(start) = sample(&mut Vertices::new(&set, *incumbent.budget), rng) else {
                        return false;
                    };
                    let all = set.dimension() as f64;
                    (start, FIRST_SPARSITY * all, all)
                }
                Some(best) => {
                    let start = set.project(&best.candidate.point);
                    let changed = changed(&set, &start);
                    (start, changed / SHRINK, changed)
                }
            };
            let iterations = (share * ITERATIONS as f64).round() as usize;
            let phase = ApgdPhase { set, radius, sparsity, changed, iterations };
            best = Some(self.phase(phase, start, incumbent));
        }
        best.is_some_and(|best| incumbent.offer(best.candidate))
    }

    /// Steepest ascent in the L1 norm: each step moves the steepest pixels by equal amounts and is projected back.
    fn phase(&mut self, phase: ApgdPhase, start: Vec<f64>, incumbent: &Incumbent) -> Iterate {
        let ApgdPhase { set, radius, mut sparsity, changed: mut last_changed, iterations } = phase;
        let checkpoint = ((CHECKPOINT * iterations as f64) as usize).max(1);
        let mut step = radius;
        let mut here = self.at(start);
        let mut best = here.clone();
        for iteration in 1..=iterations {
            if incumbent.stop().is_some() {
                break;
            }
            let mut point = here.candidate.point.clone();
            let steepest = steepest(&here.gradient, sparsity as usize);
            for &i in &steepest {
                point[i] += (step / steepest.len() as f64).copysign(here.gradient[i]);
            }
            here = self.at(set.project(&point));
            if here.candidate.margin > best.candidate.margin {
                best = here.clone();
            }
            if iteration % checkpoint == 0 {
                let changed = changed(&set, &best.candidate.point);
                sparsity = changed / SHRINK;
                if changed < SETTLED * last_changed {
                    // Still becoming sparser: large steps again, from the best point.
                    step = radius;
                    here = best.clone();
                } else {
                    step = (step / SHRINK).max(SMALLEST_STEP * radius);
                }
                last_changed = changed;
            }
        }
        best
    }
}

/// One phase of APGD.
struct ApgdPhase {
    set: InputSet,
    radius: f64,
    /// How many pixels the first steps move.
    sparsity: f64,
    /// How many pixels its first point changes; at first, all.
    changed: f64,
    iterations: usize,
}

/// The pixels with the largest slopes, `many` of them, at least one; none without a slope.
fn steepest(gradient: &[f64], many: usize) -> Vec<usize> {
    let mut pixels: Vec<usize> = (0..gradient.len()).filter(|&i| gradient[i] != 0.0).collect();
    let many = many.max(1);
    if many < pixels.len() {
        let steeper =
            |a: &usize, b: &usize| gradient[*b].abs().total_cmp(&gradient[*a].abs()).then(a.cmp(b));
        pixels.select_nth_unstable_by(many - 1, steeper);
        pixels.truncate(many);
        pixels.sort_unstable();
    }
    pixels
}

/// How many pixels differ from the centre.
fn changed(set: &InputSet, point: &[f64]) -> f64 {
    let differ = |(x, c): &(&f64, &f64)| (*x - *c).abs() > tolerance::CHANGED;
    point.iter().zip(set.centre()).filter(differ).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::{Norm, PixelRange};

    #[test]
    fn the_steepest_pixels_have_a_slope() {
        let gradient = [0.0, -3.0, 1.0, 0.0, 2.0];
        assert_eq!(steepest(&gradient, 2), [1, 4]);
        assert_eq!(steepest(&gradient, 0), [1]);
        assert_eq!(steepest(&gradient, 9), [1, 2, 4]);
        assert!(steepest(&[0.0, 0.0], 1).is_empty());
    }

    #[test]
    fn what_differs_by_rounding_has_not_changed() {
        let set = InputSet::ball(Norm::L1, &[0.1, 0.2, 0.3], 1.0, PixelRange::UNIT);
        assert_eq!(changed(&set, &[0.1, 0.2 + 1e-12, 0.4]), 1.0);
    }
}
