//! What proves bounds: rows, slopes and multipliers that others can work the bound out from.

use super::quadratic::QuadraticEvidence;
use super::slope_digits::{NeuronDigits, SlopeDigits};
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

/// What the halves of a network are at a layer with few neurons that can be on, and what the first one has to show.
#[derive(Clone, Debug, PartialEq)]
pub struct HalvesEvidence {
    /// The hidden layer.
    pub layer: usize,
    /// Its neurons that can be on.
    pub neurons: Vec<usize>,
    /// The least value of each.
    pub lower: Vec<f64>,
    /// The largest value of each.
    pub upper: Vec<f64>,
    /// Where the second half's questions are not decided, the sum of these times the neurons' values is at most `most`. Empty: they are decided
    /// everywhere.
    pub weights: Vec<f64>,
    /// The largest sum there.
    pub most: f64,
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
