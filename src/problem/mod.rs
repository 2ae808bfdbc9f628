//! What is asked of a network: how large a linear function of its outputs can get while the input stays in a set, or whether some
//! input of the set gives outputs with a property.
//!
//! Every front end (images, radii, `maximize`, property files, Python) only builds [`Problem`]s; [`solve`](crate::solve) answers them all
//! the same way, and the [judge](crate::judge) checks every answer against the same `Problem`.

mod exact_sign;
mod objective;
mod property;

use std::sync::Arc;

use crate::network::{Label, Network, Trace};
use crate::sets::InputSet;

pub use objective::Objective;
pub use property::{Conjunction, InputCondition, Property, PropertyRow};

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

    /// Buffers for passes at points of the set, most of which differ from its centre in few inputs.
    pub fn trace(&self) -> Trace {
        Trace::near(&self.network, self.set.centre())
    }

    /// Runs the network on `point`.
    pub fn evaluate(&self, point: Vec<f64>, trace: &mut Trace) -> Candidate {
        self.network.forward(&point, trace);
        Candidate { margin: self.value(trace), point }
    }
}
