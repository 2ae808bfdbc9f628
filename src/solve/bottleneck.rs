//! Properties of networks with a bottleneck: the layers behind it first, then the question whether the layers before it get to where those
//! decide nothing.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::boxes::{BoxDecider, first_slice};
use crate::bounds::{BoundLimits, BoxScratch, CertifiedBound, HeadBounds};
use crate::branch::{BoxTree, BoxTreeOptions, BranchStop};
use crate::budget::Budget;
use crate::network::Network;
use crate::observer::Observer;
use crate::proof::{BottleneckProof, BoxTreeProof};

/// How often the whole box of the head is bounded again, as long as that brings the bound to this share of what it was.
const STRENGTHENED: usize = 6;
const ENOUGH: f64 = 0.9;

/// Nodes for the layers behind the bottleneck: few inputs, so they cost next to nothing. First by their bounds, then by how far the border of
/// what is undecided is off, so many times.
const FIRST_NODES: usize = 4096;
const REFINED: usize = 8;
const REFINED_NODES: usize = 2048;

/// Decides a tree's questions in two halves. `None` if the network has no bottleneck in that box. `middle` is a point of the box, and `conjunctions` says
/// which one each question is.
pub(super) fn decide_in_halves(
    decider: &BoxDecider,
    network: &Network,
    (middle, conjunctions): (&[f64], &[usize]),
    budget: &Budget,
    observer: &dyn Observer,
) -> Option<BottleneckResult> {
    let (bounds, root, options) = decider.root();
    let bottleneck = bounds.bottleneck(network, root)?;
    let limits = BoundLimits { cutoff: options.cutoff, budget: Some(budget) };
    let mut scratch = BoxScratch::default();
    let tail = bottleneck.tail(bounds.questions().clone(), limits, &mut scratch);
    let of_tail = BoxTreeOptions { nodes: FIRST_NODES, cutoff: tail.goal(), ..options };
    let mut tree = BoxTree::new(Arc::clone(&tail.bounds), tail.root.clone(), of_tail, budget);
    tree.grow(budget, |_| ControlFlow::Continue(()));
    let mut inequality = bottleneck.inequality(&tail, tree.cover(), middle);
    // Where the tail is undecided farthest toward the head's own values counts.
    for _ in 0..REFINED {
        let Some(before) = &inequality else { break };
        tree.refine(REFINED_NODES, budget, |part| before.largest(part));
        inequality = bottleneck.inequality(&tail, tree.cover(), middle);
    }
    let bound = tail.certify(tree.cover());
    let inequality = inequality.filter(|_| bound.is_none());
    let halves = bottleneck.evidence(&tail, inequality.as_ref());
    let (nodes, of_tail) = (tree.nodes(), tree.take_nodes(conjunctions));
    log::debug!("bottleneck: the tail's bound is {} after {nodes} nodes", tree.cover().value());
    drop(tree);
    let proof = |of_head: Option<BoxTreeProof>| -> Option<BoxTreeProof> {
        let halves = BottleneckProof::new(halves, of_tail?, of_head);
        Some(halves.into_tree(&bounds.whole_evidence()))
    };
    let Some(inequality) = inequality else {
        let proof = bound.and_then(|_| proof(None));
        return Some(BottleneckResult { bound, nodes, proof, is_asked: bound.is_some() });
    };
    let head = bottleneck.head(&tail, inequality, limits, &mut scratch);
    let options = BoxTreeOptions { cutoff: 0.0, ..options };
    let (mut decider, stop) = decide_head(&head, options, budget, observer);
    let bound = head.certify(decider.cover());
    let of_head = decider.take_proof(stop, &[0]).filter(|_| bound.is_some());
    let proof = of_head.and_then(|of_head| proof(Some(of_head)));
    Some(BottleneckResult { bound, nodes: nodes + decider.nodes(), proof, is_asked: true })
}

