//! Backward passes: gradients, and the slopes of single neurons in single pixels.

use faer::Mat;

use super::chain::Network;
use super::neuron::NeuronId;
use super::pattern::ActivationPattern;

impl Network {
    /// The gradient of `objective · y` with respect to the input, on the region of `pattern`;
    /// for a margin, `objective` is +1 at the target and −1 at the predicted label.
    ///
    /// ```
    /// use rw_adv::network::{ActivationPattern, AffineMap, Network, Trace};
    ///
    /// let hidden = AffineMap::from_rows(&[[2.0], [-3.0]], vec![0.0, 0.0]);
    /// let output = AffineMap::from_rows(&[[1.0, 1.0]], vec![0.0]);
    /// let network = Network::new(vec![hidden, output])?;
    /// let mut trace = Trace::new(&network);
    /// network.forward(&[0.5], &mut trace); // only the first neuron is on
    /// let pattern = ActivationPattern::at(&trace);
    /// assert_eq!(network.gradient(&[1.0], &pattern), [2.0]);
    /// # Ok::<(), rw_adv::network::NetworkError>(())
    /// ```
    ///
    /// # Panics
    /// When `objective` has not [`Network::outputs`] entries or the pattern is of another network.
    pub fn gradient(&self, objective: &[f64], pattern: &ActivationPattern) -> Vec<f64> {
        self.gradient_with(objective, &[], pattern)
    }

    /// The gradient of `objective · y + Σ weight · g(neuron)`: logits and pre-activations together, in one pass.
    ///
    /// # Panics
    /// As [`Network::gradient`]; and when a neuron is not of this network.
    pub fn gradient_with(
        &self,
        objective: &[f64],
        neurons: &[(NeuronId, f64)],
        pattern: &ActivationPattern,
    ) -> Vec<f64> {
        let mut upstream = objective.to_vec();
        for layer in (0..self.layers().len()).rev() {
            let map = self.affine(layer);
            let mut below = vec![0.0; map.inputs()];
            map.apply_transposed(&upstream, &mut below);
            if layer > 0 {
                for (index, slope) in below.iter_mut().enumerate() {
                    if !pattern.get(layer - 1, index) {
                        *slope = 0.0;
                    }
                }
                for (neuron, weight) in
                    neurons.iter().filter(|(neuron, _)| neuron.layer == layer - 1)
                {
                    below[neuron.index] += weight;
                }
            }
            upstream = below;
        }
        upstream
    }

    /// The slopes of some neurons' pre-activations with respect to some pixels, on the region of `pattern`: one
    /// column per neuron, one row per pixel. Costs little when both are few.
    ///
    /// # Panics
    /// When a neuron or pixel is not of this network.
    pub fn slopes(
        &self,
        neurons: &[NeuronId],
        pixels: &[usize],
        pattern: &ActivationPattern,
    ) -> Mat<f64> {
        let mut slopes = Mat::zeros(pixels.len(), neurons.len());
        let first = self.affine(0);
        for layer in 0..self.hidden().len() {
            let places: Vec<usize> =
                (0..neurons.len()).filter(|&k| neurons[k].layer == layer).collect();
            let outputs: Vec<usize> = places.iter().map(|&k| neurons[k].index).collect();
            if places.is_empty() {
                continue;
            }
            let part = if layer == 0 {
                first.weights_at(pixels, &outputs)
            } else {
                let back = self.back_to_first(layer, &outputs, pattern);
                first.transposed_product_at(pixels, back.as_ref())
            };
            for (column, &k) in places.iter().enumerate() {
                slopes.col_as_slice_mut(k).copy_from_slice(part.col_as_slice(column));
            }
        }
        slopes
    }

    /// The slopes of neurons behind the first layer with respect to the first layer's outputs: one column per neuron.
    fn back_to_first(
        &self,
        layer: usize,
        outputs: &[usize],
        pattern: &ActivationPattern,
    ) -> Mat<f64> {
        let mut back = self.affine(layer).row_block(outputs, 1.0);
        for below in (1..layer).rev() {
            mask(&mut back, below, pattern);
            back = self.affine(below).apply_transposed_to_block(back.as_ref());
        }
        mask(&mut back, 0, pattern);
        back
    }
}

/// Clears the rows of the neurons of a hidden layer that are off.
fn mask(block: &mut Mat<f64>, layer: usize, pattern: &ActivationPattern) {
    for column in 0..block.ncols() {
        for (index, slope) in block.col_as_slice_mut(column).iter_mut().enumerate() {
            if !pattern.get(layer, index) {
                *slope = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Trace;
    use crate::network::random::{network_and_point, point};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_held_pattern_makes_the_network_affine_with_the_gradient_as_slope(
            (network, x) in network_and_point(),
            seed in any::<u64>(),
        ) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let objective = point(network.outputs(), seed);
            let gradient = network.gradient(&objective, &pattern);
            let far = point(network.inputs(), seed.wrapping_add(1));
            network.forward_held(&far, &pattern, &mut trace);
            let value = |y: &[f64]| -> f64 { y.iter().zip(&objective).map(|(y, o)| y * o).sum() };
            let step: f64 = gradient.iter().zip(far.iter().zip(&x)).map(|(d, (a, b))| d * (a - b)).sum();
            let expected = value(&network.logits(&x)) + step;
            let found = value(trace.logits());
            prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
        }

        #[test]
        fn the_gradient_is_what_finite_differences_give((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            // A kink closer than the step would make the difference quotient meaningless.
            let step = 1e-6;
            let near_kink = (0..trace.hidden())
                .any(|l| trace.pre_activations(l).iter().any(|g| g.abs() < 1e-4));
            prop_assume!(!near_kink);
            let objective = point(network.outputs(), 7);
            let value = |x: &[f64]| -> f64 {
                network.logits(x).iter().zip(&objective).map(|(y, o)| y * o).sum()
            };
            for (i, slope) in network.gradient(&objective, &pattern).iter().enumerate() {
                let (mut up, mut down) = (x.clone(), x.clone());
                up[i] += step;
                down[i] -= step;
                let quotient = (value(&up) - value(&down)) / (2.0 * step);
                prop_assert!((slope - quotient).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} {quotient}");
            }
        }

        #[test]
        fn slopes_of_neurons_are_their_gradients((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let of_layer = |layer: usize| NeuronId { layer, index: network.layers()[layer].outputs() / 2 };
            let neurons: Vec<NeuronId> = (0..trace.hidden()).map(of_layer).collect();
            let pixels: Vec<usize> = (0..network.inputs()).step_by(3).collect();
            let slopes = network.slopes(&neurons, &pixels, &pattern);
            let nothing = vec![0.0; network.outputs()];
            for (k, &neuron) in neurons.iter().enumerate() {
                let gradient = network.gradient_with(&nothing, &[(neuron, 1.0)], &pattern);
                for (j, &pixel) in pixels.iter().enumerate() {
                    prop_assert!((slopes[(j, k)] - gradient[pixel]).abs() < 1e-9 * (1.0 + gradient[pixel].abs()));
                }
            }
        }
    }
}
