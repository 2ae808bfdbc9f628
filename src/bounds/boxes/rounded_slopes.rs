//! Slopes and multipliers as proofs have them.
//!
//! A proof holds slopes as digits, so bounds that are to be proven are evaluated once more with slopes that were rounded to these. Only what
//! comes out then counts.

use super::descent::{FirstSlopes, SlopeDescent};
use super::evidence::LineEvidence;
use super::network::PaddedNetwork;
use super::part::BoxPart;
use super::slope_digits::{SlopeDigits, rounded};
use super::state::Boxes;
use crate::bounds::part::Sign;
use crate::network::NeuronId;

impl LineEvidence {
    /// The lines of a function of the outputs of the last one of so many hidden layers, as a descent has just evaluated it.
    pub(super) fn of_descent(
        descent: &SlopeDescent,
        (network, boxes, layers): (&PaddedNetwork, &Boxes, usize),
        function: usize,
        signs: impl Iterator<Item = Sign>,
    ) -> Self {
        let node = descent.functions().nodes[function];
        let slopes = |layer: usize| descent.slopes(layer, function, network.layers[layer].padded());
        let slopes = SlopeDigits::of_unstable(network, boxes, (node, layers), slopes);
        Self { slopes: Some(slopes), multipliers: multipliers_of(descent, function, signs) }
    }
}

/// The multipliers of some signs in a function. 0 where there is none.
fn multipliers_of(
    descent: &SlopeDescent,
    function: usize,
    signs: impl Iterator<Item = Sign>,
) -> Vec<f64> {
    let known: Vec<(NeuronId, f64)> = descent.multipliers(function).collect();
    let multiplier = |sign: Sign| {
        known.iter().find(|(neuron, _)| *neuron == sign.neuron).map_or(0.0, |(_, value)| *value)
    };
    signs.map(multiplier).collect()
}

/// Slopes and multipliers as a proof has them.
pub(super) struct RoundedSlopes {
    /// By function and layer.
    slopes: Vec<Vec<Vec<f64>>>,
    /// By function and sign: those of its part, then its own.
    multipliers: Vec<Vec<f64>>,
    /// The functions' own signs, if they have any.
    signs: Vec<Vec<Sign>>,
}

impl RoundedSlopes {
    /// Rounds those of a descent's functions of the outputs of the last one of so many hidden layers. `signs` are the functions' own.
    pub fn of_descent(
        descent: &SlopeDescent,
        network: &PaddedNetwork,
        parts: &[BoxPart],
        layers: usize,
        signs: Vec<Vec<Sign>>,
    ) -> Self {
        let nodes = &descent.functions().nodes;
        let slopes = |function: usize| {
            let of_layer = |layer: usize| {
                let slopes = descent.slopes(layer, function, network.layers[layer].padded());
                slopes.iter().copied().map(rounded).collect()
            };
            (0..layers).map(of_layer).collect()
        };
        let multipliers = |function: usize| {
            let own = signs.get(function).into_iter().flatten();
            let all = parts[nodes[function]].signs.iter().chain(own).copied();
            multipliers_of(descent, function, all).into_iter().map(short).collect()
        };
        Self {
            slopes: (0..nodes.len()).map(slopes).collect(),
            multipliers: (0..nodes.len()).map(multipliers).collect(),
            signs,
        }
    }
}

/// About the same number with few digits.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

impl FirstSlopes for RoundedSlopes {
    fn slopes(&self, function: usize, layer: usize, _: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.slopes[function][layer]);
    }

    fn multiplier(&self, function: usize, sign: usize) -> Option<f64> {
        self.multipliers[function].get(sign).copied()
    }

    fn signs(&self, function: usize) -> &[Sign] {
        self.signs.get(function).map_or(&[], Vec::as_slice)
    }
}
