//! Branch and bound over how the budget is spent: when one certificate for the whole set is too weak, the set is divided by how
//! much one pixel moves, and each part gets a certificate of its own.
//!
//! The part in which a pixel moves by at least `t` has its centre moved by `t` and a budget smaller by `t`; in the other part the
//! pixel's cap is `t`. Both are sets as any other, so bounds, ascents and walks work on them unchanged. The largest bound of all
//! parts that cover the set is a bound of the set, at every moment.
//!
//! A part in which few neurons are left unstable is divided by their signs instead ([`neurons`]), until its bound is exact.
//!
//! Trap: a part whose centre were rounded would leave a sliver uncovered. Pixels are divided only where the sum is exact.

mod neurons;
mod path;
mod pixels;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;

use crate::bounds::{CertifiedBound, LinearBounds};
use crate::budget::Budget;
use crate::encode::RegionLp;
use crate::network::Trace;
use crate::observer::TreeState;
use crate::problem::{Candidate, Problem};
use crate::proof::{Claim, Leaf};
use crate::search::ascend_from;
use crate::tolerance;
use crate::walk::{WayOut, walk};
use neurons::{BoundedNode, SignNode};
use path::Path;
pub use path::ProvenBound;

/// Parts taken up at once. Always the same, so that the tree does not depend on the number of threads.
const BATCH: usize = 4;

/// With so many open parts, or so many sets with bounds that their parts share (tens of MB each on large networks), new parts go before
/// old ones, so that there will be fewer.
const MOST_OPEN: usize = 50_000;
const MOST_GROUNDS: usize = 16;

/// What [`BranchOptions::few`] is where nobody knows better.
pub const FEW: usize = 120;

/// When the tree is done.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// The bound is below this.
    Below(f64),
    /// The bound is at most this much above the best point.
    Gap(f64),
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct BranchOptions {
    /// Parts bounded at most.
    pub nodes: usize,
    /// When to stop before.
    pub until: Until,
    /// Whether to keep the leaves for a proof.
    pub keep: bool,
    /// A part with at most so many unstable neurons is divided by their signs: their LPs take milliseconds.
    pub few: usize,
    /// Whether parts are bounded on all threads. What comes out is the same.
    pub parallel: bool,
}

/// Why a tree was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchStop {
    /// What was asked for is proven.
    Proven,
    /// So many parts were bounded, or none that is left can be divided.
    Nodes,
    /// The time is up.
    Time,
    /// Somebody called it off.
    Cancelled,
    /// Whoever was offered a better point said that it is enough.
    Enough,
}

/// What happens in a tree.
#[derive(Clone, Copy, Debug)]
pub enum TreeEvent<'e> {
    /// A better point was found.
    Better(&'e Candidate),
    /// Parts were divided.
    Divided(TreeState),
}

/// What a tree proved and found.
#[derive(Clone, Debug)]
pub struct BranchResult {
    /// No point of the set has a larger value.
    pub bound: CertifiedBound,
    /// The best point.
    pub best: Candidate,
    /// Parts bounded, the whole set not counted.
    pub nodes: usize,
    /// Divisions one after the other, at most.
    pub depth: usize,
    /// Parts that were still to be divided.
    pub open: usize,
    /// When which bound was reached.
    pub trace: Vec<(Duration, f64)>,
    /// Why it ended.
    pub stop: BranchStop,
    /// The parts and why their bounds hold, if that was asked for.
    pub leaves: Vec<Leaf>,
}

/// How a part is divided.
enum By {
    Pixels,
    Neurons(Arc<SignNode>),
    /// Not at all.
    Nothing,
}

/// A part and its bound.
struct Part {
    path: Path,
    proven: ProvenBound,
    by: By,
}

/// A part that is to be divided.
struct Node {
    part: Part,
    /// Order of making: among equal bounds the older part goes first.
    number: usize,
}

impl Node {
    fn bound(&self) -> CertifiedBound {
        self.part.proven.bound
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = self.bound().value().total_cmp(&other.bound().value());
        by_bound.then(other.number.cmp(&self.number))
    }
}

/// What a part was divided into.
struct Expansion {
    /// Parts that together cover it.
    parts: Vec<Part>,
    /// Parts bounded.
    nodes: usize,
    /// The best point seen.
    point: Option<Candidate>,
}

