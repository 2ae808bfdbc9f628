//! What is asked of a network: how large a linear function of its outputs can get while the input stays in a set, or whether some
//! input of the set gives outputs with a property.
//!
//! Every front end (images, radii, `maximize`, property files, Python) only builds [`Problem`]s; [`solve`](crate::solve) answers them all
//! the same way, and the [judge](crate::judge) checks every answer against the same `Problem`.

use std::sync::Arc;

use crate::network::{Label, Network, Trace};
use crate::sets::InputSet;

/// A network, where its input may lie, and a question about its outputs there: an [`Objective`] to be maximised, or a [`Property`].
#[derive(Clone, Debug)]
pub struct Problem<Q = Objective> {
    /// The network.
    pub network: Arc<Network>,
    /// Where inputs may lie.
    pub set: InputSet,
    /// What is asked.
    pub question: Q,
}

/// A linear function of the outputs, `weights · y + constant`.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// One weight for each output.
    pub weights: Vec<f64>,
    /// What is added.
    pub constant: f64,
}

impl Objective {
    /// `weights · y`.
    pub fn new(weights: Vec<f64>) -> Self {
        Self { weights, constant: 0.0 }
    }

    /// `y_target − y_predicted`, for a network with so many outputs: positive where `predicted` has lost.
    ///
    /// # Panics
    /// When there is no such output.
    pub fn margin(outputs: usize, predicted: Label, target: Label) -> Self {
        let mut weights = vec![0.0; outputs];
        weights[target.0] += 1.0;
        weights[predicted.0] -= 1.0;
        Self::new(weights)
    }

    /// The value at these outputs, the constant left out: what search and bounds work with.
    pub fn weigh(&self, outputs: &[f64]) -> f64 {
        // What does not count may be infinite.
        let terms = outputs.iter().zip(&self.weights).filter(|(_, w)| **w != 0.0);
        terms.map(|(y, w)| y * w).sum()
    }

    /// The value at these outputs.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        self.weigh(outputs) + self.constant
    }
}

/// A condition on the outputs: any of these conjunctions holds. It describes what is looked for, a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Any of them.
    pub any_of: Vec<Conjunction>,
}

/// All of these functions of the outputs are positive.
#[derive(Clone, Debug, PartialEq)]
pub struct Conjunction {
    /// All of them.
    pub all_of: Vec<Objective>,
}

impl Property {
    /// One function is positive.
    pub fn positive(objective: Objective) -> Self {
        Self { any_of: vec![Conjunction { all_of: vec![objective] }] }
    }

    /// Positive just where outputs have the property: the smallest row of the best conjunction. NaN where a row is.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        let of_all = |all: &Conjunction| {
            all.all_of.iter().map(|row| row.value(outputs)).fold(f64::INFINITY, smaller)
        };
        let negated = self.any_of.iter().map(|all| -of_all(all)).fold(f64::INFINITY, smaller);
        -negated
    }
}

/// The smaller one, or NaN if one of them is.
fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

/// A point of the set and what the network (not a solver) says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The point.
    pub point: Vec<f64>,
    /// The objective there, its constant left out: for an attack, the margin.
    pub margin: f64,
}

impl<Q> Problem<Q> {
    /// A question about a network over a set.
    pub fn new(network: &Arc<Network>, set: InputSet, question: Q) -> Self {
        Self { network: Arc::clone(network), set, question }
    }

    /// The same network and set with another question.
    pub fn asking<R>(&self, question: R) -> Problem<R> {
        Problem::new(&self.network, self.set.clone(), question)
    }
}

impl Problem {
    /// The optimal-adversary problem: `y_target − y_predicted`.
    pub fn margin(network: &Arc<Network>, set: InputSet, predicted: Label, target: Label) -> Self {
        Self::new(network, set, Objective::margin(network.outputs(), predicted, target))
    }

    /// The weights of the outputs in the objective.
    pub fn weights(&self) -> &[f64] {
        &self.question.weights
    }

    /// The objective at the point of a forward pass, its constant left out.
    pub fn value(&self, trace: &Trace) -> f64 {
        self.question.weigh(trace.logits())
    }

    /// Runs the network on `point`.
    pub fn evaluate(&self, point: Vec<f64>, trace: &mut Trace) -> Candidate {
        self.network.forward(&point, trace);
        Candidate { margin: self.value(trace), point }
    }
}
