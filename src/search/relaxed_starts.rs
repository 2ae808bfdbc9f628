//! Algorithm 2 of Tong, Cai and Serra 2024: the relaxation's point `x̃` is the first start; then, layer by layer, neurons are fixed against
//! their state at the current point `x̄`, and each restricted relaxation gives the next.

use rand_chacha::ChaCha8Rng;

use super::sampling::draw;
use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::encode::{EncodeError, LpWork, Relaxation, RelaxationSolution};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;

/// The paper's δ: even a neuron whose relaxed state agrees with its real one may be drawn.
const DELTA: f64 = 0.05;

/// The relaxation, restricted a little more with every start.
pub(super) struct RelaxedStarts<'p> {
    problem: &'p Problem,
    relaxation: Relaxation<'p>,
    /// The unstable neurons, in the order of the relaxation.
    neurons: Vec<NeuronId>,
    /// The relaxation's solution without fixings, `x̃`.
    root: Option<RelaxationSolution>,
    /// The solution of the last feasible restriction, `x̄`.
    current: Option<RelaxationSolution>,
    /// The layer whose neurons are being fixed.
    layer: usize,
    /// Neurons that were drawn since the last return to `x̃`: fixed, or infeasible to fix.
    drawn: Vec<bool>,
    trace: Trace,
}

impl<'p> RelaxedStarts<'p> {
    /// Nothing is solved yet.
    pub fn new(problem: &'p Problem, bounds: &NeuronBounds) -> Self {
        let relaxation = Relaxation::new(problem, bounds);
        let neurons: Vec<NeuronId> = relaxation.neurons().collect();
        let drawn = vec![false; neurons.len()];
        let trace = problem.trace();
        Self { problem, relaxation, neurons, root: None, current: None, layer: 0, drawn, trace }
    }

    /// Allows the next start so many operations. What was begun goes on from there later.
    pub fn allow(&mut self, operations: usize) {
        self.relaxation.allow(operations);
    }

    /// What the relaxations have cost.
    pub fn work(&self) -> LpWork {
        self.relaxation.work()
    }

    /// The next start: `x̃` first, then the points of restricted relaxations.
    ///
    /// # Errors
    /// When the time is up, the work is done that was allowed, or the solver fails.
    pub fn next(&mut self, rng: &mut ChaCha8Rng, budget: &Budget) -> Result<Vec<f64>, EncodeError> {
        let (Some(root), Some(current)) = (&self.root, &self.current) else {
            let root = self.relaxation.solve(budget)?;
            let root =
                root.ok_or_else(|| EncodeError::Trouble("the relaxation is infeasible".into()))?;
            self.root = Some(root.clone());
            return Ok(self.current.insert(root).point.clone());
        };
        self.problem.network.forward(&current.point, &mut self.trace);
        let pattern = ActivationPattern::at(&self.trace);
        let mut weights = self.weights(&pattern, &current.z);
        loop {
            let Some(k) = draw(&weights, rng) else {
                self.layer += 1;
                if self.layer == self.problem.network.hidden().len() {
                    // x̃ once more, so that a round in which no fixing was feasible has an end.
                    let root = root.clone();
                    self.release_all();
                    return Ok(self.current.insert(root).point.clone());
                }
                weights = self.weights(&pattern, &current.z);
                continue;
            };
            self.drawn[k] = true;
            weights[k] = 0.0;
            let neuron @ NeuronId { layer, index } = self.neurons[k];
            self.relaxation.fix(neuron, Some(!pattern.get(layer, index)));
            match self.relaxation.solve(budget) {
                Ok(Some(relaxed)) => return Ok(self.current.insert(relaxed).point.clone()),
                Ok(None) => self.relaxation.fix(neuron, None),
                Err(error) => {
                    self.relaxation.fix(neuron, None);
                    return Err(error);
                }
            }
        }
    }

    /// `χ + δ` of the neurons that may be drawn, 0 for the others.
    fn weights(&self, pattern: &ActivationPattern, z: &[f64]) -> Vec<f64> {
        let weight = |(k, &NeuronId { layer, index }): (usize, &NeuronId)| {
            if layer != self.layer || self.drawn[k] {
                return 0.0;
            }
            let chi = if pattern.get(layer, index) { 1.0 - z[k] } else { z[k] };
            chi + DELTA
        };
        self.neurons.iter().enumerate().map(weight).collect()
    }

    /// Takes all fixings back, to begin with the first layer again.
    fn release_all(&mut self) {
        self.layer = 0;
        for (&neuron, drawn) in self.neurons.iter().zip(&mut self.drawn) {
            if std::mem::take(drawn) {
                self.relaxation.fix(neuron, None);
            }
        }
    }
}
