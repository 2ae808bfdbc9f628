//! The general problem: the largest value of a linear function of the outputs and inputs while the input stays in a domain.

use std::path::Path;
use std::sync::Arc;

use crate::bounds::CertifiedBound;
use crate::budget::Budget;
use crate::encode::{EncodeError, MilpWriteError, interior_point, nearest_integral};
use crate::formula::Linear;
use crate::judge::{Judge, JudgeError, Measurement, Replay, ReplayFailure, Verdict};
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::problem::{Objective, Problem};
use crate::search::Method;
use crate::sets::{Domain, InputSet};
use crate::solve::{Solution, SolveError, SolveOptions, Solver};
use crate::tolerance;

/// A model, where its input may lie, and what shall be large.
pub struct Maximization {
    solver: Solver,
    domain: Domain,
    objective: Objective,
    /// Outputs of the model. The network of the solver has more if inputs are in the objective.
    outputs: usize,
    /// The inputs in the objective: the last outputs of the network.
    inputs: Vec<usize>,
}

/// What was found and what was proven.
#[derive(Clone, Debug)]
pub struct Maximum {
    /// The best point: exactly within its bounds.
    pub point: Vec<f64>,
    /// What both runs say about it.
    pub measurement: Measurement,
    /// The largest violation of a constraint there, at most [`tolerance::CONSTRAINT`].
    pub violation: f64,
    /// No point that keeps the constraints to that tolerance has a larger value: proven. None when no bound was needed.
    pub bound: Option<CertifiedBound>,
    /// What a MILP solver claims no point can exceed: not a proof.
    pub claimed_bound: Option<f64>,
    /// Everything else that is known. Its numbers of the search leave the objective's constant out.
    pub solution: Solution,
}

impl Maximum {
    /// How much larger the value could at most be.
    pub fn gap(&self) -> Option<f64> {
        self.bound.map(|bound| bound.value() - self.measurement.value)
    }

    /// Whether the threshold is exceeded, if there is one: `Adversarial` if it is, `Robust` if no input exceeds it.
    pub fn verdict(&self) -> Option<Verdict> {
        self.solution.verdict
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum MaximizeError {
    /// The method cannot keep constraints.
    #[error("the method {} has no projection onto linear constraints of the inputs", .0.name())]
    Unconstrained(Method),
    /// The pipeline gave none.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The best point found is outside the domain.
    #[error(
        "the best point breaks a constraint by {0:.1e}: inputs this large leave too few digits for {tolerance:e}",
        tolerance = tolerance::CONSTRAINT
    )]
    Broken(f64),
    /// The best point found has other numbers where whole ones have to be.
    #[error("the best point has other numbers than whole ones: please report this bug")]
    NotIntegral,
    /// A point above a bound that was said to be certified.
    #[error(
        "the value {value} contradicts the certified upper bound {bound}: please report this bug"
    )]
    Contradiction {
        /// The point's value.
        value: f64,
        /// The bound.
        bound: f64,
    },
}

impl From<JudgeError> for MaximizeError {
    fn from(error: JudgeError) -> Self {
        Self::Solve(error.into())
    }
}

