//! What each node does: to constants, or to the one value that goes from the input to the logits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::constants::counted;
use super::proto::{AttributeProto, NodeProto};
use super::tensor::Tensor;
use crate::affine::{Chain, Matrix, Step, Uncertain};

/// Reads nodes one after the other.
pub struct Reader {
    /// Those that cannot be read are refused when they are used.
    constants: HashMap<String, Result<Tensor, String>>,
    pub(super) directory: PathBuf,
    /// The values that are affine functions of the outputs of the last ReLU, or of the input.
    values: HashMap<String, Value>,
    /// The value that a node is applied to: its name and shape, and what leads to it.
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) chain: Chain,
}

/// A value's shape, and the operations behind the last ReLU that lead to it.
struct Value {
    shape: Vec<usize>,
    steps: Vec<Arc<Step<Uncertain>>>,
}

impl Reader {
    pub fn new(
        constants: HashMap<String, Result<Tensor, String>>,
        directory: &Path,
        name: &str,
        shape: Vec<usize>,
    ) -> Self {
        let chain = Chain::new(shape.iter().product());
        let input = Value { shape: shape.clone(), steps: Vec::new() };
        let values = HashMap::from([(name.to_owned(), input)]);
        let (directory, name) = (directory.to_owned(), name.to_owned());
        Self { constants, directory, values, name, shape, chain }
    }

    /// The whole chain, if it leads to this value, and what is `last` behind it is over its classes.
    pub fn finish(mut self, logits: &str, last: &[&NodeProto]) -> Result<Chain, String> {
        if !self.values.contains_key(logits) {
            return Err(format!("its output '{logits}' does not depend on its input"));
        }
        self.go_to(logits);
        if self.shape.iter().filter(|&&dim| dim != 1).count() > 1 {
            return Err(format!("its output has shape {:?}, not one row", self.shape));
        }
        let rank = self.shape.len() as i64;
        let classes = self.shape.iter().position(|&dim| dim != 1).map_or(rank - 1, |k| k as i64);
        for node in last {
            // By default argmax is over the first axis. Softmax is over the last one, or, in older files, over all from the second on.
            let default = if node.op_type == "ArgMax" { 0 } else { rank - 1 };
            let axis = attribute(node, "axis").map_or(default, |a| a.i);
            if axis != classes && axis + rank != classes {
                return Err(format!("{}: is not over the axis of the classes", node.op_type));
            }
        }
        Ok(self.chain)
    }

    pub fn node(&mut self, node: &NodeProto) -> Result<(), String> {
        let [output, ..] = &node.output[..] else { return Err("has no output".into()) };
        if self.values.contains_key(output) || self.constants.contains_key(output) {
            return Err(format!("'{output}' has two sources"));
        }
        let domain = if node.op_type == "Scaler" { "ai.onnx.ml" } else { "ai.onnx" };
        if !node.domain.is_empty() && node.domain != domain {
            return Err(format!("domain '{}' is not supported", node.domain));
        }
        let data = node.input.iter().filter(|name| self.values.contains_key(*name));
        let data: Vec<&String> = data.collect();
        match (&data[..], node.op_type.as_str()) {
            ([], _) => {
                let constant = self.constant_node(node)?;
                self.constants.insert(output.clone(), Ok(constant));
                return Ok(());
            }
            ([name], "Shape") => {
                let shape = shape_part(&self.values[*name].shape, node);
                self.constants.insert(output.clone(), Ok(Tensor::list(shape)));
                return Ok(());
            }
            ([name], _) => {
                self.go_to(name);
                self.data_node(node)?;
            }
            ([first, second], "Add" | "Sub") => {
                self.sum(first, second, if node.op_type == "Add" { 1.0 } else { -1.0 })?;
            }
            _ => return Err("several values are supported for sums only".into()),
        }
        let steps = self.chain.layers.last().cloned().unwrap_or_default();
        self.values.insert(output.clone(), Value { shape: self.shape.clone(), steps });
        Ok(())
    }

    /// Goes on from a value.
    fn go_to(&mut self, name: &str) {
        let Value { shape, steps } = &self.values[name];
        (self.name, self.shape) = (name.to_owned(), shape.clone());
        *self.chain.layers.last_mut().expect("there is a layer") = steps.clone();
    }

