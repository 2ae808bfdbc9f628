//! A tree over boxes that grows until its question is decided.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;

use super::node::BoxNode;
use crate::bounds::{
    BoundLimits, BoundedBox, BoxBounds, BoxPart, BoxScratch, Cover, OpenLeaf, SplitBy,
};
use crate::branch::result::{BranchResult, BranchStop, TreeEvent};
use crate::budget::Budget;
use crate::observer::TreeState;
use crate::problem::Candidate;
use crate::proof::{BoxTreeProof, BoxTreeRecord, Certificate};

/// Nodes split at once, and nodes bounded in one product. Always the same, so that the tree does not depend on the number of threads.
const BATCH: usize = 32;
const CHUNK: usize = 32;

/// Nodes split at once by signs: each is a block of its own.
const SIGN_BATCH: usize = 4;

/// How far a tree over boxes is grown.
#[derive(Clone, Copy, Debug)]
pub struct BoxTreeOptions {
    /// Nodes bounded at most.
    pub nodes: usize,
    /// The tree is done once all bounds are below this.
    pub cutoff: f64,
    /// Bytes that open nodes may take. Beyond that new nodes go before old ones, so that there will be fewer.
    pub memory: usize,
    /// Whether nodes are bounded on all threads. The result is the same.
    pub parallel: bool,
}

/// A tree over the parts of a box.
pub struct BoxTree {
    bounds: Arc<BoxBounds>,
    options: BoxTreeOptions,
    cover: Cover<Certificate>,
    /// Open nodes, the largest bound first.
    open: BinaryHeap<BoxNode>,
    /// About how many bytes these take.
    bytes: usize,
    /// Open nodes that go before all others, the last one first.
    dive: Vec<BoxNode>,
    /// The largest bound of a node that is not low enough and cannot be split.
    unsplittable: Option<f64>,
    /// The best point seen.
    incumbent: Option<Candidate>,
    scratch: Vec<BoxScratch>,
    nodes: usize,
    made: usize,
    depth: usize,
    trace: Vec<(Duration, f64)>,
    stopped: bool,
    /// All nodes with their evidence, if the bounds have any.
    record: Option<BoxTreeRecord>,
}

impl BoxTree {
    /// The root alone: the bound of the whole box.
    ///
    /// # Panics
    /// When it is the bound of a part.
    pub fn new(
        bounds: Arc<BoxBounds>,
        bounded: BoundedBox,
        options: BoxTreeOptions,
        budget: &Budget,
    ) -> Self {
        let (cover, leaf) = Cover::new(&bounded.bound).expect("a root is the whole box");
        let trace = vec![(budget.elapsed(), bounded.bound.value())];
        let record = bounds.proves().then(BoxTreeRecord::default);
        let mut tree = Self {
            bounds,
            options,
            cover,
            open: BinaryHeap::new(),
            bytes: 0,
            dive: Vec::new(),
            unsplittable: None,
            incumbent: None,
            scratch: vec![BoxScratch::default()],
            nodes: 0,
            made: 0,
            depth: 0,
            trace,
            stopped: false,
            record,
        };
        tree.add(leaf, bounded);
        tree
    }

    /// No point of the box has a larger value.
    pub fn bound(&self) -> f64 {
        self.cover.value()
    }

    /// What covers the box.
    pub fn cover(&self) -> &Cover<Certificate> {
        &self.cover
    }

