//! Progress of one problem, for progress bars, logs and plots. Nothing here prints.
//!
//! Search and branch report through callbacks of their own; the pipeline passes their reports on to an [`Observer`].

use crate::bounds::CertifiedBound;
use crate::problem::Candidate;

/// Is told of every improvement, on the thread that made it. To end a search early, set the flag of its
/// [`Budget`](crate::budget::Budget).
pub trait Observer: Sync {
    /// The search found a better point than its best so far; it is not judged yet.
    fn better(&self, candidate: &Candidate) {
        let _ = candidate;
    }

    /// A bound was proven.
    fn bounded(&self, bound: &CertifiedBound) {
        let _ = bound;
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
