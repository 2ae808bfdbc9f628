//! Nodes with many unstable neurons: split by how much one pixel moves.
//!
//! A node is bounded anew, which takes most of the time, and then split as long as bounds made of its own are good enough to.

use std::sync::Arc;

use super::expand::Expander;
use super::node::{BranchOn, Child, Expansion, PixelStart};
use super::proven::ProvenBound;
use super::signs::SignTree;
use crate::bounds::{
    BoundOptions, GuideSource, LineBound, LinearBounds, OpenLeaf, PartStart, PixelPart, SpentMove,
};
use crate::network::Trace;
use crate::problem::Candidate;
use crate::search::ascend_from;
use crate::sets::{InputSet, Move, PixelSplit};

/// Splits within a node before its leaves are bounded anew: so long their bounds are made of the node's own.
const SPLITS: usize = 4;

/// Cuts toward the goal, one after the other, of which each has to close so much of what is left to it.
const CUTS: usize = 2;
const WORTHWHILE: f64 = 0.3;

/// A cut is tried where the bound is so near to the goal, as a share of what it gains from the centre on.
const NEAR_GOAL: f64 = 0.1;

/// Improvements of a bound, from fresh lines and from inherited ones.
const FRESH_STEPS: usize = 20;
const STEPS: usize = 4;

/// Amounts of splits are multiples of this, which adds to any 8-bit pixel exactly.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// The first so many nodes are climbed from, then every so many-th: where bounds are attained is seldom better than what a search has found.
const CLIMBS: usize = 64;
const CLIMB_EVERY: usize = 8;

/// A leaf within an expansion, told in the moves of its bounds.
struct PixelNode {
    part: PixelPart,
    proven: ProvenBound,
    /// Its lines are good to begin with in its halves.
    proof: LineBound,
}

impl PixelNode {
    fn bound(&self) -> f64 {
        self.proven.bound.value()
    }

    fn child(self, on: Option<BranchOn>) -> Child {
        Child { proven: self.proven, on }
    }
}

/// Bounds of a node's part, and what they prove.
struct BoundedSet {
    linear: Arc<LinearBounds>,
    proof: LineBound,
    proven: ProvenBound,
}

