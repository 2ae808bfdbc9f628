//! One objective: bound, search, branch, judge.
//!
//! Search, bounds and branch and bound know nothing of the objective's constant, so the threshold is told without it: the *cutoff*.

use std::ops::ControlFlow;

use super::answer::{Solution, Stop};
use super::error::SolveError;
use super::known::Known;
use super::options::{BranchLimits, Goal, SolveOptions};
use super::solver::Solver;
use crate::bounds::{Arithmetic, BoundOptions, CertifiedBound};
use crate::branch::{
    BranchOptions, BranchResult, FEW, ProvenBound, TreeEvent, Until, branch_and_bound,
};
use crate::budget::Budget;
use crate::network::Trace;
use crate::observer::{Observer, Phase};
use crate::problem::{Candidate, Objective, Problem, Property};
use crate::search::{
    Method, SearchEvent, SearchOptions, SearchResult, ascend, climb_from_samples, search,
};
use crate::tolerance::OPTIMAL_GAP;

/// Nodes of a tree before the search, where a verdict is wanted: easy cases are decided by fewer, in less time than a search takes.
const NODES_BEFORE_SEARCH: usize = 24;

/// Neurons are bounded again, with lines that are tight where the bound of the objective is attained, unless more than so many times what it gains
/// from the centre on is missing. (Where most of it is the constant, as behind many layers, it says nothing either way.)
const HOPELESS: f64 = 4.0;

/// The pipeline at work on one objective.
pub(super) struct Pipeline<'s> {
    solver: &'s Solver,
    problem: Problem,
    /// What a witness must have.
    property: &'s Property,
    /// The verdict is about whether the objective exceeds this.
    threshold: Option<f64>,
    goal: Goal,
    search: SearchOptions,
    budget: &'s Budget<'s>,
    observer: &'s dyn Observer,
}

impl<'s> Pipeline<'s> {
    pub fn new(
        solver: &'s Solver,
        objective: &Objective,
        property: &'s Property,
        seed: u64,
        budget: &'s Budget<'s>,
        observer: &'s dyn Observer,
    ) -> Self {
        let SolveOptions { threshold, goal, search, .. } = solver.options;
        let (problem, search) = (solver.problem(objective), SearchOptions { seed, ..search });
        Self { solver, problem, property, threshold, goal, search, budget, observer }
    }

    /// To find out whether the objective is positive, and no more.
    pub fn deciding(self) -> Self {
        Self { threshold: Some(0.0), goal: Goal::Verdict, ..self }
    }

    pub fn answer(&self) -> Result<Solution, SolveError> {
        let known = match self.goal {
            Goal::Optimum => self.optimum(),
            Goal::Verdict => self.verdict(),
        };
        self.conclude(self.branch(known))
    }

    /// Judges the best point, and says what is known.
    pub fn conclude(&self, known: Known) -> Result<Solution, SolveError> {
        let (solver, bounds) = (self.solver, known.bounds());
        let search = known.search.clone();
        let search = search.unwrap_or_else(|| ascend(&self.problem, self.budget));
        self.observer.entered(Phase::Judge);
        let judgement = solver.judge.judge(&solver.set, self.property, &search.best.point)?;
        let constant = self.problem.question.constant;
        let excess = constant - self.threshold.unwrap_or(0.0);
        let excesses: Vec<CertifiedBound> = bounds.iter().map(|bound| bound.plus(excess)).collect();
        let verdict = judgement.verdict(&excesses)?;
        let bound = bounds.iter().map(|bound| bound.plus(constant));
        let bound = bound.min_by(|a, b| a.value().total_cmp(&b.value()));
        let value = judgement.point().value();
        let is_closed = excesses.iter().any(|bound| bound.value() - value <= solver.options.gap());
        let stop = match known.stop {
            Stop::Optimal if !is_closed => Stop::Rounded,
            stop => stop,
        };
        Ok(Solution {
            verdict: self.threshold.map(|_| verdict),
            judgement,
            bound,
            search,
            tree: known.tree.clone(),
            stop,
            claims: known.claims(),
            seed: self.search.seed,
        })
    }

    /// The threshold as search and bounds see it.
    fn cutoff(&self) -> Option<f64> {
        self.threshold.map(|threshold| threshold - self.problem.question.constant)
    }

