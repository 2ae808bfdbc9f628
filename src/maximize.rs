//! The general problem: the largest value of a linear function of the outputs while the input stays in a domain.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::bounds::{Arithmetic, BoundEffort, BoundMethod, LinearBounds, UpperRelaxation};
use crate::branch::{BranchOptions, FEW, ProvenBound, TreeEvent, Until, branch_and_bound};
use crate::budget::Budget;
use crate::encode::{EncodeError, Milp, MilpWriteError, interior_point};
use crate::formula::Linear;
use crate::network::Trace;
use crate::onnx::{OnnxModel, ReplayError};
use crate::problem::{Objective, Problem};
use crate::search::{Method, SearchOptions, SearchResult, search};
use crate::sets::{Domain, InputSet};
use crate::tolerance;
use crate::verify::{Branch, OPTIMAL_GAP, Stop, TreeSummary};

/// A model, where its input may lie, and what shall be large.
pub struct MaximizeProblem<'m> {
    model: &'m OnnxModel,
    domain: &'m Domain,
    problem: Problem,
    constant: f64,
    bounds: OnceCell<Arc<LinearBounds>>,
}

/// What was found and what was proven.
#[derive(Clone, Debug)]
pub struct Maximum {
    /// The best point: exactly within its bounds.
    pub point: Vec<f64>,
    /// The outputs there, in f64.
    pub outputs: Vec<f64>,
    /// The objective there, in f64.
    pub value: f64,
    /// The objective when tract runs the file on the point, both in f32.
    pub value_f32: f64,
    /// The largest violation of a constraint there, at most [`tolerance::CONSTRAINT`].
    pub violation: f64,
    /// No point that keeps the constraints to that tolerance has a larger value: proven.
    pub upper_bound: f64,
    /// How.
    pub bound_method: BoundMethod,
    /// What branch and bound claims no point can exceed: not a proof.
    pub claimed_bound: Option<f64>,
    /// What the search did.
    pub found: SearchResult,
    /// What dividing the domain did.
    pub tree: TreeSummary,
    /// Why work ended.
    pub stop: Stop,
}

impl Maximum {
    /// How much larger the value could at most be.
    pub fn gap(&self) -> f64 {
        self.upper_bound - self.value
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum MaximizeError {
    /// The method cannot keep constraints.
    #[error("the method {} has no projection onto linear constraints of the inputs", .0.name())]
    Unconstrained(Method),
    /// The file's own run failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The best point found is none of the domain.
    #[error(
        "the best point breaks a constraint by {0:.1e}: inputs this large leave too few digits for {tolerance:e}",
        tolerance = tolerance::CONSTRAINT
    )]
    Broken(f64),
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

impl<'m> MaximizeProblem<'m> {
    /// States the problem.
    ///
    /// # Errors
    /// [`EncodeError::Infeasible`] when the domain is; otherwise when the LP solver finds no point of it within the budget. Without
    /// constraints there is no error.
    pub fn new(
        model: &'m OnnxModel,
        domain: &'m Domain,
        objective: &Linear,
        budget: &Budget,
    ) -> Result<Self, EncodeError> {
        let centre = if domain.constraints.is_empty() {
            // Told from a corner, every input moves in one direction only.
            domain.lower.clone()
        } else {
            interior_point(domain, budget)?
        };
        let set = InputSet::of_domain(domain, centre);
        let mut weights = vec![0.0; model.network.outputs()];
        for &(output, weight) in &objective.terms {
            weights[output] = weight;
        }
        let problem =
            Problem::new(&model.network, set, Objective { weights, constant: objective.constant });
        let (constant, bounds) = (objective.constant, OnceCell::new());
        Ok(Self { model, domain, problem, constant, bounds })
    }

    /// Made when first asked for.
    fn bounds(&self, budget: &Budget) -> &Arc<LinearBounds> {
        let (network, set) = (&self.problem.network, &self.problem.set);
        let make = || {
            LinearBounds::new(network, set, UpperRelaxation::Envelopes, Arithmetic::Exact, budget)
        };
        self.bounds.get_or_init(|| Arc::new(make()))
    }

    /// Writes the problem as a MILP for other solvers. The column `up_7` is input 7 minus its lower bound.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(&self, path: &Path, budget: &Budget) -> Result<(), MilpWriteError> {
        let set = InputSet::of_domain(self.domain, self.domain.lower.clone());
        let problem = Problem { set, ..self.problem.clone() };
        let milp = Milp::new(&problem, self.bounds(budget).neurons());
        milp.write(path, self.constant)
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

