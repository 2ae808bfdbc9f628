//! Backward passes: gradients.

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
        self.pass_back(self.layers().len(), objective.to_vec(), neurons, pattern)
    }

    /// The same from the slopes in the pre-activations of the last of the first few layers on.
    fn pass_back(
        &self,
        layers: usize,
        mut slopes: Vec<f64>,
        neurons: &[(NeuronId, f64)],
        pattern: &ActivationPattern,
    ) -> Vec<f64> {
        for layer in (0..layers).rev() {
            let map = self.affine(layer);
            let mut below = vec![0.0; map.inputs()];
            map.apply_transposed(&slopes, &mut below);
            if layer > 0 {
                pass_neurons(layer - 1, &mut below, pattern);
                for (neuron, weight) in
                    neurons.iter().filter(|(neuron, _)| neuron.layer == layer - 1)
                {
                    below[neuron.index] += weight;
                }
            }
            slopes = below;
        }
        slopes
    }
}

/// Slopes in the outputs of a hidden layer become slopes in its pre-activations.
fn pass_neurons(layer: usize, slopes: &mut [f64], pattern: &ActivationPattern) {
    for (index, slope) in slopes.iter_mut().enumerate() {
        if !pattern.get(layer, index) {
            *slope = 0.0;
        }
    }
}

/// Gradients of one function of the outputs for one pattern after the other. Where few neurons of the last hidden layer differ from the pattern
/// before, only their weights are read there; the gradients are those of new passes up to rounding.
///
/// Rounding errors add up from pattern to pattern, as long as few neurons differ: good enough to choose a direction, not for a bound.
pub struct Gradients<'n> {
    network: &'n Network,
    /// The slopes in the outputs of the last hidden layer.
    of_outputs: Vec<f64>,
    /// In its pre-activations, and in the outputs of the layer below, for the last pattern.
    slopes: Vec<f64>,
    below: Vec<f64>,
    /// Buffer for what is different.
    change: Vec<f64>,
}

impl<'n> Gradients<'n> {
    /// Gradients of `objective · y`.
    ///
    /// # Panics
    /// When `objective` has not [`Network::outputs`] entries.
    pub fn new(network: &'n Network, objective: &[f64]) -> Self {
        let output = network.output().affine();
        let mut of_outputs = vec![0.0; output.inputs()];
        output.apply_transposed(objective, &mut of_outputs);
        let last = network.affine(network.hidden().len() - 1);
        let (slopes, below) = (vec![0.0; last.outputs()], vec![0.0; last.inputs()]);
        Self { network, of_outputs, slopes, below, change: Vec::new() }
    }

    /// The gradient with respect to the input, on the region of `pattern`.
    ///
    /// # Panics
    /// When the pattern is of another network.
    pub fn at(&mut self, pattern: &ActivationPattern) -> Vec<f64> {
        let Self { network, of_outputs, slopes, below, change } = self;
        let last = network.hidden().len() - 1;
        change.clear();
        let both = slopes.iter_mut().zip(of_outputs.iter()).enumerate();
        change.extend(both.map(|(index, (slope, of_output))| {
            let before = *slope;
            *slope = if pattern.get(last, index) { *of_output } else { 0.0 };
            *slope - before
        }));
        let entries = |v: &[f64]| v.iter().filter(|v| **v != 0.0).count();
        if entries(change) < entries(slopes) {
            network.affine(last).add_transposed_product(change, below);
        } else {
            network.affine(last).apply_transposed(slopes, below);
        }
        let mut slopes = below.clone();
        if last > 0 {
            pass_neurons(last - 1, &mut slopes, pattern);
        }
        network.pass_back(last, slopes, &[], pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::{network_and_point, point};
    use crate::network::{NeuronId, Trace};
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
        fn gradients_one_after_the_other_are_those_of_new_passes(
            (network, x) in network_and_point(),
            switched in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..4), 1..6),
            seed in any::<u64>(),
        ) {
            let objective = point(network.outputs(), seed);
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let mut pattern = ActivationPattern::at(&trace);
            let neurons: Vec<NeuronId> = network.relus().collect();
            let mut gradients = Gradients::new(&network, &objective);
            for switched in switched {
                for neuron in switched {
                    pattern.flip(neurons[neuron.index(neurons.len())]);
                }
                let expected = network.gradient(&objective, &pattern);
                for (a, b) in gradients.at(&pattern).iter().zip(&expected) {
                    prop_assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{a} {b}");
                }
            }
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
    }
}
