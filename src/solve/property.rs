//! Properties: any of (all of rows). All conjunctions share the bounds of the network's neurons, and each is decided on its own.
//!
//! A conjunction is one objective: its [smallest row](super::smallest_row). It is excluded once that is negative in the whole set.
//! Cheap steps come first, for all conjunctions: one that has a witness ends the work on the others.

use super::answer::{Solution, Stop};
use super::bottleneck::{BottleneckResult, decide_in_halves};
use super::boxes::{BoxDecider, first_slice};
use super::error::SolveError;
use super::known::Known;
use super::pipeline::Pipeline;
use super::solver::Solver;
use crate::branch::BranchStop;
use crate::budget::Budget;
use crate::judge::{Judgement, Verdict};
use crate::observer::Observer;
use crate::problem::{Candidate, Conjunction, Objective, Property};
use crate::proof::BoxTreeProof;

/// The answer to a property.
#[derive(Debug)]
pub struct Decision {
    /// Adversarial: a witness has the property. Robust: no input of the set has it.
    pub verdict: Verdict,
    /// The witness, or the best point of the conjunction that is hardest to exclude.
    pub judgement: Judgement,
    /// What is known about the conjunctions, in their order. Once there is a witness, that one's only, or none's if it was found before
    /// anything was begun.
    pub solutions: Vec<Solution>,
    /// What proves that no input of the set has the property, if that is so, was to be kept, and the set is a box.
    pub tree: Option<BoxTreeProof>,
    /// Why work ended.
    pub stop: Stop,
}

/// Looks at two points, then decides conjunction by conjunction, until one has a witness.
pub(super) fn decide(
    solver: &Solver,
    property: &Property,
    seed: u64,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Decision, SolveError> {
    let look = |point: &[f64]| solver.judge.judge(&solver.set, property, point);
    let (centre, middle) = (look(solver.set.centre())?, look(&middle(solver))?);
    let first = if centre.witness().is_some() { centre } else { middle };
    let mut decision = Decision {
        verdict: Verdict::Robust,
        judgement: first,
        solutions: Vec::new(),
        tree: None,
        stop: Stop::Robust,
    };
    if decision.judgement.witness().is_some() {
        return Ok(Decision { verdict: Verdict::Adversarial, stop: Stop::First, ..decision });
    }
    // What asks for no row at all holds everywhere, if not at these two points.
    let rowless = property.any_of.iter().any(|all| all.all_of.is_empty());
    let asked = Asked { solver, property, seed, observer };
    let tasks = property.any_of.iter().filter(|all| !all.all_of.is_empty());
    let mut tasks: Vec<Task> = tasks.map(|all| asked.task(all)).collect();
    let found = asked.work(&mut tasks, budget, &mut decision.tree);
    if let Some(at) = found {
        tasks = vec![tasks.swap_remove(at)];
    }
    for task in tasks {
        decision.solutions.push(task.conclude(&asked, budget)?);
    }
    decision.settle(rowless, budget);
    Ok(decision)
}

/// The middle of the box.
fn middle(solver: &Solver) -> Vec<f64> {
    let middle = (0..solver.set.dimension()).map(|i| {
        let (lower, upper) = solver.set.range(i);
        lower + 0.5 * (upper - lower)
    });
    solver.set.project(&middle.collect::<Vec<f64>>())
}

impl Decision {
    /// The verdict of all conjunctions together. `unknown`: there is one that nobody looked at.
    fn settle(&mut self, unknown: bool, budget: &Budget) {
        let is = |solution: &&Solution, verdict| solution.verdict == Some(verdict);
        let witness = self.solutions.iter().find(|s| is(s, Verdict::Adversarial));
        let open = self.solutions.iter().filter(|s| !is(s, Verdict::Robust));
        let value = |solution: &Solution| solution.bound.map_or(f64::INFINITY, |b| b.value());
        let hardest = open.max_by(|a, b| value(a).total_cmp(&value(b)));
        if let Some(solution) = witness.or(hardest) {
            self.verdict = solution.verdict.unwrap_or(Verdict::Unknown);
            (self.judgement, self.stop) = (solution.judgement.clone(), solution.stop);
        } else if unknown {
            (self.verdict, self.stop) = (Verdict::Unknown, Stop::NoGain);
        }
        if self.verdict == Verdict::Unknown && budget.is_spent() {
            self.stop = if budget.is_cancelled() { Stop::Interrupted } else { Stop::Time };
        }
    }
}

/// What all conjunctions have in common.
struct Asked<'a> {
    solver: &'a Solver,
    property: &'a Property,
    seed: u64,
    observer: &'a dyn Observer,
}

/// One conjunction, and what is known about it.
struct Task {
    /// Whose output is the smallest row, if there are several.
    solver: Option<Solver>,
    objective: Objective,
    property: Property,
    known: Option<Known>,
}