    /// Two values side by side: first the operations of one, then those of the other; then their sum or difference.
    fn sum(&mut self, first: &str, second: &str, sign: f64) -> Result<(), String> {
        let (a, b) = (&self.values[first], &self.values[second]);
        if a.shape != b.shape {
            return Err(format!("shapes {:?} and {:?} do not fit", a.shape, b.shape));
        }
        let (shape, all) = (a.shape.clone(), a.shape.iter().product::<usize>());
        // What both begin with.
        let common = a.steps.iter().zip(&b.steps).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        let mut steps = a.steps[..common].to_vec();
        let inputs = steps.iter().fold(self.width_before(), |width, step| step.outputs(width));
        let once = |i: usize| vec![(i % inputs, Uncertain::exact(1.0))];
        let twice: Vec<_> = (0..2 * inputs).map(once).collect();
        steps.push(Arc::new(Step::Matrix(Matrix::sparse(inputs, &twice))));
        let mut width = inputs;
        for step in &a.steps[common..] {
            steps.push(Arc::new(step.beside(width, inputs, false)));
            width = step.outputs(width);
        }
        width = inputs;
        for step in &b.steps[common..] {
            steps.push(Arc::new(step.beside(width, all, true)));
            width = step.outputs(width);
        }
        let added = |i| vec![(i, Uncertain::exact(1.0)), (all + i, Uncertain::exact(sign))];
        let added: Vec<_> = (0..all).map(added).collect();
        steps.push(Arc::new(Step::Matrix(Matrix::sparse(2 * all, &added))));
        *self.chain.layers.last_mut().expect("there is a layer") = steps;
        self.shape = shape;
        Ok(())
    }

    /// The number of values behind the last ReLU.
    fn width_before(&self) -> usize {
        let done = &self.chain.layers[..self.chain.layers.len() - 1];
        done.iter().flatten().fold(self.chain.inputs, |width, step| step.outputs(width))
    }

    /// Nothing before a ReLU can be used behind it.
    fn relu(&mut self) {
        self.chain.relu();
        self.values.clear();
    }

    pub(super) fn constant(&self, node: &NodeProto, input: usize) -> Result<&Tensor, String> {
        let name = node.input.get(input).ok_or("an input is missing")?;
        let found = self.constants.get(name);
        let found = found.ok_or_else(|| format!("input '{name}' is not a constant"))?;
        found.as_ref().map_err(Clone::clone)
    }

    fn data_node(&mut self, node: &NodeProto) -> Result<(), String> {
        match node.op_type.as_str() {
            "Identity" => {}
            "Dropout" if node.input.len() < 3 || self.is_false(node, 2) => {}
            "Relu" => self.relu(),
            "Clip" | "Max" if self.is_relu(node)? => self.relu(),
            "Cast" if attribute(node, "to").is_some_and(|a| a.i == 1) => {}
            "Flatten" => {
                let axis = attribute(node, "axis").map_or(1, |a| a.i);
                let axis = if axis < 0 { axis + self.shape.len() as i64 } else { axis };
                let (before, after) =
                    self.shape.split_at_checked(axis as usize).ok_or("has no such axis")?;
                self.shape = vec![before.iter().product(), after.iter().product()];
            }
            "Reshape" => {
                self.shape = reshaped(&self.shape, self.constant(node, 1)?.integers()?)?;
            }
            "Squeeze" => self.shape = squeezed(&self.shape, self.axes(node)?.as_deref())?,
            "Unsqueeze" => {
                self.shape = unsqueezed(&self.shape, &self.axes(node)?.unwrap_or_default())?;
            }
            "Transpose" => self.transpose(node)?,
            "Add" | "Sub" | "Mul" | "Div" => self.elementwise(node)?,
            "MatMul" => self.matmul(node)?,
            "Gemm" => self.gemm(node)?,
            "BatchNormalization" => self.batch_normalization(node)?,
            "Conv" => self.conv(node)?,
            "ReduceMean" => self.mean(node)?,
            "Scaler" => self.scaler(node)?,
            "AveragePool" | "GlobalAveragePool" => self.average_pool(node)?,
            _ => return Err("is not supported".into()),
        }
        Ok(())
    }

    fn is_false(&self, node: &NodeProto, input: usize) -> bool {
        let values = self.constant(node, input).and_then(Tensor::integers);
        values.is_ok_and(|values| values.iter().all(|&value| value == 0))
    }

