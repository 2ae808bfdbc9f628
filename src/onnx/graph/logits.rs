//! Which tensor holds the logits: Softmax, LogSoftmax, ArgMax and what only relabels their result are cut off.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::{GraphProto, NodeProto};

use super::proto::{attribute, name_of, refuse};
use crate::onnx::error::OnnxProblem;

/// Order-preserving ends: the largest logit stays the winner.
const FINAL: [&str; 3] = ["Softmax", "LogSoftmax", "ArgMax"];
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

/// A dropped Softmax, LogSoftmax or ArgMax.
pub(in crate::onnx) struct FinalOp {
    node: String,
    op: String,
    axis: Option<i64>,
}

impl FinalOp {
    /// Its ONNX operator.
    pub fn op(&self) -> &str {
        &self.op
    }

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

/// The tensor that decides who wins, and the final operators behind it.
pub(super) struct Logits {
    pub name: String,
    pub final_ops: Vec<FinalOp>,
}

impl Logits {
    /// Walks back from every output; all must come from the same logits.
    pub fn find(graph: &GraphProto) -> Result<Self, OnnxProblem> {
        let back = WayBack::new(graph);
        let mut final_ops = Vec::new();
        let mut names = Vec::new();
        for output in &graph.output {
            names.push(back.from(&output.name, &mut final_ops)?);
        }
        if names.iter().any(|name| *name != names[0]) {
            let outputs: Vec<&str> = graph.output.iter().map(|o| o.name.as_str()).collect();
            let text = format!(
                "has {} outputs ({}) that are not views of the same logits: export only the logits",
                outputs.len(),
                outputs.join(", ")
            );
            return Err(OnnxProblem::graph(text));
        }
        Ok(Self { name: names.swap_remove(0), final_ops })
    }
}

/// From a tensor to the node that gives it.
struct WayBack<'g> {
    constants: HashSet<&'g str>,
    producers: HashMap<&'g str, &'g NodeProto>,
}

impl<'g> WayBack<'g> {
    fn new(graph: &'g GraphProto) -> Self {
        let outputs = graph.node.iter().flat_map(|n| n.output.iter().map(move |o| (o.as_str(), n)));
        Self {
            constants: graph.initializer.iter().map(|t| t.name.as_str()).collect(),
            producers: outputs.collect(),
        }
    }

    /// The tensor that decides who wins at this output. Final operators on the way join the list, each once.
    fn from(&self, output: &str, final_ops: &mut Vec<FinalOp>) -> Result<String, OnnxProblem> {
        let mut logits = output.to_owned();
        let mut at = output.to_owned();
        let mut since: Vec<&NodeProto> = Vec::new();
        let mut ends_in_final = false;
        while let Some(&node) = self.producers.get(at.as_str()) {
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
                final_ops.push(FinalOp { node: name, op: op.into(), axis });
            }
        }
        Ok(logits)
    }
}
