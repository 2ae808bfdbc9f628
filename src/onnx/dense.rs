//! tract's typed graph becomes dense layers.
//!
//! tract has loaded the file, inferred shapes and folded constants; what is left between the input
//! and the logits is a handful of operators. Each is followed with an [`Affine`] in place of
//! numbers, and every ReLU closes a layer. An operator that is none of these is refused by name.

use std::collections::HashMap;
use std::rc::Rc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cast::Cast;
use tract_onnx::tract_core::ops::change_axes::{AxisOp, InOut};
use tract_onnx::tract_core::ops::cnn::{Conv, SumPool};
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::math::{Add, Div, Max, Mul, Sub};
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer};
use tract_onnx::tract_core::ops::source::TypedSource;

use super::affine::{Affine, Mixer};
use super::conv;
use crate::network::{Activation, AffineMap, Layer, LayerRounding};

/// A layer whose matrix has more entries than this is refused: 32 Mi entries are 256 MB.
pub(super) const LARGEST_MATRIX: usize = 32 << 20;

/// A tensor of more elements than this is refused before anything is made of it.
const LARGEST_TENSOR: usize = 4 << 20;

/// An operator that stands in the way: tract's name of the node, and why.
pub(super) struct Refusal {
    pub node: String,
    pub reason: String,
}

/// Layers, first to last.
pub(super) struct Lowered {
    pub layers: Vec<Layer>,
    /// Shape of the logits in the file, batch included.
    pub output_shape: Vec<usize>,
}

impl Lowered {
    /// The network of the first image, when the file fixes a batch of `batch` images; `None` when
    /// the first row of logits depends on other images too.
    pub fn first_of_batch(self, batch: usize) -> Option<Self> {
        let logits = self.layers.last()?.outputs() / batch;
        let mut wanted: Vec<usize> = (0..logits).collect();
        let mut first = Vec::new();
        for (depth, layer) in self.layers.iter().enumerate().rev() {
            let (map, rounding) = (layer.affine(), layer.rounding());
            let uses = |&j: &usize| wanted.iter().any(|&i| map.weight(i, j) != 0.0);
            let used: Vec<usize> = (0..map.inputs()).filter(uses).collect();
            let columns = if depth > 0 { used } else { (0..map.inputs() / batch).collect() };
            if depth == 0 && (columns.len()..map.inputs()).any(|j| uses(&j)) {
                return None;
            }
            let pick = |values: &[f64]| wanted.iter().map(|&i| values[i]).collect();
            let weight = |i: usize, j: usize| map.weight(wanted[i], columns[j]);
            let picked = AffineMap::from_fn(wanted.len(), columns.len(), weight, pick(map.bias()));
            let rounding = LayerRounding {
                amplification: pick(&rounding.amplification),
                gain: pick(&rounding.gain),
                offset: pick(&rounding.offset),
                operations: rounding.operations,
            };
            let activations: Vec<Activation> =
                wanted.iter().map(|&i| layer.activation(i)).collect();
            first.push(Layer::mixed(picked, &activations).with_rounding(rounding));
            wanted = columns;
        }
        let layers = first.into_iter().rev().collect();
        let output_shape = [vec![1], self.output_shape[1..].to_vec()].concat();
        Some(Self { layers, output_shape })
    }
}

/// Follows `model`, a decluttered graph with concrete shapes, from its input to its output.
pub(super) fn lower(model: &TypedModel) -> Result<Lowered, Refusal> {
    let mut lowering =
        Lowering { model, values: HashMap::new(), layers: Vec::new(), relus: Vec::new() };
    let order = model.eval_order().map_err(|e| refusal("graph", format!("{e:#}")))?;
    for id in order {
        lowering.visit(&model.nodes[id])?;
    }
    let [output] = model.outputs[..] else {
        return Err(refusal("graph", format!("has {} outputs", model.outputs.len())));
    };
    let Some(logits) = lowering.values.remove(&output) else {
        return Err(refusal(
            &model.nodes[output.node].name,
            "the output does not depend on the input",
        ));
    };
    if logits.stage != lowering.layers.len() {
        return Err(refusal(&model.nodes[output.node].name, "the output bypasses a ReLU"));
    }
    check_size(logits.rows.len(), logits.inputs)
        .map_err(|reason| refusal(&model.nodes[output.node].name, reason))?;
    let (map, rounding) = logits.to_map();
    lowering.layers.push(Layer::linear(map).with_rounding(rounding));
    Ok(Lowered { layers: lowering.layers, output_shape: logits.shape.clone() })
}