impl Asked<'_> {
    fn task(&self, conjunction: &Conjunction) -> Task {
        let solver = self.solver.of_smallest_row(conjunction);
        let objective = match (&solver, conjunction.all_of.first()) {
            (None, Some(row)) => {
                let Objective { weights, constant } = row.objective.clone();
                // The largest constant that may be meant.
                let constant =
                    if row.slack > 0.0 { (constant + row.slack).next_up() } else { constant };
                Objective { weights, constant }
            }
            _ => Objective::new(vec![1.0]),
        };
        let (any_of, of_inputs) = (vec![conjunction.clone()], self.property.of_inputs.clone());
        Task { solver, objective, property: Property { any_of, of_inputs }, known: None }
    }

    /// Attacks all, bounds all, searches all (two ways), branches on all that are left. The task that has a witness, as soon as one has.
    fn work(
        &self,
        tasks: &mut [Task],
        budget: &Budget,
        proof: &mut Option<BoxTreeProof>,
    ) -> Option<usize> {
        for (at, task) in tasks.iter_mut().enumerate() {
            if task.step(self, budget, |pipeline, _| pipeline.attack()) {
                return Some(at);
            }
        }
        if let Some(found) = self.work_on_box(tasks, budget, proof) {
            return found;
        }
        for task in &mut *tasks {
            // Neurons are bounded by the first that needs it, with all of the time.
            task.step(self, budget, |pipeline, mut known| {
                pipeline.bound(&mut known);
                known
            });
        }
        let open = open_tasks(tasks);
        let found = self.attack_from_samples(tasks, &open, budget);
        let found = found.or_else(|| self.search(tasks, &open, &budget.half()));
        if found.is_some() {
            return found;
        }
        // The easiest first: what they leave of their time is for the others.
        let open = open_tasks(tasks);
        for (done, &at) in open.iter().enumerate() {
            let share = budget.share(open.len() - done);
            if tasks[at].step(self, &share, |pipeline, known| pipeline.branch(known)) {
                return Some(at);
            }
        }
        None
    }
}

impl Asked<'_> {
    /// Attacks tasks from many random points, the last one first. The task that has a witness, as soon as one has.
    fn attack_from_samples(
        &self,
        tasks: &mut [Task],
        open: &[usize],
        budget: &Budget,
    ) -> Option<usize> {
        let attack = |pipeline: Pipeline, mut known| {
            pipeline.attack_from_samples(&mut known);
            known
        };
        open.iter().rev().copied().find(|&at| tasks[at].step(self, budget, attack))
    }

    /// Whether a point is a witness, once it is stored.
    fn is_witness(&self, property: &Property, candidate: &Candidate) -> bool {
        let Solver { judge, set, .. } = self.solver;
        let judged = judge.judge(set, property, &candidate.point);
        judged.is_ok_and(|judgement| judgement.witness().is_some())
    }

    /// Searches for witnesses of tasks, the last one first, each with its share of the time. The task that has a witness, as soon as one has.
    fn search(&self, tasks: &mut [Task], open: &[usize], budget: &Budget) -> Option<usize> {
        let search = |pipeline: Pipeline, mut known: Known| {
            pipeline.search_on(&mut known);
            known.forget_time();
            known
        };
        let found = |(left, &at): (usize, &usize)| {
            let share = budget.share(left + 1);
            tasks[at].step(self, &share, search).then_some(at)
        };
        open.iter().enumerate().rev().find_map(found)
    }

    /// Decides a tree's questions in two halves, if the network has a bottleneck; bounds the whole box again; and tries once more what could not be
    /// asked before. If the tasks are decided by that: what proves it, if it was to be kept.
    fn work_in_halves(
        &self,
        tasks: &mut [Task],
        open: &[usize],
        decider: &mut BoxDecider,
        budget: &Budget,
    ) -> Option<Option<BoxTreeProof>> {
        let (network, middle) = (self.solver.judge.network(), middle(self.solver));
        let asked = (&middle[..], open);
        let ask = |decider: &BoxDecider| {
            decide_in_halves(decider, network, asked, &budget.half(), self.observer)
        };
        let first = ask(decider);
        let is_asked = first.as_ref().is_some_and(|result| result.is_asked);
        let decided = add_halves(tasks, open, first);
        if decided.is_some() {
            return decided;
        }
        decider.strengthen(budget);
        let second = if is_asked || budget.is_spent() { None } else { ask(decider) };
        add_halves(tasks, open, second)
    }

    /// The same where the set is a box: one tree for all tasks. `None` if it is none.
    fn work_on_box(
        &self,
        tasks: &mut [Task],
        budget: &Budget,
        proof: &mut Option<BoxTreeProof>,
    ) -> Option<Option<usize>> {
        if budget.is_spent() {
            return None;
        }
        let open = open_tasks(tasks);
        let conjunctions: Vec<Conjunction> =
            open.iter().map(|&at| tasks[at].property.any_of[0].clone()).collect();
        // Without a conjunction that asks for nothing, tasks are the property's conjunctions.
        let is_all = open.len() == self.property.any_of.len();
        let mut decider = BoxDecider::of_conjunctions(self.solver, &conjunctions, budget)?;
        let grow = |decider: &mut BoxDecider, budget: &Budget| {
            decider.grow(budget, self.observer, |better| {
                better.margin >= 0.0 && self.is_witness(self.property, better)
            })
        };
        let mut stop = grow(&mut decider, &first_slice(budget));
        let is_open = |stop| [BranchStop::Time, BranchStop::Nodes].contains(&stop);
        if is_open(stop) && !budget.is_spent() {
            if let Some(at) = self.attack_from_samples(tasks, &open, budget) {
                return Some(Some(at));
            }
            stop = grow(&mut decider, &budget.tenth());
        }
        if is_open(stop) && !budget.is_spent() {
            if let Some(at) = self.search(tasks, &open, &budget.tenth()) {
                return Some(Some(at));
            }
            if let Some(tree) = self.work_in_halves(tasks, &open, &mut decider, budget) {
                *proof = tree.filter(|_| is_all);
                return Some(None);
            }
            stop = grow(&mut decider, budget);
        }
        *proof = if is_all { decider.take_proof(stop, &open) } else { None };
        let (result, witness, time) = decider.finish(stop);
        let (bound, stop) = (result.bound, Stop::of_branch(result.stop, Stop::Robust));
        if let Some(first) = open.first() {
            let known = tasks[*first].known.get_or_insert_with(Known::nothing);
            known.tree.add(&result, time);
        }
        if let Some(witness) = witness {
            let holds = |&&at: &&usize| self.is_witness(&tasks[at].property, &witness);
            let at = *open.iter().find(holds)?;
            tasks[at].take_witness(self, &witness, budget);
            return Some(Some(at));
        }
        for &at in &open {
            let constant = tasks[at].objective.constant;
            let known = tasks[at].known.get_or_insert_with(Known::nothing);
            known.add_shared(if constant == 0.0 { bound } else { bound.plus(-constant) }, stop);
        }
        Some(None)
    }
}

