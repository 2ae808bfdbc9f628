//! Algorithm 2 of Tong, Cai and Serra 2024: the relaxation gives the first start; then, layer by layer, neurons are fixed
//! against their state at the current point, and each restricted relaxation gives another.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::encode::{EncodeError, Relaxation, RelaxationSolution, Work};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;

/// The paper's δ: even a neuron whose relaxed state agrees with its real one may be drawn.
const DELTA: f64 = 0.05;

/// The relaxation, restricted a little more with every start.
pub struct RelaxedStarts<'q> {
    problem: &'q Problem,
    relaxation: Relaxation<'q>,
    neurons: Vec<NeuronId>,
    root: Option<RelaxationSolution>,
    current: Option<RelaxationSolution>,
    layer: usize,
    /// Neurons that were drawn since the last return to the root, fixed or found infeasible to fix.
    drawn: Vec<bool>,
    trace: Trace,
}

impl<'q> RelaxedStarts<'q> {
    /// Nothing is solved yet.
    pub fn new(problem: &'q Problem, bounds: &'q NeuronBounds) -> Self {
        let relaxation = Relaxation::new(problem, bounds);
        let neurons: Vec<NeuronId> = relaxation.neurons().collect();
        let drawn = vec![false; neurons.len()];
        let trace = Trace::new(&problem.network);
        Self { problem, relaxation, neurons, root: None, current: None, layer: 0, drawn, trace }
    }

    /// What the relaxations have cost.
    pub fn work(&self) -> Work {
        self.relaxation.work()
    }

    /// The next start: `x̃` first, then the points of restricted relaxations.
    ///
    /// # Errors
    /// When the time is up or the solver fails.
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
            let Some(place) = draw(&weights, rng) else {
                self.layer += 1;
                if self.layer == self.problem.network.hidden().len() {
                    // x̃ once more, so that a round in which no fixing was feasible has an end.
                    let root = root.clone();
                    self.let_go();
                    return Ok(self.current.insert(root).point.clone());
                }
                weights = self.weights(&pattern, &current.z);
                continue;
            };
            self.drawn[place] = true;
            weights[place] = 0.0;
            let neuron @ NeuronId { layer, index } = self.neurons[place];
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
        let weight = |(place, &NeuronId { layer, index }): (usize, &NeuronId)| {
            if layer != self.layer || self.drawn[place] {
                return 0.0;
            }
            let chi = if pattern.get(layer, index) { 1.0 - z[place] } else { z[place] };
            chi + DELTA
        };
        self.neurons.iter().enumerate().map(weight).collect()
    }

    /// Lets all neurons go, to begin with the first layer again.
    fn let_go(&mut self) {
        self.layer = 0;
        for (&neuron, drawn) in self.neurons.iter().zip(&mut self.drawn) {
            if std::mem::take(drawn) {
                self.relaxation.fix(neuron, None);
            }
        }
    }
}

fn draw(weights: &[f64], rng: &mut ChaCha8Rng) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let mut ticket = rng.random_range(0.0..total);
    let drawn = weights.iter().position(|weight| {
        ticket -= weight;
        ticket < 0.0
    });
    // Rounding may leave a ticket behind the last weight.
    drawn.or_else(|| weights.iter().rposition(|&weight| weight > 0.0))
}
