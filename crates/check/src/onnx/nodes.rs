//! What each node does: to constants, or to the one value that goes from the input to the logits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::proto::{AttributeProto, NodeProto};
use super::tensor::Tensor;
use crate::affine::{Chain, Step, Uncertain};

/// Reads nodes one after the other.
pub struct Reader {
    constants: HashMap<String, Tensor>,
    directory: PathBuf,
    /// The value that is computed from the input, so far.
    name: String,
    shape: Vec<usize>,
    chain: Chain,
    /// A softmax was read: nothing may follow.
    ended: bool,
}

impl Reader {
    pub fn new(
        constants: HashMap<String, Tensor>,
        directory: &Path,
        name: &str,
        shape: Vec<usize>,
    ) -> Self {
        let chain = Chain::new(shape.iter().product());
        let (directory, name) = (directory.to_owned(), name.to_owned());
        Self { constants, directory, name, shape, chain, ended: false }
    }

    /// The whole chain, if it leads to this output.
    pub fn finish(self, output: &str) -> Result<Chain, String> {
        if self.name != output {
            return Err(format!("its output '{output}' does not depend on its input"));
        }
        if self.shape.iter().filter(|&&dim| dim != 1).count() > 1 {
            return Err(format!("its output has shape {:?}, not one row", self.shape));
        }
        Ok(self.chain)
    }

    pub fn node(&mut self, node: &NodeProto) -> Result<(), String> {
        let [output, ..] = &node.output[..] else { return Err("has no output".into()) };
        if *output == self.name || self.constants.contains_key(output) {
            return Err(format!("'{output}' has two sources"));
        }
        if !node.domain.is_empty() && node.domain != "ai.onnx" {
            return Err(format!("domain '{}' is not supported", node.domain));
        }
        let uses_data = node.input.iter().filter(|name| **name == self.name).count();
        if uses_data == 0 {
            let constant = self.constant_node(node)?;
            self.constants.insert(output.clone(), constant);
            return Ok(());
        }
        if uses_data > 1 || self.ended {
            return Err("only chains are supported".into());
        }
        self.data_node(node)?;
        self.name = output.clone();
        Ok(())
    }

    fn constant(&self, node: &NodeProto, input: usize) -> Result<&Tensor, String> {
        let name = node.input.get(input).ok_or("an input is missing")?;
        self.constants.get(name).ok_or_else(|| format!("input '{name}' is not a constant"))
    }

    fn constant_node(&self, node: &NodeProto) -> Result<Tensor, String> {
        match node.op_type.as_str() {
            "Constant" => {
                let value = attribute(node, "value").and_then(|a| a.t.as_ref());
                Tensor::read(value.ok_or("only tensors are supported")?, &self.directory)
            }
            "Identity" => self.constant(node, 0).cloned(),
            "Transpose" => {
                let tensor = self.constant(node, 0)?;
                tensor.transposed(&permutation(node, tensor.shape.len())?)
            }
            "Reshape" => {
                let tensor = self.constant(node, 0)?;
                let shape = reshaped(&tensor.shape, self.constant(node, 1)?.integers()?)?;
                Ok(Tensor { shape, values: tensor.values.clone() })
            }
            _ => Err("is not supported for constants, or uses an earlier value".into()),
        }
    }

    fn data_node(&mut self, node: &NodeProto) -> Result<(), String> {
        match node.op_type.as_str() {
            "Identity" => {}
            "Dropout" if node.input.len() < 3 => {}
            "Relu" => self.chain.relu(),
            "Softmax" | "LogSoftmax" => {
                let last = self.shape.len() as i64 - 1;
                if attribute(node, "axis").is_some_and(|a| a.i != last && a.i != -1) {
                    return Err("is not over the last axis".into());
                }
                self.ended = true;
            }
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
            "Transpose" => {
                let order = permutation(node, self.shape.len())?;
                let moved: Vec<usize> =
                    order.iter().copied().filter(|&axis| self.shape[axis] != 1).collect();
                if !moved.is_sorted() {
                    return Err("changes the order of the values".into());
                }
                self.shape = order.iter().map(|&axis| self.shape[axis]).collect();
            }
            "Add" | "Sub" | "Mul" | "Div" => self.elementwise(node)?,
            "MatMul" => self.matmul(node)?,
            "Gemm" => self.gemm(node)?,
            "BatchNormalization" => self.batch_normalization(node)?,
            _ => return Err("is not supported".into()),
        }
        Ok(())
    }

    fn elementwise(&mut self, node: &NodeProto) -> Result<(), String> {
        let first = node.input.first() == Some(&self.name);
        let constant = self.constant(node, usize::from(first))?;
        let numbers = constant.broadcast(&self.shape)?;
        let exactly = |numbers: Vec<f64>| numbers.into_iter().map(Uncertain::exact).collect();
        match (node.op_type.as_str(), first) {
            ("Add", _) => self.chain.push(Step::Shift(exactly(numbers))),
            ("Mul", _) => self.chain.push(Step::Scale(exactly(numbers))),
            ("Sub", true) => {
                self.chain.push(Step::Shift(exactly(numbers.iter().map(|x| -x).collect())));
            }
            ("Sub", false) => {
                self.chain.push(Step::Scale(exactly(vec![-1.0; numbers.len()])));
                self.chain.push(Step::Shift(exactly(numbers)));
            }
            ("Div", true) if numbers.iter().all(|x| *x != 0.0) => {
                self.chain.push(Step::Scale(numbers.into_iter().map(Uncertain::inverse).collect()));
            }
            _ => return Err("divides by the input or by 0".into()),
        }
        Ok(())
    }

