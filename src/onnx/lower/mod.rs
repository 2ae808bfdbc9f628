//! tract's typed graph becomes layers.
//!
//! tract has loaded the file and inferred shapes, and evaluated what depends on no data. Nothing else is folded yet: the operators
//! between the input and the logits are those of the file. Each is followed with an [`AffineTensor`] in place of
//! numbers, and every ReLU closes a layer. An operator that is none of these is refused by name.

mod affine;
mod constant;
mod contraction;
mod conv;
mod double_double;
mod elementwise;
mod exact_affine;
mod indexing;
mod limits;
mod stack;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cast::Cast;
use tract_onnx::tract_core::ops::change_axes::AxisOp;
use tract_onnx::tract_core::ops::cnn::{Conv, SumPool};
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::identity::Identity;
use tract_onnx::tract_core::ops::nn::Reduce;
use tract_onnx::tract_core::ops::source::TypedSource;
use tract_onnx::tract_core::plan::EvalContext;

pub(super) use affine::FactorShift;
pub(super) use double_double::DoubleDouble;
pub(super) use exact_affine::ExactAffine;
pub(super) use stack::LayerStack;

use self::affine::AffineTensor;
use self::constant::Constant;
use self::elementwise::{DataSide, Elementwise};
use self::limits::{check_tensor, check_weights};
use crate::network::Layer;

/// An operator that stands in the way: tract's name of the node, and why.
pub(super) struct UnsupportedNode {
    pub node: String,
    pub reason: String,
}

impl UnsupportedNode {
    fn new(node: &str, reason: impl Into<String>) -> Self {
        Self { node: node.into(), reason: reason.into() }
    }
}

/// Follows `model`, a typed graph with concrete shapes, from its input to its output.
pub(super) fn lower(model: &TypedModel) -> Result<LayerStack, UnsupportedNode> {
    let mut lowering = Lowering {
        model,
        values: HashMap::new(),
        uses: uses(model),
        constants: HashMap::new(),
        layers: Vec::new(),
        relus: Vec::new(),
    };
    let order = model.eval_order();
    for id in order.map_err(|e| UnsupportedNode::new("graph", format!("{e:#}")))? {
        lowering.visit(&model.nodes[id])?;
    }
    lowering.finish()
}

struct Lowering<'m> {
    model: &'m TypedModel,
    /// Data so far, by the place in the graph that gives it.
    values: HashMap<OutletId, Rc<AffineTensor>>,
    /// How often each is still needed.
    uses: HashMap<OutletId, usize>,
    /// Constants that are not in the graph's facts: tract leaves large ones for later.
    constants: HashMap<OutletId, Arc<Tensor>>,
    layers: Vec<Layer>,
    /// The node that closed each layer.
    relus: Vec<usize>,
}

/// An operand: data, or a constant with its shape.
enum Operand {
    Data(Rc<AffineTensor>),
    Constant(Constant),
}

