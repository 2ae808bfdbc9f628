//! The nodes that lead to the logits, in order.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::moves::fits_memory;
use super::nodes::{Data, Reader, Value, attribute};
use super::proto::{Dimension, GraphProto, NodeProto, TensorType, ValueInfoProto};
use super::tensor::{DOUBLE, FLOAT, Tensor};
use crate::cells::{Cell, Cells};

/// What a graph computes.
pub struct Function {
    pub cells: Cells,
    /// The logits, of all images.
    pub logits: Vec<Cell>,
    /// A file may be for several images at once.
    pub images: usize,
    /// The softmax or argmax that follows, of which only the order is known.
    pub left_out: Option<&'static str>,
}

/// What a graph computes up to its first output, a last softmax left out.
pub fn read(graph: &GraphProto, directory: &Path) -> Result<Function, String> {
    let mut values = HashMap::new();
    for proto in &graph.initializer {
        let tensor = Value::Constant(Tensor::read(proto, directory));
        if values.insert(proto.name.clone(), tensor).is_some() {
            return Err(format!("'{}' has two sources", proto.name));
        }
    }
    let inputs: Vec<_> = graph.input.iter().filter(|i| !values.contains_key(&i.name)).collect();
    let [input] = inputs[..] else {
        return Err(format!("has {} inputs, not one", inputs.len()));
    };
    let output = &graph.output.first().ok_or("has no output")?.name;
    let (logits, last) = logits(graph, output)?;
    let nodes = in_order(graph, logits, &values, &input.name)?;
    // A first size may be that of a batch, or of the image.
    let mut failed = String::new();
    for (shape, double, images) in input_shapes(input)? {
        let cells = Cells::new(fits_memory(&shape)?);
        let input_cells = Data { cells: (0..cells.many()).collect(), shape, double };
        let mut values = values.clone();
        values.insert(input.name.clone(), Value::Data(input_cells));
        let mut reader = Reader::new(values, directory, cells);
        match function(&mut reader, &nodes, logits, &last, images) {
            Ok((logits, left_out)) => {
                return Ok(Function { cells: reader.cells, logits, images, left_out });
            }
            Err(problem) => failed = problem,
        }
    }
    Err(failed)
}

/// Follows the nodes. The logits, and what was left out behind them.
fn function(
    reader: &mut Reader,
    nodes: &[&NodeProto],
    logits: &str,
    last: &[&NodeProto],
    images: usize,
) -> Result<(Vec<Cell>, Option<&'static str>), String> {
    for node in nodes {
        let in_node = |what: String| format!("node '{}' ({}): {what}", node.name, node.op_type);
        reader.node(node).map_err(in_node)?;
    }
    let Some(Data { shape, cells, .. }) = reader.data_of(logits) else {
        return Err(format!("its output '{logits}' does not depend on its input"));
    };
    let (mut shape, mut cells) = (shape.clone(), cells.clone());
    if images > 1 {
        if shape.first() != Some(&images) {
            return Err(format!("its output has shape {shape:?} for {images} images"));
        }
        shape[0] = 1;
        cells.truncate(cells.len() / images);
    }
    if shape.iter().filter(|&&dim| dim != 1).count() > 1 {
        return Err(format!("its output has shape {shape:?}, not one row"));
    }
    check_axes(&shape, last)?;
    let sigmoid = last.iter().any(|node| node.op_type == "Sigmoid");
    if sigmoid && cells.len() == 1 {
        // Two classes: the logit of the first one is 0.
        cells.insert(0, reader.cells.constant(0.0));
    }
    Ok((cells, LAST.into_iter().find(|op| last.iter().any(|node| node.op_type == *op))))
}

/// Whether what follows the logits is over the axis of the classes.
fn check_axes(shape: &[usize], last: &[&NodeProto]) -> Result<(), String> {
    let rank = shape.len() as i64;
    let classes = shape.iter().position(|&dim| dim != 1).map_or(rank - 1, |k| k as i64);
    for node in last.iter().filter(|node| node.op_type != "Sigmoid") {
        // By default argmax is over the first axis. Softmax is over the last one, or, in older files, over all from the second on.
        let default = if node.op_type == "ArgMax" { 0 } else { rank - 1 };
        let axis = attribute(node, "axis").map_or(default, |a| a.i);
        if axis != classes && axis.saturating_add(rank) != classes {
            return Err(format!("{}: is not over the axis of the classes", node.op_type));
        }
    }
    Ok(())
}

/// What may be left out at the end; where there are several, the first of these tells what is kept.
const LAST: [&str; 4] = ["ArgMax", "Softmax", "LogSoftmax", "Sigmoid"];

