//! Interval arithmetic: each layer's intervals from the one before. Loose, and simple enough to be believed.

use super::interval::Interval;
use super::neurons::NeuronBounds;
use super::part::Part;
use crate::network::Network;
use crate::sets::InputSet;

/// Exact intervals for the first layer, interval arithmetic for the others.
pub fn interval_arithmetic(network: &Network, set: &InputSet) -> NeuronBounds {
    let mut bounds = NeuronBounds::new(Part::whole(), network);
    bounds.push_layer(first_layer(network, set));
    for layer in 1..network.hidden().len() {
        let next = through(network, layer, &bounds);
        bounds.push_layer(next);
    }
    bounds
}

/// The first layer is linear in the input, so the set's own maximiser is exact.
fn first_layer(network: &Network, set: &InputSet) -> Vec<Interval> {
    let map = network.affine(0);
    let interval = |i: usize| {
        let (row, bias) = (map.dense_row(i), map.bias()[i]);
        let negated: Vec<f64> = row.iter().map(|w| -w).collect();
        Interval { lower: bias - set.support(&negated), upper: bias + set.support(&row) }
    };
    (0..map.outputs()).map(interval).collect()
}

fn through(network: &Network, layer: usize, bounds: &NeuronBounds) -> Vec<Interval> {
    let (map, below) = (network.affine(layer), bounds.outputs(layer - 1));
    let interval = |i: usize| {
        let start = Interval { lower: map.bias()[i], upper: map.bias()[i] };
        map.row(i).fold(start, |sum, (j, w)| {
            let (low, high) = (w * below[j].lower, w * below[j].upper);
            Interval { lower: sum.lower + low.min(high), upper: sum.upper + low.max(high) }
        })
    };
    (0..map.outputs()).map(interval).collect()
}
