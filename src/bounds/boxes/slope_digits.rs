//! Slopes as proofs hold them: digits. So bounds that are to be proven are evaluated once more with slopes that were rounded to these.

use super::network::PaddedNetwork;
use super::state::Boxes;

/// The largest digit: slope 1.
const DIGITS: f64 = 63.0;

/// The digit of a neuron that no slope is needed for.
const NONE: u8 = u8::MAX;

/// A slope as the nearest digit. Slopes are kept in f32.
fn digit(slope: f64) -> u8 {
    (f64::from(slope as f32).clamp(0.0, 1.0) * DIGITS).round() as u8
}

/// The slope of the nearest digit.
pub(super) fn rounded(slope: f64) -> f64 {
    f64::from(digit(slope)) / DIGITS
}

/// Slopes of lines below ReLUs: a list for each hidden layer with a digit for each neuron.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlopeDigits(Vec<Box<[u8]>>);

impl SlopeDigits {
    /// Layer by layer the slope of every neuron, if one is proposed: this digit, of 63.
    pub fn layers(&self) -> impl Iterator<Item = impl Iterator<Item = Option<u8>> + '_> + '_ {
        let slope = |digit: &u8| (*digit != NONE).then_some(*digit);
        self.0.iter().map(move |layer| layer.iter().map(slope))
    }

    /// Those of unstable neurons of a box, with `slopes` of a layer's neurons.
    pub(super) fn of_unstable<'s>(
        network: &PaddedNetwork,
        boxes: &Boxes,
        (node, layers): (usize, usize),
        slopes: impl Fn(usize) -> &'s [f64],
    ) -> Self {
        let of_layer = |layer: usize| {
            let slopes = slopes(layer);
            let of_neuron = |j: usize| match boxes.is_unstable(network, layer, node, j) {
                true => digit(slopes[j]),
                false => NONE,
            };
            (0..network.layers[layer].width).map(of_neuron).collect()
        };
        Self((0..layers).map(of_layer).collect())
    }
}

/// The slopes of a neuron's two functions.
#[derive(Clone, Debug)]
pub struct NeuronDigits {
    /// Hidden layer.
    pub layer: usize,
    /// Place in it.
    pub index: usize,
    /// Slopes for its largest value.
    pub above: SlopeDigits,
    /// Slopes for its least value.
    pub below: SlopeDigits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_the_nearest_slopes() {
        assert_eq!([-1.0, 0.0, 0.49, 1.0, 2.0].map(digit), [0, 0, 31, 63, 63]);
        for k in 0..=63 {
            let slope = f64::from(k) / 63.0;
            assert_eq!(rounded(slope), slope);
            assert_eq!(rounded(f64::from(slope as f32)), slope);
        }
    }
}
