//! Progress of one problem, for progress bars, logs and plots. Nothing here prints.
//!
//! Search and branch report through callbacks of their own; the pipeline passes their reports on to an [`Observer`].

use crate::bounds::CertifiedBound;
use crate::problem::Candidate;

/// What a thread is doing for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Bounds of the neurons and of the objective over the whole set.
    Bounds,
    /// Starts, climbs and walks.
    Search,
    /// Branch and bound.
    Branch,
    /// The replay of the best point.
    Judge,
    /// Writing what belongs to the record.
    Files,
}

impl Phase {
    /// All phases, in their order.
    pub const ALL: [Self; 5] = [Self::Bounds, Self::Search, Self::Branch, Self::Judge, Self::Files];

    /// The name in progress and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bounds => "bounds",
            Self::Search => "search",
            Self::Branch => "branch",
            Self::Judge => "judge",
            Self::Files => "files",
        }
    }
}

/// Is told of every improvement, on the thread that made it. To end a search early, set the flag of its
/// [`Budget`](crate::budget::Budget).
pub trait Observer: Sync {
    /// Another phase begins.
    fn entered(&self, phase: Phase) {
        let _ = phase;
    }

    /// The search has followed one more start to its end.
    fn start_finished(&self) {}

    /// The search found a better point than its best so far; it is not judged yet.
    fn better(&self, candidate: &Candidate) {
        let _ = candidate;
    }

    /// A bound was proven.
    fn bounded(&self, bound: &CertifiedBound) {
        let _ = bound;
    }

    /// The true radius lies above `certified` and, if there is an adversary, at `attacked` or below.
    fn bracketed(&self, certified: f64, attacked: Option<f64>) {
        let _ = (certified, attacked);
    }

    /// Branch and bound has divided the set further.
    fn divided(&self, tree: &TreeState) {
        let _ = tree;
    }
}

/// Tells nobody.
impl Observer for () {}

/// The state of a branch-and-bound tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeState {
    /// Nodes bounded since the last report.
    pub more: usize,
    /// Nodes still to be divided.
    pub open: usize,
    /// The upper bound: no point of the set has a larger value.
    pub bound: f64,
    /// The value of the incumbent.
    pub best: f64,
}
