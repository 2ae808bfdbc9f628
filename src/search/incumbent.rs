//! The best point so far, the callback that is told of better ones, and the reasons to stop.

use std::ops::ControlFlow;
use std::time::Duration;

use super::integers::IntegerSearch;
use super::options::SearchOptions;
use super::result::{Curve, SearchEvent, SearchStop};
use crate::budget::Budget;
use crate::encode::LpWork;
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
    /// Rounds points, where whole numbers have to be.
    integers: Option<IntegerSearch<'s>>,
    /// Called with every better point and after every start.
    watch: &'s mut dyn FnMut(SearchEvent) -> ControlFlow<()>,
    /// Whether that callback has returned `Break`.
    broken_off: bool,
    /// Starts in a row without gain before the search ends.
    patience: usize,
    /// Starts in a row without gain so far.
    idle: usize,
    /// Starts before the search ends, and those so far.
    most_starts: usize,
    starts: usize,
}

impl<'s> Incumbent<'s> {
    /// Begins with the set's centre.
    pub fn new(
        problem: &'s Problem,
        options: &SearchOptions,
        budget: &'s Budget<'s>,
        watch: &'s mut dyn FnMut(SearchEvent) -> ControlFlow<()>,
    ) -> Self {
        let mut trace = problem.trace();
        let best = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
        let time_to_best = budget.elapsed();
        let curve = vec![(time_to_best, best.margin)];
        let broken_off = watch(SearchEvent::Better(&best)).is_break();
        let SearchOptions { patience, most_starts, .. } = *options;
        let (idle, starts) = (0, 0);
        Self {
            best,
            time_to_best,
            curve,
            budget,
            points: 0,
            integers: IntegerSearch::new(problem),
            watch,
            broken_off,
            patience,
            idle,
            most_starts,
            starts,
        }
    }

    /// What rounding has cost.
    pub fn work(&self) -> LpWork {
        self.integers.as_ref().map_or_else(LpWork::default, IntegerSearch::work)
    }

    /// Keeps a point that is better, rounded where whole numbers have to be. Returns whether it gained more than solvers' tolerances explain.
    pub fn offer(&mut self, candidate: Candidate) -> bool {
        self.points += 1;
        let candidate = match &mut self.integers {
            None => candidate,
            Some(integers) => match integers.best_near(&candidate.point, self.budget) {
                Some(rounded) => rounded,
                None => return false,
            },
        };
        self.keep(candidate)
    }

    /// The same without another call of a solver: for its callbacks.
    pub fn offer_in_callback(&mut self, candidate: Candidate) -> bool {
        self.points += 1;
        let candidate = match &mut self.integers {
            None => candidate,
            Some(integers) => match integers.rounded(&candidate.point) {
                Some(rounded) => rounded,
                None => return false,
            },
        };
        self.keep(candidate)
    }

    fn keep(&mut self, candidate: Candidate) -> bool {
        let gained = candidate.margin > self.best.margin + tolerance::GAIN;
        if candidate.margin > self.best.margin {
            self.best = candidate;
            self.time_to_best = self.budget.elapsed();
            self.curve.push((self.time_to_best, self.best.margin));
            self.broken_off |= (self.watch)(SearchEvent::Better(&self.best)).is_break();
        }
        gained
    }

    /// Counts a start that was followed to its end, or that could not be made.
    pub fn finish_start(&mut self, gained: bool) {
        self.idle = if gained { 0 } else { self.idle + 1 };
        self.starts += 1;
        self.broken_off |= (self.watch)(SearchEvent::StartFinished).is_break();
    }

    /// Why to stop now, if there is a reason.
    pub fn stop(&self) -> Option<SearchStop> {
        if self.broken_off {
            Some(SearchStop::Enough)
        } else if self.budget.is_cancelled() {
            Some(SearchStop::Cancelled)
        } else if self.budget.is_spent() {
            Some(SearchStop::Time)
        } else if self.idle >= self.patience || self.starts >= self.most_starts {
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