impl Lowering<'_> {
    fn visit(&mut self, node: &TypedNode) -> Result<(), UnsupportedNode> {
        let is_source = node.op_is::<TypedSource>();
        let touches_data = node.inputs.iter().any(|inlet| self.values.contains_key(inlet));
        if !is_source && !touches_data {
            self.evaluate(node);
            return Ok(());
        }
        let refuse = |reason: String| UnsupportedNode::new(&node.name, reason);
        let shape = shape(node).map_err(refuse)?;
        check_tensor(&shape).map_err(refuse)?;
        let value = if is_source {
            AffineTensor::identity(0, &shape)
        } else {
            self.apply(node, &shape).map_err(refuse)?
        };
        debug_assert_eq!(value.shape, shape, "{node}");
        self.values.insert(node.id.into(), Rc::new(value));
        Ok(())
    }

    /// The output closes the last layer.
    fn finish(mut self) -> Result<LayerStack, UnsupportedNode> {
        let [output] = self.model.outputs[..] else {
            let reason = format!("has {} outputs", self.model.outputs.len());
            return Err(UnsupportedNode::new("graph", reason));
        };
        let refuse =
            |reason: &str| Err(UnsupportedNode::new(&self.model.nodes[output.node].name, reason));
        let Some(logits) = self.values.remove(&output) else {
            return refuse("the output does not depend on the input");
        };
        if logits.stage != self.layers.len() {
            return refuse("the output bypasses a ReLU");
        }
        if let Err(reason) = check_weights(Some(logits.weights())) {
            return refuse(&reason);
        }
        let (map, rounding) = logits.to_map();
        self.layers.push(Layer::linear(map).with_rounding(rounding));
        Ok(LayerStack { layers: self.layers, output_shape: logits.shape.clone() })
    }

    /// Works out a node that depends on no data, unless tract has. Where that fails, whoever uses it refuses.
    fn evaluate(&mut self, node: &TypedNode) {
        let known = |o: &Outlet<TypedFact>| o.fact.konst.is_some();
        let small = |o: &Outlet<TypedFact>| {
            o.fact
                .shape
                .as_concrete()
                .is_some_and(|shape| check_weights(Some(shape.iter().product())).is_ok())
        };
        if node.outputs.iter().all(known) || !node.outputs.iter().all(small) {
            return;
        }
        let inputs: Result<TVec<TValue>, String> =
            node.inputs.iter().map(|&i| self.tensor(i).map(|t| t.into_tvalue())).collect();
        let Ok(inputs) = inputs else { return };
        if let Ok(outputs) = node.op.eval(&EvalContext::out_of_plan(), inputs) {
            for (slot, value) in outputs.into_iter().enumerate() {
                self.constants.insert(OutletId::new(node.id, slot), value.into_arc_tensor());
            }
        }
    }

    fn apply(&mut self, node: &TypedNode, shape: &[usize]) -> Result<AffineTensor, String> {
        if let Some(op) = node.op_as::<AxisOp>() {
            self.layout(node, op, shape)
        } else if let Some(op) = node.op_as::<TypedBinOp>() {
            self.binary(node, op, shape)
        } else if let Some(op) = node.op_as::<EinSum>() {
            self.einsum(node, op, shape)
        } else if let Some(op) = node.op_as::<Conv>() {
            self.conv(node, op, shape)
        } else if let Some(op) = node.op_as::<SumPool>() {
            self.data(node, 0).and_then(|data| conv::pool(op, &data, shape))
        } else if let Some(op) = node.op_as::<Reduce>() {
            self.data(node, 0).and_then(|data| contraction::reduce(op, &data, shape))
        } else if let Some(op) = node.op_as::<ExactAffine>() {
            self.data(node, 0).and_then(|data| op.apply(Rc::unwrap_or_clone(data), shape))
        } else if self.is_identity(node) {
            self.data(node, 0).map(Rc::unwrap_or_clone)
        } else {
            Err(format!("{} is neither affine, layout nor Relu", node.op.name()))
        }
    }

    /// Whether a node hands on its first operand: also a Dropout that tract would drop.
    fn is_identity(&self, node: &TypedNode) -> bool {
        node.op_is::<Identity>()
            || node.op_as::<Cast>().is_some_and(|cast| cast.to == f32::datum_type())
            || (node.op.name() == "Dropout"
                && matches!(node.op.declutter(self.model, node), Ok(Some(_))))
    }

    fn tensor(&self, outlet: OutletId) -> Result<Arc<Tensor>, String> {
        if let Some(tensor) = self.constants.get(&outlet) {
            return Ok(Arc::clone(tensor));
        }
        let fact = self.model.outlet_fact(outlet).map_err(|e| format!("{e:#}"))?;
        let tensor = fact.konst.as_ref();
        Ok(Arc::clone(tensor.ok_or("an operand is neither data nor a known constant")?))
    }

    /// An operand, to be asked for once. Data that nobody needs any more is handed over.
    fn operand(&mut self, node: &TypedNode, slot: usize) -> Result<Operand, String> {
        let inlet = node.inputs.get(slot).ok_or("an operand is missing")?;
        let left = self.uses.get_mut(inlet).map_or(0, |uses| {
            *uses = uses.saturating_sub(1);
            *uses
        });
        let data = match left {
            0 => self.values.remove(inlet),
            _ => self.values.get(inlet).cloned(),
        };
        if let Some(data) = data {
            return Ok(Operand::Data(data));
        }
        Constant::new(&*self.tensor(*inlet)?).map(Operand::Constant)
    }

    fn data(&mut self, node: &TypedNode, slot: usize) -> Result<Rc<AffineTensor>, String> {
        match self.operand(node, slot)? {
            Operand::Data(data) => Ok(data),
            Operand::Constant(_) => Err("works on a constant where data is expected".into()),
        }
    }

    fn constant(&mut self, node: &TypedNode, slot: usize) -> Result<Constant, String> {
        match self.operand(node, slot)? {
            Operand::Constant(constant) => Ok(constant),
            Operand::Data(_) => Err("its weights depend on the data".into()),
        }
    }

    /// Reshapes and transposes: tract's own operator moves a tensor of indices, we follow them.
    fn layout(
        &mut self,
        node: &TypedNode,
        op: &AxisOp,
        shape: &[usize],
    ) -> Result<AffineTensor, String> {
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
    ) -> Result<AffineTensor, String> {
        let op = op.0.as_ref();
        let (data, side, constant) = match (self.operand(node, 0)?, self.operand(node, 1)?) {
            (Operand::Data(a), Operand::Data(b)) => {
                return elementwise::of_both(op, &a, &b, shape);
            }
            (Operand::Data(a), Operand::Constant(c)) => (a, DataSide::Left, c),
            (Operand::Constant(c), Operand::Data(a)) => (a, DataSide::Right, c),
            (Operand::Constant(_), Operand::Constant(_)) => {
                return Err("has no data operand".into());
            }
        };
        let data = Rc::unwrap_or_clone(data);
        match elementwise::with_constant(op, data, side, &constant, shape)? {
            Elementwise::Affine(data) => Ok(data),
            Elementwise::Relu(data) => self.relu(node, &data),
        }
    }

    /// Closes the layer that `data` is the pre-activation of.
    fn relu(&mut self, node: &TypedNode, data: &AffineTensor) -> Result<AffineTensor, String> {
        if let Some(&other) = self.relus.get(data.stage) {
            let other = &self.model.nodes[other].name;
            return Err(format!(
                "is a branch beside the Relu '{other}': branching networks are not supported"
            ));
        }
        check_weights(Some(data.weights()))?;
        self.relus.push(node.id);
        let (map, rounding) = data.to_map();
        self.layers.push(Layer::relu(map).with_rounding(rounding));
        Ok(AffineTensor::identity(data.stage + 1, &data.shape))
    }

    /// Data times a constant matrix, however the axes lie.
    fn einsum(
        &mut self,
        node: &TypedNode,
        op: &EinSum,
        shape: &[usize],
    ) -> Result<AffineTensor, String> {
        if op.q_params.is_some() || node.inputs.len() != 2 {
            return Err("is not a plain product of data and weights".into());
        }
        let data_slot = usize::from(!self.values.contains_key(&node.inputs[0]));
        let (data, weights) = (self.data(node, data_slot)?, self.constant(node, 1 - data_slot)?);
        contraction::einsum(op, data_slot, &data, &weights, shape)
    }

    fn conv(
        &mut self,
        node: &TypedNode,
        op: &Conv,
        shape: &[usize],
    ) -> Result<AffineTensor, String> {
        let (data, bias) = (self.data(node, 0)?, self.constant(node, 2)?);
        let kernel = self.tensor(node.inputs[1]).map_err(|_| "its weights depend on the data")?;
        // Whatever the kernel's format: group, output channel, input channel, taps.
        let mut ordered = (*kernel).clone();
        for step in op.kernel_fmt.kernel_as_group_o_i_hw_ops(kernel.shape(), op.group) {
            step.change_tensor(&mut ordered, false).map_err(|e| format!("{e:#}"))?;
        }
        conv::convolve(op, &data, &Constant::new(&ordered)?, &bias, shape)
    }
}

/// How often the data of each place in the graph is needed. The output is needed once more, in the end.
fn uses(model: &TypedModel) -> HashMap<OutletId, usize> {
    let mut uses = HashMap::new();
    let inputs = model.nodes.iter().flat_map(|node| &node.inputs);
    inputs.chain(&model.outputs).for_each(|&outlet| *uses.entry(outlet).or_default() += 1);
    uses
}

/// The shape of what a node gives. Nothing may use what it gives beside that (such as the mask of a Dropout).
fn shape(node: &TypedNode) -> Result<Vec<usize>, String> {
    let [output, others @ ..] = &node.outputs[..] else {
        return Err("gives nothing".into());
    };
    if others.iter().any(|other| !other.successors.is_empty()) {
        return Err(format!("has {} outputs", node.outputs.len()));
    }
    let shape = output.fact.shape.as_concrete().ok_or("the shape of its result is not fixed")?;
    Ok(shape.to_vec())
}
