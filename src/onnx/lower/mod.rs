//! tract's typed graph becomes layers.
//!
//! tract has loaded the file and inferred shapes, and evaluated what depends on no data. Nothing else is folded yet: the operators
//! between the input and the logits are those of the file. Each is followed with an [`AffineTensor`] in place of
//! numbers. What is not affine asks for neurons, whose values are new variables; in the end the neurons are laid out as layers. An
//! operator that is not piecewise linear is refused by name.

mod affine;
mod constant;
mod contraction;
mod conv;
mod deconv;
mod double_double;
mod elementwise;
mod exact_affine;
mod indexing;
mod layout;
mod leaky_slopes;
mod limits;
mod moved;
mod neurons;
mod piecewise;
mod stack;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cast::Cast;
use tract_onnx::tract_core::ops::change_axes::AxisOp;
use tract_onnx::tract_core::ops::cnn::{Conv, Deconv, KernelFormat, MaxPool, SumPool};
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::element_wise::ElementWiseOp;
use tract_onnx::tract_core::ops::identity::Identity;
use tract_onnx::tract_core::ops::math::{Abs, Neg};
use tract_onnx::tract_core::ops::nn::{LeakyRelu, Reduce};
use tract_onnx::tract_core::ops::source::TypedSource;
use tract_onnx::tract_core::plan::EvalContext;

pub(super) use affine::FactorShift;
pub(super) use double_double::DoubleDouble;
pub(super) use exact_affine::ExactAffine;
pub(super) use leaky_slopes::LeakySlopes;
pub(super) use stack::LayerStack;