    /// Whether a candidate is a witness, once it is stored.
    fn is_witness(&self, candidate: &Candidate) -> bool {
        let solver = self.solver;
        self.cutoff().is_some_and(|cutoff| candidate.margin >= cutoff)
            && solver
                .judge
                .judge(&solver.set, self.property, &candidate.point)
                .is_ok_and(|judgement| judgement.witness().is_some())
    }

    fn tell_bounds(&self, bounds: &[ProvenBound]) {
        let certified = bounds.iter().filter_map(ProvenBound::certified);
        certified.for_each(|bound| self.observer.bounded(&bound));
    }

    /// The first climb of our own. Other methods show what they find by themselves.
    fn ascend(&self) -> Option<SearchResult> {
        self.observer.entered(Phase::Search);
        (self.search.method == Method::Rw).then(|| ascend(&self.problem, self.budget))
    }

    /// A bound that holds in f32, no lower than the cutoff.
    fn certify(&self, cutoff: f64, budget: &Budget) -> ProvenBound {
        self.observer.entered(Phase::Bounds);
        self.solver.certify_below(&self.problem, cutoff, budget)
    }

    /// Searches, and stops once `is_enough`.
    fn search(
        &self,
        arithmetic: Arithmetic,
        is_enough: impl Fn(&Candidate) -> bool,
    ) -> SearchResult {
        self.observer.entered(Phase::Bounds);
        let linear = self.solver.bounds(arithmetic, self.budget);
        self.observer.entered(Phase::Search);
        let watch = |event: SearchEvent| {
            let SearchEvent::Better(better) = event else {
                self.observer.start_finished();
                return ControlFlow::Continue(());
            };
            self.observer.better(better);
            if is_enough(better) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        search(&self.problem, &|| linear.neurons(), &self.search, self.budget, watch)
    }

    /// The smallest bound, then the largest value; a bound below the cutoff once more for f32.
    fn optimum(&self) -> Known {
        let ascended = self.ascend();
        let half = || self.budget.half();
        self.observer.entered(Phase::Bounds);
        let linear = self.solver.bounds(Arithmetic::Exact, &half());
        // A bound that meets the value need not be lower.
        let known = ascended.as_ref().map_or(f64::NEG_INFINITY, |found| found.best.margin);
        let gap = self.solver.options.gap().min(OPTIMAL_GAP);
        let effort = BoundOptions { cutoff: known + 0.5 * gap, ..BoundOptions::default() };
        let proven = self.solver.prove(linear, &self.problem, &effort, HOPELESS, &half());
        let bound = proven.bound.value();
        let mut bounds = vec![proven];
        if let Some(cutoff) = self.cutoff().filter(|cutoff| bound < *cutoff) {
            bounds.push(self.certify(cutoff, &half()));
        }
        self.tell_bounds(&bounds);
        let optimal = bound - gap;
        let found = self.search(Arithmetic::Exact, |better| better.margin > optimal);
        let stop = Stop::of_search(found.stop, Stop::Optimal);
        let mut known = Known::new(ascended, bounds, stop);
        known.add_search(found);
        known
    }

    /// Cheap attack, bound, search: whichever decides first. Where it may be branched, the search waits until the first nodes have not decided.
    fn verdict(&self) -> Known {
        if self.threshold.is_none() {
            return self.optimum();
        }
        let mut known = self.attack();
        if known.is_open() {
            self.bound(&mut known);
        }
        if known.is_open() && self.solver.options.branch.is_none() {
            self.search_on(&mut known);
        }
        known
    }

    /// The cheap attack.
    pub fn attack(&self) -> Known {
        let ascended = self.ascend();
        let witness = ascended.as_ref().filter(|found| self.is_witness(&found.best));
        if let Some(found) = witness {
            self.observer.better(&found.best);
            return Known::new(ascended, Vec::new(), Stop::First);
        }
        Known::new(ascended, Vec::new(), Stop::NoGain)
    }

    /// The bound of the whole set, if there is a threshold to be below.
    pub fn bound(&self, known: &mut Known) {
        let Some(cutoff) = self.cutoff() else { return };
        let bound = self.certify(cutoff, &self.budget.half());
        self.tell_bounds(std::slice::from_ref(&bound));
        if bound.bound.value() < cutoff {
            known.stop = Stop::Robust;
        }
        known.whole.push(bound);
    }

    /// The attack from many random points, where a box has few inputs.
    pub fn attack_from_samples(&self, known: &mut Known) {
        let better = |candidate: &Candidate| {
            if self.is_witness(candidate) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        self.observer.entered(Phase::Search);
        let found = climb_from_samples(&self.problem, self.search.seed, self.budget, better);
        let Some(best) = found else { return };
        if self.is_witness(&best) {
            self.observer.better(&best);
            known.stop = Stop::First;
        }
        let search = known.search.get_or_insert_with(|| ascend(&self.problem, self.budget));
        search.improve(&best, self.budget.elapsed());
    }

    /// What a search found, with another point as its best.
    pub fn with_best(&self, search: Option<SearchResult>, best: &Candidate) -> SearchResult {
        let mut search = search.unwrap_or_else(|| ascend(&self.problem, self.budget));
        let mut trace = Trace::new(&self.problem.network);
        search.best = self.problem.evaluate(best.point.clone(), &mut trace);
        search.time_to_best = self.budget.elapsed();
        search
    }

    /// The search for a witness.
    pub fn search_on(&self, known: &mut Known) {
        let found = self.search(Arithmetic::F32, |better| self.is_witness(better));
        known.stop = Stop::of_search(found.stop, Stop::First);
        known.add_search(found);
    }

    /// Branches, if that is asked for, where the bounds of the whole set have not decided: first for the verdict, in f32, then, if the optimum
    /// is wanted, for the gap.
    pub fn branch(&self, mut known: Known) -> Known {
        let limits = self.solver.options.branch.filter(|_| known.is_open());
        let Some(limits) = limits else { return known };
        if let Some(cutoff) = self.cutoff() {
            let of_sign = known.whole.iter().find(|proven| proven.bound.holds_in_f32()).cloned();
            let is_below = of_sign.as_ref().is_some_and(|proven| proven.bound.value() < cutoff);
            let found = known.search.as_ref().is_some_and(|found| self.is_witness(&found.best));
            if !is_below && !found {
                let root = of_sign.unwrap_or_else(|| self.certify(cutoff, &self.budget.half()));
                let until = Until::Below(cutoff);
                let result = self.tree(&mut known, Arithmetic::F32, root, until, limits);
                known.add(result, Stop::Robust, self.budget);
                if !known.searched && known.is_open() {
                    self.search_on(&mut known);
                }
            }
        }
        let goes_on = ![Stop::Time, Stop::Interrupted].contains(&known.stop);
        if self.goal == Goal::Optimum && goes_on && limits.gap.is_finite() {
            let exact = known.whole.iter().find(|proven| !proven.bound.holds_in_f32());
            if let Some(root) = exact.cloned() {
                let until = Until::Gap(limits.gap);
                let result = self.tree(&mut known, Arithmetic::Exact, root, until, limits);
                known.add(result, Stop::Optimal, self.budget);
            }
        }
        known
    }

    /// One tree, from the best point known.
    fn tree(
        &self,
        known: &mut Known,
        arithmetic: Arithmetic,
        root: ProvenBound,
        until: Until,
        BranchLimits { nodes, parallel, .. }: BranchLimits,
    ) -> BranchResult {
        let nodes = nodes - known.tree.nodes.min(nodes);
        let keep = self.solver.options.proofs;
        let options = BranchOptions { nodes, until, keep, few: FEW, parallel };
        let (mut seen, mut found) = (0, None);
        let may_search = !known.searched && matches!(until, Until::Below(_));
        let watch = |event: TreeEvent| {
            match event {
                TreeEvent::Better(better) => self.observer.better(better),
                TreeEvent::Divided(state) => {
                    self.observer.divided(&state);
                    seen += state.more;
                    if may_search && found.is_none() && seen >= NODES_BEFORE_SEARCH {
                        let search = self.search(Arithmetic::F32, |better| self.is_witness(better));
                        let is_witness = self.is_witness(&search.best);
                        self.observer.entered(Phase::Branch);
                        found = Some(search);
                        if is_witness {
                            return ControlFlow::Break(());
                        }
                    }
                }
            }
            match (until, event) {
                (Until::Below(_), TreeEvent::Better(better)) if self.is_witness(better) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        };
        let begun = self.budget.elapsed();
        self.observer.entered(Phase::Bounds);
        let linear = self.solver.bounds(arithmetic, &self.budget.half());
        self.observer.entered(Phase::Branch);
        let best = known.search.get_or_insert_with(|| ascend(&self.problem, self.budget));
        let best = best.best.clone();
        let result =
            branch_and_bound(&self.problem, linear, root, best, &options, self.budget, watch);
        if let Some(found) = found {
            known.add_search(found);
        }
        known.tree.add(&result, self.budget.elapsed() - begun);
        result
    }
}
