//! A first look at the file's own nodes, before tract rewrites them.
//!
//! It finds the one input and the logits (cutting off Softmax, LogSoftmax, ArgMax and what only
//! relabels their result), refuses by name every operator on the way that is not affine, a ReLU or
//! layout, and drops all that the logits do not need. Nodes that depend on no data are left to tract.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use tract_onnx::pb::tensor_shape_proto::dimension::Value as Dimension;
use tract_onnx::pb::type_proto::Value as TypeValue;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};

use super::error::OnnxProblem;

/// ONNX's number for 32-bit floats in `elem_type` and in Cast's `to`.
const FLOAT: i64 = 1;

/// Before this opset Add and friends broadcast by an attribute instead of by NumPy's rule.
const OLDEST_OPSET: i64 = 7;

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
/// Order-preserving ends: the largest logit stays the winner.
const TAIL: [&str; 3] = ["Softmax", "LogSoftmax", "ArgMax"];
/// What may stand between ArgMax and an output: who won is settled, only the answer's form changes.
const BEHIND_ARGMAX: [&str; 8] = [
    "Identity",
    "Cast",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "ArrayFeatureExtractor",
    "ZipMap",
];
/// What may stand between Softmax and an output: anything that picks, orders or rounds would change who wins.
const BEHIND_SOFTMAX: [&str; 6] =
    ["Identity", "Flatten", "Squeeze", "Unsqueeze", "Normalizer", "ZipMap"];
/// What may stand between Softmax and ArgMax.
const BETWEEN_TAILS: [&str; 1] = ["Identity"];

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

/// A dimension of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Dim {
    Fixed(usize),
    /// Left open by the exporter, under this name.
    Open(String),
}

/// A dropped Softmax, LogSoftmax or ArgMax.
pub(super) struct Tail {
    pub node: String,
    pub op: String,
    axis: Option<i64>,
}

/// The file's graph, cut to what computes the logits.
pub(super) struct Survey {
    /// One input, one output (the logits), only the nodes and initializers between them.
    pub proto: ModelProto,
    /// Name of the input.
    pub input: String,
    /// Its dimensions with the batch.
    pub dims: Vec<Dim>,
    /// Name of the logits.
    pub logits: String,
    pub notes: Vec<NodeNote>,
    pub tails: Vec<Tail>,
    pub opset: i64,
}

impl Survey {
    pub fn new(mut proto: ModelProto) -> Result<Self, OnnxProblem> {
        let mut graph =
            proto.graph.take().ok_or_else(|| OnnxProblem::NotOnnx("it holds no graph".into()))?;
        let opset = opset(&proto)?;
        check_kinds(&graph)?;
        expand_scalers(&mut graph);
        let (input, dims) = single_input(&graph)?;
        check_definitions(&graph)?;
        let (logits, tails) = find_logits(&graph)?;
        let GraphCut { graph, dropped } = prune(graph, &input, &logits);
        let notes = classify(&graph, &input)?;
        let dropped =
            dropped.into_iter().map(|(node, op)| NodeNote { node, op, role: Role::Dropped });
        let notes = notes.into_iter().chain(dropped).collect();
        proto.graph = Some(graph);
        Ok(Self { proto, input, dims, logits, notes, tails, opset })
    }

    /// The ONNX node behind one of tract's, whose names start with the ONNX node's.
    pub fn culprit(&self, tract_name: &str) -> (String, String) {
        let ours = self.notes.iter().filter(|n| tract_name.starts_with(&n.node));
        let longest = ours.max_by_key(|n| n.node.len());
        longest.map_or((tract_name.to_owned(), "?".into()), |n| (n.node.clone(), n.op.clone()))
    }
}

