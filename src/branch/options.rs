//! How far a tree is grown.

/// How far below the value that a bound has to be below the goal of cuts is, relatively.
const GOAL_BELOW: f64 = 1e-6;

/// When the tree is done.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// The bound is below this.
    Below(f64),
    /// The bound is at most this much above the incumbent.
    Gap(f64),
}

impl Until {
    /// Whether a bound is low enough when the incumbent has this value.
    pub(super) fn is_met(self, bound: f64, incumbent: f64) -> bool {
        match self {
            Self::Below(value) => bound < value,
            Self::Gap(gap) => bound <= incumbent + gap,
        }
    }

    /// What a cut leaves out of account: a bound of this is low enough.
    pub(super) fn goal(self, incumbent: f64) -> f64 {
        match self {
            Self::Below(value) => value - GOAL_BELOW * value.abs().max(1.0),
            // Half of the gap, so that what is stored in f32 still meets it.
            Self::Gap(gap) => incumbent + 0.5 * gap,
        }
    }

    /// Bounds need not be improved once they are below this.
    pub(super) fn cutoff(self, incumbent: f64) -> f64 {
        match self {
            Self::Below(value) => value,
            Self::Gap(gap) => incumbent + gap,
        }
    }
}

/// What [`BranchOptions::few`] is where nobody knows better.
pub const FEW: usize = 120;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct BranchOptions {
    /// Nodes bounded at most.
    pub nodes: usize,
    /// When to stop before.
    pub until: Until,
    /// Whether to keep the evidence of the leaves for a proof.
    pub keep: bool,
    /// A node with at most so many unstable neurons is split by their signs: their LPs take milliseconds.
    pub few: usize,
    /// Whether nodes are bounded on all threads. The result is the same.
    pub parallel: bool,
}
