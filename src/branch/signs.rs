//! Nodes with few unstable neurons: split by their signs, and bounded by the multipliers of the relaxation's LP, until nothing is left
//! to be relaxed.
//!
//! The LP only proposes multipliers; the bound is what [`LinearBounds::dual_bound`] makes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::options::Until;
use super::proven::ProvenBound;
use crate::bounds::{
    DualBound, Interval, LinearBounds, Multipliers, NeuronBounds, NeuronDuals, Sign, SignedPart,
    SplitSide, Stability,
};
use crate::budget::Budget;
use crate::encode::{PartRelaxation, PartSolution, WarmStart};
use crate::network::{NeuronId, Trace};
use crate::problem::{Candidate, Problem};
use crate::proof::Evidence;

/// What bounds are made for: when they are low enough, and what cuts leave out of account.
#[derive(Clone, Copy)]
pub struct NodeGoal {
    pub until: Until,
    pub incumbent: f64,
}

impl NodeGoal {
    fn is_met(&self, bound: f64) -> bool {
        self.until.is_met(bound, self.incumbent)
    }

    fn goal(&self) -> f64 {
        self.until.goal(self.incumbent)
    }
}

/// A cut that makes at least this share of the unstable neurons stable is followed by another LP.
const AGAIN: f64 = 0.25;

/// How many [`SignTree`]s there are.
#[derive(Clone, Default)]
pub struct SignTreeCount(Arc<AtomicUsize>);

