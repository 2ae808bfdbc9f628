//! Branch and bound over how the budget is spent: when one certificate for the whole set is too weak, the set is divided by how
//! much one pixel moves, and each part gets a certificate of its own.
//!
//! The part in which a pixel moves by at least `t` has its centre moved by `t` and a budget smaller by `t`; in the other part the
//! pixel's cap is `t`. Both are sets as any other, so bounds, ascents and walks work on them unchanged. The largest bound of all
//! parts that cover the set is a bound of the set, at every moment.
//!
//! Trap: a part whose centre were rounded would leave a sliver uncovered. Pixels are divided only where the sum is exact.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;

use super::ascend_from;
use crate::bounds::{Above, Arithmetic, CertifiedBound, Effort, LinearBounds, Portion, Spending};
use crate::budget::Budget;
use crate::input::{InputSet, Move};
use crate::network::Trace;
use crate::query::{Candidate, Query};

/// Parts taken up at once. Always the same, so that the tree does not depend on the number of threads.
const BATCH: usize = 4;

/// Divisions within a part before its parts are bounded anew: so long their bounds are made of the part's own.
const DIVISIONS: usize = 4;

/// Improvements of a bound, from fresh lines and from inherited ones.
const FRESH_STEPS: usize = 20;
const STEPS: usize = 16;

/// Shares are multiples of this, which adds to any 8-bit pixel exactly.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

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

/// What a tree proved and found.
#[derive(Clone, Debug)]
pub struct Branched {
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
}

/// One side of a division.
#[derive(Clone, Copy, Debug)]
struct Side {
    at: Move,
    amount: f64,
    at_least: bool,
}

/// The divisions that lead to a part, the last one first.
#[derive(Clone, Debug, Default)]
struct Path(Option<Arc<(Side, Path)>>);

impl Path {
    fn then(&self, side: Side) -> Self {
        Self(Some(Arc::new((side, self.clone()))))
    }

    /// The part itself.
    fn part(&self, whole: &InputSet) -> InputSet {
        let Some(step) = &self.0 else { return whole.clone() };
        let (Side { at, amount, at_least }, before) = (step.0, &step.1);
        let set = before.part(whole);
        if at_least {
            set.at_least(at, amount).expect("only exact divisions are made")
        } else {
            set.at_most(at, amount)
        }
    }

    fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |step| 1 + step.1.depth())
    }
}

/// A part and its bound.
#[derive(Clone, Debug)]
struct Node {
    path: Path,
    bound: CertifiedBound,
    /// Order of making: among equal bounds the older part goes first.
    number: usize,
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
        let by_bound = self.bound.value().total_cmp(&other.bound.value());
        by_bound.then(other.number.cmp(&self.number))
    }
}

/// What a part was divided into.
struct Expansion {
    /// Parts that together cover it.
    parts: Vec<(Path, CertifiedBound)>,
    /// The bound of those that cannot be divided.
    stuck: Option<CertifiedBound>,
    /// Parts bounded.
    nodes: usize,
    point: Candidate,
}

