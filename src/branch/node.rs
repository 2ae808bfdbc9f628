//! Nodes of the tree.

use std::cmp::Ordering;
use std::sync::Arc;

use super::proven::ProvenBound;
use super::signs::SignNode;
use crate::bounds::{BoundedPart, OpenLeaf, ReluLine};
use crate::problem::Candidate;

/// What a node is split on.
pub enum BranchOn {
    /// How far a pixel moves, and what its neurons are bounded from. `None` for the root.
    Pixels(Option<PixelStart>),
    /// The sign of a neuron.
    Signs(Arc<SignNode>),
}

/// What a node takes over from the one that it was split from.
pub struct PixelStart {
    /// What is known of the neurons there.
    pub known: Arc<BoundedPart>,
    /// Where the node's bound is attained.
    pub point: Vec<f64>,
    /// The lines of its bound.
    pub lines: Vec<Vec<ReluLine>>,
}

/// A node that is still to be split.
pub struct Node {
    /// Its place in the cover.
    pub leaf: OpenLeaf,
    pub proven: ProvenBound,
    pub on: BranchOn,
    /// Order of making: of equal bounds the older node goes first.
    pub number: usize,
}

impl Node {
    /// No point of the node's part has a larger value.
    pub fn bound(&self) -> f64 {
        self.proven.bound.value()
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = self.bound().total_cmp(&other.bound());
        by_bound.then(other.number.cmp(&self.number))
    }
}

/// A node that was just bounded.
pub struct Child {
    pub proven: ProvenBound,
    /// `None` if it cannot be split.
    pub on: Option<BranchOn>,
}

/// What a node was split into.
pub struct Expansion {
    /// The node's place in the cover.
    pub leaf: OpenLeaf,
    /// Nodes that together cover it: the node itself if it could not be split.
    pub children: Vec<Child>,
    /// Nodes bounded.
    pub nodes: usize,
    /// The best point seen.
    pub point: Option<Candidate>,
}
