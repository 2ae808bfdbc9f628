//! Follows the work on one record: which phase it is in, what is known, and how long each phase took.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::bounds::CertifiedBound;
use crate::budget::Budget;
use crate::observer::{Observer, Phase, TreeState};
use crate::problem::Candidate;
use crate::record::{PhaseTimes, WorkState};

/// Passes the state of one piece of work on whenever it changes.
pub(super) struct WorkObserver<'w, T: Fn(&WorkState) + Sync> {
    budget: &'w Budget<'w>,
    tell: T,
    progress: Mutex<WorkProgress>,
}

struct WorkProgress {
    state: WorkState,
    /// When the phase began.
    since: Duration,
    times: PhaseTimes,
}

impl<'w, T: Fn(&WorkState) + Sync> WorkObserver<'w, T> {
    /// Tells at once that the work has begun.
    pub fn new(state: WorkState, budget: &'w Budget<'w>, tell: T) -> Self {
        tell(&state);
        let progress = WorkProgress { state, since: Duration::ZERO, times: PhaseTimes::default() };
        Self { budget, tell, progress: Mutex::new(progress) }
    }

    /// How long each phase took.
    pub fn into_times(self) -> PhaseTimes {
        let now = self.budget.elapsed();
        let mut progress = self.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        progress.end_phase(now);
        progress.times
    }

    fn change(&self, change: impl FnOnce(&mut WorkState)) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut progress.state);
        (self.tell)(&progress.state);
    }
}

impl WorkProgress {
    fn end_phase(&mut self, now: Duration) {
        if let Some(phase) = self.state.phase {
            self.times.add(phase, now.saturating_sub(self.since));
        }
        self.since = now;
    }
}

impl<T: Fn(&WorkState) + Sync> Observer for WorkObserver<'_, T> {
    fn entered(&self, phase: Phase) {
        let now = self.budget.elapsed();
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.state.phase == Some(phase) {
            return;
        }
        progress.end_phase(now);
        progress.state.phase = Some(phase);
        (self.tell)(&progress.state);
    }

    fn start_finished(&self) {
        self.change(|state| state.starts += 1);
    }

    fn better(&self, candidate: &Candidate) {
        self.change(|state| state.improve(candidate.margin));
    }

    fn bounded(&self, bound: &CertifiedBound) {
        self.change(|state| state.tighten(bound.value()));
    }

    fn divided(&self, tree: &TreeState) {
        self.change(|state| state.divide(tree));
    }

    fn bracketed(&self, certified: f64, attacked: Option<f64>) {
        self.change(|state| state.radii = Some((certified, attacked)));
    }
}