fn refusal(node: &str, reason: impl Into<String>) -> Refusal {
    Refusal { node: node.into(), reason: reason.into() }
}

struct Lowering<'m> {
    model: &'m TypedModel,
    /// Data so far, by the place in the graph that gives it. Constants are in the graph's facts.
    values: HashMap<OutletId, Rc<Affine>>,
    layers: Vec<Layer>,
    /// The node that closed each layer.
    relus: Vec<usize>,
}

/// An operand: data, or a constant with its shape.
enum Operand {
    Data(Rc<Affine>),
    Constant(Constant),
}

/// A constant tensor, row-major.
pub(super) struct Constant {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Constant {
    fn new(tensor: &Tensor) -> Result<Self, String> {
        let values = tensor.cast_to::<f64>().map_err(|e| format!("{e:#}"))?;
        let values: Vec<f64> = values
            .to_plain_array_view::<f64>()
            .map_err(|e| format!("{e:#}"))?
            .iter()
            .copied()
            .collect();
        match values.iter().find(|v| !v.is_finite()) {
            Some(v) => Err(format!("a weight is {v}, not a finite number")),
            None => Ok(Self { shape: tensor.shape().to_vec(), values }),
        }
    }
}

impl Lowering<'_> {
    fn visit(&mut self, node: &TypedNode) -> Result<(), Refusal> {
        let is_source = node.op_is::<TypedSource>();
        let touches_data = node.inputs.iter().any(|inlet| self.values.contains_key(inlet));
        if !is_source && !touches_data {
            return Ok(()); // constant: whoever uses it finds it in the graph's facts
        }
        let shape = self.shape(node)?;
        let elements = shape.iter().try_fold(1_usize, |product, &d| product.checked_mul(d));
        if elements.is_none_or(|elements| elements > LARGEST_TENSOR) {
            let reason = format!(
                "a tensor of shape {shape:?} is over the limit of {LARGEST_TENSOR} elements"
            );
            return Err(refusal(&node.name, reason));
        }
        let value = if is_source { Affine::identity(0, &shape) } else { self.apply(node, &shape)? };
        debug_assert_eq!(value.shape, shape, "{node}");
        self.values.insert(node.id.into(), Rc::new(value));
        Ok(())
    }

    /// The shape of what `node` gives.
    fn shape(&self, node: &TypedNode) -> Result<Vec<usize>, Refusal> {
        let [output] = &node.outputs[..] else {
            return Err(refusal(&node.name, format!("has {} outputs", node.outputs.len())));
        };
        let shape = output.fact.shape.as_concrete();
        let shape =
            shape.ok_or_else(|| refusal(&node.name, "the shape of its result is not fixed"))?;
        Ok(shape.to_vec())
    }

    fn apply(&mut self, node: &TypedNode, shape: &[usize]) -> Result<Affine, Refusal> {
        let result = if let Some(op) = node.op_as::<AxisOp>() {
            self.layout(node, op, shape)
        } else if let Some(op) = node.op_as::<TypedBinOp>() {
            self.binary(node, op, shape)
        } else if let Some(op) = node.op_as::<EinSum>() {
            self.einsum(node, op, shape)
        } else if let Some(op) = node.op_as::<Conv>() {
            self.conv(node, op, shape)
        } else if let Some(op) = node.op_as::<SumPool>() {
            self.data(node, 0).and_then(|x| conv::pool(op, &x, shape))
        } else if let Some(op) = node.op_as::<Reduce>() {
            self.reduce(node, op, shape)
        } else if node.op_as::<Cast>().is_some_and(|cast| cast.to == f32::datum_type()) {
            self.data(node, 0).map(Rc::unwrap_or_clone)
        } else {
            Err(format!("{} is neither affine, layout nor Relu", node.op.name()))
        };
        result.map_err(|reason| refusal(&node.name, reason))
    }

