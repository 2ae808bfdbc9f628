//! Proofs that no input has a property; docs/proof-format.md explains every field. Numbers are proposals unless they are part of the statement.

use serde::Deserialize;

/// The version of the format.
pub const PROPERTY_SCHEMA: &str = "rw-adv-property-proof/1";

/// A proof file about a property.
#[derive(Clone, Debug, Deserialize)]
pub struct PropertyProof {
    /// [`PROPERTY_SCHEMA`].
    pub schema: String,
    /// SHA-256 of the model's file, in hexadecimal.
    pub model_sha256: String,
    /// The name of the property's file: a hint only.
    pub property: String,
    /// Its SHA-256: a hint only. What is shown is about the cases.
    pub property_sha256: String,
    /// What no input has.
    pub cases: Vec<PropertyCase>,
    /// Whether it is about the file run in f32, too, or only about its function over the real numbers.
    pub f32: bool,
    /// Why: one tree for each case.
    pub trees: Vec<Tree>,
}

/// A box, and conditions on the outputs there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PropertyCase {
    /// The least value of each input.
    pub lower: Vec<f64>,
    /// The largest value of each input.
    pub upper: Vec<f64>,
    /// Any of these holds, in each of which all rows do.
    pub any_of: Vec<Vec<Row>>,
}

/// `Σ weight · y + constant ≥ 0`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Row {
    /// Outputs and their weights.
    pub terms: Vec<(usize, f64)>,
    /// What is added.
    pub constant: f64,
    /// Whether the sum has to be positive.
    #[serde(default)]
    pub strict: bool,
}

/// A tree of splits.
#[derive(Clone, Debug, Deserialize)]
pub struct Tree {
    /// How lower layers are relaxed in the bounds of neurons. Without an entry: by default slopes.
    #[serde(default)]
    pub slopes: Vec<NeuronSlopes>,
    /// How the neurons of the whole box are bounded again, one time after the other.
    #[serde(default)]
    pub again: Vec<WholeAgain>,
    /// All nodes: each before its two sides, the first side with all of its nodes before the second.
    #[serde(default)]
    pub nodes: Vec<TreeNode>,
    /// Two halves of the network, each with its own tree, instead of nodes.
    #[serde(default)]
    pub bottleneck: Option<Box<TreeHalves>>,
}

/// A hidden layer of which few neurons can be on, the property of the layers behind it, and what the layers up to it do not reach.
#[derive(Clone, Debug, Deserialize)]
pub struct TreeHalves {
    /// The hidden layer.
    pub layer: usize,
    /// The neurons that can be on.
    pub neurons: Vec<usize>,
    /// The least value of each.
    pub lower: Vec<f64>,
    /// The largest value of each.
    pub upper: Vec<f64>,
    /// A weight for each neuron: where a part of the tail's tree leaves conjunctions open, `Σ weight · value ≤ most`. None: there is no such part.
    #[serde(default)]
    pub weights: Vec<f64>,
    /// The largest sum in these leaves.
    #[serde(default)]
    pub most: f64,
    /// The layers behind, as a function of these neurons' values.
    pub tail: Tree,
    /// Why no input leads to such values. Needed if there are weights.
    #[serde(default)]
    pub head: Option<Tree>,
}

/// How the neurons of the whole box are bounded, with what is known of them before.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct WholeAgain {
    /// How lower layers are relaxed in the bounds of neurons.
    #[serde(default)]
    pub slopes: Vec<NeuronSlopes>,
    /// Better bounds of some.
    #[serde(default)]
    pub bounds: Vec<NeuronBound>,
}

/// A bound of a neuron.
#[derive(Clone, Debug, Deserialize)]
pub struct NeuronBound {
    /// Hidden layer and place in it.
    pub neuron: (usize, usize),
    /// Whether it is about its largest value, or its least.
    pub above: bool,
    /// How.
    #[serde(flatten)]
    pub by: Bound,
}

/// How a function is bounded: by a quadratic relaxation if there is one, by a tree if there is one, otherwise by lines.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Bound {
    /// Slopes of the hidden layers.
    #[serde(default)]
    pub slopes: Vec<String>,
    /// Multipliers of the signs that lead to the part, in order.
    #[serde(default)]
    pub signs: Vec<f64>,
    /// A tree over the signs of neurons: each node before its two sides.
    #[serde(default)]
    pub tree: Vec<SignNode>,
    /// A quadratic relaxation.
    pub quadratic: Option<Quadratic>,
}

/// A node of a tree over the signs of neurons.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SignNode {
    /// Split by a neuron: where it is on, then where it is off. None: it is a leaf.
    pub neuron: Option<(usize, usize)>,
    /// Slopes of the hidden layers.
    #[serde(default)]
    pub slopes: Vec<String>,
    /// Multipliers of the signs that lead to the part, then of those that lead to the leaf.
    #[serde(default)]
    pub signs: Vec<f64>,
}

/// Multipliers of what is never negative. `x` is an input, `z` a pre-activation and `v` what its ReLU gives. What is missing in a list is 0.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Quadratic {
    /// For each hidden layer the neurons that all lists but the first one below are of, one after the other.
    #[serde(default)]
    pub neurons: Vec<Vec<usize>>,
    /// Of `(x − lower)·(upper − x)`.
    #[serde(default)]
    pub inputs: Vec<f64>,
    /// Of `v·(upper − v)`.
    #[serde(default)]
    pub ranges: Vec<f64>,
    /// Of `v·(z − v)`.
    #[serde(default)]
    pub products: Vec<f64>,
    /// Of `v`.
    #[serde(default)]
    pub signs: Vec<f64>,
    /// Of `v − z`.
    #[serde(default)]
    pub passes: Vec<f64>,
    /// Of the line above, less `v`.
    #[serde(default)]
    pub lines: Vec<f64>,
}

/// How lower layers are relaxed in the bounds of a neuron.
#[derive(Clone, Debug, Deserialize)]
pub struct NeuronSlopes {
    /// Hidden layer and place in it.
    pub neuron: (usize, usize),
    /// For its largest value: slopes of the lower layers, the first one first.
    pub above: Vec<String>,
    /// For its least value.
    pub below: Vec<String>,
}

/// A part of the box.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct TreeNode {
    /// Split by an input: where it is at least a value, then where it is at most that.
    pub input: Option<(usize, f64)>,
    /// Split by a neuron, its hidden layer and place: where it is on, then where it is off.
    pub neuron: Option<(usize, usize)>,
    /// Conjunctions that do not hold in the part.
    #[serde(default)]
    pub refuted: Vec<Combination>,
    /// Linear functions that are not negative where a conjunction holds, for what it is split into.
    #[serde(default)]
    pub cuts: Vec<Combination>,
}

/// A combination of the rows of a conjunction, and how it is bounded.
#[derive(Clone, Debug, Deserialize)]
pub struct Combination {
    /// The conjunction.
    pub of: usize,
    /// Rows and their weights, which are not negative. None: the first row alone.
    #[serde(default)]
    pub rows: Vec<(usize, f64)>,
    /// How.
    #[serde(flatten)]
    pub by: Bound,
}
