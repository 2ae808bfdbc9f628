//! For whoever wants to hear how an attack goes: progress bars, logs, plots. Nothing here prints.

use crate::bounds::CertifiedBound;
use crate::branch::TreeState;
use crate::problem::Candidate;

/// Hears of every improvement, on the thread that made it. To end a search early, raise the flag of its
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
