//! Which neurons are on: the name of a linear region.

use std::fmt;

use super::neuron::NeuronId;
use super::trace::Trace;

/// One bit per hidden neuron, on where it passes its input; a neuron without a ReLU is always on. Equal patterns are the same linear region, so
/// patterns can be hashed and collected in sets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ActivationPattern {
    /// `bits[layer]`, 64 neurons a word; bits past the width are 0, so that `Eq` and `Hash` hold.
    bits: Vec<Vec<u64>>,
}

impl ActivationPattern {
    /// The pattern at the point of a forward pass. A pre-activation of exactly 0 counts as off;
    /// a walk that knows the neuron's last state uses [`ActivationPattern::update`].
    pub fn at(trace: &Trace) -> Self {
        let words = |layer| vec![0; trace.activations(layer).len().div_ceil(64)];
        let mut pattern = Self { bits: (0..trace.hidden()).map(words).collect() };
        pattern.update(trace);
        pattern
    }

    /// Takes over the pattern of a forward pass; neurons at exactly 0 keep the state they had.
    ///
    /// # Panics
    /// When the trace is of another network.
    pub fn update(&mut self, trace: &Trace) {
        for layer in 0..trace.hidden() {
            for (index, &g) in trace.pre_activations(layer).iter().enumerate() {
                if g != 0.0 {
                    self.set(NeuronId { layer, index }, g > 0.0);
                }
            }
            for &index in trace.identities(layer) {
                self.set(NeuronId { layer, index }, true);
            }
        }
    }

    /// Is the neuron on?
    #[inline]
    pub fn get(&self, layer: usize, index: usize) -> bool {
        self.bits[layer][index / 64] >> (index % 64) & 1 == 1
    }

    /// Switches a neuron.
    #[inline]
    pub fn set(&mut self, neuron: NeuronId, on: bool) {
        let bit = 1u64 << (neuron.index % 64);
        let word = &mut self.bits[neuron.layer][neuron.index / 64];
        *word = if on { *word | bit } else { *word & !bit };
    }

    /// Turns a neuron to its other state.
    #[inline]
    pub fn flip(&mut self, neuron: NeuronId) {
        self.bits[neuron.layer][neuron.index / 64] ^= 1u64 << (neuron.index % 64);
    }

    /// Number of neurons that are on in a hidden layer.
    pub fn active(&self, layer: usize) -> usize {
        self.bits[layer].iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of neurons in which two patterns of one network differ.
    pub fn distance(&self, other: &Self) -> usize {
        let words = self.bits.iter().flatten().zip(other.bits.iter().flatten());
        words.map(|(a, b)| (a ^ b).count_ones() as usize).sum()
    }
}

impl fmt::Debug for ActivationPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active: Vec<usize> = (0..self.bits.len()).map(|layer| self.active(layer)).collect();
        write!(f, "ActivationPattern(on per layer: {active:?})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::network_and_point;
    use crate::network::{Activation, AffineMap, Layer, Network};
    use proptest::prelude::*;

    #[test]
    fn a_tie_is_off_at_first_and_then_keeps_its_last_state() {
        let hidden = AffineMap::from_rows(&[[1.0], [-1.0]], vec![0.0, 0.0]);
        let output = AffineMap::from_rows(&[[1.0, 1.0]], vec![0.0]);
        let network = Network::new(vec![hidden, output]).expect("shapes fit");
        let mut trace = Trace::new(&network);
        network.forward(&[0.0], &mut trace);
        assert_eq!(ActivationPattern::at(&trace).active(0), 0);
        network.forward(&[1.0], &mut trace);
        let mut pattern = ActivationPattern::at(&trace);
        let before = pattern.clone();
        network.forward(&[0.0], &mut trace);
        pattern.update(&trace);
        assert_eq!(pattern, before);
        assert!(pattern.get(0, 0) && !pattern.get(0, 1));
    }

    #[test]
    fn a_neuron_without_a_relu_is_always_on() {
        let hidden = AffineMap::from_rows(&[[1.0], [1.0]], vec![0.0, 0.0]);
        let hidden = Layer::mixed(hidden, &[Activation::Relu, Activation::Identity]);
        let output = Layer::linear(AffineMap::from_rows(&[[2.0, -1.0]], vec![0.0]));
        let network = Network::from_layers(vec![hidden, output]).expect("shapes fit");
        let mut trace = Trace::new(&network);
        let mut pattern = ActivationPattern::at(&trace);
        for (x, slope) in [(0.0, -1.0), (-0.5, -1.0), (0.5, 1.0), (0.0, 1.0)] {
            network.forward(&[x], &mut trace);
            pattern.update(&trace);
            assert!(pattern.get(0, 1));
            assert_eq!(trace.logits(), [x.abs()]);
            assert_eq!(network.gradient(&[1.0], &pattern), [slope]);
        }
    }

    proptest! {
        #[test]
        fn a_pattern_is_the_signs_and_flipping_is_its_own_inverse((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let mut all_flipped = pattern.clone();
            for layer in 0..trace.hidden() {
                for (index, &g) in trace.pre_activations(layer).iter().enumerate() {
                    prop_assert_eq!(pattern.get(layer, index), g > 0.0);
                    all_flipped.flip(NeuronId { layer, index });
                    prop_assert_eq!(all_flipped.get(layer, index), g <= 0.0);
                }
            }
            prop_assert_eq!(pattern.distance(&all_flipped), network.relu_count());
            for layer in 0..trace.hidden() {
                for index in 0..trace.activations(layer).len() {
                    all_flipped.flip(NeuronId { layer, index });
                }
            }
            prop_assert_eq!(&pattern, &all_flipped);
        }
    }
}