    /// Nodes bounded, the root not counted.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    fn best(&self) -> f64 {
        self.incumbent.as_ref().map_or(f64::NEG_INFINITY, |best| best.margin)
    }

    /// Grows the tree until it is done. `watch` hears of every better point and of how the tree grows; it ends the search by returning
    /// `Break`.
    pub fn grow(
        &mut self,
        budget: &Budget,
        mut watch: impl FnMut(TreeEvent) -> ControlFlow<()>,
    ) -> BranchStop {
        loop {
            let batch = match self.next_batch(budget) {
                ControlFlow::Continue(batch) => batch,
                ControlFlow::Break(stop) => return stop,
            };
            let before = self.nodes;
            let bounded = self.split(batch, budget);
            if self.is_interrupted(budget) {
                self.put_back(bounded);
                continue;
            }
            self.improve_incumbent(&bounded, &mut watch);
            for (node, halves) in bounded {
                self.replace(node, halves);
            }
            let (open, bound) = (self.open.len() + self.dive.len(), self.bound());
            let (more, best) = (self.nodes - before, self.best());
            let state = TreeState { more, open, bound, best };
            self.stopped |= watch(TreeEvent::Divided(state)).is_break();
            if self.trace.last().is_none_or(|&(_, last)| bound < last) {
                self.trace.push((budget.elapsed(), bound));
            }
        }
    }

    /// Splits open nodes in another order, those that count most first, until so many more nodes are bounded, none is left, or time is up.
    pub fn refine(&mut self, nodes: usize, budget: &Budget, counts: impl Fn(&BoxPart) -> f64) {
        let most = self.nodes + nodes;
        while self.nodes < most && !budget.is_spent() {
            let mut open = std::mem::take(&mut self.open).into_vec();
            open.append(&mut self.dive);
            self.bytes = 0;
            let count = |node: &BoxNode| counts(&node.bounded.part);
            open.sort_by(|a, b| count(b).total_cmp(&count(a)));
            let rest = open.split_off(open.len().min(BATCH));
            for node in rest {
                self.bytes += node.bounded.bytes();
                self.open.push(node);
            }
            if open.is_empty() {
                break;
            }
            let bounded = self.split(open, budget);
            if self.is_interrupted(budget) {
                return self.put_back(bounded);
            }
            for (node, halves) in bounded {
                self.replace(node, halves);
            }
        }
    }

    /// Whether what was just bounded cannot be proven: time ran out meanwhile, and a checker finishes what we did not. Slopes of all that is
    /// below would be for other intervals than those that it has.
    fn is_interrupted(&self, budget: &Budget) -> bool {
        self.record.is_some() && budget.is_spent()
    }

    /// Leaves nodes as they were before they were split.
    fn put_back(&mut self, bounded: Vec<(BoxNode, Vec<BoundedBox>)>) {
        bounded.into_iter().for_each(|(node, _)| self.keep_open(node));
    }

    /// The nodes to split next, or why there are none.
    fn next_batch(&mut self, budget: &Budget) -> ControlFlow<BranchStop, Vec<BoxNode>> {
        let stop = match () {
            () if self.open.is_empty() && self.dive.is_empty() => match self.unsplittable {
                None => BranchStop::Proven,
                Some(_) => BranchStop::Nodes,
            },
            () if self.stopped => BranchStop::Enough,
            () if budget.is_cancelled() => BranchStop::Cancelled,
            () if budget.is_spent() => BranchStop::Time,
            () if self.nodes >= self.options.nodes => BranchStop::Nodes,
            () => {
                let count = match self.bounds.split_by() {
                    SplitBy::Inputs => BATCH,
                    SplitBy::Signs => SIGN_BATCH,
                };
                return ControlFlow::Continue((0..count).map_while(|_| self.next()).collect());
            }
        };
        ControlFlow::Break(stop)
    }

    /// The node to split next.
    fn next(&mut self) -> Option<BoxNode> {
        if let Some(node) = self.dive.pop() {
            return Some(node);
        }
        let node = self.open.pop()?;
        self.bytes -= node.bounded.bytes();
        Some(node)
    }

    /// Splits nodes, and bounds what they are split into.
    fn split(&mut self, batch: Vec<BoxNode>, budget: &Budget) -> Vec<(BoxNode, Vec<BoundedBox>)> {
        let bounds = Arc::clone(&self.bounds);
        let limits = BoundLimits { cutoff: self.options.cutoff, budget: Some(budget) };
        let halves = self.each(&batch, 1, |nodes, scratch| {
            nodes.iter().map(|node| node.halves(&bounds, limits, scratch)).collect()
        });
        let mut split = Vec::with_capacity(batch.len());
        let mut parts: Vec<BoxPart> = Vec::with_capacity(2 * batch.len());
        for (node, halves) in batch.into_iter().zip(halves) {
            match halves {
                Some(halves) => {
                    parts.extend(halves);
                    split.push(node);
                }
                None => {
                    let bound = node.bound();
                    self.unsplittable =
                        Some(self.unsplittable.map_or(bound, |most| most.max(bound)));
                    self.cover.close(node.leaf, None);
                }
            }
        }
        self.nodes += parts.len();
        let chunk = if bounds.split_by() == SplitBy::Inputs { CHUNK } else { 2 };
        let bounded = self
            .each(&parts, chunk, |parts, scratch| bounds.bound(parts.to_vec(), limits, scratch));
        let mut bounded = bounded.into_iter();
        let mut halves = || (&mut bounded).take(2).collect();
        split.into_iter().map(|node| (node, halves())).collect()
    }

    /// Works on so many at once, on all threads if that is asked for.
    fn each<T: Sync, R: Send>(
        &mut self,
        list: &[T],
        at_once: usize,
        work: impl Fn(&[T], &mut BoxScratch) -> Vec<R> + Sync,
    ) -> Vec<R> {
        let chunks = list.len().div_ceil(at_once);
        if self.scratch.len() < chunks {
            self.scratch.resize_with(chunks, BoxScratch::default);
        }
        if self.options.parallel && chunks > 1 {
            let each = list.par_chunks(at_once).zip(self.scratch.par_iter_mut());
            let done: Vec<Vec<R>> = each.map(|(chunk, scratch)| work(chunk, scratch)).collect();
            done.into_iter().flatten().collect()
        } else {
            let scratch = &mut self.scratch[0];
            list.chunks(at_once).flat_map(|chunk| work(chunk, scratch)).collect()
        }
    }

    fn improve_incumbent(
        &mut self,
        bounded: &[(BoxNode, Vec<BoundedBox>)],
        watch: &mut impl FnMut(TreeEvent) -> ControlFlow<()>,
    ) {
        let open = bounded.iter().flat_map(|(_, halves)| halves);
        let points = open.map(|bounded| &bounded.corner).filter(|corner| !corner.is_empty());
        let points: Vec<&Vec<f64>> = points.collect();
        let values = self.bounds.values_at(&points, &mut self.scratch[0]);
        let best = values.into_iter().zip(points).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((margin, point)) = best.filter(|(value, _)| *value > self.best()) {
            let better = Candidate { point: point.clone(), margin };
            self.stopped |= watch(TreeEvent::Better(&better)).is_break();
            self.incumbent = Some(better);
        }
    }

    /// Puts halves in the place of their parent.
    fn replace(&mut self, BoxNode { leaf, place, .. }: BoxNode, halves: Vec<BoundedBox>) {
        let bounds: Vec<_> = halves.iter().map(|half| &half.bound).collect();
        let leaves = self.cover.replace(leaf, &bounds).expect("halves cover their parent");
        let first = halves.first().and_then(|half| half.part.part().last_side());
        let places: Vec<usize> =
            leaves.into_iter().zip(halves).map(|(leaf, half)| self.add(leaf, half)).collect();
        if let (Some(record), Some(first), &[one, other]) = (&mut self.record, first, &places[..]) {
            record.split(place, first, [one, other]);
        }
    }

    /// Adds a node. Its place in the record, if there is one.
    fn add(&mut self, leaf: OpenLeaf, mut bounded: BoundedBox) -> usize {
        let evidence = std::mem::take(&mut bounded.evidence);
        let place = self.record.as_mut().map_or(0, |record| record.add(evidence));
        self.depth = self.depth.max(bounded.part.part().depth());
        self.made += 1;
        if bounded.bound.value() < self.options.cutoff {
            self.cover.close(leaf, None);
            return place;
        }
        self.keep_open(BoxNode { leaf, bounded, number: self.made, place });
        place
    }

    fn keep_open(&mut self, node: BoxNode) {
        let bytes = node.bounded.bytes();
        if self.bytes + bytes > self.options.memory {
            self.dive.push(node)
        } else {
            self.bytes += bytes;
            self.open.push(node)
        }
    }

    /// What proves that all bounds are below the cutoff, if that is so and evidence was kept. `conjunctions` says which one each question is.
    pub fn take_proof(&mut self, stop: BranchStop, conjunctions: &[usize]) -> Option<BoxTreeProof> {
        if stop == BranchStop::Proven { self.take_nodes(conjunctions) } else { None }
    }

    /// All nodes so far, if evidence was kept: what proves the bounds of those that are decided.
    pub fn take_nodes(&mut self, conjunctions: &[usize]) -> Option<BoxTreeProof> {
        let record = self.record.take()?;
        Some(record.finish(&self.bounds.whole_evidence(), conjunctions))
    }

    /// What the tree proved and found.
    ///
    /// # Panics
    /// When a part is lost.
    pub fn finish(mut self, stop: BranchStop) -> BranchResult {
        let open = self.open.len() + self.dive.len();
        let nodes = std::mem::take(&mut self.open).into_vec();
        for node in nodes.into_iter().chain(std::mem::take(&mut self.dive)) {
            self.cover.close(node.leaf, None);
        }
        let bound = self.cover.complete().expect("every node is closed").bound;
        let centre =
            || Candidate { point: self.bounds.whole().lower().to_vec(), margin: f64::NEG_INFINITY };
        let best = self.incumbent.take().unwrap_or_else(centre);
        let Self { nodes, depth, trace, .. } = self;
        BranchResult { bound, best, nodes, depth, open, trace, stop, leaves: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{Arithmetic, BoxQuestions};
    use crate::network::random::network;
    use crate::problem::Objective;
    use crate::sets::InputSet;

    /// Grows a tree with so much memory for open nodes. Nodes, and the most that were open at once.
    fn grow(split_by: SplitBy, memory: usize) -> (BranchStop, usize, usize) {
        let network = network(&[4, 24, 24, 2], 7);
        let set = InputSet::new_box(&[-1.0; 4], &[1.0; 4]);
        let objective = Objective::new(vec![1.0, -1.0]);
        let steps = [1, 11, 121, 1331];
        let grid = (0..14641).map(|k| steps.map(|step| f64::from(k / step % 11 - 5) / 5.0));
        let most = grid.map(|x| objective.value(&network.logits(&x))).fold(f64::MIN, f64::max);
        let questions = BoxQuestions::objective(&objective);
        let (cutoff, kind) = (most + 0.01, (Arithmetic::F32, split_by));
        let mut scratch = BoxScratch::default();
        let (bounds, root) = BoxBounds::new(&network, &set, questions, kind, cutoff, &mut scratch);
        let options = BoxTreeOptions { nodes: 100_000, cutoff, memory, parallel: false };
        let mut tree = BoxTree::new(Arc::new(bounds), root, options, &Budget::unlimited());
        let mut open = 0;
        let stop = tree.grow(&Budget::unlimited(), |event| {
            if let TreeEvent::Divided(state) = event {
                open = open.max(state.open);
            }
            ControlFlow::Continue(())
        });
        (stop, tree.nodes, open)
    }

    /// Without memory for open nodes the tree is searched in depth: the answer is the same.
    #[test]
    fn little_memory_for_open_nodes_is_enough() {
        let (stop, nodes, open) = grow(SplitBy::Inputs, usize::MAX);
        let (frugal_stop, frugal_nodes, frugal_open) = grow(SplitBy::Inputs, 1);
        assert_eq!((stop, frugal_stop), (BranchStop::Proven, BranchStop::Proven));
        assert!(nodes > 4 * BATCH, "{nodes} nodes are too few to say anything");
        assert!(frugal_open <= open, "{frugal_open} open nodes instead of {open}");
        assert_eq!(grow(SplitBy::Inputs, 1), (frugal_stop, frugal_nodes, frugal_open));
    }
}
