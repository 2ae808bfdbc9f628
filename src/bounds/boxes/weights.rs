//! Weights of the rows of a conjunction: a convex combination of rows is at least the smallest of them, and may be refuted where no row is.

use std::ops::Range;

use super::network::PaddedNetwork;
use super::push_back::Functions;
use super::state::Boxes;

/// Weights are multiples of this and add up to 1, both exactly.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// Steps of the descent.
const STEPS: usize = 40;

/// The first step, as the exponent that the worst row's weight is changed by.
const STEP: f64 = 3.0;

/// Proposes weights: those with which the linear functions of some rows, added up, have about the least largest value over a box. Exponentiated
/// gradient descent (Kivinen and Warmuth 1997): the gradient is the rows' values where the sum is largest.
pub(super) fn propose(
    network: &PaddedNetwork,
    boxes: &Boxes,
    functions: &Functions,
    columns: Range<usize>,
    weights: &mut Vec<f64>,
) {
    let (inputs, rows) = (network.inputs(), columns.len());
    let node = functions.nodes[columns.start];
    let lower = &boxes.lower[node * inputs..(node + 1) * inputs];
    let upper = &boxes.upper[node * inputs..(node + 1) * inputs];
    let slope = |r: usize, i: usize| functions.coefficients[(columns.start + r) * inputs + i];
    let constants = &functions.constants[columns.clone()];
    let mut here = vec![1.0 / rows as f64; rows];
    let (mut least, mut gradient) = (f64::INFINITY, vec![0.0; rows]);
    weights.clone_from(&here);
    for step in 0..STEPS {
        gradient.copy_from_slice(constants);
        for i in (0..inputs).filter(|&i| lower[i] < upper[i] || lower[i] != 0.0) {
            let sum: f64 = (0..rows).map(|r| here[r] * slope(r, i)).sum();
            let x = if sum > 0.0 { upper[i] } else { lower[i] };
            gradient.iter_mut().enumerate().for_each(|(r, g)| *g += x * slope(r, i));
        }
        let value: f64 = gradient.iter().zip(&here).map(|(g, w)| g * w).sum();
        if value < least {
            least = value;
            weights.clone_from(&here);
        }
        let size = gradient.iter().fold(0.0_f64, |most, g| most.max((g - value).abs()));
        if !(size > 0.0 && size.is_finite()) {
            break;
        }
        let rate = STEP / (size * (1.0 + step as f64).sqrt());
        for (w, g) in here.iter_mut().zip(&gradient) {
            *w = (*w * (-rate * (g - value)).exp()).max(1e-12);
        }
        let all: f64 = here.iter().sum();
        here.iter_mut().for_each(|w| *w /= all);
    }
    round(weights);
}

/// Rounds weights to grains that add up to 1.
fn round(weights: &mut [f64]) {
    let mut left = 1.0 / GRAIN;
    let mut heaviest = 0;
    for r in 0..weights.len() {
        let grains = (weights[r] / GRAIN).round().clamp(0.0, left);
        let grains = if grains.is_nan() { 0.0 } else { grains };
        left -= grains;
        weights[r] = grains * GRAIN;
        if weights[r] > weights[heaviest] {
            heaviest = r;
        }
    }
    weights[heaviest] += left * GRAIN;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounded_weights_add_up_to_one(mut weights in prop::collection::vec(0.0..1.0f64, 1..9)) {
            round(&mut weights);
            prop_assert_eq!(weights.iter().sum::<f64>(), 1.0);
            prop_assert!(weights.iter().all(|w| *w >= 0.0 && (w / GRAIN).fract() == 0.0));
        }
    }
}