impl Maximization {
    /// States the problem. In the objective inputs are counted behind the outputs, as in [`Linear::of_model`].
    ///
    /// # Errors
    /// [`EncodeError::Infeasible`] when the domain is empty; otherwise when the LP solver finds no point of it within the budget. Without
    /// constraints there is no error.
    pub fn new(
        model: &OnnxModel,
        domain: &Domain,
        objective: &Linear,
        options: &SolveOptions,
        budget: &Budget,
    ) -> Result<Self, EncodeError> {
        let centre = if domain.constraints.is_empty() {
            // Told from a corner, every input moves in one direction only.
            domain.lower.clone()
        } else {
            let inside = interior_point(domain, budget)?;
            if domain.integers.is_empty() {
                inside
            } else {
                nearest_integral(domain, &inside, budget)?
            }
        };
        let outputs = model.network.outputs();
        let (own, more): (Vec<_>, Vec<_>) =
            objective.terms.iter().partition(|(variable, _)| *variable < outputs);
        let inputs: Vec<usize> = more.iter().map(|(variable, _)| variable - outputs).collect();
        let mut weights = vec![0.0; outputs];
        for (output, weight) in own {
            weights[output] = weight;
        }
        weights.extend(more.iter().map(|(_, weight)| weight));
        let objective = Objective { weights, constant: objective.constant };
        let judge = if inputs.is_empty() {
            Judge::new(Arc::clone(&model.network), model.replay.clone())
        } else {
            let network = Arc::new(model.network.with_inputs(&inputs));
            let (file, inputs) = (model.replay.clone(), inputs.clone());
            Judge::new(network, Arc::new(ReplayWithInputs { file, inputs }))
        };
        let set = InputSet::of_domain(domain, centre);
        Ok(Self { outputs, inputs, ..Self::of_set(judge, domain, set, objective, options) })
    }

    fn of_set(
        judge: Judge,
        domain: &Domain,
        set: InputSet,
        objective: Objective,
        options: &SolveOptions,
    ) -> Self {
        let outputs = judge.network().outputs();
        Self {
            solver: Solver::new(judge, set, options),
            domain: domain.clone(),
            objective,
            outputs,
            inputs: Vec::new(),
        }
    }

    /// The inputs in the objective, which are the last outputs of the problem's network.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// Where inputs may lie.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The problem as it is solved, told from a point of the domain.
    pub fn problem(&self) -> Problem {
        self.solver.problem(&self.objective)
    }

    /// Writes the problem as a MILP for other solvers. The column `up_7` is input 7 minus its lower bound.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(&self, path: &Path, budget: &Budget) -> Result<(), MilpWriteError> {
        let corner = InputSet::of_domain(&self.domain, self.domain.lower.clone());
        let problem = Problem::new(self.solver.judge().network(), corner, self.objective.clone());
        self.solver.write_milp(&problem, path, budget)
    }

    /// Can this method solve the problem?
    ///
    /// # Errors
    /// [`MaximizeError::Unconstrained`] when it cannot.
    pub fn accepts(&self, method: Method) -> Result<(), MaximizeError> {
        match method {
            // Its gradient steps know the box only.
            Method::Apgd if !self.domain.constraints.is_empty() => {
                Err(MaximizeError::Unconstrained(method))
            }
            _ => Ok(()),
        }
    }

    /// Solves the problem, and looks at the best point once more as it will be handed out.
    ///
    /// # Errors
    /// When the problem does not [accept](Self::accepts) the method, tract cannot run the model, or the point is not in the domain or
    /// exceeds the bound.
    pub fn solve(
        &self,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Maximum, MaximizeError> {
        let search = self.solver.options().search;
        self.accepts(search.method)?;
        let solution = self.solver.solve(&self.objective, search.seed, budget, observer)?;
        let mut point = self.domain.clamped(&solution.search.best.point);
        if self.domain.violation(&point) > tolerance::CONSTRAINT {
            // At the very edge of what is tolerated, a rounding goes beyond it.
            let set = self.solver.set();
            let whole = !self.domain.integers.is_empty() && self.domain.is_integral(&point);
            let set = if whole { &set.with_integers_of(&point) } else { set };
            point = self.domain.clamped(&set.project(&point));
        }
        if !self.domain.is_integral(&point) {
            return Err(MaximizeError::NotIntegral);
        }
        // What is proven covers no more.
        let violation = self.domain.violation(&point);
        if violation > tolerance::CONSTRAINT {
            return Err(MaximizeError::Broken(violation));
        }
        let mut measurement = self.solver.judge().measure(&self.objective, &point)?;
        measurement.outputs.truncate(self.outputs);
        let (bound, value) = (solution.bound, measurement.value);
        if let Some(bound) = bound.map(|bound| bound.value()).filter(|bound| value > *bound) {
            return Err(MaximizeError::Contradiction { value, bound });
        }
        let claimed_bound = solution.search.claimed_bound;
        Ok(Maximum {
            point,
            measurement,
            violation,
            bound,
            claimed_bound: claimed_bound.map(|claimed| claimed + self.objective.constant),
            solution,
        })
    }
}

