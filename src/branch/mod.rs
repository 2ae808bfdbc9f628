//! Branch and bound over how the budget is spent: when one certificate for the whole set is too weak, the set is split by how
//! much one pixel moves, and each part gets a certificate of its own.
//!
//! The part in which a pixel moves by at least `t` has its centre moved by `t` and a budget smaller by `t`; in the other part the
//! pixel's cap is `t`. Both are sets as any other, so bounds, ascents and walks work on them unchanged. A node in which few neurons are left
//! unstable is split by their signs instead (`signs.rs`), until its bound is exact.
//!
//! Inputs that take whole numbers only are divided between two of these, and nodes are not split by signs before none is left to be divided.
//!
//! The promise: a tree only proposes. Its bounds are made by [`bounds`](crate::bounds), and a [`Cover`](crate::bounds::Cover) checks that
//! the parts of all nodes together are the set.

mod boxes;
mod expand;
mod node;
mod options;
mod pixels;
mod proven;
mod result;
mod signs;
mod tree;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;

use crate::bounds::LinearBounds;
use crate::budget::Budget;
use crate::encode::RegionLp;
use crate::network::Trace;
use crate::observer::TreeState;
use crate::problem::{Candidate, Problem};
use crate::search::{IntegerSearch, ascend_from};
use crate::tolerance;
use crate::walk::{WayOut, walk};
pub use boxes::{BoxTree, BoxTreeOptions};
use expand::Expander;
use node::{Expansion, Node};
pub use options::{BranchOptions, FEW, Until};
pub use proven::ProvenBound;
pub use result::{BranchResult, BranchStop, TreeEvent};
use tree::Tree;

/// Splits the problem's set until `options` are met. `whole` are bounds over all of it, `root` is what they prove, `incumbent` is a point of
/// it. `watch` hears of every better point and of how the tree grows; it ends the search by returning `Break`.
///
/// # Panics
/// When `root` was not proven by `whole`.
pub fn branch_and_bound(
    problem: &Problem,
    whole: &Arc<LinearBounds>,
    root: ProvenBound,
    incumbent: Candidate,
    options: &BranchOptions,
    budget: &Budget,
    watch: impl FnMut(TreeEvent) -> ControlFlow<()>,
) -> BranchResult {
    let trace = vec![(budget.elapsed(), root.bound.value())];
    let tree = Tree::new(root);
    let (nodes, stopped) = (0, false);
    let integers = IntegerSearch::new(problem);
    let mut search = TreeSearch {
        problem,
        whole,
        options,
        budget,
        watch,
        tree,
        incumbent,
        integers,
        nodes,
        trace,
        stopped,
    };
    let stop = loop {
        let batch = match search.next_batch() {
            ControlFlow::Continue(batch) => batch,
            ControlFlow::Break(stop) => break stop,
        };
        let expansions = search.expand(batch);
        search.improve_incumbent(&expansions);
        search.grow(expansions);
    };
    search.finish(stop)
}

/// A tree that grows, and what has come of it so far.
struct TreeSearch<'s, W> {
    problem: &'s Problem,
    whole: &'s Arc<LinearBounds>,
    options: &'s BranchOptions,
    budget: &'s Budget<'s>,
    watch: W,
    tree: Tree,
    incumbent: Candidate,
    /// Rounds points, where whole numbers have to be.
    integers: Option<IntegerSearch<'s>>,
    /// Nodes bounded.
    nodes: usize,
    /// When which bound was reached.
    trace: Vec<(Duration, f64)>,
    /// Whether `watch` returned `Break`.
    stopped: bool,
}

impl<W: FnMut(TreeEvent) -> ControlFlow<()>> TreeSearch<'_, W> {
    /// Which bounds are low enough.
    fn is_met(&self) -> impl Fn(f64) -> bool + use<W> {
        let (until, incumbent) = (self.options.until, self.incumbent.margin);
        move |bound| until.is_met(bound, incumbent)
    }

    /// The nodes to split next, or why there are none.
    fn next_batch(&mut self) -> ControlFlow<BranchStop, Vec<Node>> {
        let is_met = self.is_met();
        let batch = self.tree.next_batch(&is_met);
        let stop = match () {
            () if batch.is_empty() && self.tree.unsplittable().is_none_or(is_met) => {
                BranchStop::Proven
            }
            () if self.stopped => BranchStop::Enough,
            () if self.budget.is_cancelled() => BranchStop::Cancelled,
            () if self.budget.is_spent() => BranchStop::Time,
            () if batch.is_empty() || self.nodes >= self.options.nodes => BranchStop::Nodes,
            () => return ControlFlow::Continue(batch),
        };
        self.tree.put_back(batch);
        ControlFlow::Break(stop)
    }

    fn expand(&self, batch: Vec<Node>) -> Vec<Expansion> {
        let BranchOptions { until, keep, few, parallel, .. } = *self.options;
        let expander = Expander {
            problem: self.problem,
            whole: self.whole,
            until,
            incumbent: self.incumbent.margin,
            keep,
            few,
            sign_trees: self.tree.sign_trees(),
            budget: self.budget,
        };
        let expand = |node: Node| expander.expand(node);
        if parallel {
            batch.into_par_iter().map(expand).collect()
        } else {
            batch.into_iter().map(expand).collect()
        }
    }

    fn improve_incumbent(&mut self, expansions: &[Expansion]) {
        for point in expansions.iter().filter_map(|expansion| expansion.point.as_ref()) {
            if let Some(integers) = &mut self.integers {
                let rounded = integers.best_near(&point.point, self.budget);
                if let Some(rounded) = rounded.filter(|x| x.margin > self.incumbent.margin) {
                    self.incumbent = rounded;
                    self.stopped |= (self.watch)(TreeEvent::Better(&self.incumbent)).is_break();
                }
            } else if point.margin > self.incumbent.margin {
                let promising = point.margin > self.incumbent.margin + tolerance::GAIN;
                self.incumbent = if promising { self.walked(point) } else { point.clone() };
                self.stopped |= (self.watch)(TreeEvent::Better(&self.incumbent)).is_break();
            }
        }
    }

    /// Where climbing and walking lead from a point.
    fn walked(&self, point: &Candidate) -> Candidate {
        let mut trace = Trace::new(&self.problem.network);
        let start = ascend_from(self.problem, point.clone(), &mut trace, self.budget);
        let mut lp = RegionLp::new(self.problem);
        let end = walk(&mut lp, start, &mut HashSet::default(), WayOut::Flip, self.budget).end;
        if end.margin > point.margin { end } else { point.clone() }
    }

    fn grow(&mut self, expansions: Vec<Expansion>) {
        let (is_met, before) = (self.is_met(), self.nodes);
        for expansion in expansions {
            self.nodes += expansion.nodes;
            self.tree.add(expansion, &is_met);
        }
        let (open, bound) = (self.tree.len(), self.tree.bound());
        let (more, best) = (self.nodes - before, self.incumbent.margin);
        let state = TreeState { more, open, bound, best };
        self.stopped |= (self.watch)(TreeEvent::Divided(state)).is_break();
        if self.trace.last().is_none_or(|&(_, last)| bound < last) {
            self.trace.push((self.budget.elapsed(), bound));
        }
    }

    fn finish(self, stop: BranchStop) -> BranchResult {
        let Self { tree, incumbent: best, nodes, trace, .. } = self;
        let (depth, open) = (tree.depth(), tree.len());
        let (bound, leaves) = tree.finish();
        BranchResult { bound, best, nodes, depth, open, trace, stop, leaves }
    }
}
