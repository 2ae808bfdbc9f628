//! The network between its unstable neurons: once the others are held in one state, every pre-activation and the objective are affine in
//! the pixels and in the outputs of unstable neurons.

use faer::Mat;

use super::neurons::{NeuronColumns, UnstableNeuron};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;

/// A network with all but its unstable neurons held.
pub(in crate::encode) struct AffineNetwork<'p> {
    pub problem: &'p Problem,
    /// On where a neuron is held on: through these `g` reaches down.
    held: ActivationPattern,
    /// The network at the set's centre with every unstable neuron at 0: the constants of `g` and of the objective.
    at_centre: Trace,
    /// The objective's weights of the last hidden layer's outputs.
    weights: Vec<f64>,
}

/// The objective in terms of columns.
#[derive(Debug, Default)]
pub(in crate::encode) struct ObjectiveCosts {
    /// In the order of the neurons' columns.
    pub neurons: Vec<f64>,
    /// By pixel.
    pub pixels: Vec<f64>,
    pub constant: f64,
}

impl<'p> AffineNetwork<'p> {
    /// The problem's network with neurons held as `held` says; its unstable neurons are off there.
    pub fn new(problem: &'p Problem, held: ActivationPattern) -> Self {
        let network = &problem.network;
        let mut at_centre = Trace::new(network);
        network.forward_held(problem.set.centre(), &held, &mut at_centre);
        let output = network.output().affine();
        let mut weights = vec![0.0; output.inputs()];
        output.apply_transposed(problem.weights(), &mut weights);
        Self { problem, held, at_centre, weights }
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.problem.network.hidden().len()
    }

    /// The states of the neurons that are held; unstable ones are off.
    pub fn held(&self) -> &ActivationPattern {
        &self.held
    }

    /// Whether a neuron is held on.
    pub fn is_held_on(&self, id: NeuronId) -> bool {
        self.held.get(id.layer, id.index)
    }

    /// The objective's weights of the last hidden layer's outputs.
    pub fn output_weights(&self) -> &[f64] {
        &self.weights
    }

    /// The constant of `g`: its value at the set's centre with every unstable neuron at 0.
    pub fn constant(&self, id: NeuronId) -> f64 {
        self.at_centre.pre_activations(id.layer)[id.index]
    }

    /// The slopes of some neurons' `g` in some pixels, columns of unstable neurons held: one column per neuron, one row per pixel.
    pub fn slopes(&self, neurons: &[NeuronId], pixels: &[usize]) -> Mat<f64> {
        let network = &self.problem.network;
        network.slopes(&network.neuron_slopes(neurons, &self.held), pixels)
    }

    /// The slopes of `Σ weight · g(neuron)` in all pixels, columns of unstable neurons held.
    pub fn pixel_slopes(&self, neurons: &[(NeuronId, f64)]) -> Vec<f64> {
        let no_outputs = vec![0.0; self.problem.network.outputs()];
        self.problem.network.gradient_with(&no_outputs, neurons, &self.held)
    }

    /// The coefficients of the outputs of every layer below in `g` of neurons of one layer: one matrix per layer, one column per neuron. Only the
    /// rows of unstable neurons count.
    pub fn coefficients_below(&self, layer: usize, neurons: &[NeuronId]) -> Vec<Mat<f64>> {
        if layer == 0 {
            return Vec::new();
        }
        let outputs: Vec<usize> = neurons.iter().map(|id| id.index).collect();
        self.push_down(self.problem.network.affine(layer).row_block(&outputs, 1.0), layer - 1)
    }

    /// Writes `columns · h`, `h` the outputs of `layer`, in the outputs of every layer up to it: neurons that are held on are replaced by what they
    /// are made of. (The pixels' part is [`AffineNetwork::slopes`].)
    fn push_down(&self, mut columns: Mat<f64>, layer: usize) -> Vec<Mat<f64>> {
        let network = &self.problem.network;
        let mut on_outputs = vec![Mat::zeros(0, 0); layer + 1];
        for below in (1..=layer).rev() {
            let through = Mat::from_fn(columns.nrows(), columns.ncols(), |j, k| {
                if self.held.get(below, j) { columns[(j, k)] } else { 0.0 }
            });
            let next = network.affine(below).apply_transposed_to_block(through.as_ref());
            on_outputs[below] = std::mem::replace(&mut columns, next);
        }
        on_outputs[0] = columns;
        on_outputs
    }

    /// The objective in terms of columns. With a trace, unstable neurons of the last layer count as on or off as they are there: a guess at what
    /// the layers below will be worth.
    pub fn objective_costs(
        &self,
        columns: &NeuronColumns,
        guess: Option<&Trace>,
    ) -> ObjectiveCosts {
        let network = &self.problem.network;
        let last = self.hidden() - 1;
        // Weights of the last layer's pre-activations, and the constants that substitutes bring along.
        let mut on_last = vec![0.0; self.weights.len()];
        let mut constant = self.problem.value(&self.at_centre);
        for (index, &weight) in self.weights.iter().enumerate() {
            let id = NeuronId { layer: last, index };
            match columns.find(id) {
                None if self.is_held_on(id) => on_last[index] = weight,
                Some(UnstableNeuron { substitute: Some(line), .. }) => {
                    on_last[index] = weight * line.slope;
                    constant += weight * (line.slope * self.constant(id) + line.intercept);
                }
                Some(_) if guess.is_some_and(|trace| trace.pre_activations(last)[index] > 0.0) => {
                    on_last[index] = weight;
                }
                _ => {}
            }
        }
        let below = (last > 0).then(|| {
            let mut row = vec![0.0; network.affine(last).inputs()];
            network.affine(last).apply_transposed(&on_last, &mut row);
            self.push_down(Mat::from_fn(row.len(), 1, |j, _| row[j]), last - 1)
        });
        let cost = |neuron: &UnstableNeuron| match &below {
            _ if neuron.substitute.is_some() => 0.0,
            _ if neuron.id.layer == last => self.weights[neuron.id.index],
            Some(below) => below[neuron.id.layer][(neuron.id.index, 0)],
            None => 0.0,
        };
        let neurons = columns.iter().map(|(_, neuron)| cost(neuron)).collect();
        let nonzero = on_last.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let weighted: Vec<(NeuronId, f64)> =
            nonzero.map(|(index, weight)| (NeuronId { layer: last, index }, *weight)).collect();
        ObjectiveCosts { neurons, pixels: self.pixel_slopes(&weighted), constant }
    }

    /// `g` of every neuron, layer by layer, at a point and with these outputs of unstable neurons (`None` for a neuron that is held).
    pub fn pre_activations(
        &self,
        point: &[f64],
        output: impl Fn(NeuronId) -> Option<f64>,
    ) -> Vec<Vec<f64>> {
        let mut values = Vec::with_capacity(self.hidden());
        let mut input = point.to_vec();
        for layer in 0..self.hidden() {
            let map = self.problem.network.affine(layer);
            let mut g = vec![0.0; map.outputs()];
            map.apply(&input, &mut g);
            let h = g.iter().enumerate().map(|(index, &g)| {
                let id = NeuronId { layer, index };
                output(id).unwrap_or(if self.is_held_on(id) { g } else { 0.0 })
            });
            input = h.collect();
            values.push(g);
        }
        values
    }

    /// Buffers for a forward pass.
    pub fn trace(&self) -> Trace {
        self.at_centre.clone()
    }
}