    fn matmul(&mut self, node: &NodeProto) -> Result<(), String> {
        let first = node.input.first() == Some(&self.name);
        let constant = self.constant(node, usize::from(first))?;
        let [rows, columns] = constant.shape[..] else {
            return Err("its constant is not a matrix".into());
        };
        let many: usize = self.shape.iter().product();
        let rank = self.shape.len();
        // A row times the matrix, or the matrix times a column.
        let fits = match self.shape[..] {
            [] => false,
            _ if first => many == rows && self.shape[rank - 1] == rows,
            _ if rank == 1 => many == columns,
            _ => many == columns && self.shape[rank - 2] == columns,
        };
        if !fits {
            return Err(format!("shapes {:?} and {:?} do not fit", self.shape, constant.shape));
        }
        let matrix = if first { constant.transposed(&[1, 0])? } else { constant.clone() };
        let (axis, size) = match rank {
            1 => (0, matrix.shape[0]),
            _ => (if first { rank - 1 } else { rank - 2 }, matrix.shape[0]),
        };
        self.shape[axis] = size;
        self.chain.push(dense(&matrix)?);
        Ok(())
    }

    fn gemm(&mut self, node: &NodeProto) -> Result<(), String> {
        let flag = |name| attribute(node, name).is_some_and(|a| a.i != 0);
        let factor = |name| attribute(node, name).map_or(1.0, |a| f64::from(a.f));
        let matrix = self.constant(node, 1)?;
        let matrix = if flag("transB") { matrix.clone() } else { matrix.transposed(&[1, 0])? };
        let fits = matrix.shape.len() == 2 && self.shape == [1, matrix.shape[1]];
        if node.input.first() != Some(&self.name) || flag("transA") || !fits {
            return Err("its shapes are not supported".into());
        }
        self.shape[1] = matrix.shape[0];
        self.chain.push(dense(&matrix)?);
        let (alpha, beta) = (factor("alpha"), factor("beta"));
        if alpha != 1.0 {
            self.chain.push(Step::Scale(vec![Uncertain::exact(alpha); self.shape[1]]));
        }
        if node.input.get(2).is_some_and(|name| !name.is_empty()) {
            let bias = self.constant(node, 2)?.broadcast(&self.shape)?;
            // The product of two numbers of f32 is exact in f64; a run in f32 rounds it.
            let scaled = |b: f64| {
                if beta == 1.0 { Uncertain::exact(b) } else { Uncertain::of_f32(beta * b) }
            };
            self.chain.push(Step::Shift(bias.into_iter().map(scaled).collect()));
        }
        Ok(())
    }

    fn batch_normalization(&mut self, node: &NodeProto) -> Result<(), String> {
        let [1, channels, rest @ ..] = &self.shape[..] else {
            return Err("its input has no channels".into());
        };
        if attribute(node, "training_mode").is_some_and(|a| a.i != 0) {
            return Err("is in training mode".into());
        }
        let (channels, each) = (*channels, rest.iter().product::<usize>());
        let epsilon = f64::from(attribute(node, "epsilon").map_or(1e-5, |a| a.f));
        let mut of_channels = Vec::new();
        for input in 1..5 {
            of_channels.push(self.constant(node, input)?.broadcast(&[channels])?);
        }
        let (mut factors, mut shifts) = (Vec::new(), Vec::new());
        let [scales, biases, means, variances] = &of_channels[..] else { return Ok(()) };
        for (((scale, bias), mean), variance) in scales.iter().zip(biases).zip(means).zip(variances)
        {
            if variance + epsilon <= 0.0 {
                return Err("a variance is not positive".into());
            }
            let factor = scale / (variance + epsilon).sqrt();
            factors.extend(vec![Uncertain::rounded(factor, factor.abs()); each]);
            let product = mean * factor;
            let magnitude = bias.abs() + product.abs();
            shifts.extend(vec![Uncertain::rounded(bias - product, magnitude); each]);
        }
        self.chain.push(Step::Scale(factors));
        self.chain.push(Step::Shift(shifts));
        Ok(())
    }
}

/// A matrix by rows, one for each output.
fn dense(matrix: &Tensor) -> Result<Step<Uncertain>, String> {
    let numbers = matrix.floats()?.iter().map(|&x| Uncertain::exact(f64::from(x)));
    let (weights, inputs) = (numbers.collect(), matrix.shape[1]);
    if inputs == 0 || matrix.shape[0] == 0 {
        return Err("its matrix is empty".into());
    }
    Ok(Step::Dense { weights, inputs })
}

fn attribute<'n>(node: &'n NodeProto, name: &str) -> Option<&'n AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

/// The order of axes that a Transpose makes.
fn permutation(node: &NodeProto, rank: usize) -> Result<Vec<usize>, String> {
    let Some(order) = attribute(node, "perm") else { return Ok((0..rank).rev().collect()) };
    let order: Vec<usize> = order.ints.iter().map(|&axis| axis as usize).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted == (0..rank).collect::<Vec<_>>() {
        Ok(order)
    } else {
        Err("its axes do not fit".into())
    }
}

/// The shape that a Reshape makes: 0 keeps a size, −1 is what is left.
fn reshaped(shape: &[usize], to: &[i64]) -> Result<Vec<usize>, String> {
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