impl Tail {
    /// Does it run over the axis that holds the classes? `shape` is that of the logits.
    pub fn check_axis(&self, opset: i64, shape: &[usize]) -> Result<(), OnnxProblem> {
        let rank = shape.len() as i64;
        let default = if self.op == "ArgMax" {
            0
        } else if opset < 13 {
            1
        } else {
            -1
        };
        let axis = self.axis.unwrap_or(default);
        let axis = if axis < 0 { axis + rank } else { axis };
        let class_axis = shape.iter().position(|&d| d > 1).map_or(axis, |a| a as i64);
        // Softmax before opset 13 runs over all axes from `axis` on.
        let covers =
            if self.op != "ArgMax" && opset < 13 { class_axis >= axis } else { class_axis == axis };
        if covers {
            return Ok(());
        }
        let reason = format!("runs over axis {axis} of {shape:?}, not over the classes");
        Err(OnnxProblem::node(&self.node, &self.op, reason))
    }
}

fn opset(proto: &ModelProto) -> Result<i64, OnnxProblem> {
    let mut imports = proto.opset_import.iter();
    let version =
        imports.find(|o| o.domain.is_empty() || o.domain == "ai.onnx").map_or(1, |o| o.version);
    if version < OLDEST_OPSET {
        let text = format!("opset {version} is too old: export with opset {OLDEST_OPSET} or later");
        return Err(OnnxProblem::graph(text));
    }
    Ok(version)
}

/// The name of a node as we report it (and as tract names it).
fn name_of(node: &NodeProto) -> String {
    if !node.name.is_empty() {
        return node.name.clone();
    }
    node.output.iter().find(|o| !o.is_empty()).unwrap_or(&node.op_type).clone()
}

fn refuse(node: &NodeProto, reason: impl Into<String>) -> OnnxProblem {
    OnnxProblem::node(&name_of(node), &node.op_type, reason)
}

fn attribute(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute.iter().find(|a| a.name == name).map(|a| a.i)
}

fn inputs_of(node: &NodeProto) -> impl Iterator<Item = &String> {
    node.input.iter().filter(|name| !name.is_empty())
}

/// The one input that is not an initializer, and its dimensions.
fn single_input(graph: &GraphProto) -> Result<(String, Vec<Dim>), OnnxProblem> {
    let initialized: HashSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
    let real = graph.input.iter().filter(|i| !initialized.contains(i.name.as_str()));
    let real: Vec<&ValueInfoProto> = real.collect();
    let [input] = real[..] else {
        let names: Vec<&str> = real.iter().map(|i| i.name.as_str()).collect();
        let text = format!("has {} inputs ({}), expected one image", names.len(), names.join(", "));
        return Err(OnnxProblem::graph(text));
    };
    let complain = |what: String| OnnxProblem::graph(format!("input '{}' {what}", input.name));
    let Some(TypeValue::TensorType(tensor)) = input.r#type.as_ref().and_then(|t| t.value.as_ref())
    else {
        return Err(complain("is not a tensor".into()));
    };
    if i64::from(tensor.elem_type) != FLOAT {
        let kind = element_type(tensor.elem_type);
        return Err(complain(format!("holds {kind}: export the model with float32 numbers")));
    }
    let shape = tensor.shape.as_ref().ok_or_else(|| complain("has no shape".into()))?;
    let dims = shape.dim.iter().map(|d| match &d.value {
        Some(Dimension::DimValue(v)) if *v > 0 => Dim::Fixed(*v as usize),
        Some(Dimension::DimValue(_)) | None => Dim::Open("?".into()),
        Some(Dimension::DimParam(name)) => Dim::Open(name.clone()),
    });
    Ok((input.name.clone(), dims.collect()))
}

fn element_type(number: i32) -> String {
    match number {
        2 => "uint8 numbers".into(),
        3 => "int8 numbers".into(),
        6 => "int32 numbers".into(),
        7 => "int64 numbers".into(),
        8 => "strings".into(),
        9 => "booleans".into(),
        10 => "float16 numbers".into(),
        11 => "float64 numbers".into(),
        16 => "bfloat16 numbers".into(),
        other => format!("elements of ONNX type {other}"),
    }
}

