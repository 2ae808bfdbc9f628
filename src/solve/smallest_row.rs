//! The smallest of several rows, as layers behind a network.
//!
//! `min(a, b) = a − relu(a − b)`, so that the smallest row of a conjunction is the output of a somewhat longer network, and everything
//! that maximises or bounds an output works on it unchanged. The line `s · (a − b)` below the ReLU makes `(1 − s) a + s b` of it: a bound
//! of the smallest row by a convex combination of the rows, whose weights are the slopes that bounds improve anyway, for every part of
//! the set anew. Walks and climbs maximise the smallest row, region by region.
//!
//! These layers are in no file: nothing in them is rounded. The first has the rows as they are, the others have weights 1 and −1, so that no
//! number is changed on the way either.

use crate::network::{Activation, AffineMap, Layer, Network};
use crate::problem::Conjunction;

/// A value as a sum of outputs of the last layer: places and signs.
type SignedSum = Vec<(usize, f64)>;

/// The network with one output: the smallest row, with every constant as large as it may be meant. `None` if there are less than two rows.
pub(super) fn with_smallest_row(network: &Network, conjunction: &Conjunction) -> Option<Network> {
    let rows = &conjunction.all_of;
    if rows.len() < 2 {
        return None;
    }
    let bias = rows.iter().map(|row| match row.slack {
        0.0 => row.objective.constant,
        slack => (row.objective.constant + slack).next_up(),
    });
    let weights: Vec<&[f64]> = rows.iter().map(|row| row.objective.weights.as_slice()).collect();
    let mut layers = vec![Layer::linear(AffineMap::from_rows(&weights, bias.collect()))];
    let mut values: Vec<SignedSum> = (0..rows.len()).map(|row| vec![(row, 1.0)]).collect();
    let mut width = rows.len();
    while values.len() > 1 {
        let (layer, smaller) = pairwise(&values, width);
        width = layer.outputs();
        layers.push(layer);
        values = smaller;
    }
    layers.push(Layer::linear(sums(&values, width)));
    let layers = layers.into_iter().map(Layer::without_rounding).collect();
    Some(network.followed_by(layers).expect("rows are finite and as wide as the output"))
}

/// A layer behind one of this width from which the smaller value of each pair can be told, and these.
fn pairwise(values: &[SignedSum], width: usize) -> (Layer, Vec<SignedSum>) {
    let (mut neurons, mut activations, mut smaller) = (Vec::new(), Vec::new(), Vec::new());
    for pair in values.chunks(2) {
        let place = neurons.len();
        neurons.push(pair[0].clone());
        activations.push(Activation::Identity);
        let mut value = vec![(place, 1.0)];
        if let Some(other) = pair.get(1) {
            let negated = other.iter().map(|&(input, sign)| (input, -sign));
            neurons.push(pair[0].iter().copied().chain(negated).collect());
            activations.push(Activation::Relu);
            value.push((place + 1, -1.0));
        }
        smaller.push(value);
    }
    (Layer::mixed(sums(&neurons, width), &activations), smaller)
}

/// The map that gives these sums.
fn sums(neurons: &[SignedSum], width: usize) -> AffineMap {
    let row = |sum: &SignedSum| {
        let mut row = vec![0.0; width];
        sum.iter().for_each(|&(input, sign)| row[input] = sign);
        row
    };
    let rows: Vec<Vec<f64>> = neurons.iter().map(row).collect();
    AffineMap::from_rows(&rows, vec![0.0; neurons.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::{network, point};
    use crate::problem::{Objective, PropertyRow};

    #[test]
    fn the_output_is_the_smallest_row() {
        let network = network(&[3, 6, 4], 1);
        for rows in 2..8 {
            let row = |k: usize| {
                let weights = point(4, k as u64);
                PropertyRow::new(Objective { weights, constant: 0.5 - k as f64 / 8.0 }, false)
            };
            let conjunction = Conjunction { all_of: (0..rows).map(row).collect() };
            let longer = with_smallest_row(&network, &conjunction).expect("several rows");
            assert_eq!(longer.outputs(), 1);
            assert_eq!(longer.relu_count(), network.relu_count() + rows - 1);
            for seed in 0..20 {
                let x = point(3, 100 + seed);
                let smallest = conjunction.value(&network.logits(&x));
                let output = longer.logits(&x)[0];
                assert!((output - smallest).abs() < 1e-12, "{rows} {seed}: {output} {smallest}");
            }
        }
    }
}
