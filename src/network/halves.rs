//! The two halves of a network at a hidden layer: what leads to it, and what follows from some of its neurons.

use super::affine::AffineMap;
use super::chain::Network;
use super::layer::{Layer, LayerRounding};
use super::neuron::Activation;

impl Network {
    /// The network up to a hidden layer, whose outputs are what some of its neurons give, with these activations.
    ///
    /// ```
    /// use rw_adv::network::{Activation, AffineMap, Network};
    ///
    /// let first = AffineMap::from_rows(&[[1.0], [-1.0]], vec![0.0, 0.0]);
    /// let second = AffineMap::from_rows(&[[1.0, 2.0]], vec![0.5]);
    /// let last = AffineMap::from_rows(&[[3.0]], vec![0.0]);
    /// let network = Network::new(vec![first, second, last])?;
    /// assert_eq!(network.head(0, &[(1, Activation::Relu)]).logits(&[-0.75]), [0.75]);
    /// assert_eq!(network.head(0, &[(0, Activation::Identity)]).logits(&[-0.75]), [-0.75]);
    /// assert_eq!(network.tail(0, &[1]).logits(&[0.75]), network.logits(&[-0.75]));
    /// # Ok::<(), rw_adv::network::NetworkError>(())
    /// ```
    ///
    /// # Panics
    /// When there is no such layer or neuron, or no neuron.
    pub fn head(&self, layer: usize, neurons: &[(usize, Activation)]) -> Self {
        let (last, before) = self.hidden()[..=layer].split_last().expect("a layer");
        let rows = (0..neurons.len()).map(|k| std::iter::once((k as u32, 1.0)));
        let output = AffineMap::from_sparse_rows(neurons.len(), rows, vec![0.0; neurons.len()]);
        // Nothing is computed here that could be rounded.
        let output = Layer::linear(output).without_rounding();
        let layers = before.iter().cloned().chain([of_some_neurons(last, neurons), output]);
        Self::from_layers(layers.collect()).expect("as wide as before, and finite")
    }

    /// The network behind a hidden layer, as a function of the outputs of some of its neurons. All others are 0.
    ///
    /// # Panics
    /// When there is no hidden layer behind that one, no such neuron, or no neuron.
    pub fn tail(&self, layer: usize, neurons: &[usize]) -> Self {
        let behind = &self.layers()[layer + 1..];
        let (first, rest) = behind.split_first().expect("a layer behind a hidden one");
        let first = of_some_inputs(first, neurons);
        Self::from_layers(std::iter::once(first).chain(rest.iter().cloned()).collect())
            .expect("a hidden layer behind this one")
    }
}

/// A layer all of whose other inputs are 0: they add nothing to its rounding errors either.
fn of_some_inputs(layer: &Layer, inputs: &[usize]) -> Layer {
    let (map, mut rounding) = (layer.affine(), layer.rounding().clone());
    let weight = |i: usize, k: usize| map.weight(i, inputs[k]);
    let few = AffineMap::from_fn(map.outputs(), inputs.len(), weight, map.bias().to_vec());
    for (i, gain) in rounding.gain.iter_mut().enumerate() {
        let kept: f64 = few.row(i).map(|(_, weight)| weight.abs()).sum();
        let all: f64 = map.row(i).map(|(_, weight)| weight.abs()).sum();
        // Each of the two sums is off by at most so many roundings of it, and is at most the gain.
        let off = 2.0 * (map.inputs() + 2) as f64 * f64::EPSILON * *gain;
        *gain = (*gain - (all - kept) + off).max(kept);
    }
    let activations: Vec<_> = (0..layer.outputs()).map(|i| layer.activation(i)).collect();
    Layer::mixed(few, &activations).with_rounding(rounding)
}

/// Some neurons of a layer, with other activations.
fn of_some_neurons(layer: &Layer, neurons: &[(usize, Activation)]) -> Layer {
    let (map, rounding) = (layer.affine(), layer.rounding());
    let rows = neurons.iter().map(|&(i, _)| map.row(i).map(|(j, weight)| (j as u32, weight)));
    let rows: Vec<Vec<(u32, f64)>> = rows.map(Iterator::collect).collect();
    let of = |values: &[f64]| neurons.iter().map(|&(i, _)| values[i]).collect();
    let rows = rows.iter().map(|row| row.iter().copied());
    let few = AffineMap::from_sparse_rows(map.inputs(), rows, of(map.bias()));
    let activations: Vec<Activation> = neurons.iter().map(|&(_, activation)| activation).collect();
    Layer::mixed(few, &activations).with_rounding(LayerRounding {
        amplification: of(&rounding.amplification),
        gain: of(&rounding.gain),
        offset: of(&rounding.offset),
        reach_gain: of(&rounding.reach_gain),
        reach_offset: of(&rounding.reach_offset),
        operations: neurons.iter().map(|&(i, _)| rounding.operations[i]).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::{network, point};

    #[test]
    fn what_follows_from_the_outputs_of_a_layer_is_what_follows_from_the_input() {
        for seed in 0..20 {
            let network = network(&[5, 7, 6, 4, 3], seed);
            let x = point(5, seed ^ 1);
            for layer in 0..2 {
                let width = network.hidden()[layer].outputs();
                let all: Vec<usize> = (0..width).collect();
                let with_relus: Vec<_> = all.iter().map(|&j| (j, Activation::Relu)).collect();
                let outputs = network.head(layer, &with_relus).logits(&x);
                let on: Vec<usize> = all.iter().copied().filter(|&j| outputs[j] > 0.0).collect();
                let values: Vec<f64> = on.iter().map(|&j| outputs[j]).collect();
                if on.is_empty() {
                    continue;
                }
                let logits = network.tail(layer, &on).logits(&values);
                for (a, b) in logits.iter().zip(network.logits(&x)) {
                    assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} and {b}");
                }
            }
        }
    }

    #[test]
    fn rounding_errors_are_those_of_the_inputs_that_are_left() {
        let map = AffineMap::from_rows(&[[3.0, -4.0, 0.5]], vec![1.0]);
        let first = AffineMap::from_fn(3, 1, |i, _| i as f64, vec![0.0; 3]);
        let last = AffineMap::from_rows(&[[1.0]], vec![0.0]);
        let network = Network::new(vec![first, map, last]).expect("three layers");
        let gain = network.tail(0, &[1, 2]).layers()[0].rounding().gain[0];
        assert!((4.5..4.5 + 1e-13).contains(&gain), "{gain}");
    }
}
