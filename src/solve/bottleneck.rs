//! Properties of networks with a bottleneck: the layers behind it first, then the question whether the layers before it get to where those
//! decide nothing.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::boxes::{BoxDecider, first_slice};
use crate::bounds::{BoundLimits, BoxScratch, CertifiedBound};
use crate::branch::{BoxTree, BoxTreeOptions, BranchStop};
use crate::budget::Budget;
use crate::network::Network;
use crate::observer::Observer;

/// Nodes for the layers behind the bottleneck: few inputs, so they cost next to nothing.
const TAIL_NODES: usize = 8192;

/// Decides a tree's questions in two halves. `None` if the network has no bottleneck in that box, or bounds are to be proven. `middle` is a point
/// of the box.
pub(super) fn decide_in_halves(
    decider: &BoxDecider,
    network: &Network,
    middle: &[f64],
    budget: &Budget,
    observer: &dyn Observer,
) -> Option<BottleneckResult> {
    let (bounds, root, options) = decider.root();
    let bottleneck = bounds.bottleneck(network, root).filter(|_| !bounds.proves())?;
    let limits = BoundLimits { cutoff: options.cutoff, budget: Some(budget) };
    let mut scratch = BoxScratch::default();
    let tail = bottleneck.tail(bounds.questions().clone(), limits, &mut scratch);
    let of_tail = BoxTreeOptions { nodes: TAIL_NODES, cutoff: tail.goal(), ..options };
    let mut tree = BoxTree::new(Arc::clone(&tail.bounds), tail.root.clone(), of_tail, budget);
    tree.grow(budget, |_| ControlFlow::Continue(()));
    let result = BottleneckResult { bound: tail.certify(tree.cover()), nodes: tree.nodes() };
    if result.bound.is_some() {
        return Some(result);
    }
    let Some(head) = bottleneck.head(&tail, tree.cover(), middle, limits, &mut scratch) else {
        return Some(result);
    };
    let options = BoxTreeOptions { cutoff: 0.0, ..options };
    let bounds = Arc::clone(&head.bounds);
    let mut decider = BoxDecider::of_root(bounds, head.root.clone(), options, budget);
    let mut stop = decider.grow(&first_slice(budget), observer, |_| false);
    if stop != BranchStop::Proven && !budget.is_spent() {
        decider.strengthen(budget);
        stop = decider.grow(budget, observer, |_| false);
    }
    log::debug!(
        "bottleneck: {stop:?} after {} nodes, bound {}",
        decider.nodes(),
        decider.cover().value()
    );
    let bound = head.certify(decider.cover());
    Some(BottleneckResult { bound, nodes: result.nodes + decider.nodes() })
}

/// What came of it.
pub(super) struct BottleneckResult {
    /// The bound of all questions, if they are decided.
    pub bound: Option<CertifiedBound>,
    /// Nodes bounded.
    pub nodes: usize,
}