/// tract does not know scikit-learn's Scaler, `(x − offset) · scale`: write it as Sub and Mul.
fn expand_scalers(graph: &mut GraphProto) {
    let mut nodes = Vec::new();
    for node in std::mem::take(&mut graph.node) {
        let floats =
            |name: &str| node.attribute.iter().find(|a| a.name == name).map(|a| a.floats.clone());
        let (Some(offset), Some(scale), Some(input), Some(output)) =
            (floats("offset"), floats("scale"), node.input.first(), node.output.first())
        else {
            nodes.push(node);
            continue;
        };
        if node.op_type != "Scaler" {
            nodes.push(node);
            continue;
        }
        let name = name_of(&node);
        let (offset_name, shifted, scale_name) =
            (format!("{name}.offset"), format!("{name}.shifted"), format!("{name}.scale"));
        nodes.push(NodeProto {
            name: name.clone(),
            op_type: "Sub".into(),
            input: vec![input.clone(), offset_name.clone()],
            output: vec![shifted.clone()],
            ..Default::default()
        });
        nodes.push(NodeProto {
            name: scale_name.clone(),
            op_type: "Mul".into(),
            input: vec![shifted, scale_name.clone()],
            output: vec![output.clone()],
            ..Default::default()
        });
        for (name, values) in [(offset_name, offset), (scale_name, scale)] {
            graph.initializer.push(TensorProto {
                name,
                data_type: FLOAT as i32,
                dims: vec![values.len() as i64],
                float_data: values,
                ..Default::default()
            });
        }
    }
    graph.node = nodes;
}

/// No subgraphs (If, Loop, Scan), and only operators that ONNX defines: tract goes by the name alone.
fn check_kinds(graph: &GraphProto) -> Result<(), OnnxProblem> {
    for node in &graph.node {
        if let Some(inner) = node.attribute.iter().find(|a| a.g.is_some()) {
            return Err(refuse(
                node,
                format!("control flow (subgraph '{}') is not supported", inner.name),
            ));
        }
        if !["", "ai.onnx", "ai.onnx.ml"].contains(&node.domain.as_str()) {
            return Err(refuse(
                node,
                format!("operators of domain '{}' are not supported", node.domain),
            ));
        }
    }
    Ok(())
}

/// Every tensor is defined once, and before it is used: no cycles, nothing missing.
fn check_definitions(graph: &GraphProto) -> Result<(), OnnxProblem> {
    if let Some(sparse) = graph.sparse_initializer.first() {
        let name = sparse.values.as_ref().map_or("", |v| v.name.as_str());
        return Err(OnnxProblem::graph(format!("sparse initializer '{name}' is not supported")));
    }
    let given = graph.input.iter().map(|i| i.name.as_str());
    let mut defined: HashSet<&str> =
        given.chain(graph.initializer.iter().map(|t| t.name.as_str())).collect();
    for node in &graph.node {
        if let Some(missing) = inputs_of(node).find(|name| !defined.contains(name.as_str())) {
            return Err(refuse(
                node,
                format!("uses tensor '{missing}', which nothing before it defines"),
            ));
        }
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            if !defined.insert(output) {
                return Err(refuse(node, format!("defines tensor '{output}' a second time")));
            }
        }
    }
    match graph.output.iter().find(|o| !defined.contains(o.name.as_str())) {
        Some(output) => {
            Err(OnnxProblem::graph(format!("output '{}' is computed by no node", output.name)))
        }
        None if graph.output.is_empty() => Err(OnnxProblem::graph("has no output")),
        None => Ok(()),
    }
}