/// Grows a tree for the head's question, with its whole box bounded again as long as that is worth it.
fn decide_head(
    head: &HeadBounds,
    options: BoxTreeOptions,
    budget: &Budget,
    observer: &dyn Observer,
) -> (BoxDecider, BranchStop) {
    let bounds = Arc::clone(&head.bounds);
    let mut decider = BoxDecider::of_root(bounds, head.root.clone(), options, budget);
    let mut stop = decider.grow(&first_slice(budget), observer, |_| false);
    for _ in 0..STRENGTHENED {
        let before = decider.cover().value();
        if stop == BranchStop::Proven || budget.is_spent() {
            break;
        }
        decider.strengthen(budget);
        // Intervals hold at points that count only: what is lower now is more than what this one function gains.
        if decider.cover().value() > ENOUGH * before {
            break;
        }
        stop = decider.grow(&first_slice(budget), observer, |_| false);
    }
    if stop != BranchStop::Proven {
        stop = decider.grow(budget, observer, |_| false);
    }
    log::debug!(
        "bottleneck: {stop:?} after {} nodes, bound {}",
        decider.nodes(),
        decider.cover().value()
    );
    (decider, stop)
}

/// What came of it.
pub(super) struct BottleneckResult {
    /// The bound of all questions, if they are decided.
    pub bound: Option<CertifiedBound>,
    /// Nodes bounded.
    pub nodes: usize,
    /// What proves the bound, if it was to be kept.
    pub proof: Option<BoxTreeProof>,
    /// Whether it came to a question to the head, so that asking again would bring nothing.
    pub is_asked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{Arithmetic, BoxBounds, BoxQuestions, SplitBy};
    use crate::network::random::network;
    use crate::problem::Objective;
    use crate::sets::InputSet;

    /// Points of the grid in [−1, 1]⁴, nine in each direction.
    fn grid() -> impl Iterator<Item = [f64; 4]> {
        (0..6561).map(|k| [1, 9, 81, 729].map(|step| f64::from(k / step % 9 - 4) / 4.0))
    }

    /// Asks a network with a bottleneck of two neurons whether `y0 − y1` gets to a threshold. Whether that was excluded, if the bound of the whole
    /// box does not do.
    fn excluded(network: &Network, threshold: f64) -> Option<bool> {
        let set = InputSet::new_box(&[-1.0; 4], &[1.0; 4]);
        let objective = Objective { weights: vec![1.0, -1.0], constant: -threshold };
        let questions = BoxQuestions::objective(&objective);
        let (kind, mut scratch) = ((Arithmetic::F32, SplitBy::Signs), BoxScratch::default());
        let (bounds, root) = BoxBounds::new(network, &set, questions, kind, 0.0, &mut scratch);
        if root.bound.value() < 0.0 {
            return None;
        }
        let budget = Budget::unlimited();
        let options =
            BoxTreeOptions { nodes: 40, cutoff: 0.0, memory: usize::MAX, parallel: false };
        let decider = BoxDecider::of_root(Arc::new(bounds), root, options, &budget);
        let result = decide_in_halves(&decider, network, (&[0.0; 4], &[0]), &budget, &());
        let bound = result.and_then(|result| result.bound);
        assert!(bound.is_none_or(|bound| bound.value() < 0.0 && bound.holds_in_f32()));
        Some(bound.is_some())
    }

    #[test]
    fn nothing_that_is_attained_is_excluded_and_much_else_is() {
        let mut counts = [0; 2];
        for seed in 0..12 {
            let network = network(&[4, 12, 2, 12, 2], seed);
            let values = grid().map(|x| {
                let y = network.logits(&x);
                y[0] - y[1]
            });
            let values: Vec<f64> = values.collect();
            let most = values.iter().copied().fold(f64::MIN, f64::max);
            let spread = most - values.iter().copied().fold(f64::MAX, f64::min);
            if seed < 3 {
                assert_ne!(excluded(&network, most), Some(true), "seed {seed}");
            }
            match excluded(&network, most + 0.1 * spread) {
                Some(true) => counts[0] += 1,
                Some(false) => counts[1] += 1,
                None => (),
            }
        }
        let [excluded, open] = counts;
        assert!(excluded >= 3, "{excluded} excluded, {open} open");
    }
}