    fn operand(&self, node: &TypedNode, slot: usize) -> Result<Operand, String> {
        let inlet = node.inputs.get(slot).ok_or("an operand is missing")?;
        if let Some(data) = self.values.get(inlet) {
            return Ok(Operand::Data(data.clone()));
        }
        let fact = self.model.outlet_fact(*inlet).map_err(|e| format!("{e:#}"))?;
        let tensor =
            fact.konst.as_ref().ok_or("an operand is neither data nor a known constant")?;
        Constant::new(tensor).map(Operand::Constant)
    }

    fn data(&self, node: &TypedNode, slot: usize) -> Result<Rc<Affine>, String> {
        match self.operand(node, slot)? {
            Operand::Data(data) => Ok(data),
            Operand::Constant(_) => Err("works on a constant where data is expected".into()),
        }
    }

    fn constant(&self, node: &TypedNode, slot: usize) -> Result<Constant, String> {
        match self.operand(node, slot)? {
            Operand::Constant(constant) => Ok(constant),
            Operand::Data(_) => Err("its weights depend on the data".into()),
        }
    }

    /// Reshapes and transposes: tract's own operator moves a tensor of indices, we follow them.
    fn layout(&self, node: &TypedNode, op: &AxisOp, shape: &[usize]) -> Result<Affine, String> {
        let data = self.data(node, 0)?;
        let indices: Vec<i64> = (0..data.rows.len() as i64).collect();
        let moved = Tensor::from_shape(&data.shape, &indices).and_then(|mut tensor| {
            op.change_tensor(&mut tensor, false)?;
            let moved = tensor.to_plain_array_view::<i64>()?;
            Ok(moved.iter().map(|&i| i as usize).collect::<Vec<_>>())
        });
        Ok(data.gather(shape, &moved.map_err(|e| format!("{e:#}"))?))
    }

    fn binary(
        &mut self,
        node: &TypedNode,
        op: &TypedBinOp,
        shape: &[usize],
    ) -> Result<Affine, String> {
        let spread = |a: &Affine| a.gather(shape, &broadcast(&a.shape, shape));
        let op = &op.0;
        match (self.operand(node, 0)?, self.operand(node, 1)?) {
            (Operand::Data(a), Operand::Data(b)) if op.is::<Add>() || op.is::<Sub>() => {
                if a.stage != b.stage {
                    return Err("is a skip connection over a ReLU, which is not supported".into());
                }
                Ok(spread(&a).add_scaled(&spread(&b), if op.is::<Add>() { 1.0 } else { -1.0 }))
            }
            (Operand::Data(_), Operand::Data(_)) => {
                Err("combines two tensors that both depend on the data".into())
            }
            (Operand::Data(a), Operand::Constant(c)) => {
                let from = broadcast(&c.shape, shape);
                let at = |i: usize| c.values[from[i]];
                if op.is::<Add>() {
                    Ok(spread(&a).scale_shift(|i| (1.0, at(i))))
                } else if op.is::<Sub>() {
                    Ok(spread(&a).scale_shift(|i| (1.0, -at(i))))
                } else if op.is::<Mul>() {
                    Ok(spread(&a).scale_shift(|i| (at(i), 0.0)))
                } else if op.is::<Div>() && c.values.iter().all(|&v| v != 0.0) {
                    Ok(spread(&a).scale_shift(|i| (1.0 / at(i), 0.0)))
                } else if op.is::<Max>() && c.values.iter().all(|&v| v == 0.0) {
                    self.relu(node, spread(&a))
                } else {
                    Err(format!("{} with this constant is neither affine nor Relu", op.name()))
                }
            }
            (Operand::Constant(c), Operand::Data(a)) => {
                let from = broadcast(&c.shape, shape);
                let at = |i: usize| c.values[from[i]];
                if op.is::<Add>() {
                    Ok(spread(&a).scale_shift(|i| (1.0, at(i))))
                } else if op.is::<Sub>() {
                    Ok(spread(&a).scale_shift(|i| (-1.0, at(i))))
                } else if op.is::<Mul>() {
                    Ok(spread(&a).scale_shift(|i| (at(i), 0.0)))
                } else if op.is::<Max>() && c.values.iter().all(|&v| v == 0.0) {
                    self.relu(node, spread(&a))
                } else {
                    Err(format!("{} with this constant is neither affine nor Relu", op.name()))
                }
            }
            (Operand::Constant(_), Operand::Constant(_)) => Err("has no data operand".into()),
        }
    }

