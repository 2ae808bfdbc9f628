//! The nodes that lead to the logits, in order.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::nodes::Reader;
use super::proto::{GraphProto, NodeProto, ValueInfoProto};
use super::tensor::Tensor;
use crate::affine::Chain;

/// What a graph computes up to its first output, a last softmax left out, whose name is given, too.
pub fn read(graph: &GraphProto, directory: &Path) -> Result<(Chain, Option<&'static str>), String> {
    let mut constants = HashMap::new();
    for proto in &graph.initializer {
        constants.insert(proto.name.clone(), Tensor::read(proto, directory));
    }
    let inputs: Vec<_> = graph.input.iter().filter(|i| !constants.contains_key(&i.name)).collect();
    let [input] = inputs[..] else {
        return Err(format!("has {} inputs, not one", inputs.len()));
    };
    let output = &graph.output.first().ok_or("has no output")?.name;
    let (logits, last) = logits(graph, output)?;
    let mut reader = Reader::new(constants, directory, &input.name, input_shape(input)?);
    for node in needed(graph, logits) {
        let in_node = |what: String| format!("node '{}' ({}): {what}", node.name, node.op_type);
        reader.node(node).map_err(in_node)?;
    }
    let left_out = LAST.into_iter().find(|op| last.iter().any(|node| node.op_type == *op));
    Ok((reader.finish(logits, &last)?, left_out))
}

/// What may be left out at the end; where there are several, the first of these tells what is kept.
const LAST: [&str; 3] = ["ArgMax", "Softmax", "LogSoftmax"];

/// The value that an output is made of by a last softmax or argmax, which keep the order, and by what only gives that another form. It is the
/// output itself if there is none. Also gives the softmax or argmax.
fn logits<'g>(
    graph: &'g GraphProto,
    output: &'g str,
) -> Result<(&'g str, Vec<&'g NodeProto>), String> {
    let constants: HashSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
    let (mut logits, mut at, mut behind, mut last) = (output, output, Vec::new(), Vec::new());
    while let Some(node) = graph.node.iter().find(|n| n.output.first().is_some_and(|o| o == at)) {
        let op = node.op_type.as_str();
        let is_last = LAST.contains(&op);
        if !is_last && !FORMS.contains(&op) {
            break;
        }
        let data = node.input.iter().find(|name| !constants.contains(name.as_str()));
        let Some(data) = data else { break };
        at = data;
        behind.push(op);
        if is_last {
            // What is picked out of probabilities, or rounded, may be in another order.
            let picks = |op: &&str| ["Cast", "Reshape", "ArrayFeatureExtractor"].contains(op);
            let argmax = behind.contains(&"ArgMax");
            if !argmax && behind.iter().any(picks) {
                return Err(format!(
                    "node '{}' ({op}): what follows it is not supported",
                    node.name
                ));
            }
            (logits, behind) = (at, Vec::new());
            last.push(node);
        }
    }
    Ok((logits, last))
}

/// What may follow a softmax or argmax.
const FORMS: [&str; 9] = [
    "Identity",
    "Cast",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "ArrayFeatureExtractor",
    "ZipMap",
    "Normalizer",
];

/// The input's shape for one image.
fn input_shape(input: &ValueInfoProto) -> Result<Vec<usize>, String> {
    let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let tensor = tensor.filter(|tensor| tensor.elem_type == 1).ok_or("its input is not float32")?;
    let dims = &tensor.shape.as_ref().ok_or("its input has no shape")?.dim;
    let shape: Vec<usize> = dims.iter().map(|dim| dim.dim_value.max(1) as usize).collect();
    let first_open = dims.iter().skip(1).any(|dim| dim.dim_value <= 0);
    if first_open { Err("a size of its input is open".into()) } else { Ok(shape) }
}

/// The nodes that a value depends on, in the order of the file, which is topological.
fn needed<'g>(graph: &'g GraphProto, output: &'g str) -> Vec<&'g NodeProto> {
    let mut wanted = HashSet::from([output]);
    let mut nodes = Vec::new();
    for node in graph.node.iter().rev() {
        if node.output.iter().any(|name| wanted.contains(name.as_str())) {
            wanted.extend(node.input.iter().map(String::as_str));
            nodes.push(node);
        }
    }
    nodes.reverse();
    nodes
}

/// The files beside the model's that weights lie in, sorted.
pub fn external_files(graph: &GraphProto) -> BTreeSet<&str> {
    let in_nodes = graph.node.iter().flat_map(|node| &node.attribute).filter_map(|a| a.t.as_ref());
    let entries = graph.initializer.iter().chain(in_nodes).flat_map(|tensor| &tensor.external_data);
    entries.filter(|entry| entry.key == "location").map(|entry| entry.value.as_str()).collect()
}
