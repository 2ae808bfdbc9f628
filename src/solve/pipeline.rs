//! One objective: bound, search, branch, judge.
//!
//! Search, bounds and branch and bound know nothing of the objective's constant, so the threshold is told without it: the *cutoff*.

use std::ops::ControlFlow;

use super::answer::{Solution, Stop, TreeSummary};
use super::error::SolveError;
use super::options::{BranchLimits, Goal, SolveOptions};
use super::solver::Solver;
use crate::bounds::{Arithmetic, BoundOptions, CertifiedBound};
use crate::branch::{
    BranchOptions, BranchResult, FEW, ProvenBound, TreeEvent, Until, branch_and_bound,
};
use crate::budget::Budget;
use crate::observer::Observer;
use crate::problem::{Candidate, Objective, Problem, Property};
use crate::proof::Claim;
use crate::search::{Method, SearchOptions, SearchResult, ascend, search};
use crate::tolerance::OPTIMAL_GAP;

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
        let options = &self.solver.options;
        let root = match self.goal {
            Goal::Optimum => self.optimum(),
            Goal::Verdict => self.verdict(),
        };
        let (known, tree) = match options.branch.filter(|_| root.stop.may_branch()) {
            Some(limits) => self.branch(root, limits),
            None => (root, TreeSummary::default()),
        };
        let solver = self.solver;
        let judgement = solver.judge.judge(&solver.set, self.property, &known.search.best.point)?;
        let bounds = known.bounds();
        let constant = self.problem.question.constant;
        let excess = constant - self.threshold.unwrap_or(0.0);
        let excesses: Vec<CertifiedBound> = bounds.iter().map(|bound| bound.plus(excess)).collect();
        let verdict = judgement.verdict(&excesses)?;
        let bound = bounds.iter().map(|bound| bound.plus(constant));
        Ok(Solution {
            verdict: self.threshold.map(|_| verdict),
            judgement,
            bound: bound.min_by(|a, b| a.value().total_cmp(&b.value())),
            search: known.search.clone(),
            tree,
            stop: known.stop,
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
        self.cutoff().is_some_and(|cutoff| candidate.margin > cutoff)
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
        (self.search.method == Method::Rw).then(|| ascend(&self.problem, self.budget))
    }

    /// A bound that holds in f32, no lower than the cutoff.
    fn certify(&self, cutoff: f64, budget: &Budget) -> ProvenBound {
        self.solver.certify_below(&self.problem, cutoff, budget)
    }

    /// Searches, and stops once `is_enough`.
    fn search(
        &self,
        arithmetic: Arithmetic,
        is_enough: impl Fn(&Candidate) -> bool,
    ) -> SearchResult {
        let linear = self.solver.bounds(arithmetic, self.budget);
        search(&self.problem, &|| linear.neurons(), &self.search, self.budget, |better| {
            self.observer.better(better);
            if is_enough(better) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// The smallest bound, then the largest value; a bound below the cutoff once more for f32.
    fn optimum(&self) -> Known {
        let ascended = self.ascend();
        let half = || self.budget.half();
        let linear = self.solver.bounds(Arithmetic::Exact, &half());
        // A bound that meets the value need not be lower.
        let known = ascended.as_ref().map_or(f64::NEG_INFINITY, |found| found.best.margin);
        let effort = BoundOptions { cutoff: known + 0.5 * OPTIMAL_GAP, ..BoundOptions::default() };
        let proof = linear.prove(self.problem.weights(), &effort, &half());
        let mut bounds = vec![ProvenBound::of_whole(&proof, self.solver.options.proofs)];
        if let Some(cutoff) = self.cutoff().filter(|cutoff| proof.bound.value() < *cutoff) {
            bounds.push(self.certify(cutoff, &half()));
        }
        self.tell_bounds(&bounds);
        let optimal = proof.bound.value() - OPTIMAL_GAP;
        let found = self.search(Arithmetic::Exact, |better| better.margin > optimal);
        let stop = Stop::of_search(found.stop, Stop::Optimal);
        Known::new(found.after(ascended), bounds, stop)
    }

    /// Cheap attack, bound, search: whichever decides first.
    fn verdict(&self) -> Known {
        let Some(cutoff) = self.cutoff() else { return self.optimum() };
        let ascended = self.ascend();
        if let Some(found) = ascended.clone().filter(|found| self.is_witness(&found.best)) {
            self.observer.better(&found.best);
            return Known::new(found, Vec::new(), Stop::First);
        }
        let bound = self.certify(cutoff, &self.budget.half());
        self.tell_bounds(std::slice::from_ref(&bound));
        if bound.bound.value() < cutoff {
            let found = ascended.unwrap_or_else(|| ascend(&self.problem, self.budget));
            return Known::new(found, vec![bound], Stop::Robust);
        }
        let found = self.search(Arithmetic::F32, |better| self.is_witness(better));
        let stop = Stop::of_search(found.stop, Stop::First);
        Known::new(found.after(ascended), vec![bound], stop)
    }

    /// Branches where the bounds of the whole set have not decided: first for the verdict, in f32, then, if the optimum is wanted, for
    /// the gap.
    fn branch(&self, mut known: Known, limits: BranchLimits) -> (Known, TreeSummary) {
        let mut tree = TreeSummary::default();
        if let Some(cutoff) = self.cutoff() {
            let of_sign = known.whole.iter().find(|proven| proven.bound.holds_in_f32()).cloned();
            let is_below = of_sign.as_ref().is_some_and(|proven| proven.bound.value() < cutoff);
            if !is_below && !self.is_witness(&known.search.best) {
                let root = of_sign.unwrap_or_else(|| self.certify(cutoff, &self.budget.half()));
                let until = Until::Below(cutoff);
                let result = self.tree(&known, Arithmetic::F32, root, until, limits, &mut tree);
                known.add(result, Stop::Robust, self.budget);
            }
        }
        let goes_on = ![Stop::Time, Stop::Interrupted].contains(&known.stop);
        if self.goal == Goal::Optimum && goes_on {
            let exact = known.whole.iter().find(|proven| !proven.bound.holds_in_f32());
            if let Some(root) = exact.cloned() {
                let until = Until::Gap(limits.gap);
                let result = self.tree(&known, Arithmetic::Exact, root, until, limits, &mut tree);
                known.add(result, Stop::Optimal, self.budget);
            }
        }
        (known, tree)
    }

    /// One tree, from the best point known.
    fn tree(
        &self,
        known: &Known,
        arithmetic: Arithmetic,
        root: ProvenBound,
        until: Until,
        BranchLimits { nodes, parallel, .. }: BranchLimits,
        tree: &mut TreeSummary,
    ) -> BranchResult {
        let nodes = nodes - tree.nodes.min(nodes);
        let keep = self.solver.options.proofs;
        let options = BranchOptions { nodes, until, keep, few: FEW, parallel };
        let watch = |event: TreeEvent| {
            match event {
                TreeEvent::Better(better) => self.observer.better(better),
                TreeEvent::Divided(state) => self.observer.divided(&state),
            }
            match (until, event) {
                (Until::Below(_), TreeEvent::Better(better)) if self.is_witness(better) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        };
        let begun = self.budget.elapsed();
        let linear = self.solver.bounds(arithmetic, &self.budget.half());
        let best = known.search.best.clone();
        let result =
            branch_and_bound(&self.problem, linear, root, best, &options, self.budget, watch);
        tree.add(&result, self.budget.elapsed() - begun);
        result
    }
}

/// What is known so far.
struct Known {
    search: SearchResult,
    /// By bounds of the whole set, at most one for each arithmetic.
    whole: Vec<ProvenBound>,
    /// By branch and bound.
    divided: Vec<(CertifiedBound, Option<Claim>)>,
    stop: Stop,
}

impl Known {
    fn new(search: SearchResult, whole: Vec<ProvenBound>, stop: Stop) -> Self {
        Self { search, whole, divided: Vec::new(), stop }
    }

    /// Adds what branch and bound found that was to show `proven`.
    fn add(&mut self, mut result: BranchResult, proven: Stop, budget: &Budget) {
        self.stop = Stop::of_branch(result.stop, proven);
        self.divided.push((result.bound, result.claim()));
        self.search.improve(&result.best, budget.elapsed());
    }

    fn bounds(&self) -> Vec<CertifiedBound> {
        let divided = self.divided.iter().map(|(bound, _)| *bound);
        self.whole.iter().filter_map(ProvenBound::certified).chain(divided).collect()
    }

    /// The lowest claim in exact arithmetic, and that in f32.
    fn claims(self) -> Vec<Claim> {
        let of_whole = self.whole.iter().filter_map(ProvenBound::claim);
        let all: Vec<Claim> =
            self.divided.into_iter().filter_map(|(_, claim)| claim).chain(of_whole).collect();
        let (in_f32, exact): (Vec<Claim>, Vec<Claim>) = all.into_iter().partition(|c| c.f32);
        let lowest =
            |claims: Vec<Claim>| claims.into_iter().min_by(|a, b| a.bound.total_cmp(&b.bound));
        [exact, in_f32].into_iter().filter_map(lowest).collect()
    }
}
