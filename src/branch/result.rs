//! What comes out of a tree, and what is heard of it on the way.

use std::time::Duration;

use crate::bounds::CertifiedBound;
use crate::observer::TreeState;
use crate::problem::Candidate;
use crate::proof::{Claim, ProvenLeaf};

/// Why branch and bound ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchStop {
    /// What was asked for is proven.
    Proven,
    /// So many nodes were bounded, or no open node can be split.
    Nodes,
    /// The time is up.
    Time,
    /// The budget was cancelled.
    Cancelled,
    /// The callback returned `Break`.
    Enough,
}

/// What happens in a tree.
#[derive(Clone, Copy, Debug)]
pub enum TreeEvent<'e> {
    /// There is a new incumbent.
    Better(&'e Candidate),
    /// Nodes were split.
    Divided(TreeState),
}

/// What a tree proved and found.
#[derive(Clone, Debug)]
pub struct BranchResult {
    /// No point of the set has a larger value.
    pub bound: CertifiedBound,
    /// The incumbent.
    pub best: Candidate,
    /// Nodes bounded, the root not counted.
    pub nodes: usize,
    /// The depth of the deepest node.
    pub depth: usize,
    /// Nodes that were still open.
    pub open: usize,
    /// When which bound was reached.
    pub trace: Vec<(Duration, f64)>,
    /// Why it ended.
    pub stop: BranchStop,
    /// The leaves and why their bounds hold, if that was asked for.
    pub leaves: Vec<ProvenLeaf>,
}

impl BranchResult {
    /// The proof, if leaves were kept.
    pub fn claim(&mut self) -> Option<Claim> {
        let (f32, bound) = (self.bound.holds_in_f32(), self.bound.value());
        let leaves = std::mem::take(&mut self.leaves);
        (!leaves.is_empty()).then(|| Claim::new(f32, bound, &leaves))
    }
}
