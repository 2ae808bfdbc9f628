//! What proves bounds: rows, slopes and multipliers that others can work the bound out from.
//!
//! A proof holds slopes as digits, so bounds that are to be proven are evaluated once more with slopes that were rounded to these. Only what
//! comes out then counts.

use super::descent::{FirstSlopes, SlopeDescent};
use super::network::PaddedNetwork;
use super::part::BoxPart;
use super::quadratic::QuadraticEvidence;
use super::slope_digits::{NeuronDigits, SlopeDigits, rounded};
use super::state::Boxes;
use crate::bounds::part::Sign;
use crate::network::NeuronId;

/// What the bound of a function is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundEvidence {
    /// Lines above and below all neurons.
    Lines(LineEvidence),
    /// A tree over the signs of neurons: a node, all nodes where the neuron is on, all where it is off.
    Signs(Vec<SignTreeNode>),
    /// Multipliers of a quadratic relaxation.
    Quadratic(QuadraticEvidence),
}

/// Lines above and below all neurons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineEvidence {
    /// The slopes, unless all are the default ones.
    pub slopes: Option<SlopeDigits>,
    /// Multipliers of the part's signs, then of those that lead to a leaf.
    pub multipliers: Vec<f64>,
}

/// A node of a tree over the signs of neurons.
#[derive(Clone, Debug, PartialEq)]
pub enum SignTreeNode {
    /// Split by a neuron.
    Split(NeuronId),
    /// Bounded.
    Leaf(LineEvidence),
}

/// A bound of a function, and what it is made of if that is kept.
#[derive(Clone, Debug)]
pub(super) struct FunctionBound {
    pub value: f64,
    pub by: Option<BoundEvidence>,
}

/// What bounds a neuron over the whole box from one side.
#[derive(Clone, Debug)]
pub struct NeuronEvidence {
    /// The neuron.
    pub neuron: NeuronId,
    /// Whether it is about its largest value, or its least.
    pub above: bool,
    /// Why.
    pub by: BoundEvidence,
}

/// What the neurons of the whole box are bounded with once. Every further time begins with the bounds of the one before.
#[derive(Clone, Debug, Default)]
pub struct WholeEvidence {
    /// Slopes for pushing neurons back.
    pub slopes: Vec<NeuronDigits>,
    /// Better bounds of some.
    pub bounds: Vec<NeuronEvidence>,
}

/// A combination of a question's rows, and what its bound is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct RowCombination {
    /// The question.
    pub question: usize,
    /// Its rows, counted from its first one, and their weights.
    pub rows: Vec<(usize, f64)>,
    /// Why it is bounded.
    pub by: BoundEvidence,
}

impl RowCombination {
    /// With the default slopes, and no signs.
    pub(super) fn by_default_slopes(question: usize, rows: Vec<(usize, f64)>) -> Self {
        Self { question, rows, by: BoundEvidence::Lines(LineEvidence::default()) }
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
