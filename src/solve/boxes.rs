//! Properties of a box: one tree for all conjunctions, instead of one for each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::options::BranchLimits;
use super::solver::Solver;
use crate::bounds::{
    Arithmetic, BoundLimits, BoundedBox, BoxBounds, BoxQuestions, BoxScratch, Cover, SplitBy,
};
use crate::branch::{BoxTree, BoxTreeOptions, BranchResult, BranchStop, TreeEvent};
use crate::budget::Budget;
use crate::network::Network;
use crate::observer::{Observer, Phase};
use crate::problem::{Candidate, Conjunction};
use crate::proof::{BoxTreeProof, Certificate};
use crate::sets::InputSet;

/// A bound that is told without its constant, and gets it back, loses this much of the constant's magnitude at most.
const ROUNDED_TWICE: f64 = 1e-14;

/// Bytes for the open nodes of a tree, about.
const OPEN_NODES: usize = 1 << 30;

/// The time for a tree before anything else is tried, at most: what is easy is decided by then.
const FIRST_SLICE: Duration = Duration::from_secs(1);

/// Bounds have to be below this.
fn cutoff_of(conjunctions: &[Conjunction]) -> f64 {
    let rows = conjunctions.iter().flat_map(|all| &all.all_of);
    let largest = rows.map(|row| row.objective.constant.abs()).fold(0.0, f64::max);
    0.0 - ROUNDED_TWICE * largest
}

/// A tree that decides whether any of several questions has a value of at least the cutoff somewhere in a box.
pub(super) struct BoxDecider {
    tree: BoxTree,
    /// The first bounds, and what they gave for the whole box.
    bounds: Arc<BoxBounds>,
    root: BoundedBox,
    options: BoxTreeOptions,
    witness: Option<Candidate>,
    time: Duration,
}

/// The time that a tree gets before anything else is tried.
pub(super) fn first_slice<'b>(budget: &Budget<'b>) -> Budget<'b> {
    budget.tenth().capped(Some(budget.elapsed() + FIRST_SLICE))
}

impl BoxDecider {
    /// The bound of the whole box for conjunctions. `None` if the set is no box, or nothing is to be split.
    pub fn of_conjunctions(
        solver: &Solver,
        conjunctions: &[Conjunction],
        budget: &Budget,
    ) -> Option<Self> {
        let limits = solver.options.branch?;
        if !solver.set.is_box() || conjunctions.is_empty() {
            return None;
        }
        let cutoff = cutoff_of(conjunctions);
        let questions = BoxQuestions::conjunctions(conjunctions.iter());
        let (network, proves) = (solver.judge.network(), solver.options.proofs);
        Some(Self::new((network, &solver.set), (questions, cutoff), proves, limits, budget))
    }

    fn new(
        (network, set): (&Network, &InputSet),
        (questions, cutoff): (BoxQuestions, f64),
        proves: bool,
        BranchLimits { nodes, parallel, .. }: BranchLimits,
        budget: &Budget,
    ) -> Self {
        let begun = budget.elapsed();
        let kind = (Arithmetic::F32, SplitBy::suited_to(network));
        let mut scratch = BoxScratch::default();
        let make = if proves { BoxBounds::with_evidence } else { BoxBounds::new };
        let limits = BoundLimits { cutoff, budget: Some(budget) };
        let (bounds, root) = make(network, set, questions, kind, limits, &mut scratch);
        let options = BoxTreeOptions { nodes, cutoff, memory: OPEN_NODES, parallel };
        let mut decider = Self::of_root(Arc::new(bounds), root, options, budget);
        decider.time = budget.elapsed() - begun;
        decider
    }

    /// Begins with bounds that are made already.
    pub fn of_root(
        bounds: Arc<BoxBounds>,
        root: BoundedBox,
        options: BoxTreeOptions,
        budget: &Budget,
    ) -> Self {
        let tree = BoxTree::new(Arc::clone(&bounds), root.clone(), options, budget);
        Self { tree, bounds, root, options, witness: None, time: Duration::ZERO }
    }

    /// The bounds of the whole box, and how its tree is grown.
    pub fn root(&self) -> (&BoxBounds, &BoundedBox, BoxTreeOptions) {
        (&self.bounds, &self.root, self.options)
    }

    /// Nodes bounded by the tree.
    pub fn nodes(&self) -> usize {
        self.tree.nodes()
    }

    /// What covers the box.
    pub fn cover(&self) -> &Cover<Certificate> {
        self.tree.cover()
    }

    /// Bounds the whole box once more, with more work, and begins again from there, if that is lower.
    pub fn strengthen(&mut self, budget: &Budget) {
        let begun = budget.elapsed();
        let limits = BoundLimits { cutoff: self.options.cutoff, budget: Some(budget) };
        let mut scratch = BoxScratch::default();
        let again = self.bounds.bounded_again(&self.root, limits, &mut scratch);
        if let Some((bounds, root)) = again
            && root.bound.value() < self.tree.bound()
        {
            let bounds = Arc::new(bounds);
            self.tree = BoxTree::new(Arc::clone(&bounds), root.clone(), self.options, budget);
            (self.bounds, self.root) = (bounds, root);
        }
        self.time += budget.elapsed() - begun;
    }

    /// Splits until all is decided or the time is up. Why it ended.
    pub fn grow(
        &mut self,
        budget: &Budget,
        observer: &dyn Observer,
        is_witness: impl Fn(&Candidate) -> bool,
    ) -> BranchStop {
        let Self { tree, witness, time, .. } = self;
        let begun = budget.elapsed();
        observer.entered(Phase::Branch);
        let stop = tree.grow(budget, |event: TreeEvent| match event {
            TreeEvent::Divided(state) => {
                observer.divided(&state);
                ControlFlow::Continue(())
            }
            TreeEvent::Better(better) if is_witness(better) => {
                *witness = Some(better.clone());
                ControlFlow::Break(())
            }
            TreeEvent::Better(_) => ControlFlow::Continue(()),
        });
        *time += budget.elapsed() - begun;
        stop
    }

    /// What proves that no question has such a value, if that is so and was to be kept. `conjunctions` says which one each question is.
    pub fn take_proof(&mut self, stop: BranchStop, conjunctions: &[usize]) -> Option<BoxTreeProof> {
        self.tree.take_proof(stop, conjunctions)
    }

    /// What came of it, the witness if there is one, and how long it took.
    pub fn finish(self, stop: BranchStop) -> (BranchResult, Option<Candidate>, Duration) {
        (self.tree.finish(stop), self.witness, self.time)
    }
}