/// What every expansion needs to know.
struct Task<'t> {
    problem: &'t Problem,
    /// Bounds over the whole set.
    whole: &'t Arc<LinearBounds>,
    until: Until,
    /// The best point's value.
    best: f64,
    /// Whether proofs are kept.
    keep: bool,
    few: usize,
    grounds: Arc<()>,
    budget: &'t Budget<'t>,
}

impl Task<'_> {
    fn goal(&self, bound: CertifiedBound) -> bool {
        self.until.met_from(self.best)(bound)
    }
}

/// Divides the problem's set until `options` are met. `whole` are bounds over all of it, `root` is what they prove, `best` a point; every better one is
/// offered to `watch`, which may end the search, and hears how the tree grows.
pub fn branch_and_bound(
    problem: &Problem,
    whole: &Arc<LinearBounds>,
    root: ProvenBound,
    best: Candidate,
    options: &BranchOptions,
    budget: &Budget,
    mut watch: impl FnMut(TreeEvent) -> ControlFlow<()>,
) -> BranchResult {
    let BranchOptions { until, keep, few, .. } = *options;
    let mut trace = vec![(budget.elapsed(), root.bound.value())];
    let mut tree = Tree::new(root);
    let (mut best, mut nodes, mut enough) = (best, 0, false);
    let stop = loop {
        let goal = until.met_from(best.margin);
        let batch = tree.next(&goal);
        if batch.is_empty() && tree.stuck.is_none_or(&goal) {
            break BranchStop::Proven;
        }
        let stop = match () {
            () if enough => Some(BranchStop::Enough),
            () if budget.is_cancelled() => Some(BranchStop::Cancelled),
            () if budget.is_spent() => Some(BranchStop::Time),
            () if batch.is_empty() || nodes >= options.nodes => Some(BranchStop::Nodes),
            () => None,
        };
        if let Some(stop) = stop {
            tree.open.extend(batch);
            break stop;
        }
        let grounds = Arc::clone(&tree.grounds);
        let task = Task { problem, whole, until, best: best.margin, keep, few, grounds, budget };
        let expand = |node: Node| task.expand(node.part);
        let expansions: Vec<Expansion> = if options.parallel {
            batch.into_par_iter().map(expand).collect()
        } else {
            batch.into_iter().map(expand).collect()
        };
        for point in expansions.iter().filter_map(|expansion| expansion.point.as_ref()) {
            if point.margin > best.margin {
                let promising = point.margin > best.margin + tolerance::GAIN;
                best = if promising { walked(problem, point, budget) } else { point.clone() };
                enough |= watch(TreeEvent::Better(&best)).is_break();
            }
        }
        let (goal, before) = (until.met_from(best.margin), nodes);
        for Expansion { parts, nodes: bounded, .. } in expansions {
            nodes += bounded;
            parts.into_iter().for_each(|part| tree.add(part, &goal));
        }
        let bound = tree.bound().value();
        let state = TreeState { more: nodes - before, open: tree.len(), bound, best: best.margin };
        enough |= watch(TreeEvent::Divided(state)).is_break();
        if trace.last().is_none_or(|&(_, last)| bound < last) {
            trace.push((budget.elapsed(), bound));
        }
    };
    let (bound, depth, open) = (tree.bound(), tree.depth, tree.len());
    BranchResult { bound, best, nodes, depth, open, trace, stop, leaves: tree.into_leaves() }
}

/// Where climbing and walking lead from a point of a part.
fn walked(problem: &Problem, point: &Candidate, budget: &Budget) -> Candidate {
    let mut trace = Trace::new(&problem.network);
    let start = ascend_from(problem, point.clone(), &mut trace, budget);
    let mut lp = RegionLp::new(problem);
    let end = walk(&mut lp, start, &mut HashSet::default(), WayOut::Flip, budget).end;
    if end.margin > point.margin { end } else { point.clone() }
}

/// All parts.
struct Tree {
    open: BinaryHeap<Node>,
    /// Parts that go before all others, the last one first: when there are too many to be kept.
    dive: Vec<Node>,
    /// The bound of those that need not be divided, and of those that cannot be.
    done: Option<CertifiedBound>,
    stuck: Option<CertifiedBound>,
    /// Why these bounds hold, if that is kept.
    leaves: Vec<Leaf>,
    /// Parts made, and how deep they are.
    made: usize,
    depth: usize,
    /// One for each ground that is in use.
    grounds: Arc<()>,
}