    /// Whether a Clip or a Max gives the larger one of its input and 0.
    fn is_relu(&self, node: &NodeProto) -> Result<bool, String> {
        let is_zero = |bound: &[f64]| !bound.is_empty() && bound.iter().all(|&x| x == 0.0);
        let of_input = |input: usize| -> Result<Vec<f64>, String> {
            match node.input.get(input) {
                Some(name) if !name.is_empty() => self.constant(node, input)?.numbers(),
                _ => Ok(Vec::new()),
            }
        };
        if node.op_type == "Max" {
            let other = usize::from(node.input.first() == Some(&self.name));
            let fits = self.constant(node, other)?.broadcast(&self.shape).is_ok();
            return Ok(node.input.len() == 2 && fits && is_zero(&of_input(other)?));
        }
        let bound = |name: &str, input: usize| match attribute(node, name) {
            Some(a) => Ok(vec![f64::from(a.f)]),
            None => of_input(input),
        };
        let is_open = bound("max", 2)?.iter().all(|&x| x >= f64::from(f32::MAX));
        Ok(is_zero(&bound("min", 1)?) && is_open)
    }
}

pub(super) fn attribute<'n>(node: &'n NodeProto, name: &str) -> Option<&'n AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

/// The list in an attribute.
pub(super) fn integers<'n>(node: &'n NodeProto, name: &str) -> Option<&'n [i64]> {
    attribute(node, name).map(|attribute| &attribute.ints[..])
}

/// The order of axes that a Transpose makes.
pub(super) fn permutation(node: &NodeProto, rank: usize) -> Result<Vec<usize>, String> {
    let Some(order) = integers(node, "perm") else { return Ok((0..rank).rev().collect()) };
    let order: Vec<usize> = order.iter().map(|&axis| axis as usize).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted == (0..rank).collect::<Vec<_>>() {
        Ok(order)
    } else {
        Err("its axes do not fit".into())
    }
}

/// The sizes that a Shape gives: all, or those from `start` to `end`.
fn shape_part(shape: &[usize], node: &NodeProto) -> Vec<i64> {
    let count = shape.len() as i64;
    let place = |name: &str, default: i64| {
        let at = attribute(node, name).map_or(default, |a| a.i);
        if at < 0 { at.saturating_add(count) } else { at }.clamp(0, count) as usize
    };
    let part = shape.get(place("start", 0)..place("end", count));
    part.unwrap_or_default().iter().map(|&size| size as i64).collect()
}

/// A shape without these axes of size 1, or without all of them.
pub(super) fn squeezed(shape: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let axes = match axes {
        Some(axes) => counted(axes, shape.len())?,
        None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
    };
    if axes.iter().any(|&axis| shape[axis] != 1) {
        return Err("an axis is not of size 1".into());
    }
    Ok((0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect())
}

/// A shape with axes of size 1 in these places.
pub(super) fn unsqueezed(shape: &[usize], axes: &[i64]) -> Result<Vec<usize>, String> {
    let mut shape = shape.to_vec();
    for axis in counted(axes, shape.len() + axes.len())? {
        shape.insert(axis, 1);
    }
    Ok(shape)
}

/// The shape that a Reshape makes: 0 keeps a size, −1 is what is left.
pub(super) fn reshaped(shape: &[usize], to: &[i64]) -> Result<Vec<usize>, String> {
    let all: usize = shape.iter().product();
    let size = |(axis, &dim): (usize, &i64)| match dim {
        0 => shape.get(axis).copied(),
        -1 => Some(1),
        _ => usize::try_from(dim).ok(),
    };
    let sizes: Option<Vec<usize>> = to.iter().enumerate().map(size).collect();
    let mut sizes = sizes.ok_or("its shape does not fit")?;
    let known = sizes.iter().try_fold(1usize, |known, &dim| known.checked_mul(dim));
    let known = known.filter(|&known| known > 0).ok_or("its shape does not fit")?;
    if let Some(open) = to.iter().position(|&dim| dim == -1) {
        sizes[open] = all / known;
    }
    let fits = sizes.iter().product::<usize>() == all;
    if fits { Ok(sizes) } else { Err(format!("cannot make {to:?} of {shape:?}")) }
}
