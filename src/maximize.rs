//! The general problem: the largest value of a linear function of the outputs while the input stays in a domain.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::path::Path;

use crate::bounds::{Above, Arithmetic, BoundMethod, Effort, LinearBounds};
use crate::budget::Budget;
use crate::encode::{RegionError, Relaxation, interior_point};
use crate::input::{Domain, InputSet, Linear};
use crate::lp::LpError;
use crate::network::Trace;
use crate::onnx::{OnnxModel, ReplayError};
use crate::query::Query;
use crate::search::{Found, SearchOptions, search};
use crate::verify::{OPTIMAL_GAP, Stop};

/// A model, where its input may lie, and what shall be large.
pub struct Maximization<'m> {
    model: &'m OnnxModel,
    domain: &'m Domain,
    query: Query<'m>,
    constant: f64,
    bounds: OnceCell<LinearBounds<'m>>,
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
    /// The largest violation of a constraint there, at most [`tolerance::CONSTRAINT`](crate::tolerance::CONSTRAINT).
    pub violation: f64,
    /// No point that keeps the constraints to that tolerance has a larger value: proven.
    pub upper_bound: f64,
    /// How.
    pub bound_method: BoundMethod,
    /// What branch and bound claims no point can exceed: not a proof.
    pub claimed_bound: Option<f64>,
    /// What the search did.
    pub found: Found,
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
    /// The file's own run failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
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

impl<'m> Maximization<'m> {
    /// States the problem.
    ///
    /// # Errors
    /// [`RegionError::Empty`] when the domain is; otherwise when the LP solver finds no point of it.
    pub fn new(
        model: &'m OnnxModel,
        domain: &'m Domain,
        objective: &Linear,
    ) -> Result<Self, RegionError> {
        let centre = if domain.constraints.is_empty() {
            // Told from a corner, every input moves in one direction only.
            domain.lower.clone()
        } else {
            interior_point(domain, &Budget::unlimited())?
        };
        let set = InputSet::of_domain(domain, centre);
        let mut weights = vec![0.0; model.network.outputs()];
        for &(output, weight) in &objective.terms {
            weights[output] = weight;
        }
        let query = Query { network: &model.network, set, objective: weights };
        let (constant, bounds) = (objective.constant, OnceCell::new());
        Ok(Self { model, domain, query, constant, bounds })
    }

    /// Made when first asked for.
    fn bounds(&self, budget: &Budget) -> &LinearBounds<'m> {
        let (network, set) = (self.query.network, &self.query.set);
        let make = || LinearBounds::new(network, set, Above::Envelopes, Arithmetic::Exact, budget);
        self.bounds.get_or_init(make)
    }

    /// Writes the problem as a MILP for other solvers. The column `up_7` is input 7 minus its lower bound.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(&self, path: &Path, budget: &Budget) -> Result<(), LpError> {
        let set = InputSet::of_domain(self.domain, self.domain.lower.clone());
        let query = Query { set, ..self.query.clone() };
        let milp = Relaxation::for_milp(&query, self.bounds(budget).neurons());
        milp.write_milp(path, self.constant)
    }

    /// Bounds the objective, searches, and looks at the best point once more as it will be stored.
    ///
    /// # Errors
    /// When tract cannot run the model, or a point exceeds the bound.
    pub fn solve(
        &self,
        options: &SearchOptions,
        budget: &Budget,
    ) -> Result<Maximum, MaximizeError> {
        let query = &self.query;
        let linear = self.bounds(&budget.half());
        let bound = linear.certify(&query.objective, &Effort::default(), &budget.half());
        let optimal = bound.value() - OPTIMAL_GAP;
        let found = search(query, &|| linear.neurons(), options, budget, |better| {
            if better.margin > optimal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let point = self.domain.clamped(&found.best.point);
        let mut trace = Trace::new(query.network);
        query.network.forward(&point, &mut trace);
        let value = query.value(&trace);
        if value > bound.value() {
            return Err(MaximizeError::Contradiction { value, bound: bound.value() });
        }
        let in_f32: Vec<f32> = point.iter().map(|&x| x as f32).collect();
        let outputs = self.model.replay.logits(&in_f32)?.into_iter().map(f64::from);
        let value_f32: f64 = outputs.zip(&query.objective).map(|(y, weight)| weight * y).sum();
        Ok(Maximum {
            outputs: trace.logits().to_vec(),
            value: value + self.constant,
            value_f32: value_f32 + self.constant,
            violation: self.domain.violation(&point),
            point,
            // The sum may have been rounded down.
            upper_bound: (bound.value() + self.constant).next_up(),
            bound_method: bound.method(),
            claimed_bound: found.claimed_bound.map(|claimed| claimed + self.constant),
            stop: Stop::of(found.stop, Stop::Optimal),
            found,
        })
    }
}
