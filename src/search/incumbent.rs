//! The best point so far, who wants to hear of better ones, and whether to go on.

use std::ops::ControlFlow;
use std::time::Duration;

use super::{Curve, SearchStop};
use crate::budget::Budget;
use crate::network::Trace;
use crate::problem::{Candidate, Problem};
use crate::tolerance;

/// What every method has in common.
pub(super) struct Incumbent<'s> {
    pub best: Candidate,
    pub time_to_best: Duration,
    pub curve: Curve,
    pub budget: &'s Budget<'s>,
    better: &'s mut dyn FnMut(&Candidate) -> ControlFlow<()>,
    enough: bool,
    patience: usize,
    idle: usize,
}

impl<'s> Incumbent<'s> {
    /// Begins with the set's centre.
    pub fn new(
        problem: &Problem,
        patience: usize,
        budget: &'s Budget<'s>,
        better: &'s mut dyn FnMut(&Candidate) -> ControlFlow<()>,
    ) -> Self {
        let mut trace = Trace::new(&problem.network);
        let best = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
        let time_to_best = budget.elapsed();
        let curve = vec![(time_to_best, best.margin)];
        let enough = better(&best).is_break();
        Self { best, time_to_best, curve, budget, better, enough, patience, idle: 0 }
    }

    /// Keeps a point that is better, and tells whether it gained more than solvers' tolerances explain.
    pub fn offer(&mut self, candidate: Candidate) -> bool {
        let gained = candidate.margin > self.best.margin + tolerance::GAIN;
        if candidate.margin > self.best.margin {
            self.best = candidate;
            self.time_to_best = self.budget.elapsed();
            self.curve.push((self.time_to_best, self.best.margin));
            self.enough |= (self.better)(&self.best).is_break();
        }
        gained
    }

    /// A start has been followed to its end, or was none; starts in a row without gain are what patience counts.
    pub fn finished_start(&mut self, gained: bool) {
        self.idle = if gained { 0 } else { self.idle + 1 };
    }

    /// Starts in a row without gain.
    pub fn idle(&self) -> usize {
        self.idle
    }

    /// Why to stop now, if so.
    pub fn stop(&self) -> Option<SearchStop> {
        if self.enough {
            Some(SearchStop::Enough)
        } else if self.budget.is_cancelled() {
            Some(SearchStop::Cancelled)
        } else if self.budget.is_spent() {
            Some(SearchStop::Time)
        } else if self.idle >= self.patience {
            Some(SearchStop::Patience)
        } else {
            None
        }
    }
}
