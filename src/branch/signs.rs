//! Nodes with few unstable neurons: split by their signs, and bounded by the multipliers of the relaxation's LP, until nothing is left
//! to be relaxed.
//!
//! The LP only proposes multipliers; the bound is what [`LinearBounds::dual_bound`] makes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::proven::ProvenBound;
use crate::bounds::{
    DualBound, Interval, LinearBounds, Multipliers, NeuronBounds, NeuronDuals, PartBound, Sign,
    SplitSide, Stability,
};
use crate::budget::Budget;
use crate::encode::{PartRelaxation, PartSolution, WarmStart};
use crate::network::{NeuronId, Trace};
use crate::problem::{Candidate, Problem};
use crate::proof::Evidence;

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
    neurons: NeuronBounds,
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
    pub fn root(self: Arc<Self>, known: ProvenBound, budget: &Budget) -> BoundedNode {
        self.bound(&self.linear, None, known, budget)
    }

    /// A bound of a part below, with evidence if that is kept.
    fn proven(&self, bound: PartBound, evidence: impl FnOnce() -> Evidence) -> ProvenBound {
        ProvenBound::new(bound, self.linear.bounded_part(), self.keep.then(evidence))
    }

    /// Bounds a node by the relaxation over its part; `linear` are the part's bounds.
    fn bound(
        self: &Arc<Self>,
        linear: &LinearBounds,
        warm_start: Option<&WarmStart>,
        known: ProvenBound,
        budget: &Budget,
    ) -> BoundedNode {
        let sides = linear.part().sides_from(self.linear.part()).unwrap_or_default();
        let signs: Vec<Sign> = sides.into_iter().filter_map(SplitSide::sign).collect();
        let mut relaxation = PartRelaxation::new(&self.problem, linear, &signs, warm_start);
        let solution = match relaxation.solve(budget) {
            Ok(Some(solution)) => solution,
            Ok(None) => {
                log::debug!("branch: the solver calls a part empty that cannot be");
                return BoundedNode::leaf(known);
            }
            Err(error) => {
                log::debug!("branch: {error}");
                return BoundedNode::leaf(known);
            }
        };
        let dual = linear.dual_bound(self.problem.weights(), &solution.multipliers);
        let excesses = relaxation.neurons().zip(solution.excess.iter().copied());
        let next = neuron_to_split(linear.neurons(), &dual, excesses);
        let evidence = || Evidence::multipliers(&solution.multipliers);
        let proven = self.proven(dual.bound, evidence).or_lower(&known);
        let mut trace = Trace::new(&self.problem.network);
        let PartSolution { point, warm_start, multipliers, .. } = solution;
        let point = Some(self.problem.evaluate(point, &mut trace));
        let (tree, neurons) = (Arc::clone(self), linear.neurons().clone());
        let sign_node = SignNode { tree, neurons, next, warm_start, multipliers };
        BoundedNode { proven, point, sign_node: Some(Arc::new(sign_node)) }
    }
}

/// The neuron whose relaxation adds most to the bound; of equals, the one whose smaller side is widest.
fn neuron_to_split(
    neurons: &NeuronBounds,
    dual: &DualBound,
    excesses: impl Iterator<Item = (NeuronId, f64)>,
) -> Option<NeuronId> {
    let worth = |(id, excess): (NeuronId, f64)| {
        let Interval { lower, upper } = neurons.get(id);
        let coefficient = dual.coefficients[id.layer][id.index];
        ((coefficient.max(0.0) * excess, upper.min(-lower)), id)
    };
    let better = |(a, _): &((f64, f64), _), (b, _): &((f64, f64), _)| {
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    excesses.map(worth).max_by(better).map(|(_, id)| id)
}

impl SignNode {
    /// Its two halves, on and off, or `None` if there is no neuron to split on. `known` is the node's bound, `is_met` says which bounds are low
    /// enough.
    pub fn split(
        &self,
        known: &ProvenBound,
        is_met: &dyn Fn(f64) -> bool,
        budget: &Budget,
    ) -> Option<[BoundedNode; 2]> {
        let neuron = self.next?;
        Some([true, false].map(|on| self.half(Sign { neuron, on }, known, is_met, budget)))
    }

    fn half(
        &self,
        sign: Sign,
        known: &ProvenBound,
        is_met: &dyn Fn(f64) -> bool,
        budget: &Budget,
    ) -> BoundedNode {
        let linear = match self.tree.linear.signed(&self.neurons, sign) {
            Ok(linear) => linear,
            Err(empty) => {
                let (weights, keep) = (self.tree.problem.weights(), self.tree.keep);
                return BoundedNode::leaf(ProvenBound::of_empty(&empty, weights, keep));
            }
        };
        let inherited = self.inherited_bound(&linear).or_lower(known);
        if is_met(inherited.bound.value()) {
            return BoundedNode::leaf(inherited);
        }
        self.tree.bound(&linear, Some(&self.warm_start), inherited, budget)
    }

    /// What this node's multipliers prove of a half of it: often enough, and no LP is needed.
    fn inherited_bound(&self, half: &LinearBounds) -> ProvenBound {
        let mut multipliers = self.multipliers.clone();
        for id @ NeuronId { layer, index } in self.neurons.unstable() {
            // A stable neuron is no longer relaxed.
            if half.neurons().stability(id) != Stability::Unstable {
                multipliers.neurons[layer][index] = NeuronDuals::default();
            }
        }
        let bound = half.dual_bound(self.tree.problem.weights(), &multipliers).bound;
        self.tree.proven(bound, || Evidence::multipliers(&multipliers))
    }
}