/// The file's own run, with some inputs behind its outputs.
struct ReplayWithInputs {
    file: Arc<dyn Replay>,
    inputs: Vec<usize>,
}

impl Replay for ReplayWithInputs {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        let mut logits = self.file.logits(x)?;
        logits.extend(self.inputs.iter().map(|&input| x[input]));
        Ok(logits)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::search::SearchOptions;
    use crate::sets::Constraint;

    fn model() -> OnnxModel {
        OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref()).unwrap()
    }

    fn searching(search: SearchOptions) -> SolveOptions {
        SolveOptions { search, ..SolveOptions::default() }
    }

    #[test]
    fn a_point_outside_the_domain_is_no_answer() {
        let model = model();
        // No point of the box keeps this; `new` would have said so.
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], 3.0, f64::INFINITY);
        let domain = Domain { constraints: vec![sum], ..Domain::new_box(5, 0.0, 1.0) };
        let set = InputSet::of_domain(&domain, vec![0.5; 5]);
        let judge = Judge::new(Arc::clone(&model.network), model.replay.clone());
        let objective = Objective::new(vec![1.0; 5]);
        let options = searching(SearchOptions { patience: 1, ..SearchOptions::default() });
        let problem = Maximization::of_set(judge, &domain, set, objective, &options);
        let answer = problem.solve(&Budget::unlimited(), &());
        assert!(matches!(answer, Err(MaximizeError::Broken(by)) if by >= 1.0), "{answer:?}");
    }

    #[test]
    fn a_method_without_projection_is_refused() {
        let (model, unlimited) = (model(), Budget::unlimited());
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 0.5);
        let domain = Domain { constraints: vec![sum], ..Domain::new_box(5, 0.0, 1.0) };
        let objective = Linear::of_outputs("y0", 5).unwrap();
        let options = searching(SearchOptions { method: Method::Apgd, ..SearchOptions::default() });
        let problem = Maximization::new(&model, &domain, &objective, &options, &unlimited).unwrap();
        let error = problem.solve(&unlimited, &()).unwrap_err();
        let text = "the method apgd has no projection onto linear constraints of the inputs";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn no_time_leaves_no_point_of_a_constrained_domain() {
        let model = model();
        let spent = Budget::start(Some(std::time::Duration::ZERO), None);
        let objective = Linear::of_outputs("y0", 5).unwrap();
        let options = SolveOptions::default();
        let free = Domain::new_box(5, 0.0, 1.0);
        assert!(Maximization::new(&model, &free, &objective, &options, &spent).is_ok());
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 0.5);
        let held = Domain { constraints: vec![sum], ..free };
        let answer = Maximization::new(&model, &held, &objective, &options, &spent);
        assert!(matches!(answer, Err(EncodeError::Budget)));
    }

    #[test]
    fn a_threshold_is_decided() {
        let (model, unlimited) = (model(), Budget::unlimited());
        let domain = Domain::new_box(5, 0.0, 1.0);
        let objective = Linear::of_outputs("y0 + 2", 5).unwrap();
        let ask = |options: &SolveOptions| {
            let problem = Maximization::new(&model, &domain, &objective, options, &unlimited);
            problem.unwrap().solve(&unlimited, &()).unwrap()
        };
        let optimum = ask(&SolveOptions::default());
        assert_eq!(optimum.verdict(), None);
        for (threshold, verdict) in [
            (optimum.measurement.value - 1e-3, Verdict::Adversarial),
            (optimum.bound.unwrap().value() + 1e-3, Verdict::Robust),
        ] {
            let goal = crate::solve::Goal::Verdict;
            let options =
                SolveOptions { goal, threshold: Some(threshold), ..SolveOptions::default() };
            let answer = ask(&options);
            assert_eq!(answer.verdict(), Some(verdict), "{threshold}");
        }
    }
}
