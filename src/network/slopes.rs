//! The slopes of single neurons in single pixels.

use faer::Mat;

use super::chain::Network;
use super::neuron::NeuronId;
use super::pattern::ActivationPattern;

/// What some neurons' pre-activations are made of on one region, down to the outputs of the first layer: from there the slopes in any pixels cost
/// little, however many layers lie between.
#[derive(Default)]
pub struct PulledBackNeurons {
    len: usize,
    /// Neurons of the first layer: their places among all, and their indices.
    first: Vec<(usize, usize)>,
    /// Places of neurons behind it, and their slopes in the first layer's outputs: one column per neuron.
    deeper: Vec<(Vec<usize>, Mat<f64>)>,
}

impl PulledBackNeurons {
    /// Adds neurons behind these.
    pub fn extend(&mut self, more: Self) {
        let len = self.len;
        self.first.extend(more.first.into_iter().map(|(place, index)| (len + place, index)));
        for (mut places, slopes) in more.deeper {
            places.iter_mut().for_each(|place| *place += len);
            self.deeper.push((places, slopes));
        }
        self.len += more.len;
    }

    /// Removes all neurons.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Network {
    /// What the pre-activations of some neurons are made of on the region of `pattern`.
    ///
    /// # Panics
    /// When a neuron or the pattern is not of this network.
    pub fn neuron_slopes(
        &self,
        neurons: &[NeuronId],
        pattern: &ActivationPattern,
    ) -> PulledBackNeurons {
        let of_layer =
            |layer: usize| (0..neurons.len()).filter(move |&place| neurons[place].layer == layer);
        let first = of_layer(0).map(|place| (place, neurons[place].index)).collect();
        let deeper = (1..self.hidden().len()).filter_map(|layer| {
            let places: Vec<usize> = of_layer(layer).collect();
            let outputs: Vec<usize> = places.iter().map(|&place| neurons[place].index).collect();
            let is_any = !places.is_empty();
            is_any.then(|| (places, self.back_to_first(layer, &outputs, pattern)))
        });
        PulledBackNeurons { len: neurons.len(), first, deeper: deeper.collect() }
    }

    /// The slopes of these neurons' pre-activations in some pixels: one column per neuron, one row per pixel.
    ///
    /// # Panics
    /// When a neuron or pixel is not of this network.
    pub fn slopes(&self, neurons: &PulledBackNeurons, pixels: &[usize]) -> Mat<f64> {
        let mut slopes = Mat::zeros(pixels.len(), neurons.len);
        let map = self.affine(0);
        let outputs: Vec<usize> = neurons.first.iter().map(|&(_, index)| index).collect();
        let part = map.weights_at(pixels, &outputs);
        for (column, &(place, _)) in neurons.first.iter().enumerate() {
            slopes.col_as_slice_mut(place).copy_from_slice(part.col_as_slice(column));
        }
        for (places, back) in &neurons.deeper {
            let part = map.transposed_product_at(pixels, back.as_ref());
            for (column, &place) in places.iter().enumerate() {
                slopes.col_as_slice_mut(place).copy_from_slice(part.col_as_slice(column));
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
    use crate::network::random::network_and_point;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slopes_of_neurons_are_their_gradients((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let of_layer = |layer: usize| NeuronId { layer, index: network.layers()[layer].outputs() / 2 };
            let neurons: Vec<NeuronId> = (0..trace.hidden()).map(of_layer).collect();
            let pixels: Vec<usize> = (0..network.inputs()).step_by(3).collect();
            let mut slopes = PulledBackNeurons::default();
            for few in neurons.chunks(2) {
                slopes.extend(network.neuron_slopes(few, &pattern));
            }
            let slopes = network.slopes(&slopes, &pixels);
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
