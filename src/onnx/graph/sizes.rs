//! How large constants become, worked out before tract evaluates them: a few bytes can ask for gigabytes.
//!
//! Nodes that depend on no data are evaluated when a model is loaded. Only operators are let through whose result has a size that can
//! be told from the file; the rest is refused by name. Sizes that depend on the data's shape count as small, because
//! nothing that multiplies by them is let through.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::{AttributeProto, GraphProto, NodeProto, TensorProto};

use super::proto::{inputs_of, refuse};
use crate::onnx::error::OnnxProblem;

/// Constants that are worked out may have so many elements in all,
const MOST_ELEMENTS: u64 = 16 << 20;
/// or so many times those that the file holds: weights are transposed, scaled, cast.
const TIMES_THE_FILE: u64 = 8;

/// A shape, as a tensor, has at most so many elements.
const MOST_AXES: u64 = 64;

/// Numbers are followed only in tensors of at most so many.
const FEW: usize = 64;

/// What is known of a constant.
#[derive(Clone, Debug, Default)]
struct ConstantSize {
    /// At most so many elements.
    elements: u64,
    shape: Option<Vec<u64>>,
    /// The numbers themselves, if they are few.
    values: Option<Vec<f64>>,
}

impl ConstantSize {
    fn of_elements(elements: u64) -> Self {
        Self { elements, shape: None, values: None }
    }

    fn of_shape(shape: Vec<u64>) -> Self {
        let elements = shape.iter().fold(1_u64, |product, &d| product.saturating_mul(d));
        Self { elements, shape: Some(shape), values: None }
    }
}

/// Refuses a graph whose constants would become too large, or of a size that cannot be told.
pub(super) fn check_sizes(graph: &GraphProto, input: &str) -> Result<(), OnnxProblem> {
    let mut known: HashMap<&str, ConstantSize> = HashMap::new();
    let mut of_file = 0_u64;
    for tensor in &graph.initializer {
        let size = tensor_size(tensor)?;
        of_file = of_file.saturating_add(size.elements);
        known.insert(&tensor.name, size);
    }
    let mut data: HashSet<&str> = HashSet::from([input]);
    let mut most = MOST_ELEMENTS.max(of_file.saturating_mul(TIMES_THE_FILE));
    for node in &graph.node {
        if node.op_type != "Shape" && inputs_of(node).any(|name| data.contains(name.as_str())) {
            data.extend(node.output.iter().map(String::as_str));
            continue;
        }
        let size = node_size(node, &known)?;
        most = most.checked_sub(size.elements).ok_or_else(|| {
            refuse(node, format!("its constants would be too large: {} elements", size.elements))
        })?;
        known.extend(node.output.iter().map(|name| (name.as_str(), size.clone())));
    }
    Ok(())
}

/// The size of a tensor in the file. One that says more than it holds is refused.
fn tensor_size(tensor: &TensorProto) -> Result<ConstantSize, OnnxProblem> {
    let complain = |what: &str| OnnxProblem::graph(format!("tensor '{}' {what}", tensor.name));
    let shape: Result<Vec<u64>, _> = tensor.dims.iter().map(|&d| u64::try_from(d)).collect();
    let shape = shape.map_err(|_| complain("has a negative dimension"))?;
    let mut size = ConstantSize::of_shape(shape);
    let lengths = [
        tensor.float_data.len(),
        tensor.int32_data.len(),
        tensor.int64_data.len(),
        tensor.double_data.len(),
        tensor.uint64_data.len(),
        tensor.string_data.len(),
        // Elements may be smaller than a byte.
        2 * tensor.raw_data.len(),
    ];
    let held = lengths.into_iter().max().unwrap_or(0) as u64;
    if tensor.external_data.is_empty() && size.elements > held {
        return Err(complain("says that it is larger than what it holds"));
    }
    size.values = few_values(tensor);
    Ok(size)
}

