//! What `inspect` tells of a model.

use std::io::{self, Write};

use serde::Serialize;

use super::json;

/// A model's layers, what became of the file's nodes, and how well tract's run of the file agrees.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The version of the format.
    pub schema: &'static str,
    /// The file as it was named.
    pub model: String,
    /// Its SHA-256.
    pub sha256: String,
    /// The version of ONNX's operators.
    pub opset: i64,
    /// The shape of one input.
    pub input_dims: Vec<usize>,
    /// Inputs, then the outputs of each layer.
    pub widths: Vec<usize>,
    /// The affine maps.
    pub layers: Vec<LayerSize>,
    /// Weights and biases.
    pub parameters: usize,
    /// Hidden neurons.
    pub relus: usize,
    /// What became of each node of the file.
    pub nodes: Vec<InspectedNode>,
    /// The comparison with tract.
    pub check: TractComparison,
}

/// The size of an affine map.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LayerSize {
    /// Its inputs.
    pub inputs: usize,
    /// Its outputs.
    pub outputs: usize,
    /// The outputs with a ReLU behind them; the others are handed on as they are.
    pub relus: usize,
}

/// A node of the file.
#[derive(Clone, Debug, Serialize)]
pub struct InspectedNode {
    /// Its name, or its first output when it has none.
    pub node: String,
    /// Its ONNX operator.
    pub op: String,
    /// What became of it.
    pub role: NodeRole,
}

/// What became of a node. Layers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeRole {
    /// Folded into the affine map of this layer.
    Affine(usize),
    /// The ReLU behind this layer.
    Relu(usize),
    /// Another piecewise-linear operator. The last of its neurons are in this layer.
    Piecewise(usize),
    /// Only moves or copies numbers.
    Layout,
    /// Depends on no data.
    Constant,
    /// Behind the logits, or not needed for them.
    Dropped,
}

/// How well the network and tract's run of the file agree.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TractComparison {
    /// Number of inputs compared.
    pub inputs: usize,
    /// Largest difference of a logit, f64 against tract's f32.
    pub largest_difference: f64,
    /// The same as a fraction of what rounding may explain.
    pub largest_fraction: f64,
}

impl Inspection {
    /// Writes it as JSON.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::pretty(out, &json::fields(self))
    }
}
