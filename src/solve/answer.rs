//! What is known in the end, and why work ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::CertifiedBound;
use crate::branch::{BranchResult, BranchStop};
use crate::judge::{Judgement, Verdict};
use crate::proof::Claim;
use crate::search::{SearchResult, SearchStop};

/// The answer to one problem.
#[derive(Clone, Debug)]
pub struct Solution {
    /// What the judge says about the threshold, if there is one.
    pub verdict: Option<Verdict>,
    /// The best point as it would be stored, witness or not. Its value is the excess over the threshold.
    pub judgement: Judgement,
    /// No point of the set has a larger value. None when no bound was needed.
    pub bound: Option<CertifiedBound>,
    /// What the search did.
    pub search: SearchResult,
    /// What branch and bound did.
    pub tree: TreeSummary,
    /// What proves the bounds, if that was to be kept: at most one claim in exact arithmetic and one in f32.
    pub claims: Vec<Claim>,
    /// Why work ended.
    pub stop: Stop,
    /// The seed of the search.
    pub seed: u64,
}

/// Why work on a problem ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// So many starts in a row brought nothing.
    NoGain,
    /// The time is up.
    Time,
    /// The budget's flag was set.
    Interrupted,
    /// A witness was found, and one is enough.
    First,
    /// The value meets the bound.
    Optimal,
    /// The same, but the point loses more than the gap that was asked for when it is stored in f32.
    Rounded,
    /// There is no witness, and no more was asked.
    Robust,
    /// A MILP solver claims that nothing is better: not a proof.
    Claimed,
    /// The solver gave up.
    Trouble,
    /// So many nodes were bounded.
    Nodes,
    /// There is nothing to ask: the record says why.
    Error,
}

impl Stop {
    /// Why a search ended; `on_break` if its callback returned Break.
    pub(super) fn of_search(stop: SearchStop, on_break: Self) -> Self {
        match stop {
            SearchStop::Patience => Self::NoGain,
            SearchStop::Time => Self::Time,
            SearchStop::Cancelled => Self::Interrupted,
            SearchStop::Enough => on_break,
            SearchStop::Claimed => Self::Claimed,
            SearchStop::Trouble | SearchStop::Refused => Self::Trouble,
        }
    }

    /// Why branch and bound ended that was to show `proven`.
    pub(super) fn of_branch(stop: BranchStop, proven: Self) -> Self {
        match stop {
            BranchStop::Proven => proven,
            BranchStop::Nodes => Self::Nodes,
            BranchStop::Time => Self::Time,
            BranchStop::Cancelled => Self::Interrupted,
            BranchStop::Enough => Self::First,
        }
    }

    /// Whether there is a reason, and time, to branch.
    pub(super) fn may_branch(self) -> bool {
        let finished = [Self::First, Self::Robust, Self::Optimal, Self::Time, Self::Interrupted];
        !finished.contains(&self)
    }

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoGain => "no_gain",
            Self::Time => "time",
            Self::Interrupted => "interrupted",
            Self::First => "first",
            Self::Optimal => "optimal",
            Self::Rounded => "rounded",
            Self::Robust => "robust",
            Self::Claimed => "claimed",
            Self::Trouble => "trouble",
            Self::Nodes => "nodes",
            Self::Error => "error",
        }
    }
}

/// What branch and bound did: nothing, by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeSummary {
    /// Nodes bounded.
    pub nodes: usize,
    /// The depth of the deepest.
    pub depth: usize,
    /// Nodes that were still open.
    pub open: usize,
    /// Time spent on all that.
    pub time: Duration,
    /// When which bound was reached, from the start of the work on this problem.
    pub trace: Vec<(Duration, f64)>,
}

impl TreeSummary {
    pub(super) fn add(&mut self, result: &BranchResult, time: Duration) {
        self.time += time;
        self.nodes += result.nodes;
        self.depth = self.depth.max(result.depth);
        self.open += result.open;
        self.trace.extend(&result.trace);
    }

    /// The trace for records.
    pub fn seconds_and_bounds(&self) -> Vec<(f64, f64)> {
        self.trace.iter().map(|&(at, bound)| (at.as_secs_f64(), bound)).collect()
    }
}
