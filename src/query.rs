//! What is asked: make `objective · y` as large as possible while the input stays in its set.

use crate::input::InputSet;
use crate::network::{Label, Network, Trace};

/// One optimisation problem over one network.
#[derive(Clone, Debug)]
pub struct Query<'n> {
    /// The network.
    pub network: &'n Network,
    /// Where inputs may lie.
    pub set: InputSet,
    /// Weights of the outputs, to be maximised.
    pub objective: Vec<f64>,
}

/// A point of the set and what the network (not a solver) says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The point.
    pub point: Vec<f64>,
    /// `objective · y` there: for an attack, the margin.
    pub margin: f64,
}

impl<'n> Query<'n> {
    /// The optimal-adversary problem: `y_target − y_predicted`.
    pub fn margin(network: &'n Network, set: InputSet, predicted: Label, target: Label) -> Self {
        let mut objective = vec![0.0; network.outputs()];
        objective[target.0] += 1.0;
        objective[predicted.0] -= 1.0;
        Self { network, set, objective }
    }

    /// The objective at the point of a forward pass.
    pub fn value(&self, trace: &Trace) -> f64 {
        trace.logits().iter().zip(&self.objective).map(|(y, o)| y * o).sum()
    }

    /// Runs the network on `point`.
    pub fn evaluate(&self, point: Vec<f64>, trace: &mut Trace) -> Candidate {
        self.network.forward(&point, trace);
        Candidate { margin: self.value(trace), point }
    }
}
