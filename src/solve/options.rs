//! How problems are solved.

use serde::{Deserialize, Serialize};

use crate::network::Network;
use crate::problem::Objective;
use crate::search::SearchOptions;
use crate::tolerance::OPTIMAL_GAP;

/// How to solve.
#[derive(Clone, Copy, Debug, Default)]
pub struct SolveOptions {
    /// How to search.
    pub search: SearchOptions,
    /// What is wanted.
    pub goal: Goal,
    /// The verdict is about whether the objective exceeds this. None: there is no verdict, only a value and a bound.
    pub threshold: Option<f64>,
    /// Whether to branch where the bound of the whole set is not enough.
    pub branch: Option<BranchLimits>,
    /// Whether to keep what proves the bounds.
    pub proofs: bool,
}

impl SolveOptions {
    /// Below this gap a value counts as optimal.
    pub fn gap(&self) -> f64 {
        let gap = self.branch.map_or(OPTIMAL_GAP, |branch| branch.gap);
        if gap.is_finite() { gap } else { OPTIMAL_GAP }
    }

    /// The objective's excess over the threshold, if there is one.
    pub(super) fn above_threshold(&self, objective: &Objective) -> Objective {
        let constant = objective.constant - self.threshold.unwrap_or(0.0);
        Objective { constant, ..objective.clone() }
    }
}

/// Nodes for a verdict by default, at most and at least.
const MOST_NODES: usize = 250;
const FEWEST_NODES: usize = 10;

/// Up to this many ReLUs times weights an attack gets the most nodes; 784-500-500-10 has 6e8.
const NODE_SIZE: f64 = 1e9;

/// How far to branch.
#[derive(Clone, Copy, Debug)]
pub struct BranchLimits {
    /// Nodes bounded at most.
    pub nodes: usize,
    /// Below this gap a value counts as optimal. Infinite: branch for the verdict alone.
    pub gap: f64,
    /// Whether nodes are bounded on all threads: good where there are fewer problems than threads. Otherwise a thread that waits would begin
    /// another problem, and the clock of this one would run on.
    pub parallel: bool,
}

impl BranchLimits {
    /// Nodes for a verdict if nobody says otherwise: two or three seconds on the 2×500 model. A node bounds neurons, and each takes passes
    /// through the network: larger networks get fewer nodes.
    pub fn default_nodes(network: &Network) -> usize {
        let size = network.relu_count() as f64 * network.parameters() as f64;
        (MOST_NODES as f64 * (NODE_SIZE / size).min(1.0)).ceil().max(FEWEST_NODES as f64) as usize
    }

    /// To decide a verdict, and no more.
    pub fn for_verdict(nodes: usize, parallel: bool) -> Self {
        Self { nodes, gap: f64::INFINITY, parallel }
    }
}

/// When an answer is good enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// The largest value and the smallest bound.
    #[default]
    Optimum,
    /// A witness above the threshold, or a bound below it.
    Verdict,
}

impl Goal {
    /// The name in options and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimum => "optimum",
            Self::Verdict => "verdict",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::network;

    #[test]
    fn larger_networks_get_fewer_nodes_by_default() {
        let nodes = |widths: &[usize]| BranchLimits::default_nodes(&network(widths, 1));
        assert_eq!(nodes(&[784, 500, 500, 10]), MOST_NODES);
        let wider = nodes(&[100, 1000, 1000, 10]);
        assert!((FEWEST_NODES + 1..MOST_NODES).contains(&wider), "{wider}");
        assert_eq!(nodes(&[10, 2500, 2500, 10]), FEWEST_NODES);
    }
}