/// Walks back from every output to the tensor that decides who wins; they must agree.
fn find_logits(graph: &GraphProto) -> Result<(String, Vec<Tail>), OnnxProblem> {
    let constants: HashSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
    let producers: HashMap<&str, &NodeProto> =
        graph.node.iter().flat_map(|n| n.output.iter().map(move |o| (o.as_str(), n))).collect();
    let mut tails: Vec<Tail> = Vec::new();
    let mut all_logits: Vec<String> = Vec::new();
    for output in &graph.output {
        let mut logits = output.name.clone();
        let mut at = output.name.clone();
        let mut since: Vec<&NodeProto> = Vec::new();
        let mut ends_in_tail = false;
        while let Some(&node) = producers.get(at.as_str()) {
            let op = node.op_type.as_str();
            let is_tail = TAIL.contains(&op);
            if !is_tail
                && !BEHIND_ARGMAX.contains(&op)
                && !BEHIND_SOFTMAX.contains(&op)
                && op != "Slice"
            {
                break;
            }
            // ArrayFeatureExtractor looks up a class name: (names, index).
            let Some(before) = node.input.iter().find(|name| !constants.contains(name.as_str()))
            else {
                break;
            };
            at = before.clone();
            if !is_tail {
                since.push(node);
                continue;
            }
            let harmless: &[&str] = match (op, ends_in_tail) {
                (_, true) => &BETWEEN_TAILS,
                ("ArgMax", false) => &BEHIND_ARGMAX,
                (_, false) => &BEHIND_SOFTMAX,
            };
            if let Some(node) = since.iter().find(|n| !harmless.contains(&n.op_type.as_str())) {
                return Err(refuse(
                    node,
                    format!("stands behind {op} and may change who wins: export the logits"),
                ));
            }
            since.clear();
            ends_in_tail = true;
            logits = before.clone();
            let name = name_of(node);
            if tails.iter().all(|t| t.node != name) {
                tails.push(Tail { node: name, op: op.into(), axis: attribute(node, "axis") });
            }
        }
        all_logits.push(logits);
    }
    if all_logits.iter().any(|l| *l != all_logits[0]) {
        let names: Vec<&str> = graph.output.iter().map(|o| o.name.as_str()).collect();
        let text = format!(
            "has {} outputs ({}) that are not views of the same logits: export only the logits",
            names.len(),
            names.join(", ")
        );
        return Err(OnnxProblem::graph(text));
    }
    Ok((all_logits.swap_remove(0), tails))
}

struct GraphCut {
    graph: GraphProto,
    /// `(name, operator)` of the nodes cut away.
    dropped: Vec<(String, String)>,
}

/// Keeps what `logits` needs and makes it the only output.
fn prune(mut graph: GraphProto, input: &str, logits: &str) -> GraphCut {
    let mut needed = HashSet::from([input.to_owned(), logits.to_owned()]);
    let mut keep = vec![false; graph.node.len()];
    for (i, node) in graph.node.iter().enumerate().rev() {
        if node.output.iter().any(|o| needed.contains(o)) {
            keep[i] = true;
            needed.extend(inputs_of(node).cloned());
        }
    }
    let nodes = std::mem::take(&mut graph.node).into_iter().zip(keep);
    let (kept, cut): (Vec<_>, Vec<_>) = nodes.partition(|(_, keep)| *keep);
    let dropped = cut.iter().map(|(node, _)| (name_of(node), node.op_type.clone())).collect();
    graph.node = kept.into_iter().map(|(node, _)| node).collect();
    graph.initializer.retain(|t| needed.contains(&t.name));
    graph.input.retain(|i| needed.contains(&i.name));
    graph.value_info.clear();
    graph.output = vec![ValueInfoProto { name: logits.to_owned(), ..Default::default() }];
    GraphCut { graph, dropped }
}

/// Gives every node its role; refuses those that data flows through and that are none of ours.
fn classify(graph: &GraphProto, input: &str) -> Result<Vec<NodeNote>, OnnxProblem> {
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

fn unsupported(op: &str) -> String {
    match op {
        "Softmax" | "LogSoftmax" | "ArgMax" => "is supported only at the end of the network".into(),
        "MaxPool" => "is not supported: average pooling is, or a convolution with stride".into(),
        "Sigmoid" | "Tanh" | "LeakyRelu" | "PRelu" | "Elu" | "Selu" | "Gelu" | "HardSigmoid"
        | "Softplus" => "is not supported: Relu is the only activation".into(),
        _ => "is not supported: only affine operators, layout and Relu are".into(),
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