/// Adds what came of deciding open tasks in two halves. If they are decided: what proves it, if it was to be kept.
fn add_halves(
    tasks: &mut [Task],
    open: &[usize],
    result: Option<BottleneckResult>,
) -> Option<Option<BoxTreeProof>> {
    let BottleneckResult { bound, nodes, proof, .. } = result?;
    if let Some(first) = open.first() {
        tasks[*first].known.get_or_insert_with(Known::nothing).tree.nodes += nodes;
    }
    let bound = bound?;
    for &at in open {
        let task = &mut tasks[at];
        let constant = task.objective.constant;
        let bound = if constant == 0.0 { bound } else { bound.plus(-constant) };
        task.known.get_or_insert_with(Known::nothing).add_shared(bound, Stop::Robust);
    }
    Some(proof)
}

/// The tasks that are not decided, those with the lowest bounds first.
fn open_tasks(tasks: &[Task]) -> Vec<usize> {
    let bound = |at: &usize| tasks[*at].known.as_ref().map_or(f64::INFINITY, Known::lowest);
    let is_open = |at: &usize| tasks[*at].known.as_ref().is_some_and(Known::is_open);
    let mut open: Vec<usize> = (0..tasks.len()).filter(is_open).collect();
    open.sort_by(|a, b| bound(a).total_cmp(&bound(b)));
    open
}

impl Task {
    fn pipeline<'t>(&'t self, asked: &'t Asked<'_>, budget: &'t Budget<'t>) -> Pipeline<'t> {
        let solver = self.solver.as_ref().unwrap_or(asked.solver);
        let Asked { seed, observer, .. } = *asked;
        Pipeline::new(solver, &self.objective, &self.property, seed, budget, observer).deciding()
    }

    /// One step, if the task is open. Whether there is a witness.
    fn step(
        &mut self,
        asked: &Asked,
        budget: &Budget,
        step: impl FnOnce(Pipeline, Known) -> Known,
    ) -> bool {
        let known = self.known.take().unwrap_or_else(Known::nothing);
        let known = if known.is_open() && !budget.is_spent() {
            step(self.pipeline(asked, budget), known)
        } else {
            known
        };
        let found = known.stop == Stop::First;
        self.known = Some(known);
        found
    }

    /// Ends the work with a witness.
    fn take_witness(&mut self, asked: &Asked, witness: &Candidate, budget: &Budget) {
        let mut known = self.known.take().unwrap_or_else(Known::nothing);
        let search = self.pipeline(asked, budget).with_best(known.search.take(), witness);
        known.search = Some(search);
        known.stop = Stop::First;
        self.known = Some(known);
    }

    fn conclude(mut self, asked: &Asked, budget: &Budget) -> Result<Solution, SolveError> {
        let known = self.known.take().unwrap_or_else(Known::nothing);
        self.pipeline(asked, budget).conclude(known)
    }
}
