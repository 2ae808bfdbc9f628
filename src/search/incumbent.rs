//! The best point so far, the callback that is told of better ones, and the reasons to stop.

use std::ops::ControlFlow;
use std::time::Duration;

use super::options::SearchOptions;
use super::result::{Curve, SearchStop};
use crate::budget::Budget;
use crate::problem::{Candidate, Problem};
use crate::tolerance;

/// The incumbent of a search, and when the search ends.
pub(super) struct Incumbent<'s> {
    /// The best point so far.
    pub best: Candidate,
    /// When it was found.
    pub time_to_best: Duration,
    /// How the margin grew.
    pub curve: Curve,
    /// The time limit of the search.
    pub budget: &'s Budget<'s>,
    /// How many points were offered.
    pub points: usize,
    /// Called with every better point.
    better: &'s mut dyn FnMut(&Candidate) -> ControlFlow<()>,
    /// Whether that callback has returned `Break`.
    broken_off: bool,
    /// Starts before the search ends.
    starts_left: usize,
    /// Starts in a row without gain before the search ends.
    patience: usize,
    /// Starts in a row without gain so far.
    idle: usize,
}

impl<'s> Incumbent<'s> {
    /// Begins with the set's centre.
    pub fn new(
        problem: &Problem,
        options: &SearchOptions,
        budget: &'s Budget<'s>,
        better: &'s mut dyn FnMut(&Candidate) -> ControlFlow<()>,
    ) -> Self {
        let SearchOptions { patience, starts: starts_left, .. } = *options;
        let mut trace = problem.trace();
        let best = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
        let time_to_best = budget.elapsed();
        let curve = vec![(time_to_best, best.margin)];
        let broken_off = better(&best).is_break();
        Self {
            best,
            time_to_best,
            curve,
            budget,
            points: 0,
            better,
            broken_off,
            starts_left,
            patience,
            idle: 0,
        }
    }

    /// Keeps a point that is better. Returns whether it gained more than solvers' tolerances explain.
    pub fn offer(&mut self, candidate: Candidate) -> bool {
        self.points += 1;
        let gained = candidate.margin > self.best.margin + tolerance::GAIN;
        if candidate.margin > self.best.margin {
            self.best = candidate;
            self.time_to_best = self.budget.elapsed();
            self.curve.push((self.time_to_best, self.best.margin));
            self.broken_off |= (self.better)(&self.best).is_break();
        }
        gained
    }

    /// Counts a start that was followed to its end, or that could not be made.
    pub fn finish_start(&mut self, gained: bool) {
        self.idle = if gained { 0 } else { self.idle + 1 };
        self.starts_left = self.starts_left.saturating_sub(1);
    }

    /// Why to stop now, if there is a reason.
    pub fn stop(&self) -> Option<SearchStop> {
        if self.broken_off {
            Some(SearchStop::Enough)
        } else if self.budget.is_cancelled() {
            Some(SearchStop::Cancelled)
        } else if self.budget.is_spent() {
            Some(SearchStop::Time)
        } else if self.starts_left == 0 || self.idle >= self.patience {
            Some(SearchStop::Patience)
        } else {
            None
        }
    }

    /// `Break` if there is a reason to stop now.
    pub fn control_flow(&self) -> ControlFlow<()> {
        if self.stop().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