/// The value that an output is made of by a last softmax or argmax, which keep the order, and by what only gives that another form. It is the
/// output itself if there is none. Also gives the softmax or argmax.
fn logits<'g>(
    graph: &'g GraphProto,
    output: &'g str,
) -> Result<(&'g str, Vec<&'g NodeProto>), String> {
    let constants: HashSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
    let (mut logits, mut at, mut behind, mut last) = (output, output, Vec::new(), Vec::new());
    let source =
        |name: &str| graph.node.iter().find(|n| n.output.first().is_some_and(|o| o == name));
    // No way back is longer, unless it is a circle.
    for _ in 0..=graph.node.len() {
        let Some(node) = source(at) else { break };
        let node = two_classes(graph, node).unwrap_or(node);
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

/// The sigmoid whose result `p` a node puts beside `1 − p`.
fn two_classes<'g>(graph: &'g GraphProto, concat: &NodeProto) -> Option<&'g NodeProto> {
    let source = |name: &String| graph.node.iter().find(|n| n.output.first() == Some(name));
    let [rest, probability] = &concat.input[..] else { return None };
    let (sigmoid, sub) = (source(probability)?, source(rest)?);
    let [one, same] = &sub.input[..] else { return None };
    let one = graph.initializer.iter().find(|tensor| tensor.name == *one)?;
    let is_one = one.float_data == [1.0] || one.raw_data == 1f32.to_le_bytes();
    let fits = concat.op_type == "Concat" && sub.op_type == "Sub" && sigmoid.op_type == "Sigmoid";
    (fits && is_one && same == probability).then_some(sigmoid)
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

/// Shapes that the input may have, whether it is of float64, and the number of images in it.
fn input_shapes(input: &ValueInfoProto) -> Result<Vec<(Vec<usize>, bool, usize)>, String> {
    let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let is_float = |tensor: &&TensorType| [FLOAT, DOUBLE].contains(&tensor.elem_type);
    let tensor = tensor.filter(is_float).ok_or("its input is not float32")?;
    let double = tensor.elem_type == DOUBLE;
    let dims = &tensor.shape.as_ref().ok_or("its input has no shape")?.dim;
    let size = |dim: &Dimension| usize::try_from(dim.dim_value).unwrap_or(0);
    let shape: Vec<usize> = dims.iter().map(size).collect();
    let (first, rest) = shape.split_first().ok_or("its input is a single number")?;
    if rest.contains(&0) || (rest.is_empty() && *first == 0) {
        return Err("a size of its input is open".into());
    }
    if rest.is_empty() {
        return Ok(vec![(shape, double, 1)]);
    }
    let of_one = [&[1], rest].concat();
    let mut shapes = vec![(of_one, double, 1)];
    if *first > 1 {
        // All images, of which the first is meant; or one image without a batch.
        shapes.extend([(shape.clone(), double, *first), (shape.clone(), double, 1)]);
    }
    Ok(shapes)
}

/// The nodes that a value depends on: each behind those that it takes values from, which come in the order of its inputs.
fn in_order<'g>(
    graph: &'g GraphProto,
    output: &'g str,
    constants: &HashMap<String, Value>,
    input: &str,
) -> Result<Vec<&'g NodeProto>, String> {
    let mut sources: HashMap<&str, usize> = HashMap::new();
    for (k, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            let is_known = constants.contains_key(name) || name == input;
            if is_known || sources.insert(name, k).is_some() {
                return Err(format!("'{name}' has two sources"));
            }
        }
    }
    let (mut done, mut begun) = (vec![false; graph.node.len()], vec![false; graph.node.len()]);
    let mut order = Vec::new();
    let mut way: Vec<(usize, usize)> =
        sources.get(output).map(|&node| (node, 0)).into_iter().collect();
    while let Some((node, next)) = way.pop() {
        begun[node] = true;
        let Some(name) = graph.node[node].input.get(next) else {
            done[node] = true;
            order.push(&graph.node[node]);
            continue;
        };
        way.push((node, next + 1));
        match sources.get(name.as_str()) {
            Some(&source) if !done[source] => {
                if begun[source] {
                    return Err(format!("'{name}' is made of itself"));
                }
                way.push((source, 0));
            }
            _ => {}
        }
    }
    Ok(order)
}

/// The files beside the model's that weights lie in, sorted.
pub fn external_files(graph: &GraphProto) -> BTreeSet<&str> {
    let in_nodes = graph.node.iter().flat_map(|node| &node.attribute).filter_map(|a| a.t.as_ref());
    let entries = graph.initializer.iter().chain(in_nodes).flat_map(|tensor| &tensor.external_data);
    entries.filter(|entry| entry.key == "location").map(|entry| entry.value.as_str()).collect()
}
