//! What becomes of every node. Operators on the way that are not piecewise linear are refused by name.

use std::collections::HashSet;

use serde::Serialize;
use tract_onnx::pb::{GraphProto, NodeProto};

use super::proto::{DOUBLE, FLOAT, attribute, element_type, inputs_of, name_of, refuse, text};
use crate::onnx::error::OnnxProblem;

const AFFINE: [&str; 16] = [
    "Gemm",
    "MatMul",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Neg",
    "Sum",
    "Mean",
    "BatchNormalization",
    "Conv",
    "ConvTranspose",
    "AveragePool",
    "GlobalAveragePool",
    "ReduceMean",
    "ReduceSum",
];
const PIECEWISE: [&str; 12] = [
    "Relu",
    "LeakyRelu",
    "PRelu",
    "Clip",
    "HardSigmoid",
    "Abs",
    "Max",
    "Min",
    "MaxPool",
    "GlobalMaxPool",
    "ReduceMax",
    "ReduceMin",
];
const LAYOUT: [&str; 17] = [
    "Flatten",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Transpose",
    "Identity",
    "Dropout",
    "Cast",
    "Slice",
    "Split",
    "Gather",
    "Concat",
    "Pad",
    "Expand",
    "Resize",
    "Upsample",
    "Where",
];
/// Results that depend on the shape of their input alone.
const SHAPE: [&str; 2] = ["Shape", "Size"];

/// The operators that data may flow through, some only in a form that is piecewise linear.
pub fn operators() -> impl Iterator<Item = &'static str> {
    AFFINE.iter().chain(&PIECEWISE).chain(&LAYOUT).chain(&SHAPE).copied()
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
    /// Another piecewise-linear operator. The last of its neurons are in this layer.
    Piecewise(usize),
    /// Only moves or copies numbers.
    Layout,
    /// Depends on no data.
    Constant,
    /// Behind the logits, or not needed for them.
    Dropped,
}

/// Gives every node its role; refuses those that data flows through and that are none of ours. Layers are not known yet, and count
/// as 0.
pub(super) fn classify(graph: &GraphProto, input: &str) -> Result<Vec<NodeNote>, OnnxProblem> {
    let mut data: HashSet<&str> = HashSet::from([input]);
    let mut notes = Vec::new();
    for node in &graph.node {
        let op = node.op_type.as_str();
        let role = match inputs_of(node).any(|name| data.contains(name.as_str())) {
            true if AFFINE.contains(&op) => Role::Affine(0),
            true if op == "Relu" => Role::Relu(0),
            true if PIECEWISE.contains(&op) => Role::Piecewise(0),
            true if LAYOUT.contains(&op) => Role::Layout,
            true if SHAPE.contains(&op) => Role::Constant,
            true => return Err(refuse(node, unsupported(op))),
            false => Role::Constant,
        };
        check_attributes(node, role)?;
        if !matches!(role, Role::Constant | Role::Dropped) {
            data.extend(node.output.iter().map(String::as_str));
        }
        notes.push(NodeNote { node: name_of(node), op: op.into(), role });
    }
    Ok(notes)
}

impl Role {
    /// The same once it is known how many layers come before the node's values are known.
    pub(super) fn at(self, depth: usize) -> Self {
        match self {
            Self::Affine(_) => Self::Affine(depth),
            Self::Relu(_) => Self::Relu(depth.saturating_sub(1)),
            Self::Piecewise(_) => Self::Piecewise(depth.saturating_sub(1)),
            other => other,
        }
    }
}

fn unsupported(op: &str) -> &'static str {
    match op {
        "Softmax" | "LogSoftmax" | "ArgMax" => "is supported only at the end of the network",
        "Sigmoid" => "is supported only at the end of the network: it is not piecewise linear",
        "Tanh" | "Elu" | "Selu" | "Celu" | "Gelu" | "Softplus" | "Mish" | "HardSwish" => {
            "is not supported: only piecewise-linear activations are, such as Relu and LeakyRelu"
        }
        _ => "is not supported: only piecewise-linear operators are",
    }
}

fn check_attributes(node: &NodeProto, role: Role) -> Result<(), OnnxProblem> {
    let op = node.op_type.as_str();
    let to = attribute(node, "to").unwrap_or(0);
    if op == "Cast" && role == Role::Layout && ![FLOAT, DOUBLE].contains(&to) {
        let kind = element_type(i32::try_from(to).unwrap_or(0));
        return Err(refuse(node, format!("casts the data to {kind}, not to float32 or float64")));
    }
    let mode = text(node, "mode").unwrap_or("nearest");
    if ["Resize", "Upsample"].contains(&op) && role == Role::Layout && mode != "nearest" {
        return Err(refuse(node, format!("mode '{mode}' is not supported: nearest is")));
    }
    if op == "MaxPool" && role != Role::Constant && node.output.len() > 1 {
        return Err(refuse(
            node,
            "gives the places of the largest elements, too, which are not supported",
        ));
    }
    if op == "BatchNormalization" && attribute(node, "training_mode").unwrap_or(0) != 0 {
        return Err(refuse(node, "is in training mode: export the model for inference"));
    }
    if op == "BatchNormalization" && attribute(node, "spatial") == Some(0) {
        return Err(refuse(node, "per-activation normalisation (spatial = 0) is not supported"));
    }
    Ok(())
}
