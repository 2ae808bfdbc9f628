//! Operators that work element by element: Add, Sub, Mul, Div, Max and Min.

use tract_onnx::tract_core::ops::binary::BinMiniOp;
use tract_onnx::tract_core::ops::math::{Add, Div, Max, Min, Mul, Sub};

use super::affine::{AffineTensor, FactorShift};
use super::constant::Constant;
use super::indexing::broadcast;
use super::piecewise::Extreme;

/// Max or Min; `None` for another operator.
pub(super) fn extreme(op: &dyn BinMiniOp) -> Option<Extreme> {
    match (op.is::<Max>(), op.is::<Min>()) {
        (true, _) => Some(Extreme::Largest),
        (_, true) => Some(Extreme::Smallest),
        _ => None,
    }
}

/// On which side of the operator the data stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DataSide {
    Left,
    Right,
}

/// Data and a constant.
pub(super) fn with_constant(
    op: &dyn BinMiniOp,
    data: AffineTensor,
    side: DataSide,
    constant: &Constant,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let from = broadcast(&constant.shape, shape);
    let at = |i: usize| constant.values[from[i]];
    let all = |test: fn(f64) -> bool| constant.values.iter().all(|&v| test(v));
    let data = data.spread(shape);
    Ok(if op.is::<Add>() {
        data.scale_shift(|i| FactorShift::plain(1.0, at(i)))
    } else if op.is::<Sub>() && side == DataSide::Left {
        data.scale_shift(|i| FactorShift::plain(1.0, -at(i)))
    } else if op.is::<Sub>() {
        data.scale_shift(|i| FactorShift::plain(-1.0, at(i)))
    } else if op.is::<Mul>() {
        data.scale_shift(|i| FactorShift::plain(at(i), 0.0))
    } else if op.is::<Div>() && side == DataSide::Left && all(|v| v != 0.0) {
        data.scale_shift(|i| FactorShift::quotient(at(i)))
    } else {
        return Err(format!("{} with this constant is not piecewise linear", op.name()));
    })
}

/// Data and data of one shape.
pub(super) fn of_both(
    op: &dyn BinMiniOp,
    a: &AffineTensor,
    b: &AffineTensor,
) -> Result<AffineTensor, String> {
    match (op.is::<Add>(), op.is::<Sub>()) {
        (true, _) => Ok(a.add_scaled(b, 1.0)),
        (_, true) => Ok(a.add_scaled(b, -1.0)),
        _ => Err("combines two tensors that both depend on the data".into()),
    }
}
