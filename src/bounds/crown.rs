//! Backward linear bounds (CROWN, Zhang et al. 2018), concretised exactly over the input set.
//!
//! A linear function of a layer's outputs is pushed back to the input: at every unstable ReLU it takes the chord
//! where its coefficient is positive, and a line below the ReLU where it is negative. What arrives at the input is
//! linear, and the set's own maximiser gives its largest value. Functions are columns, many at a time.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::interval::first_layer;
use super::{Interval, NeuronBounds, Stability};
use crate::input::InputSet;
use crate::network::Network;

/// Exact intervals for the first layer, backward bounds for the others.
pub fn crown(network: &Network, set: &InputSet) -> NeuronBounds {
    let mut bounds = NeuronBounds { layers: vec![first_layer(network, set)] };
    for layer in 1..network.hidden().len() {
        let dense = &network.layers()[layer];
        let width = dense.outputs();
        // Each neuron's row, and the same negated: the largest value of that one is the lower bound.
        let weights = network.transposed(layer);
        let rows = Mat::from_fn(dense.inputs(), 2 * width, |j, i| {
            if i < width { weights[(j, i)] } else { -weights[(j, i - width)] }
        });
        let constants = dense.bias.iter().copied().chain(dense.bias.iter().map(|b| -b)).collect();
        let largest = largest_values(network, set, &bounds, rows, constants);
        let interval = |i: usize| Interval { lower: -largest[width + i], upper: largest[i] };
        let intervals = (0..width).map(interval).collect();
        bounds.layers.push(intervals);
    }
    bounds
}

/// An upper bound of `objective · y` over the set.
pub fn upper_bound(
    network: &Network,
    set: &InputSet,
    bounds: &NeuronBounds,
    objective: &[f64],
) -> f64 {
    let output = network.output();
    let mut row = vec![0.0; output.inputs()];
    output.apply_transposed(objective, &mut row);
    let constant = objective.iter().zip(&output.bias).map(|(o, b)| o * b).sum();
    let rows = Mat::from_fn(row.len(), 1, |j, _| row[j]);
    largest_values(network, set, bounds, rows, vec![constant])[0]
}

/// An upper bound of each `column · h + constant`, where `h` is the output of the last layer that `bounds` knows.
fn largest_values(
    network: &Network,
    set: &InputSet,
    bounds: &NeuronBounds,
    mut columns: Mat<f64>,
    mut constants: Vec<f64>,
) -> Vec<f64> {
    for layer in (0..bounds.hidden()).rev() {
        let dense = &network.layers()[layer];
        for (k, constant) in constants.iter_mut().enumerate() {
            let column = columns.col_as_slice_mut(k);
            for ((a, interval), bias) in
                column.iter_mut().zip(&bounds.layers[layer]).zip(&dense.bias)
            {
                let (slope, intercept) = line(interval, *a > 0.0);
                *constant += *a * intercept;
                *a *= slope;
                *constant += *a * bias;
            }
        }
        let mut below = Mat::zeros(dense.inputs(), columns.ncols());
        matmul(
            below.as_mut(),
            Accum::Replace,
            network.transposed(layer),
            columns.as_ref(),
            1.0,
            Par::Seq,
        );
        columns = below;
    }
    (0..columns.ncols()).map(|k| constants[k] + set.support(columns.col_as_slice(k))).collect()
}

/// Slope and intercept of the line that bounds a ReLU from above or from below.
fn line(interval: &Interval, above: bool) -> (f64, f64) {
    let Interval { lower, upper } = *interval;
    match interval.stability() {
        Stability::On => (1.0, 0.0),
        Stability::Off => (0.0, 0.0),
        Stability::Unstable if above => {
            let slope = upper / (upper - lower);
            (slope, -slope * lower)
        }
        // Whichever of 0 and g leaves the smaller triangle.
        Stability::Unstable => (if upper > -lower { 1.0 } else { 0.0 }, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::interval_arithmetic;
    use super::*;
    use crate::network::Trace;
    use crate::network::random::{network, point};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_sampled_point_leaves_the_bounds(
            widths in prop::collection::vec(1usize..12, 3..6),
            delta in 0.05f64..4.0,
            seed in any::<u64>(),
        ) {
            let network = network(&widths, seed);
            let centre: Vec<f64> = point(widths[0], seed ^ 1).iter().map(|v| v.abs()).collect();
            let set = InputSet::l1_ball(&centre, delta);
            let bounds = crown(&network, &set);
            let intervals = interval_arithmetic(&network, &set);
            let objective = point(network.outputs(), seed ^ 2);
            let limit = upper_bound(&network, &set, &bounds, &objective);
            let mut trace = Trace::new(&network);
            for k in 0..50 {
                let anywhere: Vec<f64> = point(widths[0], seed.wrapping_add(k)).iter().map(|v| 3.0 * v).collect();
                network.forward(&set.project(&anywhere), &mut trace);
                for layer in 0..trace.hidden() {
                    for (i, &g) in trace.pre_activations(layer).iter().enumerate() {
                        for bounds in [&bounds, &intervals] {
                            let Interval { lower, upper } = bounds.layer(layer)[i];
                            prop_assert!(lower - 1e-9 <= g && g <= upper + 1e-9, "{lower} {g} {upper}");
                        }
                    }
                }
                let value: f64 = trace.logits().iter().zip(&objective).map(|(y, o)| y * o).sum();
                prop_assert!(value <= limit + 1e-9, "{value} {limit}");
            }
        }
    }
}