impl SignTreeCount {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A part that is split by neurons' signs, with what all nodes below share.
pub struct SignTree {
    problem: Problem,
    linear: Arc<LinearBounds>,
    /// Whether evidence is kept.
    keep: bool,
    count: SignTreeCount,
}

/// A node of it.
pub struct SignNode {
    tree: Arc<SignTree>,
    known: SignedPart,
    /// The neuron to split on; `None` if every one that the bound uses is exact.
    next: Option<NeuronId>,
    warm_start: WarmStart,
    multipliers: Multipliers,
}

/// A node with its bound.
pub struct BoundedNode {
    pub proven: ProvenBound,
    /// Where the relaxation is largest.
    pub point: Option<Candidate>,
    /// What it takes to split it, if it can be.
    pub sign_node: Option<Arc<SignNode>>,
}

impl BoundedNode {
    /// A node that is not looked at further.
    fn leaf(proven: ProvenBound) -> Self {
        Self { proven, point: None, sign_node: None }
    }
}

impl Drop for SignTree {
    fn drop(&mut self) {
        self.count.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SignTree {
    /// The part that `linear` are bounds of. It is counted as long as a node refers to it.
    pub fn new(
        problem: &Problem,
        linear: Arc<LinearBounds>,
        keep: bool,
        count: &SignTreeCount,
    ) -> Self {
        count.0.fetch_add(1, Ordering::Relaxed);
        let problem = Problem { set: linear.set().clone(), ..problem.clone() };
        Self { problem, linear, keep, count: count.clone() }
    }

    /// The node of the whole part, which is known to have a bound.
    pub fn root(
        self: Arc<Self>,
        known: ProvenBound,
        node_goal: &NodeGoal,
        budget: &Budget,
    ) -> BoundedNode {
        self.bound(&self.linear, None, known, node_goal, budget)
    }

    /// What multipliers prove of a part below, with evidence if that is kept.
    fn dual_bound(
        &self,
        linear: &LinearBounds,
        multipliers: &Multipliers,
    ) -> (ProvenBound, DualBound) {
        let dual = linear.dual_bound(self.problem.weights(), multipliers);
        let evidence = self.keep.then(|| Evidence::multipliers(multipliers));
        (ProvenBound::new(dual.bound.clone(), linear.bounded_part(), evidence), dual)
    }

    /// Bounds a node by the relaxation over its part, and narrows its intervals by a cut; `linear` are the part's bounds.
    fn bound(
        self: &Arc<Self>,
        linear: &LinearBounds,
        warm_start: Option<&WarmStart>,
        known: ProvenBound,
        node_goal: &NodeGoal,
        budget: &Budget,
    ) -> BoundedNode {
        let sides = linear.part().sides_from(self.linear.part()).unwrap_or_default();
        let signs: Vec<Sign> = sides.into_iter().filter_map(SplitSide::sign).collect();
        let Some(solution) = self.solve(linear, &signs, warm_start, budget) else {
            return BoundedNode::leaf(known);
        };
        let PartSolution { point, excesses, warm_start, multipliers } = solution;
        let mut trace = Trace::new(&self.problem.network);
        let point = Some(self.problem.evaluate(point, &mut trace));
        let (proven, mut dual) = self.dual_bound(linear, &multipliers);
        let mut proven = proven.or_lower(&known);
        let leaf = |proven| BoundedNode { proven, point: point.clone(), sign_node: None };
        if node_goal.is_met(proven.bound.value()) || budget.is_spent() {
            return leaf(proven);
        }
        let weights = self.problem.weights();
        let cut = match linear.cut_by_multipliers(weights, &multipliers, node_goal.goal()) {
            Ok(cut) => cut,
            Err(empty) => return leaf(ProvenBound::of_empty(&empty, weights, self.keep)),
        };
        let multipliers = inherited(multipliers, linear.neurons(), cut.neurons());
        let (of_cut, dual_of_cut) = self.dual_bound(&cut, &multipliers);
        if of_cut.bound.value() < proven.bound.value() {
            (proven, dual) = (of_cut, dual_of_cut);
        }
        if node_goal.is_met(proven.bound.value()) {
            return leaf(proven);
        }
        let next = neuron_to_split(cut.neurons(), &dual, &excesses);
        let count = |neurons: &NeuronBounds| neurons.unstable().count();
        let gone = count(linear.neurons()) - count(cut.neurons());
        let again = gone as f64 >= AGAIN * count(linear.neurons()) as f64;
        if gone > 0 && (next.is_none() || again) {
            return self.bound(&cut, Some(&warm_start), proven, node_goal, budget);
        }
        let (tree, known) = (Arc::clone(self), cut.signed_part());
        let sign_node = SignNode { tree, known, next, warm_start, multipliers };
        BoundedNode { proven, point, sign_node: Some(Arc::new(sign_node)) }
    }

    /// Solves the relaxation over a part. Behind a cut it may have no point: then one in which hulls may be missed at a price has duals that
    /// prove so.
    fn solve(
        &self,
        linear: &LinearBounds,
        signs: &[Sign],
        warm_start: Option<&WarmStart>,
        budget: &Budget,
    ) -> Option<PartSolution> {
        for soft in [false, true] {
            let mut relaxation =
                PartRelaxation::new(&self.problem, linear, signs, warm_start, soft);
            match relaxation.solve(budget) {
                Ok(Some(solution)) => return Some(solution),
                Ok(None) if !soft => {}
                Ok(None) => log::debug!("branch: the solver calls a part empty that cannot be"),
                Err(error) => {
                    log::debug!("branch: {error}");
                    return None;
                }
            }
        }
        None
    }
}

/// Multipliers where fewer neurons are unstable: a stable one is no longer relaxed.
fn inherited(
    mut multipliers: Multipliers,
    before: &NeuronBounds,
    after: &NeuronBounds,
) -> Multipliers {
    for id @ NeuronId { layer, index } in before.unstable() {
        if after.stability(id) != Stability::Unstable {
            multipliers.neurons[layer][index] = NeuronDuals::default();
        }
    }
    multipliers
}

/// The neuron whose relaxation adds most to the bound; of equals, the one whose smaller side is widest.
fn neuron_to_split(
    neurons: &NeuronBounds,
    dual: &DualBound,
    excesses: &[(NeuronId, f64)],
) -> Option<NeuronId> {
    let unstable = excesses.iter().copied();
    let unstable = unstable.filter(|(id, _)| neurons.stability(*id) == Stability::Unstable);
    let worth = |(id, excess): (NeuronId, f64)| {
        let Interval { lower, upper } = neurons.get(id);
        let coefficient = dual.coefficients[id.layer][id.index];
        ((coefficient.max(0.0) * excess, upper.min(-lower)), id)
    };
    let better = |(a, _): &((f64, f64), _), (b, _): &((f64, f64), _)| {
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    unstable.map(worth).max_by(better).map(|(_, id)| id)
}

impl SignNode {
    /// Its two halves, on and off, or `None` if there is no neuron to split on. `known` is the node's bound.
    pub fn split(
        &self,
        known: &ProvenBound,
        node_goal: &NodeGoal,
        budget: &Budget,
    ) -> Option<[BoundedNode; 2]> {
        let neuron = self.next?;
        Some([true, false].map(|on| self.half(Sign { neuron, on }, known, node_goal, budget)))
    }

    fn half(
        &self,
        sign: Sign,
        known: &ProvenBound,
        node_goal: &NodeGoal,
        budget: &Budget,
    ) -> BoundedNode {
        let linear = match self.tree.linear.signed(&self.known, sign) {
            Ok(linear) => linear,
            Err(empty) => {
                let (weights, keep) = (self.tree.problem.weights(), self.tree.keep);
                return BoundedNode::leaf(ProvenBound::of_empty(&empty, weights, keep));
            }
        };
        // What this node's multipliers prove of a half of it: often enough, and no LP is needed.
        let multipliers = self.multipliers.clone();
        let multipliers = inherited(multipliers, self.known.neurons(), linear.neurons());
        let bound = self.tree.dual_bound(&linear, &multipliers).0.or_lower(known);
        if node_goal.is_met(bound.bound.value()) {
            return BoundedNode::leaf(bound);
        }
        self.tree.bound(&linear, Some(&self.warm_start), bound, node_goal, budget)
    }
}
