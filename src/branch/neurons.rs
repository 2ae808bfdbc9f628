//! Parts with few unstable neurons: divided by their signs, and bounded by the multipliers of the relaxation's LP, until nothing is left
//! to be relaxed.
//!
//! The LP only proposes multipliers; the bound is what [`LinearBounds::dual_bound`] makes of them.

use std::sync::Arc;

use super::path::{Path, ProvenBound};
use crate::bounds::{
    CertifiedBound, Interval, LinearBounds, Multipliers, NeuronBounds, NeuronDuals, Sign, Stability,
};
use crate::budget::Budget;
use crate::encode::{PartRelaxation, PartSolution, WarmStart};
use crate::network::{NeuronId, Trace};
use crate::problem::{Candidate, Problem};
use crate::proof::{Certificate, Evidence, SplitSide};

/// The set that neurons' signs divide, with what all its parts share.
pub struct SignTree {
    problem: Problem,
    linear: Arc<LinearBounds>,
    /// Divisions that lead to it.
    depth: usize,
    /// Whether proofs are kept.
    keep: bool,
    /// Counted while it is in use.
    _count: Arc<()>,
}

/// A part of a ground.
pub struct SignNode {
    ground: Arc<SignTree>,
    neurons: NeuronBounds,
    /// The neuron to divide by; none if every one that the bound uses is exact.
    next: Option<NeuronId>,
    warm_start: WarmStart,
    multipliers: Multipliers,
}

/// A part, bounded.
pub struct BoundedNode {
    pub proven: ProvenBound,
    /// Where the relaxation is largest.
    pub point: Option<Candidate>,
    /// The part to be divided further, if it can.
    pub patch: Option<Arc<SignNode>>,
}

impl SignTree {
    pub fn new(
        problem: Problem,
        linear: Arc<LinearBounds>,
        depth: usize,
        keep: bool,
        count: Arc<()>,
    ) -> Self {
        Self { problem, linear, depth, keep, _count: count }
    }

    /// All of it.
    pub fn whole(self: Arc<Self>, known: ProvenBound, budget: &Budget) -> BoundedNode {
        self.bound(&self.linear, &[], None, known, budget)
    }

    fn certificate(
        &self,
        signs: usize,
        evidence: impl FnOnce() -> Evidence,
    ) -> Option<Arc<Certificate>> {
        self.keep.then(|| {
            let (needs, fresh) = (self.depth + signs, self.depth);
            Arc::new(Certificate { needs, fresh, evidence: evidence() })
        })
    }

    /// Bounds a part by the relaxation over it; `linear` are the part's bounds.
    fn bound(
        self: &Arc<Self>,
        linear: &LinearBounds,
        signs: &[Sign],
        warm_start: Option<&WarmStart>,
        known: ProvenBound,
        budget: &Budget,
    ) -> BoundedNode {
        let neurons = linear.neurons();
        let mut relaxation = PartRelaxation::new(&self.problem, linear, signs, warm_start);
        let relaxed = match relaxation.solve(budget) {
            Ok(Some(relaxed)) => relaxed,
            Ok(None) => {
                log::debug!("branch: the solver calls a part empty that cannot be");
                return BoundedNode { proven: known, point: None, patch: None };
            }
            Err(error) => {
                log::debug!("branch: {error}");
                return BoundedNode { proven: known, point: None, patch: None };
            }
        };
        let weighed = linear.dual_bound(self.problem.weights(), &relaxed.multipliers);
        let evidence = || Evidence::multipliers(&relaxed.multipliers);
        let certificate = self.certificate(signs.len(), evidence);
        let proven = ProvenBound { bound: weighed.bound, certificate }.or_lower(&known);
        let mut trace = Trace::new(&self.problem.network);
        let point = Some(self.problem.evaluate(relaxed.point.clone(), &mut trace));
        let worth = |(id, excess): (NeuronId, &f64)| {
            let Interval { lower, upper } = neurons.get(id);
            let coefficient = weighed.coefficients[id.layer][id.index];
            ((coefficient.max(0.0) * excess, upper.min(-lower)), id)
        };
        let by_worth = relaxation.neurons().zip(&relaxed.excess).map(worth);
        let better = |(a, _): &((f64, f64), _), (b, _): &((f64, f64), _)| {
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        let next = by_worth.max_by(better).map(|(_, id)| id);
        let (ground, neurons) = (Arc::clone(self), neurons.clone());
        let PartSolution { warm_start, multipliers, .. } = relaxed;
        let patch = SignNode { ground, neurons, next, warm_start, multipliers };
        BoundedNode { proven, point, patch: Some(Arc::new(patch)) }
    }
}

impl SignNode {
    /// The two parts of it, or `None` if there is nothing to divide by. `goal` says which bounds are low enough.
    pub fn divide(
        &self,
        path: &Path,
        known: &ProvenBound,
        goal: &dyn Fn(CertifiedBound) -> bool,
        budget: &Budget,
    ) -> Option<[(Path, BoundedNode); 2]> {
        let neuron = self.next?;
        let half = |on: bool| {
            let sign = Sign { neuron, on };
            let path = path.then(SplitSide::of(sign));
            let signs = path.signs();
            let Some(linear) = self.ground.linear.signed(&self.neurons, sign) else {
                let bounded = self.nothing(signs.len());
                return (path, bounded);
            };
            let inherited = self.inherited(&linear, signs.len()).or_lower(known);
            let bounded = if goal(inherited.bound) {
                BoundedNode { proven: inherited, point: None, patch: None }
            } else {
                self.ground.bound(&linear, &signs, Some(&self.warm_start), inherited, budget)
            };
            (path, bounded)
        };
        Some([true, false].map(half))
    }

    /// What the multipliers of the whole prove of a part: often enough, and no LP is needed.
    fn inherited(&self, part: &LinearBounds, signs: usize) -> ProvenBound {
        let mut multipliers = self.multipliers.clone();
        for id @ NeuronId { layer, index } in self.neurons.unstable() {
            // A stable neuron is no longer relaxed.
            if part.neurons().get(id).stability() != Stability::Unstable {
                multipliers.neurons[layer][index] = NeuronDuals::default();
            }
        }
        let bound = part.dual_bound(self.ground.problem.weights(), &multipliers).bound;
        let evidence = || Evidence::multipliers(&multipliers);
        ProvenBound { bound, certificate: self.ground.certificate(signs, evidence) }
    }

    /// A part that is proven to be empty.
    fn nothing(&self, signs: usize) -> BoundedNode {
        let bound = self.ground.linear.nothing();
        let certificate = self.ground.certificate(signs, || Evidence::Empty {});
        BoundedNode { proven: ProvenBound { bound, certificate }, point: None, patch: None }
    }
}