    /// Closes the layer that `data` is the pre-activation of.
    fn relu(&mut self, node: &TypedNode, data: Affine) -> Result<Affine, String> {
        if let Some(&other) = self.relus.get(data.stage) {
            let other = &self.model.nodes[other].name;
            return Err(format!(
                "is a branch beside the Relu '{other}': branching networks are not supported"
            ));
        }
        check_size(data.rows.len(), data.inputs)?;
        self.relus.push(node.id);
        let (map, rounding) = data.to_map();
        self.layers.push(Layer::relu(map).with_rounding(rounding));
        Ok(Affine::identity(data.stage + 1, &data.shape))
    }

    /// Data times a constant matrix, however the axes lie.
    fn einsum(&self, node: &TypedNode, op: &EinSum, shape: &[usize]) -> Result<Affine, String> {
        if op.q_params.is_some() || node.inputs.len() != 2 {
            return Err("is not a plain product of data and weights".into());
        }
        let data_slot = usize::from(matches!(self.operand(node, 0)?, Operand::Constant(_)));
        let data = self.data(node, data_slot)?;
        let weights = self.constant(node, 1 - data_slot)?;
        check_size(shape.iter().product(), data.inputs)?;

        // Every axis runs through the data, the weights and the result with a stride of its own.
        let (data_strides, weight_strides) = (strides(&data.shape), strides(&weights.shape));
        let (mut outer, mut inner): (Vec<(usize, Axis)>, Vec<Axis>) = (Vec::new(), Vec::new());
        for axis in op.axes.iter_all_axes() {
            let in_data = axis.interface(InOut::In(data_slot));
            let in_weights = axis.interface(InOut::In(1 - data_slot));
            let in_output = axis.interface(InOut::Out(0));
            let dims = in_data
                .iter()
                .map(|&a| data.shape[a])
                .chain(in_weights.iter().map(|&a| weights.shape[a]));
            let stride = |positions: &[usize], shape: &[usize], strides: &[usize]| -> usize {
                positions.iter().map(|&a| if shape[a] == 1 { 0 } else { strides[a] }).sum()
            };
            let described = Axis {
                len: dims.max().unwrap_or(1),
                data: stride(in_data, &data.shape, &data_strides),
                weights: stride(in_weights, &weights.shape, &weight_strides),
            };
            match in_output {
                [] => inner.push(described),
                [position] => outer.push((*position, described)),
                _ => return Err("repeats an axis in its result".into()),
            }
        }
        outer.sort_by_key(|(position, _)| *position);
        let outer = offsets(&outer.into_iter().map(|(_, axis)| axis).collect::<Vec<_>>());
        let inner = offsets(&inner);

        let mut mixer = Mixer::new(data.inputs);
        let rows = outer.iter().map(|&(data_at, weights_at)| {
            for &(data_step, weights_step) in &inner {
                mixer.add(
                    &data.rows[data_at + data_step],
                    weights.values[weights_at + weights_step],
                );
            }
            mixer.finish()
        });
        Ok(Affine { rows: rows.collect(), shape: shape.to_vec(), ..*data })
    }

    fn conv(&self, node: &TypedNode, op: &Conv, shape: &[usize]) -> Result<Affine, String> {
        let (data, bias) = (self.data(node, 0)?, self.constant(node, 2)?);
        check_size(shape.iter().product(), data.inputs)?;
        let kernel = self.model.outlet_fact(node.inputs[1]).map_err(|e| format!("{e:#}"))?;
        let kernel = kernel.konst.as_ref().ok_or("its weights depend on the data")?;
        // Whatever the kernel's format: group, output channel, input channel, taps.
        let mut ordered = (**kernel).clone();
        for step in op.kernel_fmt.kernel_as_group_o_i_hw_ops(kernel.shape(), op.group) {
            step.change_tensor(&mut ordered, false).map_err(|e| format!("{e:#}"))?;
        }
        conv::convolve(op, &data, &Constant::new(&ordered)?, &bias, shape)
    }