use self::affine::AffineTensor;
use self::constant::Constant;
use self::elementwise::DataSide;
use self::limits::{check_tensor, check_weights};
use self::moved::Moved;
use self::neurons::Neurons;

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
        neurons: Neurons::new(0),
        depths: HashMap::new(),
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
    neurons: Neurons,
    /// The number of layers before each node's values are known.
    depths: HashMap<String, usize>,
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
            self.neurons = Neurons::new(shape.iter().product());
            AffineTensor::of_variables(0, &shape)
        } else {
            self.apply(node, &shape).map_err(refuse)?
        };
        debug_assert_eq!(value.shape, shape, "{node}");
        let depth = value.rows.iter().map(|row| self.neurons.depth_of(row)).max();
        self.depths.insert(node.name.clone(), depth.unwrap_or(0));
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
            |reason: &str| UnsupportedNode::new(&self.model.nodes[output.node].name, reason);
        let logits = self.values.remove(&output);
        let logits = logits.ok_or_else(|| refuse("the output does not depend on the input"))?;
        let AffineTensor { shape, rows, .. } = Rc::unwrap_or_clone(logits);
        let stack = layout::lay_out(self.neurons, rows, shape);
        let stack = stack.map_err(|reason| refuse(&reason))?;
        Ok(LayerStack { depths: self.depths, ..stack })
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
        } else if let Some(op) = node.op_as::<Deconv>() {
            self.deconv(node, op, shape)
        } else if let Some(op) = node.op_as::<SumPool>() {
            self.data(node, 0).and_then(|data| conv::pool(op, &data, shape))
        } else if let Some(op) = node.op_as::<MaxPool>() {
            let data = self.data(node, 0)?;
            conv::max_pool(&mut self.neurons, op, &data, shape)
        } else if let Some(op) = node.op_as::<Reduce>() {
            let data = self.data(node, 0)?;
            contraction::reduce(&mut self.neurons, op, &data, shape)
        } else if let Some(op) = node.op_as::<ElementWiseOp>() {
            self.unary(node, op)
        } else if let Some(op) = node.op_as::<ExactAffine>() {
            self.data(node, 0).and_then(|data| op.apply(Rc::unwrap_or_clone(data), shape))
        } else if let Some(op) = node.op_as::<LeakySlopes>() {
            let data = Rc::unwrap_or_clone(self.data(node, 0)?);
            op.apply(&mut self.neurons, data, shape)
        } else if moved::moves(node, 0).is_some() {
            self.moved(node, shape)
        } else if self.is_identity(node) {
            let mut data = Rc::unwrap_or_clone(self.data(node, 0)?);
            if self.narrows(node) {
                data.rows.iter_mut().for_each(|row| row.errors.operations += 1);
            }
            Ok(data)
        } else {
            Err(format!("{} is not piecewise linear", node.op.name()))
        }
    }

    /// Element by element: Neg, Abs, LeakyRelu.
    fn unary(&mut self, node: &TypedNode, op: &ElementWiseOp) -> Result<AffineTensor, String> {
        let data = Rc::unwrap_or_clone(self.data(node, 0)?);
        let op = op.0.as_ref();
        if op.is::<Neg>() {
            Ok(data.scale_shift(|_| FactorShift::plain(-1.0, 0.0)))
        } else if op.is::<Abs>() {
            Ok(piecewise::magnitude(&mut self.neurons, data))
        } else if let Some(&LeakyRelu { alpha }) = op.downcast_ref::<LeakyRelu>() {
            if !alpha.is_finite() {
                return Err(format!("its alpha is {alpha}, not a finite number"));
            }
            Ok(piecewise::leaky(&mut self.neurons, data, |_| alpha.into()))
        } else {
            Err(format!("{} is not piecewise linear", op.name()))
        }
    }

    /// An operator that only moves elements.
    fn moved(&mut self, node: &TypedNode, shape: &[usize]) -> Result<AffineTensor, String> {
        let operand = |slot: usize| {
            let inlet = node.inputs[slot];
            if !self.values.contains_key(&inlet) {
                return self.tensor(inlet).map(Moved::Constant);
            }
            match moved::moves(node, slot) {
                Some(true) => self.data(node, slot).map(Moved::Data),
                _ => Err("its operands beside the data depend on the data".into()),
            }
        };
        let operands: Result<Vec<Moved>, String> = (0..node.inputs.len()).map(operand).collect();
        moved::apply(node, &operands?, shape)
    }

    /// Whether a node hands on its first operand: also a Dropout that tract would drop.
    fn is_identity(&self, node: &TypedNode) -> bool {
        node.op_is::<Identity>()
            || node
                .op_as::<Cast>()
                .is_some_and(|cast| [f32::datum_type(), f64::datum_type()].contains(&cast.to))
            || (node.op.name() == "Dropout"
                && matches!(node.op.declutter(self.model, node), Ok(Some(_))))
    }

    /// Whether a node rounds f64 to f32.
    fn narrows(&self, node: &TypedNode) -> bool {
        let given = node.inputs.first().and_then(|&inlet| self.model.outlet_fact(inlet).ok());
        given.is_some_and(|given| given.datum_type == f64::datum_type())
            && node.outputs[0].fact.datum_type == f32::datum_type()
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
        let extreme = elementwise::extreme(op);
        let (data, side, constant) = match (self.operand(node, 0)?, self.operand(node, 1)?) {
            (Operand::Data(a), Operand::Data(b)) => {
                let [a, b] = [a, b].map(|data| Rc::unwrap_or_clone(data).spread(shape));
                return match extreme {
                    Some(extreme) => Ok(piecewise::of_both(&mut self.neurons, extreme, a, b)),
                    None => elementwise::of_both(op, &a, &b),
                };
            }
            (Operand::Data(a), Operand::Constant(c)) => (a, DataSide::Left, c),
            (Operand::Constant(c), Operand::Data(a)) => (a, DataSide::Right, c),
            (Operand::Constant(_), Operand::Constant(_)) => {
                return Err("has no data operand".into());
            }
        };
        let data = Rc::unwrap_or_clone(data);
        match extreme {
            Some(extreme) => {
                Ok(piecewise::with_constant(&mut self.neurons, extreme, data, &constant, shape))
            }
            None => elementwise::with_constant(op, data, side, &constant, shape),
        }
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
        let kernel = self.kernel(node, op.kernel_fmt, op.group)?;
        conv::convolve(op, &data, &kernel, &bias, shape)
    }

    fn deconv(
        &mut self,
        node: &TypedNode,
        op: &Deconv,
        shape: &[usize],
    ) -> Result<AffineTensor, String> {
        let (data, bias) = (self.data(node, 0)?, self.constant(node, 2)?);
        let kernel = self.kernel(node, op.kernel_format, op.group)?;
        deconv::deconvolve(op, &data, &kernel, &bias, shape)
    }

    /// Whatever the kernel's format: group, output channel, input channel, taps.
    fn kernel(
        &self,
        node: &TypedNode,
        format: KernelFormat,
        group: usize,
    ) -> Result<Constant, String> {
        let kernel = self.tensor(node.inputs[1]).map_err(|_| "its weights depend on the data")?;
        let mut ordered = (*kernel).clone();
        for step in format.kernel_as_group_o_i_hw_ops(kernel.shape(), group) {
            step.change_tensor(&mut ordered, false).map_err(|e| format!("{e:#}"))?;
        }
        Constant::new(&ordered)
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
