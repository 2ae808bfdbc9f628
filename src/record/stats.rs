//! What the pipeline did for one record.

use serde::{Deserialize, Serialize};

use crate::solve::{Solution, Stop};

/// What the pipeline did, and why it ended: fields that records of several kinds have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SolveStats {
    /// Number of starts searched from.
    pub starts: usize,
    /// Number of linear regions walked through.
    pub regions: usize,
    /// Number of LPs (with `--method milp`, MILPs) solved.
    pub lps: usize,
    /// Simplex iterations in all of them.
    pub iterations: usize,
    /// Parts of the set bounded, with `--branch`.
    pub nodes: usize,
    /// Splits that led to one of them, at most.
    pub depth: usize,
    /// Parts that were still to be split.
    pub open_nodes: usize,
    /// Seconds and the bound that was reached then, with `--branch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound_trace: Vec<(f64, f64)>,
    /// Time spent on this record.
    pub seconds: f64,
    /// Time until the best point was found.
    pub seconds_to_best: f64,
    /// Why work ended.
    pub stop: Stop,
}

impl SolveStats {
    /// Nothing was done.
    pub fn none(stop: Stop) -> Self {
        Self {
            starts: 0,
            regions: 0,
            lps: 0,
            iterations: 0,
            nodes: 0,
            depth: 0,
            open_nodes: 0,
            bound_trace: Vec::new(),
            seconds: 0.0,
            seconds_to_best: 0.0,
            stop,
        }
    }

    /// Of a solution that took so many seconds.
    pub fn new(solution: &Solution, seconds: f64) -> Self {
        let (search, tree) = (&solution.search, &solution.tree);
        Self {
            starts: search.starts,
            regions: search.work.regions,
            lps: search.work.lps,
            iterations: search.work.iterations,
            nodes: tree.nodes,
            depth: tree.depth,
            open_nodes: tree.open,
            bound_trace: tree.seconds_and_bounds(),
            seconds,
            seconds_to_best: search.time_to_best.as_secs_f64(),
            stop: solution.stop,
        }
    }
}