    fn reduce(&self, node: &TypedNode, op: &Reduce, shape: &[usize]) -> Result<Affine, String> {
        if op.reducer != Reducer::Sum {
            return Err(format!("{:?} over an axis is not affine", op.reducer));
        }
        let data = self.data(node, 0)?;
        check_size(shape.iter().product(), data.inputs)?;
        let strides = strides(&data.shape);
        let axis = |a: usize| Axis { len: data.shape[a], data: strides[a], weights: 0 };
        let (summed, kept): (Vec<usize>, Vec<usize>) =
            (0..data.shape.len()).partition(|a| op.axes.contains(a));
        let inner = offsets(&summed.into_iter().map(axis).collect::<Vec<_>>());
        let outer = offsets(&kept.into_iter().map(axis).collect::<Vec<_>>());
        let mut mixer = Mixer::new(data.inputs);
        let rows = outer.iter().map(|&(at, _)| {
            for &(step, _) in &inner {
                mixer.add(&data.rows[at + step], 1.0);
            }
            mixer.finish()
        });
        Ok(Affine { rows: rows.collect(), shape: shape.to_vec(), ..*data })
    }
}

fn check_size(rows: usize, columns: usize) -> Result<(), String> {
    match rows.checked_mul(columns) {
        Some(entries) if entries <= LARGEST_MATRIX => Ok(()),
        _ => Err(format!(
            "as a dense layer it would be {rows} x {columns}, over the limit of {LARGEST_MATRIX} entries"
        )),
    }
}

/// AffineRow-major strides.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// For each element of `to`, row-major, the element of `from` it is a copy of (NumPy's rule).
fn broadcast(from: &[usize], to: &[usize]) -> Vec<usize> {
    let padded: Vec<usize> =
        vec![1; to.len() - from.len()].into_iter().chain(from.iter().copied()).collect();
    let strides = strides(&padded);
    let axes = to.iter().zip(padded.iter().zip(strides));
    let axes = axes.map(|(&len, (&own, stride))| Axis {
        len,
        data: if own == 1 { 0 } else { stride },
        weights: 0,
    });
    offsets(&axes.collect::<Vec<_>>()).into_iter().map(|(at, _)| at).collect()
}

/// One loop of a nest, with the strides at which it runs through data and weights.
struct Axis {
    len: usize,
    data: usize,
    weights: usize,
}

/// The offsets into data and weights that a nest of loops visits, the last axis fastest.
fn offsets(axes: &[Axis]) -> Vec<(usize, usize)> {
    axes.iter().fold(vec![(0, 0)], |visited, axis| {
        let step = |(data, weights)| {
            (0..axis.len).map(move |i| (data + i * axis.data, weights + i * axis.weights))
        };
        visited.into_iter().flat_map(step).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_repeats_axes_of_length_one_and_missing_ones() {
        assert_eq!(broadcast(&[2], &[3, 2]), [0, 1, 0, 1, 0, 1]);
        assert_eq!(broadcast(&[3, 1], &[3, 2]), [0, 0, 1, 1, 2, 2]);
        assert_eq!(broadcast(&[], &[2]), [0, 0]);
    }

    #[test]
    fn loops_nest_with_the_last_axis_fastest() {
        let axes = [Axis { len: 2, data: 10, weights: 1 }, Axis { len: 3, data: 1, weights: 0 }];
        assert_eq!(offsets(&axes), [(0, 0), (1, 0), (2, 0), (10, 1), (11, 1), (12, 1)]);
    }

    #[test]
    fn a_matrix_over_the_limit_is_refused() {
        assert!(check_size(1 << 10, 1 << 10).is_ok());
        assert!(check_size(1 << 13, 1 << 13).is_err());
        assert!(check_size(usize::MAX, 2).is_err());
    }
}
