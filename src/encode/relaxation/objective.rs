//! Linear functions of the network, told in the relaxation's columns.

use faer::Mat;

use super::{Neuron, Relaxation};
use crate::network::{NeuronId, Trace};

/// The objective, told in columns.
pub(super) struct Costs {
    pub neurons: Vec<f64>,
    pub pixels: Vec<f64>,
    pub constant: f64,
}

impl Relaxation<'_> {
    /// The objective in columns, with the substituted neurons on their lines. With a trace, the other neurons of the
    /// last layer count as on or off as they are there: a guess at what the layers below will be worth.
    pub(super) fn price_objective(&self, guess: Option<&Trace>) -> Costs {
        let network = &self.problem.network;
        let last = self.bounds.hidden() - 1;
        // Weights of the last layer's pre-activations, and the constants that lines bring along.
        let mut on_last = vec![0.0; self.weights.len()];
        let mut constant = self.problem.value(&self.at_centre);
        for (index, &weight) in self.weights.iter().enumerate() {
            match self.place[last][index] {
                None if self.stable.get(last, index) => on_last[index] = weight,
                Some(place) if self.neurons[place].substituted => {
                    let (slope, intercept) = self.neurons[place].line();
                    on_last[index] = weight * slope;
                    let at_centre = self.at_centre.pre_activations(last)[index];
                    constant += weight * (slope * at_centre + intercept);
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
            self.spread(Mat::from_fn(row.len(), 1, |j, _| row[j]), last - 1)
        });
        let cost = |neuron: &Neuron| match &below {
            _ if neuron.substituted => 0.0,
            _ if neuron.id.layer == last => self.weights[neuron.id.index],
            Some(below) => below[neuron.id.layer][(neuron.id.index, 0)],
            None => 0.0,
        };
        let neurons = self.neurons.iter().map(cost).collect();
        let pixels = self.pixel_slopes(&on_last, &[]);
        Costs { neurons, pixels, constant }
    }

    /// The slopes of `on_last · g(last layer) + Σ weight · g(neuron)` with respect to the pixels, unstable columns held.
    pub(super) fn pixel_slopes(&self, on_last: &[f64], neurons: &[(NeuronId, f64)]) -> Vec<f64> {
        let layer = self.bounds.hidden() - 1;
        let of_last = on_last.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let mut all: Vec<(NeuronId, f64)> =
            of_last.map(|(index, weight)| (NeuronId { layer, index }, *weight)).collect();
        all.extend_from_slice(neurons);
        self.problem.network.gradient_with(
            &vec![0.0; self.problem.network.outputs()],
            &all,
            &self.stable,
        )
    }

    /// Tells `columns · h`, `h` the outputs of `layer`, in the outputs of every layer up to it: stable-on neurons are
    /// replaced by what they are made of. One matrix per layer; its rows of unstable neurons are what counts.
    /// (The pixels' part is [`crate::network::Network::slopes`] with the stable pattern.)
    pub(super) fn spread(&self, mut columns: Mat<f64>, layer: usize) -> Vec<Mat<f64>> {
        let network = &self.problem.network;
        let mut on_outputs = vec![Mat::zeros(0, 0); layer + 1];
        for below in (1..=layer).rev() {
            let through = Mat::from_fn(columns.nrows(), columns.ncols(), |j, k| {
                if self.stable.get(below, j) { columns[(j, k)] } else { 0.0 }
            });
            let next = network.affine(below).apply_transposed_to_block(through.as_ref());
            on_outputs[below] = std::mem::replace(&mut columns, next);
        }
        on_outputs[0] = columns;
        on_outputs
    }
}
