//! The tree: its open nodes by their bounds, and the cover that turns the bounds of all nodes into one.

use std::collections::BinaryHeap;
use std::sync::Arc;

use super::node::{BranchOn, Child, Expansion, Node};
use super::proven::ProvenBound;
use super::signs::SignTreeCount;
use crate::bounds::{CertifiedBound, ClosedLeaf, CompleteCover, Cover, OpenLeaf};
use crate::proof::{Certificate, ProvenLeaf};

/// Nodes expanded at once. Always the same, so that the tree does not depend on the number of threads.
const BATCH: usize = 4;

/// With so many open nodes, or so many sign trees (tens of MB each on large networks), new nodes go before old ones, so that there will be
/// fewer.
const MOST_OPEN: usize = 50_000;
const MOST_SIGN_TREES: usize = 14;

/// All nodes.
pub struct Tree {
    cover: Cover<Arc<Certificate>>,
    /// Open nodes, the largest bound first.
    open: BinaryHeap<Node>,
    /// Open nodes that go before all others, the last one first: when there are too many to be kept.
    dive: Vec<Node>,
    /// The largest bound of a node that is not low enough and cannot be split.
    unsplittable: Option<f64>,
    /// Nodes made.
    made: usize,
    depth: usize,
    sign_trees: SignTreeCount,
}

impl Tree {
    /// # Panics
    /// When the bound is not that of a whole set.
    pub fn new(root: ProvenBound) -> Self {
        let (cover, leaf) = Cover::new(&root.bound).expect("a root has the bound of the whole set");
        let node = Node { leaf, proven: root, on: BranchOn::Pixels(None), number: 0 };
        Self {
            cover,
            open: BinaryHeap::from([node]),
            dive: Vec::new(),
            unsplittable: None,
            made: 0,
            depth: 0,
            sign_trees: SignTreeCount::default(),
        }
    }

    /// The nodes to split next; `is_met` says which bounds are low enough.
    pub fn next_batch(&mut self, is_met: &impl Fn(f64) -> bool) -> Vec<Node> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let Some(node) = self.dive.pop().or_else(|| self.open.pop()) else { break };
            // There may be a better incumbent since.
            if is_met(node.bound()) { self.close(node.leaf, node.proven) } else { batch.push(node) }
        }
        batch
    }

    /// Takes nodes back that were not split.
    pub fn put_back(&mut self, batch: Vec<Node>) {
        self.open.extend(batch);
    }

    /// Puts children in the place of their parent.
    ///
    /// # Panics
    /// When they do not cover it.
    pub fn add(&mut self, expansion: Expansion, is_met: &impl Fn(f64) -> bool) {
        let Expansion { leaf, children, .. } = expansion;
        let bounds: Vec<_> = children.iter().map(|child| &child.proven.bound).collect();
        let leaves = self.cover.replace(leaf, &bounds).expect("children cover their parent");
        for (leaf, child) in leaves.into_iter().zip(children) {
            self.add_child(leaf, child, is_met);
        }
    }

    fn add_child(
        &mut self,
        leaf: OpenLeaf,
        Child { proven, on }: Child,
        is_met: &impl Fn(f64) -> bool,
    ) {
        let bound = proven.bound.value();
        self.depth = self.depth.max(proven.bound.part().depth());
        self.made += 1;
        match on {
            _ if is_met(bound) => self.close(leaf, proven),
            None => {
                self.unsplittable = Some(self.unsplittable.map_or(bound, |most| most.max(bound)));
                self.close(leaf, proven);
            }
            Some(on) => {
                let node = Node { leaf, proven, on, number: self.made };
                let is_full =
                    self.open.len() >= MOST_OPEN || self.sign_trees.get() > MOST_SIGN_TREES;
                if is_full { self.dive.push(node) } else { self.open.push(node) }
            }
        }
    }

    fn close(&mut self, leaf: OpenLeaf, proven: ProvenBound) {
        self.cover.close(leaf, proven.certificate);
    }

    /// The largest bound of a node that is not low enough and cannot be split.
    pub fn unsplittable(&self) -> Option<f64> {
        self.unsplittable
    }

    /// Open nodes.
    pub fn len(&self) -> usize {
        self.open.len() + self.dive.len()
    }

    /// The depth of the deepest node.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The sign trees of its nodes.
    pub fn sign_trees(&self) -> &SignTreeCount {
        &self.sign_trees
    }

    /// No point of the set has a larger value.
    pub fn bound(&self) -> f64 {
        self.cover.value()
    }

    /// The bound of the whole set, and the leaves if their evidence was kept.
    pub fn finish(mut self) -> (CertifiedBound, Vec<ProvenLeaf>) {
        let open = std::mem::take(&mut self.open).into_vec();
        for Node { leaf, proven, .. } in open.into_iter().chain(std::mem::take(&mut self.dive)) {
            self.close(leaf, proven);
        }
        let CompleteCover { bound, leaves } = self.cover.complete().expect("every node is closed");
        let leaf = |ClosedLeaf { part, bound, evidence }| ProvenLeaf {
            part,
            bound,
            certificate: evidence,
        };
        (bound, leaves.into_iter().map(leaf).collect())
    }
}