/// The numbers of a small tensor of whole numbers or floats.
fn few_values(tensor: &TensorProto) -> Option<Vec<f64>> {
    let raw = &tensor.raw_data;
    let values: Vec<f64> = match tensor.data_type {
        1 if raw.is_empty() => tensor.float_data.iter().map(|&v| v.into()).collect(),
        6 if raw.is_empty() => tensor.int32_data.iter().map(|&v| v.into()).collect(),
        7 if raw.is_empty() => tensor.int64_data.iter().map(|&v| v as f64).collect(),
        1 if raw.len() <= 4 * FEW => {
            let values = raw.as_chunks().0.iter();
            values.map(|&bytes| f32::from_le_bytes(bytes).into()).collect()
        }
        6 if raw.len() <= 4 * FEW => {
            let values = raw.as_chunks().0.iter();
            values.map(|&bytes| i32::from_le_bytes(bytes).into()).collect()
        }
        7 if raw.len() <= 8 * FEW => {
            let values = raw.as_chunks().0.iter();
            values.map(|&bytes| i64::from_le_bytes(bytes) as f64).collect()
        }
        _ => return None,
    };
    (values.len() <= FEW).then_some(values)
}

/// The operands of a node that depends on no data.
struct Operands<'n> {
    node: &'n NodeProto,
    sizes: Vec<ConstantSize>,
}

impl Operands<'_> {
    fn elements(&self, slot: usize) -> u64 {
        self.sizes.get(slot).map_or(1, |size| size.elements)
    }

    fn values(&self, slot: usize) -> Option<&[f64]> {
        self.sizes.get(slot)?.values.as_deref()
    }

    /// The product of an operand's numbers, none of them counted below 1.
    fn product(&self, slot: usize) -> Result<u64, OnnxProblem> {
        let values = self.values(slot).ok_or_else(|| self.unknown())?;
        Ok(values.iter().fold(1_u64, |product, &v| product.saturating_mul(whole(v).max(1))))
    }

    fn unknown(&self) -> OnnxProblem {
        refuse(self.node, "the size of its result cannot be told from the file")
    }

    /// The size after NumPy's rule.
    fn broadcast(&self) -> ConstantSize {
        let Some(shapes) =
            self.sizes.iter().map(|size| size.shape.as_deref()).collect::<Option<Vec<_>>>()
        else {
            let product = self.sizes.iter().map(|size| size.elements);
            return ConstantSize::of_elements(product.fold(1, u64::saturating_mul));
        };
        let axes = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
        let along = |axis: usize| {
            let of_shape =
                |shape: &&[u64]| (axis + shape.len()).checked_sub(axes).map_or(1, |own| shape[own]);
            shapes.iter().map(of_shape).max().unwrap_or(1)
        };
        ConstantSize::of_shape((0..axes).map(along).collect())
    }
}

/// A number as a size; what is none counts as too large.
fn whole(value: f64) -> u64 {
    if value.is_finite() { value.clamp(0.0, 1e18) as u64 } else { u64::MAX }
}

