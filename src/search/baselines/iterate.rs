//! What gradient methods know of a point.

use crate::network::{ActivationPattern, Trace};
use crate::problem::{Candidate, Problem};

/// An iterate of gradient ascent: a point, its value, and the gradient there.
#[derive(Clone)]
pub(super) struct Iterate {
    pub candidate: Candidate,
    pub gradient: Vec<f64>,
}

/// The problem, and buffers for passes through its network.
pub(super) struct GradientAscent<'p> {
    pub problem: &'p Problem,
    trace: Trace,
}

impl<'p> GradientAscent<'p> {
    /// Nothing is computed yet.
    pub fn new(problem: &'p Problem) -> Self {
        Self { problem, trace: problem.trace() }
    }

    /// The iterate at a point.
    pub fn at(&mut self, point: Vec<f64>) -> Iterate {
        let candidate = self.problem.evaluate(point, &mut self.trace);
        let pattern = ActivationPattern::at(&self.trace);
        let gradient = self.problem.network.gradient(self.problem.weights(), &pattern);
        Iterate { candidate, gradient }
    }
}
