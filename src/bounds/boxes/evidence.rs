//! What refutes questions in a part, for proofs: rows, slopes and multipliers that others can work out the bound from.
//!
//! A proof holds slopes as digits, so bounds that are to be proven are evaluated once more with slopes that were rounded to these. Only what
//! comes out then counts.

use super::descent::{FirstSlopes, SlopeDescent};
use super::network::PaddedNetwork;
use super::part::BoxPart;
use super::slope_digits::{SlopeDigits, rounded};
use super::state::Boxes;

/// A combination of a question's rows, and what its bound is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct RowCombination {
    /// The question.
    pub question: usize,
    /// Its rows, counted from its first one, and their weights.
    pub rows: Vec<(usize, f64)>,
    /// The slopes, unless all are the default ones.
    pub slopes: Option<SlopeDigits>,
    /// Multipliers of the part's signs.
    pub multipliers: Vec<f64>,
}

impl RowCombination {
    /// With the default slopes, and no signs.
    pub(super) fn by_default_slopes(question: usize, rows: Vec<(usize, f64)>) -> Self {
        Self { question, rows, slopes: None, multipliers: Vec::new() }
    }
}

/// What is proven about a part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxEvidence {
    /// What refutes questions that were open before.
    pub refuted: Vec<RowCombination>,
    /// What the cuts for its own parts are made of: one for each question that is open. None: there are no cuts.
    pub cuts: Vec<RowCombination>,
}

/// Slopes and multipliers as a proof has them.
pub(super) struct RoundedSlopes {
    /// By function and layer.
    slopes: Vec<Vec<Vec<f64>>>,
    /// By function and sign of its part.
    multipliers: Vec<Vec<f64>>,
}

impl RoundedSlopes {
    /// Rounds those of a descent's functions of the outputs of the last one of so many hidden layers.
    pub fn of_descent(
        descent: &SlopeDescent,
        network: &PaddedNetwork,
        parts: &[BoxPart],
        layers: usize,
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
            let signs = &parts[nodes[function]].signs;
            let mut multipliers = vec![0.0; signs.len()];
            for (neuron, value) in descent.multipliers(function) {
                if let Some(k) = signs.iter().position(|sign| sign.neuron == neuron) {
                    multipliers[k] = short(value);
                }
            }
            multipliers
        };
        Self {
            slopes: (0..nodes.len()).map(slopes).collect(),
            multipliers: (0..nodes.len()).map(multipliers).collect(),
        }
    }

    /// What a function's bound is made of.
    pub fn combination(
        &self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        (node, function): (usize, usize),
        (question, rows): (usize, Vec<(usize, f64)>),
    ) -> RowCombination {
        let layers = self.slopes[function].len();
        let slopes = |layer: usize| &self.slopes[function][layer][..];
        let slopes = SlopeDigits::of_unstable(network, boxes, (node, layers), slopes);
        let multipliers = self.multipliers[function].clone();
        RowCombination { question, rows, slopes: Some(slopes), multipliers }
    }
}

/// About the same number with few digits.
fn short(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

impl FirstSlopes for RoundedSlopes {
    fn slopes(&self, function: usize, layer: usize, _: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.slopes[function][layer]);
    }

    fn multiplier(&self, function: usize, sign: usize) -> Option<f64> {
        self.multipliers[function].get(sign).copied()
    }
}