fn node_size(
    node: &NodeProto,
    known: &HashMap<&str, ConstantSize>,
) -> Result<ConstantSize, OnnxProblem> {
    // What is not known depends on the data's shape.
    let of_operand = |name: &String| {
        known.get(name.as_str()).cloned().unwrap_or(ConstantSize::of_elements(MOST_AXES))
    };
    let operands = Operands { node, sizes: inputs_of(node).map(of_operand).collect() };
    let first = || operands.sizes.first().cloned().unwrap_or_default();
    let elements = |n: u64| Ok(ConstantSize::of_elements(n));
    match node.op_type.as_str() {
        "Constant" => constant_size(node),
        "Identity" | "Cast" => Ok(first()),
        "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" => {
            Ok(ConstantSize { shape: None, ..first() })
        }
        "Transpose" => Ok(transposed(node, first())),
        "Neg" | "Abs" | "Sqrt" | "Reciprocal" | "Exp" | "Log" | "Floor" | "Ceil" | "Round"
        | "Sign" | "Not" | "Erf" | "Relu" | "Sigmoid" | "Tanh" | "Clip" | "Softplus"
        | "DequantizeLinear" | "QuantizeLinear" | "EyeLike" | "CumSum" => {
            Ok(ConstantSize { values: None, ..first() })
        }
        "Slice" | "Split" | "ReduceSum" | "ReduceMean" | "ReduceProd" | "ReduceMax"
        | "ReduceMin" | "ArgMax" | "ArgMin" => elements(operands.elements(0).max(1)),
        "Gather" => elements(operands.elements(0).saturating_mul(operands.elements(1))),
        "Shape" | "Size" => elements(MOST_AXES),
        "Concat" => {
            let values: Option<Vec<&[f64]>> =
                operands.sizes.iter().map(|size| size.values.as_deref()).collect();
            let sum = operands.sizes.iter().fold(0_u64, |sum, s| sum.saturating_add(s.elements));
            let values = values.map(|v| v.concat()).filter(|values| values.len() <= FEW);
            Ok(ConstantSize { elements: sum, shape: None, values })
        }
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Min" | "Max" | "Sum" | "Mean" | "And"
        | "Or" | "Xor" | "Equal" | "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual"
        | "Where" => Ok(operands.broadcast()),
        "MatMul" | "Gemm" => elements(operands.elements(0).saturating_mul(operands.elements(1))),
        _ => grown(node, &operands),
    }
}

/// Operators whose operands say how large the result is.
fn grown(node: &NodeProto, operands: &Operands) -> Result<ConstantSize, OnnxProblem> {
    let first = operands.elements(0).max(1);
    let elements = match node.op_type.as_str() {
        "ConstantOfShape" => operands.product(0)?,
        "Expand" | "Tile" => first.saturating_mul(operands.product(1)?),
        "OneHot" => first.saturating_mul(operands.product(1)?),
        "Range" => {
            let number = |slot| match operands.values(slot) {
                Some(&[value]) => Ok(value),
                _ => Err(operands.unknown()),
            };
            whole(((number(1)? - number(0)?) / number(2)?).ceil())
        }
        "Pad" => {
            let pads = operands.values(1).ok_or_else(|| operands.unknown())?;
            let around = pads
                .iter()
                .fold(1_u64, |product, &pad| product.saturating_mul(whole(pad).saturating_add(1)));
            first.saturating_mul(around)
        }
        op => {
            let reason = format!("{op} of constants is not supported: compute it before exporting");
            return Err(refuse(node, reason));
        }
    };
    Ok(ConstantSize::of_elements(elements))
}

fn constant_size(node: &NodeProto) -> Result<ConstantSize, OnnxProblem> {
    let size = |attribute: &AttributeProto| match attribute.name.as_str() {
        "value" => attribute.t.as_ref().map(tensor_size),
        "value_int" => Some(Ok(few(vec![attribute.i as f64]))),
        "value_float" => Some(Ok(few(vec![attribute.f.into()]))),
        "value_ints" => Some(Ok(few(attribute.ints.iter().map(|&i| i as f64).collect()))),
        "value_floats" => Some(Ok(few(attribute.floats.iter().map(|&f| f.into()).collect()))),
        _ => None,
    };
    let few_elements = || Ok(ConstantSize::of_elements(MOST_AXES));
    node.attribute.iter().find_map(size).unwrap_or_else(few_elements)
}

fn few(values: Vec<f64>) -> ConstantSize {
    let shape = if values.len() == 1 { None } else { Some(vec![values.len() as u64]) };
    let elements = values.len() as u64;
    ConstantSize { elements, shape, values: (values.len() <= FEW).then_some(values) }
}

fn transposed(node: &NodeProto, size: ConstantSize) -> ConstantSize {
    let order = node.attribute.iter().find(|a| a.name == "perm").map(|a| &a.ints);
    let shape = size.shape.and_then(|shape| match order {
        None => Some(shape.into_iter().rev().collect()),
        Some(order) => {
            order.iter().map(|&a| shape.get(usize::try_from(a).ok()?).copied()).collect()
        }
    });
    ConstantSize { shape, values: None, ..size }
}
