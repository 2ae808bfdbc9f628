//! Operators that only move elements: Slice, Gather, Pad, Concat, Resize to the nearest, Where with a constant condition.
//!
//! tract's own operator is run twice on indices in place of data, the second time on larger ones. Where the result follows, it is
//! the element of that index; where it stays the same, it is a constant.

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::array::{
    Gather, GatherElements, GatherNd, MultiBroadcastTo, Pad, ScatterElements, ScatterNd, Slice,
    StridedSlice, Tile, TypedConcat,
};
use tract_onnx::tract_core::ops::logic::Iff;
use tract_onnx::tract_core::plan::EvalContext;

use super::affine::{AffineRow, AffineTensor};

/// Indices and what is added to them must be exact in f32.
const LARGEST_INDEX: usize = 1 << 24;

/// An operand of an operator that moves elements.
pub(super) enum Moved {
    Data(std::rc::Rc<AffineTensor>),
    Constant(std::sync::Arc<Tensor>),
}

/// Whether the operator only moves elements of the operand in this place; `None` if it is another operator.
pub(super) fn moves(node: &TypedNode, slot: usize) -> Option<bool> {
    if node.op_is::<TypedConcat>() {
        Some(true)
    } else if node.op_is::<Iff>() {
        Some(slot > 0)
    } else if node.op_is::<ScatterElements>() || node.op_is::<ScatterNd>() {
        Some(slot != 1)
    } else if node.op_is::<Slice>()
        || node.op_is::<StridedSlice>()
        || node.op_is::<Gather>()
        || node.op_is::<GatherElements>()
        || node.op_is::<GatherNd>()
        || node.op_is::<MultiBroadcastTo>()
        || node.op_is::<Pad>()
        || node.op_is::<Tile>()
        // Which kinds of Resize move elements is checked in the file's own node.
        || node.op.name() == "Resize"
    {
        Some(slot == 0)
    } else {
        None
    }
}

/// Where the operator takes every element from.
pub(super) fn apply(
    node: &TypedNode,
    operands: &[Moved],
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let data: Vec<&AffineTensor> = operands.iter().filter_map(Moved::data).collect();
    let elements: usize = data.iter().map(|data| data.rows.len()).sum();
    if elements > LARGEST_INDEX / 2 {
        return Err(format!("moves {elements} elements, over the limit of {}", LARGEST_INDEX / 2));
    }
    let at = run(node, operands, 0)?;
    let moved = run(node, operands, elements)?;
    let rows: Vec<&AffineRow> = data.iter().flat_map(|data| &data.rows).collect();
    let row = |(at, moved): (&f64, &f64)| {
        if at == moved && at.is_finite() {
            Ok(AffineRow::constant(*at))
        } else if *moved == at + elements as f64 && *at >= 0.0 && *at < elements as f64 {
            Ok(rows[*at as usize].clone())
        } else {
            Err(format!(
                "{} gives what is neither an element of the data nor a number",
                node.op.name()
            ))
        }
    };
    let rows: Result<Vec<AffineRow>, String> = at.iter().zip(&moved).map(row).collect();
    let variables = data.iter().map(|data| data.variables).max().unwrap_or(0);
    let rows = rows?;
    if rows.len() != shape.iter().product::<usize>() {
        return Err(format!("gives {} elements where {shape:?} was expected", rows.len()));
    }
    Ok(AffineTensor { rows, shape: shape.to_vec(), variables })
}

impl Moved {
    fn data(&self) -> Option<&AffineTensor> {
        match self {
            Self::Data(data) => Some(data),
            Self::Constant(_) => None,
        }
    }
}

/// The operator's result if the elements of all data are numbered one after the other, from `first` on.
fn run(node: &TypedNode, operands: &[Moved], first: usize) -> Result<Vec<f64>, String> {
    let explain = |e: TractError| format!("{e:#}");
    let datum_type = node.outputs[0].fact.datum_type;
    let mut next = first;
    let mut inputs: TVec<TValue> = tvec!();
    for operand in operands {
        inputs.push(match operand {
            Moved::Constant(tensor) => tensor.clone().into_tvalue(),
            Moved::Data(data) => {
                let numbers: Vec<f64> = (next..next + data.rows.len()).map(|i| i as f64).collect();
                next += data.rows.len();
                let tensor = Tensor::from_shape(&data.shape, &numbers).map_err(explain)?;
                tensor.cast_to_dt(datum_type).map_err(explain)?.into_owned().into_tvalue()
            }
        });
    }
    let result = node.op.eval(&EvalContext::out_of_plan(), inputs).map_err(explain)?;
    let result = result.first().ok_or("gives nothing")?.cast_to::<f64>().map_err(explain)?;
    let result = result.to_plain_array_view::<f64>().map_err(explain)?;
    Ok(result.iter().copied().collect())
}
