//! Multipliers of quadratic relaxations as proofs hold them: of few digits, and in units that do not depend on anybody's bounds.

use super::collapse::CollapsedBox;
use super::relaxation::SquareMultipliers;
use crate::network::NeuronId;

/// Digits behind the first: of squares of inputs, which are many, and of all others. The value at good multipliers changes with the square of what
/// they are off by.
const OF_INPUTS: usize = 2;
const OF_NEURONS: usize = 5;

/// Multipliers of what holds for inputs and neurons, at least 0. `x` is an input, `z` a pre-activation and `v` what its ReLU gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuadraticEvidence {
    /// The neurons that the other lists but the first are of.
    pub neurons: Vec<NeuronId>,
    /// Of `(x − lower)·(upper − x) ≥ 0`: one for each input, 0 for those behind the last.
    pub inputs: Vec<f64>,
    /// Of `v·(upper − v) ≥ 0`.
    pub ranges: Vec<f64>,
    /// Of `v·(z − v) ≥ 0`.
    pub products: Vec<f64>,
    /// Of `v ≥ 0`.
    pub signs: Vec<f64>,
    /// Of `v ≥ z`.
    pub passes: Vec<f64>,
    /// Of the line above.
    pub lines: Vec<f64>,
}

/// About the same number with so many digits behind the first.
fn short(value: f64, digits: usize) -> f64 {
    format!("{:.digits$e}", value.abs()).parse().unwrap_or(0.0)
}

/// The same, and not smaller: squares have to outweigh products.
fn short_up(value: f64, digits: usize) -> f64 {
    short(value * (1.0 + 0.5 * 0.1_f64.powi(digits as i32)), digits)
}

impl QuadraticEvidence {
    /// Rounds multipliers.
    pub(in crate::bounds::boxes) fn new(of: &CollapsedBox, m: &SquareMultipliers) -> Self {
        let halves = || of.neurons.iter().map(|neuron| neuron.half);
        let mut inputs = vec![0.0; of.reaches().last().map_or(0, |(input, _)| input + 1)];
        for ((input, radius), multiplier) in of.reaches().zip(&m.inputs) {
            inputs[input] = short_up(multiplier / (radius * radius), OF_INPUTS);
        }
        let ranges = m.neurons.iter().zip(halves()).map(|(m, half)| m / (half * half));
        let products = m.products.iter().zip(halves()).map(|(m, half)| m / half);
        let list = |list: &[f64]| list.iter().map(|m| short(*m, OF_NEURONS)).collect();
        Self {
            neurons: of.neurons.iter().map(|neuron| neuron.id).collect(),
            inputs,
            ranges: ranges.map(|m| short_up(m, OF_NEURONS)).collect(),
            products: products.map(|m| short(m, OF_NEURONS)).collect(),
            signs: list(&m.signs),
            passes: list(&m.passes),
            lines: list(&m.lines),
        }
    }

    /// The multipliers in the units of the relaxation.
    pub(in crate::bounds::boxes) fn multipliers(&self, of: &CollapsedBox) -> SquareMultipliers {
        let halves = || of.neurons.iter().map(|neuron| neuron.half);
        let scaled = |list: &[f64], power: i32| {
            list.iter().zip(halves()).map(|(m, half)| m * half.powi(power)).collect()
        };
        let inputs = of.reaches().map(|(input, radius)| self.inputs[input] * radius * radius);
        SquareMultipliers {
            inputs: inputs.collect(),
            neurons: scaled(&self.ranges, 2),
            products: scaled(&self.products, 1),
            signs: self.signs.clone(),
            passes: self.passes.clone(),
            lines: self.lines.clone(),
        }
    }
}
