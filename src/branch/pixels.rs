//! Nodes with many unstable neurons: split by how much one pixel moves.
//!
//! A node is bounded anew, which takes most of the time, and then split as long as bounds made of its own are good enough to.

use std::sync::Arc;

use super::expand::Expander;
use super::node::{BranchOn, Child, Expansion, Node};
use super::proven::ProvenBound;
use super::signs::SignTree;
use crate::bounds::{BoundOptions, LineBound, LinearBounds, PixelPart, ReluLine, SpentMove};
use crate::network::Trace;
use crate::problem::Candidate;
use crate::search::ascend_from;
use crate::sets::{InputSet, Move, PixelSplit};

/// Splits within a node before its leaves are bounded anew: so long their bounds are made of the node's own.
const SPLITS: usize = 8;

/// Improvements of a bound, from fresh lines and from inherited ones.
const FRESH_STEPS: usize = 20;
const STEPS: usize = 8;

/// Amounts of splits are multiples of this, which adds to any 8-bit pixel exactly.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// A leaf within an expansion, told in the moves of its bounds.
struct PixelNode {
    part: PixelPart,
    proven: ProvenBound,
    spending: Vec<SpentMove>,
    /// What its bound is made of: good to begin with in its halves.
    lines: Vec<Vec<ReluLine>>,
}

impl PixelNode {
    fn bound(&self) -> f64 {
        self.proven.bound.value()
    }

    fn child(self, on: Option<BranchOn>) -> Child {
        Child { proven: self.proven, on }
    }
}

impl Expander<'_> {
    /// Bounds a node anew and splits it; by signs, if it has few neurons that are unstable.
    pub(super) fn split_by_pixels(&self, node: Node) -> Expansion {
        let Node { leaf, proven: known, .. } = node;
        let linear = self.bounds_anew(&known);
        let depth = linear.part().depth();
        let proof =
            linear.prove(self.problem.weights(), &self.bound_options(FRESH_STEPS), self.budget);
        let point = Some(self.climb(linear.set(), &proof.spending));
        let proven = ProvenBound::by_lines(&proof, depth, self.keep).or_lower(&known);
        let is_open = !self.is_met(proven.bound.value());
        if is_open && linear.neurons().unstable().count() <= self.few {
            let tree = SignTree::new(self.problem, linear, self.keep, self.sign_trees);
            let mut expansion = Expansion { leaf, children: Vec::new(), nodes: 1, point };
            expansion.add(Arc::new(tree).root(proven, self.budget));
            return expansion;
        }
        let LineBound { spending, lines, .. } = proof;
        let first = PixelNode { part: linear.whole(), proven, spending, lines };
        let (children, nodes) = self.split_worst(&linear, first);
        Expansion { leaf, children, nodes, point }
    }

    /// Bounds of all neurons over a node's part.
    fn bounds_anew(&self, node: &ProvenBound) -> Arc<LinearBounds> {
        let part = node.bound.part();
        if part.depth() == 0 && self.whole.is_splittable() {
            return Arc::clone(self.whole);
        }
        Arc::new(self.whole.of_part(part, self.budget).expect("a part of the whole, exactly split"))
    }

    fn bound_options(&self, steps: usize) -> BoundOptions {
        BoundOptions { steps, cutoff: self.until.cutoff(self.incumbent) }
    }

    /// Splits the leaf with the largest bound again and again, each half bounded by what `linear` says within it. How many were bounded.
    fn split_worst(&self, linear: &LinearBounds, first: PixelNode) -> (Vec<Child>, usize) {
        let (mut leaves, mut children, mut nodes) = (vec![first], Vec::new(), 0);
        for _ in 0..SPLITS {
            let bound = |k: usize| leaves[k].bound();
            let worst = (0..leaves.len()).max_by(|&a, &b| bound(a).total_cmp(&bound(b)));
            let open = |k: &usize| !self.is_met(bound(*k)) && !self.budget.is_spent();
            let Some(worst) = worst.filter(open) else { break };
            let leaf = leaves.swap_remove(worst);
            let halves = split_of(linear, &leaf).and_then(|split| leaf.part.split(split));
            let Some(halves) = halves else {
                children.push(leaf.child(None));
                continue;
            };
            nodes += halves.len();
            leaves.extend(halves.map(|half| self.bound_half(linear, &leaf, half)));
        }
        let open = |leaf: PixelNode| leaf.child(Some(BranchOn::Pixels));
        children.extend(leaves.into_iter().map(open));
        (children, nodes)
    }

    /// Bounds a half of a leaf by the lines that `linear` has.
    fn bound_half(&self, linear: &LinearBounds, leaf: &PixelNode, half: PixelPart) -> PixelNode {
        let (objective, options) = (self.problem.weights(), self.bound_options(STEPS));
        let proof = linear.within(&half).prove_from(objective, &leaf.lines, &options, self.budget);
        let proven = ProvenBound::by_lines(&proof, linear.part().depth(), self.keep);
        // What holds for a part holds for its halves.
        let proven = proven.or_lower(&leaf.proven);
        let LineBound { spending, lines, .. } = proof;
        PixelNode { part: half, proven, spending, lines }
    }

    /// Climbs, in the whole set, from where the bound of a part is attained.
    fn climb(&self, part: &InputSet, spending: &[SpentMove]) -> Candidate {
        let mut point = part.centre().to_vec();
        for SpentMove { at, amount, .. } in spending {
            point[at.pixel] += at.sign * amount;
        }
        let mut trace = Trace::new(&self.problem.network);
        let start = self.problem.evaluate(self.problem.set.project(&point), &mut trace);
        ascend_from(self.problem, start, &mut trace, self.budget)
    }
}

/// Where to split: at half of what the bound spends on the pixel that it gains most by.
fn split_of(linear: &LinearBounds, leaf: &PixelNode) -> Option<PixelSplit> {
    let set = linear.set_of(leaf.part.part())?;
    let mut by_worth: Vec<&SpentMove> = leaf.spending.iter().filter(|s| s.worth > 0.0).collect();
    by_worth.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    by_worth.into_iter().find_map(|spending| {
        let amount = ((spending.amount / 2.0) / GRAIN).round() * GRAIN;
        let divides = amount > 0.0 && amount < spending.amount;
        let Move { pixel, sign, .. } = spending.at;
        let split = PixelSplit { pixel, up: sign > 0.0, amount };
        (divides && set.split(split).is_some()).then_some(split)
    })
}
