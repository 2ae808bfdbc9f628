//! What questions about one network and one set share.

use std::path::Path;
use std::sync::Arc;

use super::options::SolveOptions;
use super::shared_bounds::SharedBounds;
use super::smallest_row::with_smallest_row;
use crate::bounds::{Arithmetic, BoundOptions, LinearBounds};
use crate::branch::ProvenBound;
use crate::budget::Budget;
use crate::encode::{Milp, MilpWriteError};
use crate::judge::{Judge, JudgeError, Judgement};
use crate::network::Trace;
use crate::problem::{Conjunction, Objective, Problem, Property};
use crate::search::ascend_from;
use crate::sets::InputSet;

/// Bounds are made once more if they are so near to the cutoff.
const NEAR_CUTOFF: f64 = 0.03;

/// One network and one set, and what all questions about them share.
pub struct Solver {
    pub(super) judge: Judge,
    pub(super) set: InputSet,
    pub(super) options: SolveOptions,
    bounds: Arc<SharedBounds>,
}

impl Solver {
    /// Nothing is computed yet.
    pub fn new(judge: Judge, set: InputSet, options: &SolveOptions) -> Self {
        let bounds = SharedBounds::new(judge.network(), &set, options.branch.is_some());
        Self { judge, set, options: *options, bounds: Arc::new(bounds) }
    }

    /// The solver whose only output is the smallest row of a conjunction. It shares what is known about this one's neurons, and the judge
    /// still judges this one's outputs. `None` if there are less than two rows.
    pub(super) fn of_smallest_row(&self, conjunction: &Conjunction) -> Option<Self> {
        let network = Arc::new(with_smallest_row(self.bounds.network(), conjunction)?);
        let bounds = Arc::new(self.bounds.of_longer(&network));
        let (judge, set) = (self.judge.clone(), self.set.clone());
        Some(Self { judge, set, options: self.options, bounds })
    }

    /// Where inputs may lie.
    pub fn set(&self) -> &InputSet {
        &self.set
    }

    /// How questions are answered.
    pub fn options(&self) -> &SolveOptions {
        &self.options
    }

    /// Who checks the answers.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The problem of maximising an objective over this set.
    pub fn problem(&self, objective: &Objective) -> Problem {
        Problem::new(self.bounds.network(), self.set.clone(), objective.clone())
    }

    /// Bounds of the neurons, made when they are first asked for.
    pub fn bounds(&self, arithmetic: Arithmetic, budget: &Budget) -> &Arc<LinearBounds> {
        self.bounds.get(arithmetic, budget)
    }

    /// A bound that holds in f32, no lower than it takes to be below `cutoff`.
    pub(super) fn certify_below(
        &self,
        problem: &Problem,
        cutoff: f64,
        budget: &Budget,
    ) -> ProvenBound {
        let options = BoundOptions { cutoff, ..BoundOptions::default() };
        let linear = self.bounds(Arithmetic::F32, budget);
        self.prove(linear, problem, &options, NEAR_CUTOFF, budget)
    }

    /// What bounds of the neurons prove and, where that is within `near` of the cutoff as a share of what the bound gains from the centre on, what
    /// they prove with lines that are tight where the bound is attained.
    pub(super) fn prove(
        &self,
        linear: &LinearBounds,
        problem: &Problem,
        options: &BoundOptions,
        near: f64,
        budget: &Budget,
    ) -> ProvenBound {
        let weights = problem.weights();
        let first = linear.prove(weights, options, budget);
        let missing = first.bound.value() - options.cutoff;
        let proven = ProvenBound::of_whole(linear, &first, self.options.proofs);
        if missing < 0.0 || missing > near * first.gain() {
            return proven;
        }
        let Some(guided) = linear.guided_by(&first, weights, budget) else { return proven };
        let second = guided.prove_from(weights, &first.lines, options, budget);
        ProvenBound::of_whole(&guided, &second, self.options.proofs).or_lower(&proven)
    }

    /// Whether a bound that holds in f32 proves that the objective is negative in the whole set.
    pub fn excludes(&self, objective: &Objective, budget: &Budget) -> bool {
        let cutoff = 0.0 - objective.constant;
        let bound = self.certify_below(&self.problem(objective), cutoff, budget).bound;
        bound.holds_in_f32() && bound.value() < cutoff
    }

    /// The cheap attack alone, judged: one climb, from the centre or from the point of the set nearest to `start`.
    ///
    /// # Errors
    /// When the judge cannot run the model.
    pub fn climb(
        &self,
        objective: &Objective,
        start: Option<&[f64]>,
        budget: &Budget,
    ) -> Result<Judgement, JudgeError> {
        let problem = self.problem(objective);
        let mut trace = Trace::new(&problem.network);
        let start = start.map_or_else(|| self.set.centre().to_vec(), |x| self.set.project(x));
        let start = problem.evaluate(start, &mut trace);
        let end = ascend_from(&problem, start, &mut trace, budget).point;
        self.judge.judge(&self.set, &Property::positive(objective.clone()), &end)
    }

    /// Writes the problem as a MILP for other solvers, told from the set's centre: the columns `up_7` and `down_7` are how far input 7 is
    /// moved from it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(
        &self,
        problem: &Problem,
        path: &Path,
        budget: &Budget,
    ) -> Result<(), MilpWriteError> {
        let neurons = self.bounds(Arithmetic::Exact, budget).neurons();
        Milp::new(problem, neurons).into_file().write(path, problem.question.constant)
    }
}