/// Divides the query's set until `options` are met. `root` is a bound of all of it, `best` a point; every better one is offered to
/// `better`, which may end the search.
pub fn branch_and_bound(
    query: &Query,
    arithmetic: Arithmetic,
    root: CertifiedBound,
    best: Candidate,
    options: &BranchOptions,
    budget: &Budget,
    mut better: impl FnMut(&Candidate) -> ControlFlow<()>,
) -> Branched {
    let until = options.until;
    let first = Node { path: Path::default(), bound: root, number: 0 };
    let mut open = BinaryHeap::from([first]);
    let (mut done, mut stuck): (Option<CertifiedBound>, Option<CertifiedBound>) = (None, None);
    let (mut best, mut nodes, mut made, mut depth) = (best, 0, 0, 0);
    let mut enough = false;
    let mut trace = vec![(budget.elapsed(), root.value())];
    let stop = loop {
        let goal = until.met_from(best.margin);
        if open.peek().is_none_or(|worst| goal(worst.bound)) {
            break if stuck.is_none_or(&goal) { BranchStop::Proven } else { BranchStop::Nodes };
        }
        if enough {
            break BranchStop::Enough;
        }
        if budget.is_cancelled() {
            break BranchStop::Cancelled;
        }
        if budget.is_spent() {
            break BranchStop::Time;
        }
        if nodes >= options.nodes {
            break BranchStop::Nodes;
        }
        let batch: Vec<Node> = std::iter::from_fn(|| open.pop()).take(BATCH).collect();
        let margin = best.margin;
        let expand = |node: Node| expand(query, arithmetic, node, until, margin, budget);
        let expansions: Vec<Expansion> = batch.into_par_iter().map(expand).collect();
        for Expansion { point, .. } in &expansions {
            if point.margin > best.margin {
                best = point.clone();
                enough |= better(&best).is_break();
            }
        }
        let goal = until.met_from(best.margin);
        for expansion in expansions {
            nodes += expansion.nodes;
            stuck = CertifiedBound::of_cover(stuck.into_iter().chain(expansion.stuck));
            for (path, bound) in expansion.parts {
                depth = depth.max(path.depth());
                made += 1;
                if goal(bound) {
                    done = CertifiedBound::of_cover(done.into_iter().chain([bound]));
                } else {
                    open.push(Node { path, bound, number: made });
                }
            }
        }
        let bound = cover(&open, done, stuck).value();
        if trace.last().is_none_or(|&(_, last)| bound < last) {
            trace.push((budget.elapsed(), bound));
        }
    };
    let bound = cover(&open, done, stuck);
    Branched { bound, best, nodes, depth, open: open.len(), trace, stop }
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

/// The bound of all parts together.
fn cover(
    open: &BinaryHeap<Node>,
    done: Option<CertifiedBound>,
    stuck: Option<CertifiedBound>,
) -> CertifiedBound {
    let open = open.peek().map(|node| node.bound);
    CertifiedBound::of_cover([open, done, stuck].into_iter().flatten()).expect("a tree has parts")
}

/// A part within an expansion, told in the moves of its bounds.
struct Leaf {
    path: Path,
    portion: Portion,
    bound: CertifiedBound,
    spending: Vec<Spending>,
}

/// Bounds a part anew, and divides it as long as bounds made of its own are good enough to.
fn expand(
    query: &Query,
    arithmetic: Arithmetic,
    node: Node,
    until: Until,
    best: f64,
    budget: &Budget,
) -> Expansion {
    let goal = until.met_from(best);
    let part = node.path.part(&query.set);
    let (network, objective) = (query.network, &query.objective);
    let linear = LinearBounds::divisible(network, &part, Above::Envelopes, arithmetic, budget);
    let effort = Effort { steps: FRESH_STEPS, enough: until.enough(best) };
    let proof = linear.prove(objective, &effort, budget);
    let point = climbed(query, &part, &proof.spending, budget);
    let bound = proof.bound.or_lower(node.bound);
    let whole = linear.whole();
    let mut leaves =
        vec![Leaf { path: node.path, portion: whole, bound, spending: proof.spending }];
    let (mut stuck, mut nodes) = (None, 0);
    for _ in 0..DIVISIONS {
        let worst = (0..leaves.len())
            .max_by(|&a, &b| leaves[a].bound.value().total_cmp(&leaves[b].bound.value()));
        let Some(worst) = worst.filter(|&k| !goal(leaves[k].bound) && !budget.is_spent()) else {
            break;
        };
        let leaf = leaves.swap_remove(worst);
        let Some((Spending { index, at, .. }, amount)) = division(query, &leaf) else {
            stuck = CertifiedBound::of_cover(stuck.into_iter().chain([leaf.bound]));
            continue;
        };
        let halves = linear.divide(&leaf.portion, index, amount);
        for (portion, at_least) in halves.into_iter().zip([true, false]) {
            let effort = Effort { steps: STEPS, enough: until.enough(best) };
            let proof = linear.within(&portion).prove(objective, &effort, budget);
            nodes += 1;
            // What holds for a part's parent holds for the part.
            let bound = proof.bound.or_lower(leaf.bound);
            let path = leaf.path.then(Side { at, amount, at_least });
            leaves.push(Leaf { path, portion, bound, spending: proof.spending });
        }
    }
    let parts = leaves.into_iter().map(|leaf| (leaf.path, leaf.bound)).collect();
    Expansion { parts, stuck, nodes, point }
}

/// Climbs, in the whole set, from where the bound of a part is attained.
fn climbed(query: &Query, part: &InputSet, spending: &[Spending], budget: &Budget) -> Candidate {
    let mut point = part.centre().to_vec();
    for Spending { at, amount, .. } in spending {
        point[at.pixel] += at.sign * amount;
    }
    let mut trace = Trace::new(query.network);
    let start = query.evaluate(query.set.project(&point), &mut trace);
    ascend_from(query, start, &mut trace, budget)
}

/// Where to divide: at half of what the bound spends on the pixel that it gains most by.
fn division(query: &Query, leaf: &Leaf) -> Option<(Spending, f64)> {
    let part = leaf.path.part(&query.set);
    let mut by_worth: Vec<&Spending> = leaf.spending.iter().filter(|s| s.worth > 0.0).collect();
    by_worth.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    by_worth.into_iter().find_map(|&spending| {
        let amount = ((spending.amount / 2.0) / GRAIN).round() * GRAIN;
        let divides = amount > 0.0 && amount < spending.amount;
        let exact = divides && part.at_least(spending.at, amount).is_some();
        exact.then_some((spending, amount))
    })
}
