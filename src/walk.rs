//! From one start, region to region while the margin grows (Algorithm 1 of Tong, Cai and Serra 2024).
//!
//! `LP(x⁰)` gives the best point `x¹` of the region of `x⁰`. Two ways lead out of a region: `Flip` turns the neurons whose
//! rows hold `x¹` back, so that `x¹` stays feasible and the value cannot drop; `Epsilon` is the paper's step
//! `x¹ + ε (x¹ − x⁰)`. No pattern is solved twice in one search.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::encode::{EncodeError, RegionLp, RegionOptimum};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::{Candidate, Problem};
use crate::tolerance;

/// The paper's step out of a region, as a fraction of the step inside it.
const EPSILON: f64 = 0.01;

/// Neurons turned one at a time before a region counts as the end. On MNIST a handful holds an optimum back, on a
/// box with a thousand inputs a hundred do, and hardly any of them beyond the strongest leads further.
const MOST_SINGLES: usize = 6;

/// How to leave a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WayOut {
    /// Turn the neurons that hold the optimum back: all at once, then one at a time.
    #[default]
    Flip,
    /// Overshoot by ε.
    Epsilon,
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// No neighbour is better.
    LocalOptimum,
    /// The way leads back to a region that this search has seen.
    Revisited,
    /// The time is up, or the search was called off.
    Budget,
    /// The LP solver gave no answer; what was found until then counts.
    Trouble,
}

/// Where a walk ended, and why.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The best point.
    pub end: Candidate,
    /// Why there.
    pub stop: StopReason,
}

/// Walks uphill from `start`. `seen` are the patterns already solved in this search.
pub fn walk(
    region: &mut RegionLp,
    start: Candidate,
    seen: &mut HashSet<ActivationPattern>,
    way_out: WayOut,
    budget: &Budget,
) -> Walk {
    let problem = region.problem();
    let walker =
        Walker { problem, region, seen, budget, trace: Trace::new(&problem.network), best: start };
    match way_out {
        WayOut::Flip => walker.flip(),
        WayOut::Epsilon => walker.epsilon(),
    }
}

struct Walker<'w, 'q> {
    problem: &'q Problem,
    region: &'w mut RegionLp<'q>,
    seen: &'w mut HashSet<ActivationPattern>,
    budget: &'w Budget<'w>,
    trace: Trace,
    best: Candidate,
}

impl Walker<'_, '_> {
    fn end(self, stop: StopReason) -> Walk {
        Walk { end: self.best, stop }
    }

    /// The pattern at `point`.
    fn pattern_at(&mut self, point: &[f64]) -> ActivationPattern {
        self.problem.network.forward(point, &mut self.trace);
        ActivationPattern::at(&self.trace)
    }

    /// Keeps `point` if the network says that it is better; tells whether it gained enough to go on.
    fn offer(&mut self, point: &[f64]) -> bool {
        let found = self.problem.evaluate(point.to_vec(), &mut self.trace);
        let gained = found.margin > self.best.margin + tolerance::GAIN;
        if found.margin > self.best.margin {
            self.best = found;
        }
        gained
    }

    fn flip(mut self) -> Walk {
        let start = self.best.point.clone();
        let mut pattern = self.pattern_at(&start);
        if !self.seen.insert(pattern.clone()) {
            return self.end(StopReason::Revisited);
        }
        let mut optimum = match self.region.solve(&pattern, &start, &[], self.budget) {
            Ok(optimum) => optimum,
            Err(error) => return self.end(reason(&error)),
        };
        self.offer(&optimum.point);
        loop {
            let tight: Vec<NeuronId> = optimum.tight.iter().map(|(neuron, _)| *neuron).collect();
            match self.best_neighbour(&pattern, &optimum, &tight) {
                Ok(Some((next, better))) => (pattern, optimum) = (next, better),
                Ok(None) => return self.end(StopReason::LocalOptimum),
                Err(error) => return self.end(reason(&error)),
            }
        }
    }

    /// The first neighbour that is better: all of `tight` turned, or else one of them, strongest first.
    fn best_neighbour(
        &mut self,
        pattern: &ActivationPattern,
        here: &RegionOptimum,
        tight: &[NeuronId],
    ) -> Result<Option<(ActivationPattern, RegionOptimum)>, EncodeError> {
        let one_by_one =
            if tight.len() > 1 { &tight[..tight.len().min(MOST_SINGLES)] } else { &[] };
        let tries =
            std::iter::once(tight).filter(|all| !all.is_empty()).chain(one_by_one.chunks(1));
        for turned in tries {
            let mut next = pattern.clone();
            for &neuron in turned {
                next.flip(neuron);
            }
            if !self.seen.insert(next.clone()) {
                continue;
            }
            match self.region.solve(&next, &here.point, tight, self.budget) {
                Ok(optimum) => {
                    if self.offer(&optimum.point) {
                        return Ok(Some((next, optimum)));
                    }
                }
                // `here.point` lies in the neighbour only up to the solver's tolerance.
                Err(EncodeError::Infeasible) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn epsilon(mut self) -> Walk {
        let mut x0 = self.best.point.clone();
        let mut pattern = self.pattern_at(&x0);
        loop {
            // A neuron at exactly 0 keeps the state it had.
            self.problem.network.forward(&x0, &mut self.trace);
            pattern.update(&self.trace);
            if !self.seen.insert(pattern.clone()) {
                return self.end(StopReason::Revisited);
            }
            let x1 = match self.region.solve(&pattern, &x0, &[], self.budget) {
                Ok(optimum) => optimum.point,
                Err(error) => return self.end(reason(&error)),
            };
            // The printed loop compares after x⁰ was overwritten; what is meant is the best value so far.
            if !self.offer(&x1) {
                return self.end(StopReason::LocalOptimum);
            }
            let beyond: Vec<f64> =
                x1.iter().zip(&x0).map(|(x1, x0)| x1 + EPSILON * (x1 - x0)).collect();
            // Clipping pixel by pixel would break the budget: the whole step is put back into the set.
            x0 = self.problem.set.project(&beyond);
        }
    }
}

fn reason(error: &EncodeError) -> StopReason {
    match error {
        EncodeError::Budget => StopReason::Budget,
        EncodeError::Infeasible | EncodeError::Trouble(_) => {
            log::debug!("walk: {error}");
            StopReason::Trouble
        }
    }
}
