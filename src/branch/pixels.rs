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
use crate::network::{ActivationPattern, Trace};
use crate::problem::{Candidate, Problem};
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

/// A value that is so near to a whole number is one, as far as an LP can tell.
const FRACTIONAL: f64 = 1e-6;

/// What a slope counts for at least: an input that the objective does not change with at a point may change it elsewhere.
const SMALL_SLOPE: f64 = 1e-3;

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
        if linear.set().open_integers().next().is_some() {
            return self.split_with_integers(leaf, BoundedSet { linear, proof, proven }, point);
        }
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

    /// Splits a node in which inputs that take whole numbers only have several left. With few unstable neurons the relaxation's LP bounds it
    /// first, and says between which of them to divide.
    fn split_with_integers(
        &self,
        leaf: OpenLeaf,
        BoundedSet { linear, proof, mut proven }: BoundedSet,
        mut point: Option<Candidate>,
    ) -> Expansion {
        let mut relaxed = None;
        if !self.is_met(proven.bound.value()) && self.has_few_unstable(&linear) {
            let tree = SignTree::new(self.problem, Arc::clone(&linear), self.keep, self.sign_trees);
            let node = Arc::new(tree).root(proven, &self.node_goal(), self.budget);
            (proven, relaxed) = (node.proven, node.point);
            point = relaxed.clone().filter(|_| point.is_some()).or(point);
        }
        let first = PixelNode { part: linear.whole(), proven, proof };
        let (children, nodes) = match relaxed {
            Some(relaxed) => self.split_integer(&linear, first, &relaxed.point),
            None => self.split_worst(&linear, first),
        };
        Expansion { leaf, children, nodes: nodes + 1, point }
    }

    /// Divides a node at a whole number, where the relaxation is largest.
    fn split_integer(
        &self,
        linear: &LinearBounds,
        leaf: PixelNode,
        relaxed: &[f64],
    ) -> (Vec<Child>, usize) {
        let is_open = !self.is_met(leaf.bound()) && !self.budget.is_spent();
        let split = integer_split(self.problem, linear.set(), relaxed).filter(|_| is_open);
        match split.and_then(|split| leaf.part.split(split)) {
            None if is_open => (vec![leaf.child(None)], 0),
            None => (vec![self.open_child(linear, leaf)], 0),
            Some(halves) => {
                let halves = halves.map(|half| self.bound_half(linear, &leaf, half));
                (halves.map(|half| self.open_child(linear, half)).into(), 2)
            }
        }
    }

    /// A leaf of an expansion as a node that can be split further.
    fn open_child(&self, linear: &LinearBounds, leaf: PixelNode) -> Child {
        let known = Arc::clone(linear.bounded_part());
        let set = linear.set_of(leaf.part.part());
        let point = leaf.proof.point(set.as_ref().unwrap_or(linear.set()));
        let start = PixelStart { known, point, lines: leaf.proof.lines.clone() };
        leaf.child(Some(BranchOn::Pixels(Some(start))))
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
        children.extend(leaves.into_iter().map(|leaf| self.open_child(linear, leaf)));
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

    /// Climbs, in the whole set, from where the bound of a part is attained. Where whole numbers have to be, that point will be rounded.
    fn climb(&self, part: &InputSet, bound: &LineBound) -> Candidate {
        let mut trace = Trace::new(&self.problem.network);
        let start = self.problem.set.project(&bound.point(part));
        let start = self.problem.evaluate(start, &mut trace);
        if part.open_integers().next().is_some() {
            return start;
        }
        ascend_from(self.problem, start, &mut trace, self.budget)
    }
}

/// Where to split: at half of what the bound spends on the pixel that it gains most by. Whole numbers are divided in the middle, those with the
/// most of them if the bound gains by none.
fn split_of(linear: &LinearBounds, leaf: &PixelNode) -> Option<PixelSplit> {
    let set = linear.set_of(leaf.part.part())?;
    let mut by_worth: Vec<&SpentMove> =
        leaf.proof.spending.iter().filter(|s| s.worth > 0.0).collect();
    by_worth.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    let by_worth = by_worth.into_iter().find_map(|spending| {
        let Move { pixel, sign, is_integer, .. } = spending.at;
        if is_integer {
            return middle_split(&set, pixel);
        }
        let amount = ((spending.amount / 2.0) / GRAIN).round() * GRAIN;
        let divides = amount > 0.0 && amount < spending.amount;
        let split = PixelSplit { pixel, up: sign > 0.0, amount };
        (divides && set.split(split).is_some()).then_some(split)
    });
    by_worth.or_else(|| {
        let width = |&i: &usize| {
            let (lower, upper) = set.range(i);
            upper - lower
        };
        let widest = set.open_integers().max_by(|a, b| width(a).total_cmp(&width(b)))?;
        middle_split(&set, widest)
    })
}

/// The whole numbers of a pixel divided in the middle. `None` if there is one only.
fn middle_split(set: &InputSet, pixel: usize) -> Option<PixelSplit> {
    let (lower, upper) = set.range(pixel);
    (lower < upper).then(|| split_from(set, pixel, (lower + 0.5 * (upper - lower)).floor() + 1.0))
}

/// The whole numbers of a pixel divided into those from `first` on and those below.
fn split_from(set: &InputSet, pixel: usize, first: f64) -> PixelSplit {
    let centre = set.centre()[pixel];
    if first > centre {
        PixelSplit { pixel, up: true, amount: first - centre }
    } else {
        PixelSplit { pixel, up: false, amount: centre - first + 1.0 }
    }
}

/// Between which whole numbers to divide, from where a relaxation is largest: those that lie around a value that is not one, where the objective is
/// steep; if there is none, those of a pixel in which it is, with the value on one side.
fn integer_split(problem: &Problem, set: &InputSet, relaxed: &[f64]) -> Option<PixelSplit> {
    let mut trace = Trace::new(&problem.network);
    problem.network.forward(relaxed, &mut trace);
    let pattern = ActivationPattern::at(&trace);
    let gradient = problem.network.gradient(problem.weights(), &pattern);
    let distance = |i: usize| (relaxed[i] - relaxed[i].round()).abs();
    let score = |&i: &usize| {
        let (lower, upper) = set.range(i);
        let slope = gradient[i].abs() + SMALL_SLOPE;
        (distance(i) * slope, (upper - lower) * slope)
    };
    let better = |a: &usize, b: &usize| {
        let ((of_a, wide_a), (of_b, wide_b)) = (score(a), score(b));
        of_a.total_cmp(&of_b).then(wide_a.total_cmp(&wide_b))
    };
    let fractional = set.open_integers().filter(|&i| distance(i) > FRACTIONAL).max_by(better);
    if let Some(pixel) = fractional {
        return Some(split_from(set, pixel, relaxed[pixel].floor() + 1.0));
    }
    let pixel = set.open_integers().max_by(|a, b| score(a).1.total_cmp(&score(b).1))?;
    let (lower, upper) = set.range(pixel);
    let value = relaxed[pixel].round().clamp(lower, upper);
    Some(split_from(set, pixel, if value > lower { value } else { value + 1.0 }))
}