    /// Bounds the objective, searches, and looks at the best point once more as it will be stored.
    ///
    /// # Errors
    /// When the problem does not [accept](Self::accepts) the method, tract cannot run the model, or the point is none of the domain or
    /// exceeds the bound.
    pub fn solve(
        &self,
        options: &SearchOptions,
        branch: Option<Branch>,
        budget: &Budget,
    ) -> Result<Maximum, MaximizeError> {
        self.accepts(options.method)?;
        let problem = &self.problem;
        let linear = self.bounds(&budget.half());
        let proof = linear.prove(problem.weights(), &BoundEffort::default(), &budget.half());
        let mut bound = proof.bound;
        let optimal = bound.value() - OPTIMAL_GAP;
        let mut found = search(problem, &|| linear.neurons(), options, budget, |better| {
            if better.margin > optimal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let (mut stop, mut tree) = (Stop::of(found.stop, Stop::Optimal), TreeSummary::default());
        if let Some(Branch { nodes, gap, parallel }) = branch.filter(|_| stop.may_divide()) {
            let (begun, whole) = (budget.elapsed(), ProvenBound::of_whole(&proof, false));
            let options =
                BranchOptions { nodes, until: Until::Gap(gap), keep: false, few: FEW, parallel };
            let best = found.best.clone();
            let go_on = |_: TreeEvent| ControlFlow::Continue(());
            let branched = branch_and_bound(problem, linear, whole, best, &options, budget, go_on);
            tree.add(&branched, budget.elapsed() - begun);
            found.improve(&branched.best, budget.elapsed());
            (bound, stop) = (branched.bound, Stop::of_tree(branched.stop, Stop::Optimal));
        }
        let mut point = self.domain.clamped(&found.best.point);
        if self.domain.violation(&point) > tolerance::CONSTRAINT {
            // At the very edge of what is tolerated, a rounding goes beyond it.
            point = self.domain.clamped(&problem.set.project(&point));
        }
        // What is proven covers no more.
        let violation = self.domain.violation(&point);
        if violation > tolerance::CONSTRAINT {
            return Err(MaximizeError::Broken(violation));
        }
        let mut trace = Trace::new(&problem.network);
        problem.network.forward(&point, &mut trace);
        let value = problem.value(&trace);
        if value > bound.value() {
            return Err(MaximizeError::Contradiction { value, bound: bound.value() });
        }
        let in_f32: Vec<f32> = point.iter().map(|&x| x as f32).collect();
        let outputs = self.model.replay.logits(&in_f32)?.into_iter().map(f64::from);
        let value_f32: f64 = outputs.zip(problem.weights()).map(|(y, weight)| weight * y).sum();
        Ok(Maximum {
            outputs: trace.logits().to_vec(),
            value: value + self.constant,
            value_f32: value_f32 + self.constant,
            violation,
            point,
            // The sum may have been rounded down.
            upper_bound: (bound.value() + self.constant).next_up(),
            bound_method: bound.method(),
            claimed_bound: found.claimed_bound.map(|claimed| claimed + self.constant),
            stop,
            tree,
            found,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sets::Constraint;

    fn model() -> OnnxModel {
        OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref()).unwrap()
    }

    #[test]
    fn a_point_outside_the_domain_is_no_answer() {
        let (model, unlimited) = (model(), Budget::unlimited());
        // No point of the box keeps this; `new` would have said so.
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], 3.0, f64::INFINITY);
        let domain = Domain { constraints: vec![sum], ..Domain::new_box(5, 0.0, 1.0) };
        let set = InputSet::of_domain(&domain, vec![0.5; 5]);
        let problem = Problem::new(&model.network, set, Objective::new(vec![1.0; 5]));
        let (constant, bounds) = (0.0, OnceCell::new());
        let problem = MaximizeProblem { model: &model, domain: &domain, problem, constant, bounds };
        let options = SearchOptions { patience: 1, ..SearchOptions::default() };
        let answer = problem.solve(&options, None, &unlimited);
        assert!(matches!(answer, Err(MaximizeError::Broken(by)) if by >= 1.0), "{answer:?}");
    }

    #[test]
    fn a_method_without_projection_is_refused() {
        let (model, unlimited) = (model(), Budget::unlimited());
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 0.5);
        let domain = Domain { constraints: vec![sum], ..Domain::new_box(5, 0.0, 1.0) };
        let objective = Linear::of_outputs("y0", 5).unwrap();
        let problem = MaximizeProblem::new(&model, &domain, &objective, &unlimited).unwrap();
        let options = SearchOptions { method: Method::Apgd, ..SearchOptions::default() };
        let error = problem.solve(&options, None, &unlimited).unwrap_err();
        let text = "the method apgd has no projection onto linear constraints of the inputs";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn no_time_leaves_no_point_of_a_constrained_domain() {
        let model = model();
        let spent = Budget::start(Some(std::time::Duration::ZERO), None);
        let objective = Linear::of_outputs("y0", 5).unwrap();
        let free = Domain::new_box(5, 0.0, 1.0);
        assert!(MaximizeProblem::new(&model, &free, &objective, &spent).is_ok());
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 0.5);
        let held = Domain { constraints: vec![sum], ..free };
        let answer = MaximizeProblem::new(&model, &held, &objective, &spent);
        assert!(matches!(answer, Err(EncodeError::Budget)));
    }
}