impl Tree {
    fn new(root: ProvenBound) -> Self {
        let part = Part { path: Path::default(), proven: root, by: By::Pixels };
        Self {
            open: BinaryHeap::from([Node { part, number: 0 }]),
            dive: Vec::new(),
            done: None,
            stuck: None,
            leaves: Vec::new(),
            made: 0,
            depth: 0,
            grounds: Arc::new(()),
        }
    }

    /// The parts to divide next.
    fn next(&mut self, goal: &impl Fn(CertifiedBound) -> bool) -> Vec<Node> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let Some(node) = self.dive.pop().or_else(|| self.open.pop()) else { break };
            // A better point may have been found since.
            if goal(node.bound()) { self.settle(node.part, true) } else { batch.push(node) }
        }
        batch
    }

    fn add(&mut self, part: Part, goal: &impl Fn(CertifiedBound) -> bool) {
        self.depth = self.depth.max(part.path.depth());
        self.made += 1;
        if goal(part.proven.bound) {
            self.settle(part, true);
        } else if matches!(part.by, By::Nothing) {
            self.settle(part, false);
        } else {
            let node = Node { part, number: self.made };
            let many =
                self.open.len() >= MOST_OPEN || Arc::strong_count(&self.grounds) > MOST_GROUNDS;
            if many { self.dive.push(node) } else { self.open.push(node) }
        }
    }

    fn settle(&mut self, part: Part, done: bool) {
        let of_kind = if done { &mut self.done } else { &mut self.stuck };
        *of_kind = CertifiedBound::of_cover(of_kind.iter().copied().chain([part.proven.bound]));
        self.leaves.extend(part.proven.leaf(&part.path));
    }

    /// Parts that are still to be divided.
    fn len(&self) -> usize {
        self.open.len() + self.dive.len()
    }

    /// The bound of all parts together.
    fn bound(&self) -> CertifiedBound {
        let open = self.open.peek().into_iter().chain(&self.dive).map(Node::bound);
        let bounds = open.chain(self.done).chain(self.stuck);
        CertifiedBound::of_cover(bounds).expect("a tree has parts")
    }

    fn into_leaves(mut self) -> Vec<Leaf> {
        let open = self.open.iter().chain(&self.dive);
        self.leaves.extend(open.filter_map(|Node { part, .. }| part.proven.leaf(&part.path)));
        self.leaves
    }
}

impl Task<'_> {
    fn expand(&self, part: Part) -> Expansion {
        match &part.by {
            By::Neurons(patch) => self.expand_by_neurons(&part, patch),
            By::Pixels => self.expand_by_pixels(part),
            By::Nothing => Expansion { parts: vec![part], nodes: 0, point: None },
        }
    }

    fn expand_by_neurons(&self, part: &Part, patch: &SignNode) -> Expansion {
        let Part { path, proven, .. } = part;
        let goal = |bound| self.goal(bound);
        let Some(halves) = patch.divide(path, proven, &goal, self.budget) else {
            let (path, proven) = (path.clone(), proven.clone());
            let part = Part { path, proven, by: By::Nothing };
            return Expansion { parts: vec![part], nodes: 0, point: None };
        };
        let mut expansion = Expansion { parts: Vec::new(), nodes: 2, point: None };
        for (path, bounded) in halves {
            expansion.add(path, bounded);
        }
        expansion
    }
}

impl Expansion {
    /// Adds a part that is divided by neurons.
    fn add(&mut self, path: Path, BoundedNode { proven, point, patch }: BoundedNode) {
        let margin = |point: &Option<Candidate>| point.as_ref().map(|point| point.margin);
        if margin(&point) > margin(&self.point) {
            self.point = point;
        }
        let by = patch.map_or(By::Nothing, By::Neurons);
        self.parts.push(Part { path, proven, by });
    }
}

impl BranchResult {
    /// The proof, if leaves were kept.
    pub fn claim(&mut self) -> Option<Claim> {
        let (f32, bound) = (self.bound.holds_in_f32(), self.bound.value());
        let leaves = std::mem::take(&mut self.leaves);
        (!leaves.is_empty()).then_some(Claim { f32, bound, leaves })
    }
}

impl Until {
    /// Which bounds are low enough when the best point has this value.
    fn met_from(self, best: f64) -> impl Fn(CertifiedBound) -> bool {
        move |bound| match self {
            Self::Below(value) => bound.value() < value,
            Self::Gap(gap) => bound.value() <= best + gap,
        }
    }

    /// Lower than this no bound need be.
    fn enough(self, best: f64) -> f64 {
        match self {
            Self::Below(value) => value,
            Self::Gap(gap) => best + gap,
        }
    }
}
