//! A node is bounded and split.

use std::sync::Arc;

use super::node::{BranchOn, Child, Expansion, Node};
use super::options::Until;
use super::proven::ProvenBound;
use super::signs::{BoundedNode, NodeGoal, SignNode, SignTreeCount};
use crate::bounds::{LinearBounds, OpenLeaf};
use crate::budget::Budget;
use crate::problem::{Candidate, Problem};

/// What every expansion needs to know.
pub struct Expander<'e> {
    pub problem: &'e Problem,
    /// Bounds over the whole set.
    pub whole: &'e Arc<LinearBounds>,
    pub until: Until,
    /// The value of the incumbent.
    pub incumbent: f64,
    /// Whether evidence is kept.
    pub keep: bool,
    /// See [`BranchOptions::few`](super::BranchOptions::few).
    pub few: usize,
    pub sign_trees: &'e SignTreeCount,
    pub budget: &'e Budget<'e>,
}

impl Expander<'_> {
    /// Whether a bound is low enough.
    pub fn is_met(&self, bound: f64) -> bool {
        self.until.is_met(bound, self.incumbent)
    }

    /// What nodes that are split by signs are bounded for.
    pub(super) fn node_goal(&self) -> NodeGoal {
        let Self { until, incumbent, .. } = *self;
        NodeGoal { until, incumbent }
    }

    /// Splits a node, and bounds what it is split into.
    pub fn expand(&self, node: Node) -> Expansion {
        let Node { leaf, proven, on, number } = node;
        match on {
            BranchOn::Pixels(start) => self.split_by_pixels(leaf, proven, start, number),
            BranchOn::Signs(sign_node) => self.split_by_sign(leaf, proven, &sign_node),
        }
    }

    fn split_by_sign(
        &self,
        leaf: OpenLeaf,
        proven: ProvenBound,
        sign_node: &SignNode,
    ) -> Expansion {
        let Some(halves) = sign_node.split(&proven, &self.node_goal(), self.budget) else {
            return Expansion {
                leaf,
                children: vec![Child { proven, on: None }],
                nodes: 0,
                point: None,
            };
        };
        let mut expansion = Expansion { leaf, children: Vec::new(), nodes: 2, point: None };
        for half in halves {
            expansion.add(half);
        }
        expansion
    }
}

impl Expansion {
    /// Adds a node that is split by signs.
    pub fn add(&mut self, BoundedNode { proven, point, sign_node }: BoundedNode) {
        let margin = |point: &Option<Candidate>| point.as_ref().map(|point| point.margin);
        if margin(&point) > margin(&self.point) {
            self.point = point;
        }
        self.children.push(Child { proven, on: sign_node.map(BranchOn::Signs) });
    }
}
