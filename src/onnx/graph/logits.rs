//! Which tensor holds the logits: Softmax, LogSoftmax, Sigmoid, ArgMax and what only relabels their result are cut off.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::{GraphProto, NodeProto, TensorProto};

use super::proto::{attribute, name_of, refuse};
use crate::onnx::error::OnnxProblem;

/// Order-preserving ends: the largest logit stays the winner.
const FINAL: [&str; 4] = ["Softmax", "LogSoftmax", "Sigmoid", "ArgMax"];
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
const BETWEEN: [&str; 1] = ["Identity"];

/// A dropped Softmax, LogSoftmax, Sigmoid or ArgMax.
pub(in crate::onnx) struct FinalOp {
    node: String,
    op: String,
    axis: Option<i64>,
    /// Whether the file goes on to `1 − p` and `p`.
    two_classes: bool,
}

impl FinalOp {
    /// Its ONNX operator.
    pub fn op(&self) -> &str {
        &self.op
    }

    /// Whether it is a Sigmoid whose result is put beside its complement.
    pub fn has_two_classes(&self) -> bool {
        self.two_classes
    }

    /// The error that says what is wrong with it.
    pub fn refuse(&self, reason: &str) -> OnnxProblem {
        OnnxProblem::node(&self.node, &self.op, reason)
    }

    /// Does it run over the axis that holds the classes? `shape` is that of the logits.
    pub fn check_axis(&self, opset: i64, shape: &[usize]) -> Result<(), OnnxProblem> {
        if self.op == "Sigmoid" {
            return Ok(());
        }
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
        Err(self.refuse(&reason))
    }
}

/// The tensor that decides who wins, and the final operators behind it.
pub(super) struct Logits {
    pub name: String,
    pub final_ops: Vec<FinalOp>,
}

impl Logits {
    /// Walks back from the output of this name, or from every output; all must come from the same logits.
    pub fn find(graph: &GraphProto, output: Option<&str>) -> Result<Self, OnnxProblem> {
        let back = WayBack::new(graph);
        let mut final_ops = Vec::new();
        let mut names = Vec::new();
        let listed = || {
            let outputs: Vec<&str> = graph.output.iter().map(|o| o.name.as_str()).collect();
            outputs.join(", ")
        };
        for other in graph.output.iter().filter(|o| output.is_none_or(|name| o.name == name)) {
            names.push(back.from(&other.name, &mut final_ops)?);
        }
        if let (true, Some(output)) = (names.is_empty(), output) {
            let text = format!("has no output '{output}', only {}", listed());
            return Err(OnnxProblem::graph(text));
        }
        if names.iter().any(|name| *name != names[0]) {
            let text = format!(
                "has {} outputs ({}) that are not views of the same logits: choose one with --output NAME",
                graph.output.len(),
                listed()
            );
            return Err(OnnxProblem::graph(text));
        }
        Ok(Self { name: names.swap_remove(0), final_ops })
    }
}

/// From a tensor to the node that gives it.
struct WayBack<'g> {
    constants: HashSet<&'g str>,
    /// Constants that are the number 1.
    ones: HashSet<&'g str>,
    producers: HashMap<&'g str, &'g NodeProto>,
}

impl<'g> WayBack<'g> {
    fn new(graph: &'g GraphProto) -> Self {
        let outputs = graph.node.iter().flat_map(|n| n.output.iter().map(move |o| (o.as_str(), n)));
        let is_one = |t: &&TensorProto| {
            t.float_data == [1.0]
                || t.raw_data == 1f32.to_le_bytes()
                || t.raw_data == 1f64.to_le_bytes()
        };
        Self {
            ones: graph.initializer.iter().filter(is_one).map(|t| t.name.as_str()).collect(),
            constants: graph.initializer.iter().map(|t| t.name.as_str()).collect(),
            producers: outputs.collect(),
        }
    }

    /// The Sigmoid of a classifier of two classes that gives `1 − p` and `p`, as scikit-learn's does.
    fn two_classes(&self, concat: &NodeProto) -> Option<&'g NodeProto> {
        let [rest, probability] = &concat.input[..] else { return None };
        let sigmoid = *self.producers.get(probability.as_str())?;
        let sub = *self.producers.get(rest.as_str())?;
        let [one, same] = &sub.input[..] else { return None };
        let holds_one = self.ones.contains(one.as_str()) && same == probability;
        let matches = concat.op_type == "Concat" && sub.op_type == "Sub" && holds_one;
        (matches && sigmoid.op_type == "Sigmoid").then_some(sigmoid)
    }

    /// The tensor that decides who wins at this output. Final operators on the way join the list, each once.
    fn from(&self, output: &str, final_ops: &mut Vec<FinalOp>) -> Result<String, OnnxProblem> {
        let mut logits = output.to_owned();
        let mut at = output.to_owned();
        let mut since: Vec<&NodeProto> = Vec::new();
        let mut ends_in_final = false;
        while let Some(&node) = self.producers.get(at.as_str()) {
            let sigmoid = self.two_classes(node);
            let two_classes = sigmoid.is_some();
            let node = sigmoid.unwrap_or(node);
            let op = node.op_type.as_str();
            let is_final = FINAL.contains(&op);
            let relabels = BEHIND_ARGMAX.contains(&op) || BEHIND_SOFTMAX.contains(&op);
            if !is_final && !relabels && op != "Slice" {
                break;
            }
            // ArrayFeatureExtractor looks up a class name: (names, index).
            let data = node.input.iter().find(|name| !self.constants.contains(name.as_str()));
            let Some(before) = data else {
                break;
            };
            at = before.clone();
            if !is_final {
                since.push(node);
                continue;
            }
            let harmless: &[&str] = match (op, ends_in_final) {
                (_, true) => &BETWEEN,
                ("ArgMax", false) => &BEHIND_ARGMAX,
                (_, false) => &BEHIND_SOFTMAX,
            };
            if let Some(node) = since.iter().find(|n| !harmless.contains(&n.op_type.as_str())) {
                let reason =
                    format!("stands behind {op} and may change who wins: export the logits");
                return Err(refuse(node, reason));
            }
            since.clear();
            ends_in_final = true;
            logits = before.clone();
            let name = name_of(node);
            if final_ops.iter().all(|f| f.node != name) {
                let axis = attribute(node, "axis");
                final_ops.push(FinalOp { node: name, op: op.into(), axis, two_classes });
            }
        }
        Ok(logits)
    }
}
