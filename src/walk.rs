//! From one start, region to region while the objective grows (Algorithm 1 of Tong, Cai and Serra 2024).
//!
//! `LP(x⁰)` gives the best point `x¹` of the region of `x⁰`. There are two ways out of a region: [`WayOut::Flip`] turns the neurons whose rows are
//! tight at `x¹`, so that `x¹` stays feasible and the value cannot drop; [`WayOut::Epsilon`] is the paper's step `x¹ + ε (x¹ − x⁰)`. No pattern is
//! solved twice in one search.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::encode::{EncodeError, RegionLp, RegionOptimum};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::{Candidate, Problem};
use crate::tolerance;

/// The paper's step out of a region, as a fraction of the step inside it.
const EPSILON: f64 = 0.01;

/// Neurons turned one at a time before a region counts as a local optimum. On MNIST a handful is tight at an optimum, on a box with a thousand
/// inputs a hundred are, and hardly any of them beyond the strongest leads further.
const MOST_SINGLE_FLIPS: usize = 6;

/// How to leave a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WayOut {
    /// Turn the neurons that are tight at the optimum: all at once, then one at a time.
    #[default]
    Flip,
    /// Overshoot by ε.
    Epsilon,
}

/// Why a walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// No neighbouring region is better.
    LocalOptimum,
    /// The next region was solved before in this search.
    Revisited,
    /// The time was up, or the search was cancelled, after this time.
    Budget(Duration),
    /// The LP solver gave no answer, for this reason. The points found until then count.
    Trouble(String),
}

/// Where a walk ended, and why.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The best point.
    pub end: Candidate,
    /// Why the walk ended.
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
    let trace = problem.trace();
    let mut walker = Walker { problem, region, seen, budget, trace, best: start };
    let walked = match way_out {
        WayOut::Flip => walker.walk_by_flips(),
        WayOut::Epsilon => walker.walk_by_epsilon(EPSILON, |_| ()),
    };
    let stop = walked.unwrap_or_else(|error| match error {
        EncodeError::Budget => StopReason::Budget(budget.elapsed()),
        EncodeError::Infeasible | EncodeError::Trouble(_) => {
            log::debug!("walk: {error}");
            StopReason::Trouble(error.to_string())
        }
    });
    Walk { end: walker.best, stop }
}

/// One iteration of [`walk_steps`]: from `x⁰` to the best point `x¹` of its region, if that is better than all before.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkStep {
    /// `x⁰`.
    pub from: Vec<f64>,
    /// `x¹`.
    pub to: Vec<f64>,
    /// The objective at `x¹`, its constant left out.
    pub value: f64,
}

/// Algorithm 1 from a point of the set with steps of `epsilon`, iteration by iteration.
///
/// # Errors
/// When the time is up or the LP solver fails.
pub fn walk_steps(
    region: &mut RegionLp,
    start: Vec<f64>,
    epsilon: f64,
    budget: &Budget,
) -> Result<Vec<WalkStep>, EncodeError> {
    let problem = region.problem();
    let mut trace = problem.trace();
    let best = problem.evaluate(start, &mut trace);
    let mut seen = HashSet::new();
    let mut walker = Walker { problem, region, seen: &mut seen, budget, trace, best };
    let mut steps = Vec::new();
    walker.walk_by_epsilon(epsilon, |step| steps.push(step))?;
    Ok(steps)
}

struct Walker<'w, 'p> {
    problem: &'p Problem,
    region: &'w mut RegionLp<'p>,
    seen: &'w mut HashSet<ActivationPattern>,
    budget: &'w Budget<'w>,
    trace: Trace,
    best: Candidate,
}

impl Walker<'_, '_> {
    /// Algorithm 1 as printed, but for two slips of the print.
    fn walk_by_epsilon(
        &mut self,
        epsilon: f64,
        mut on_step: impl FnMut(WalkStep),
    ) -> Result<StopReason, EncodeError> {
        let mut x0 = self.best.point.clone();
        let mut pattern = self.pattern_at(&x0);
        let mut tight = Vec::new();
        loop {
            // A neuron at exactly 0 keeps the state it had.
            self.problem.network.forward(&x0, &mut self.trace);
            pattern.update(&self.trace);
            if !self.seen.insert(pattern.clone()) {
                return Ok(StopReason::Revisited);
            }
            // What was tight in the last region is likely to be needed in the next.
            let optimum = self.region.solve(&pattern, &x0, &tight, self.budget)?;
            let x1 = optimum.point;
            tight = optimum.tight.into_iter().map(|(neuron, _)| neuron).collect();
            // The printed loop compares after x⁰ was overwritten; what is meant is the best value so far.
            if !self.offer(&x1) {
                return Ok(StopReason::LocalOptimum);
            }
            let step = x1.iter().zip(&x0).map(|(x1, x0)| x1 + epsilon * (x1 - x0));
            let beyond: Vec<f64> = step.collect();
            // Clipping pixel by pixel would break the budget: the whole step is projected.
            let next = self.problem.set.project(&beyond);
            on_step(WalkStep {
                from: std::mem::replace(&mut x0, next),
                to: x1,
                value: self.best.margin,
            });
        }
    }

    /// Algorithm 1 with flips of tight neurons instead of the step by ε.
    fn walk_by_flips(&mut self) -> Result<StopReason, EncodeError> {
        let x0 = self.best.point.clone();
        let mut pattern = self.pattern_at(&x0);
        if !self.seen.insert(pattern.clone()) {
            return Ok(StopReason::Revisited);
        }
        let mut optimum = self.region.solve(&pattern, &x0, &[], self.budget)?;
        self.offer(&optimum.point);
        while let Some(better) = self.better_neighbour(&pattern, &optimum)? {
            (pattern, optimum) = better;
        }
        Ok(StopReason::LocalOptimum)
    }

    /// The first neighbouring region that is better: all tight neurons turned, or else one of them, strongest dual first.
    fn better_neighbour(
        &mut self,
        pattern: &ActivationPattern,
        here: &RegionOptimum,
    ) -> Result<Option<(ActivationPattern, RegionOptimum)>, EncodeError> {
        let tight: Vec<NeuronId> = here.tight.iter().map(|(neuron, _)| *neuron).collect();
        let singles = if tight.len() > 1 { tight.len().min(MOST_SINGLE_FLIPS) } else { 0 };
        let all_at_once = std::iter::once(&tight[..]).filter(|all| !all.is_empty());
        for flipped in all_at_once.chain(tight[..singles].chunks(1)) {
            let mut next = pattern.clone();
            for &neuron in flipped {
                next.flip(neuron);
            }
            if !self.seen.insert(next.clone()) {
                continue;
            }
            match self.region.solve(&next, &here.point, &tight, self.budget) {
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

    /// The pattern at `point`.
    fn pattern_at(&mut self, point: &[f64]) -> ActivationPattern {
        self.problem.network.forward(point, &mut self.trace);
        ActivationPattern::at(&self.trace)
    }

    /// Keeps `point` if the network says that it is better. Returns whether it gained enough to go on.
    fn offer(&mut self, point: &[f64]) -> bool {
        let candidate = self.problem.evaluate(point.to_vec(), &mut self.trace);
        let gained = candidate.margin > self.best.margin + tolerance::GAIN;
        if candidate.margin > self.best.margin {
            self.best = candidate;
        }
        gained
    }
}
