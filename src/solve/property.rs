//! Properties: any of (all of rows). All conjunctions share the bounds of the network's neurons, and each is decided on its own.
//!
//! A conjunction is one objective: its [smallest row](super::smallest_row). It is excluded once that is negative in the whole set.
//! Cheap steps come first, for all conjunctions: one that has a witness ends the work on the others.

use super::answer::{Solution, Stop};
use super::error::SolveError;
use super::known::Known;
use super::pipeline::Pipeline;
use super::solver::Solver;
use crate::budget::Budget;
use crate::judge::{Judgement, Verdict};
use crate::observer::Observer;
use crate::problem::{Conjunction, Objective, Property};

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
    if let Some(at) = asked.work(&mut tasks, budget) {
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
    fn work(&self, tasks: &mut [Task], budget: &Budget) -> Option<usize> {
        for (at, task) in tasks.iter_mut().enumerate() {
            if task.step(self, budget, |pipeline, _| pipeline.attack()) {
                return Some(at);
            }
        }
        for task in &mut *tasks {
            // Neurons are bounded by the first that needs it, with all of the time.
            task.step(self, budget, |pipeline, mut known| {
                pipeline.bound(&mut known);
                known
            });
        }
        // The most promising first.
        let mut open = open_tasks(tasks);
        for &at in open.iter().rev() {
            let attack = |pipeline: Pipeline, mut known| {
                pipeline.attack_from_samples(&mut known);
                known
            };
            if tasks[at].step(self, budget, attack) {
                return Some(at);
            }
        }
        while let Some(at) = open.pop() {
            let share = budget.half().share(open.len() + 1);
            let search = |pipeline: Pipeline, mut known| {
                pipeline.search_on(&mut known);
                known.forget_time();
                known
            };
            if tasks[at].step(self, &share, search) {
                return Some(at);
            }
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

    fn conclude(mut self, asked: &Asked, budget: &Budget) -> Result<Solution, SolveError> {
        let known = self.known.take().unwrap_or_else(Known::nothing);
        self.pipeline(asked, budget).conclude(known)
    }
}
