//! What becomes of every node. Operators on the way that are not affine, a ReLU or layout are refused by name.

use std::collections::HashMap;

use serde::Serialize;
use tract_onnx::pb::{GraphProto, NodeProto};

use super::proto::{FLOAT, attribute, element_type, inputs_of, name_of, refuse};
use crate::onnx::error::OnnxProblem;

const AFFINE: [&str; 12] = [
    "Gemm",
    "MatMul",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "BatchNormalization",
    "Conv",
    "AveragePool",
    "GlobalAveragePool",
    "ReduceMean",
    "ReduceSum",
];
/// `Max` and `Clip` only pass when they turn out to be `max(0, x)`.
const RELU: [&str; 3] = ["Relu", "Max", "Clip"];
const LAYOUT: [&str; 8] =
    ["Flatten", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Dropout", "Cast"];
/// Results that depend on the shape of their input alone.
const SHAPE: [&str; 2] = ["Shape", "Size"];

/// The operators that data may flow through, some only in a form that is affine, a ReLU or layout.
pub fn operators() -> impl Iterator<Item = &'static str> {
    AFFINE.iter().chain(&RELU).chain(&LAYOUT).chain(&SHAPE).copied()
}

/// What became of one node of the file.
#[derive(Clone, Debug, Serialize)]
pub struct NodeNote {
    /// Its name in the file, or its first output when it has none.
    pub node: String,
    /// Its ONNX operator.
    pub op: String,
    /// What became of it.
    pub role: Role,
}

/// What became of a node. Layers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Folded into the affine map of this layer.
    Affine(usize),
    /// The ReLU behind this layer.
    Relu(usize),
    /// Only moves or copies numbers.
    Layout,
    /// Depends on no data.
    Constant,
    /// Behind the logits, or not needed for them.
    Dropped,
}

/// Gives every node its role; refuses those that data flows through and that are none of ours.
pub(super) fn classify(graph: &GraphProto, input: &str) -> Result<Vec<NodeNote>, OnnxProblem> {
    // Number of ReLUs before each tensor that depends on the input.
    let mut stage_of: HashMap<&str, usize> = HashMap::from([(input, 0)]);
    let mut notes = Vec::new();
    for node in &graph.node {
        let stage = inputs_of(node).filter_map(|name| stage_of.get(name.as_str())).max().copied();
        let op = node.op_type.as_str();
        let role = match stage {
            Some(layer) if AFFINE.contains(&op) => Role::Affine(layer),
            Some(layer) if RELU.contains(&op) => Role::Relu(layer),
            Some(_) if LAYOUT.contains(&op) => Role::Layout,
            Some(_) if SHAPE.contains(&op) => Role::Constant,
            Some(_) => return Err(refuse(node, unsupported(op))),
            None => Role::Constant,
        };
        check_attributes(node, role)?;
        let after = match role {
            Role::Affine(layer) => Some(layer),
            Role::Relu(layer) => Some(layer + 1),
            Role::Layout => stage,
            Role::Constant | Role::Dropped => None,
        };
        if let Some(after) = after {
            stage_of.extend(node.output.iter().map(|o| (o.as_str(), after)));
        }
        notes.push(NodeNote { node: name_of(node), op: op.into(), role });
    }
    Ok(notes)
}

fn unsupported(op: &str) -> &'static str {
    match op {
        "Softmax" | "LogSoftmax" | "ArgMax" => "is supported only at the end of the network",
        "MaxPool" => "is not supported: average pooling is, or a convolution with stride",
        "Sigmoid" | "Tanh" | "LeakyRelu" | "PRelu" | "Elu" | "Selu" | "Gelu" | "HardSigmoid"
        | "Softplus" => "is not supported: Relu is the only activation",
        _ => "is not supported: only affine operators, layout and Relu are",
    }
}

fn check_attributes(node: &NodeProto, role: Role) -> Result<(), OnnxProblem> {
    let op = node.op_type.as_str();
    if op == "Cast" && role == Role::Layout && attribute(node, "to") != Some(FLOAT) {
        let to = attribute(node, "to").unwrap_or(0);
        let kind = element_type(i32::try_from(to).unwrap_or(0));
        return Err(refuse(node, format!("casts the data to {kind}, not to float32")));
    }
    if op == "BatchNormalization" && attribute(node, "training_mode").unwrap_or(0) != 0 {
        return Err(refuse(node, "is in training mode: export the model for inference"));
    }
    if op == "BatchNormalization" && attribute(node, "spatial") == Some(0) {
        return Err(refuse(node, "per-activation normalisation (spatial = 0) is not supported"));
    }
    Ok(())
}
