//! Properties of a box: one tree for all conjunctions, instead of one for each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::options::BranchLimits;
use super::solver::Solver;
use crate::bounds::{Arithmetic, BoxBounds, BoxQuestions, BoxScratch, SplitBy};
use crate::branch::{BoxTree, BoxTreeOptions, BranchResult, BranchStop, TreeEvent};
use crate::budget::Budget;
use crate::network::Network;
use crate::observer::{Observer, Phase};
use crate::problem::{Candidate, Conjunction};
use crate::sets::InputSet;

/// A bound that is told without its constant, and gets it back, loses this much of the constant's magnitude at most.
const ROUNDED_TWICE: f64 = 1e-14;

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
    witness: Option<Candidate>,
    time: Duration,
}

/// The time that a tree gets before anything else is tried.
pub(super) fn first_slice<'b>(budget: &Budget<'b>) -> Budget<'b> {
    budget.tenth().capped(Some(budget.elapsed() + FIRST_SLICE))
}

/// Whether questions about a set are decided here.
fn is_suited(solver: &Solver) -> bool {
    solver.set.is_box() && !solver.options.proofs
}

impl BoxDecider {
    /// The bound of the whole box for conjunctions. `None` if the set is no box, or nothing is to be split.
    pub fn of_conjunctions(
        solver: &Solver,
        conjunctions: &[Conjunction],
        budget: &Budget,
    ) -> Option<Self> {
        let limits = solver.options.branch?;
        if !is_suited(solver) || conjunctions.is_empty() {
            return None;
        }
        let cutoff = cutoff_of(conjunctions);
        let questions = BoxQuestions::conjunctions(conjunctions.iter());
        Some(Self::new(solver.judge.network(), &solver.set, (questions, cutoff), limits, budget))
    }

    fn new(
        network: &Network,
        set: &InputSet,
        (questions, cutoff): (BoxQuestions, f64),
        BranchLimits { nodes, parallel, .. }: BranchLimits,
        budget: &Budget,
    ) -> Self {
        let begun = budget.elapsed();
        let kind = (Arithmetic::F32, SplitBy::suited_to(network));
        let mut scratch = BoxScratch::default();
        let (bounds, root) = BoxBounds::new(network, set, questions, kind, cutoff, &mut scratch);
        let options = BoxTreeOptions { nodes, cutoff, parallel };
        let tree = BoxTree::new(Arc::new(bounds), root, options, budget);
        let time = budget.elapsed() - begun;
        Self { tree, witness: None, time }
    }

    /// Splits until all is decided or the time is up. Why it ended.
    pub fn grow(
        &mut self,
        budget: &Budget,
        observer: &dyn Observer,
        is_witness: impl Fn(&Candidate) -> bool,
    ) -> BranchStop {
        let Self { tree, witness, time } = self;
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

    /// What came of it, the witness if there is one, and how long it took.
    pub fn finish(self, stop: BranchStop) -> (BranchResult, Option<Candidate>, Duration) {
        (self.tree.finish(stop), self.witness, self.time)
    }
}