impl Expander<'_> {
    /// Bounds a node anew and splits it; by signs, if it has few neurons that are unstable.
    pub(super) fn split_by_pixels(
        &self,
        leaf: OpenLeaf,
        known: ProvenBound,
        start: Option<PixelStart>,
        number: usize,
    ) -> Expansion {
        let mut bounded = self.bounds_anew(&known, start);
        let climbs = number < CLIMBS || number.is_multiple_of(CLIMB_EVERY);
        let point = climbs.then(|| self.climb(bounded.linear.set(), &bounded.proof));
        if !self.has_few_unstable(&bounded.linear) {
            self.cut_toward_goal(&mut bounded);
        }
        let BoundedSet { linear, proof, proven } = bounded;
        if !self.is_met(proven.bound.value()) && self.has_few_unstable(&linear) {
            let tree = SignTree::new(self.problem, linear, self.keep, self.sign_trees);
            let mut expansion = Expansion { leaf, children: Vec::new(), nodes: 1, point };
            expansion.add(Arc::new(tree).root(proven, &self.node_goal(), self.budget));
            return expansion;
        }
        let first = PixelNode { part: linear.whole(), proven, proof };
        let (children, nodes) = self.split_worst(&linear, first);
        Expansion { leaf, children, nodes: nodes + 1, point }
    }

    fn has_few_unstable(&self, linear: &LinearBounds) -> bool {
        linear.has_all_intervals() && linear.neurons().unstable().nth(self.few).is_none()
    }

    /// Bounds of all neurons over a node's part.
    fn bounds_anew(&self, node: &ProvenBound, start: Option<PixelStart>) -> BoundedSet {
        let (objective, options) = (self.problem.weights(), self.bound_options(FRESH_STEPS));
        let (linear, lines) = match start {
            None => (Arc::clone(self.whole), Vec::new()),
            Some(PixelStart { known, point, lines }) => {
                // A node that signs may split soon needs all intervals.
                let many = known.neurons().unstable().nth(2 * self.few).is_some();
                let only_for = many.then_some(objective);
                let start =
                    PartStart { known: &known, guide: GuideSource::Point(&point), only_for };
                let linear = self.whole.of_part(node.bound.part(), &start, self.budget);
                (Arc::new(linear.expect("a part of the whole, exactly split")), lines)
            }
        };
        let proof = linear.prove_from(objective, &lines, &options, self.budget);
        let proven = ProvenBound::by_lines(&linear, &proof, self.keep).or_lower(node);
        BoundedSet { linear, proof, proven }
    }

    /// Narrows the intervals to the points that may be at least the goal, as long as that helps.
    fn cut_toward_goal(&self, bounded: &mut BoundedSet) {
        let objective = self.problem.weights();
        let cutoff = self.until.cutoff(self.incumbent);
        for _ in 0..CUTS {
            let before = bounded.proof.bound.value();
            let is_near = before - cutoff <= NEAR_GOAL * bounded.proof.gain();
            if self.is_met(bounded.proven.bound.value()) || !is_near || self.budget.is_spent() {
                break;
            }
            let goal = self.until.goal(self.incumbent);
            let cut = match bounded.linear.cut(&bounded.proof, goal) {
                Ok(cut) => Arc::new(cut),
                Err(empty) => {
                    bounded.proven = ProvenBound::of_empty(&empty, objective, self.keep);
                    break;
                }
            };
            let options = self.bound_options(FRESH_STEPS);
            let proof = cut.prove_from(objective, &bounded.proof.lines, &options, self.budget);
            let proven = ProvenBound::by_lines(&cut, &proof, self.keep).or_lower(&bounded.proven);
            let gained = before - proof.bound.value();
            *bounded = BoundedSet { linear: cut, proof, proven };
            if gained < WORTHWHILE * (before - cutoff) {
                break;
            }
        }
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
        let open = |leaf: PixelNode| {
            let known = Arc::clone(linear.bounded_part());
            let set = linear.set_of(leaf.part.part());
            let point = leaf.proof.point(set.as_ref().unwrap_or(linear.set()));
            let start = PixelStart { known, point, lines: leaf.proof.lines.clone() };
            leaf.child(Some(BranchOn::Pixels(Some(start))))
        };
        children.extend(leaves.into_iter().map(open));
        (children, nodes)
    }

    /// Bounds a half of a leaf by the lines that `linear` has.
    fn bound_half(&self, linear: &LinearBounds, leaf: &PixelNode, half: PixelPart) -> PixelNode {
        let (objective, options) = (self.problem.weights(), self.bound_options(STEPS));
        let proof = linear.within(&half).prove_near(objective, &leaf.proof, &options, self.budget);
        let proven = ProvenBound::by_lines(linear, &proof, self.keep);
        // What holds for a part holds for its halves.
        let proven = proven.or_lower(&leaf.proven);
        PixelNode { part: half, proven, proof }
    }

    /// Climbs, in the whole set, from where the bound of a part is attained.
    fn climb(&self, part: &InputSet, bound: &LineBound) -> Candidate {
        let mut trace = Trace::new(&self.problem.network);
        let start = self.problem.set.project(&bound.point(part));
        let start = self.problem.evaluate(start, &mut trace);
        ascend_from(self.problem, start, &mut trace, self.budget)
    }
}

/// Where to split: at half of what the bound spends on the pixel that it gains most by.
fn split_of(linear: &LinearBounds, leaf: &PixelNode) -> Option<PixelSplit> {
    let set = linear.set_of(leaf.part.part())?;
    let mut by_worth: Vec<&SpentMove> =
        leaf.proof.spending.iter().filter(|s| s.worth > 0.0).collect();
    by_worth.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    by_worth.into_iter().find_map(|spending| {
        let amount = ((spending.amount / 2.0) / GRAIN).round() * GRAIN;
        let divides = amount > 0.0 && amount < spending.amount;
        let Move { pixel, sign, .. } = spending.at;
        let split = PixelSplit { pixel, up: sign > 0.0, amount };
        (divides && set.split(split).is_some()).then_some(split)
    })
}
