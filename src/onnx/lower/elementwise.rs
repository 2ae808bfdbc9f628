//! Operators that work element by element: Add, Sub, Mul, Div, and the Max that is a ReLU.

use std::borrow::Cow;

use tract_onnx::tract_core::ops::binary::BinMiniOp;
use tract_onnx::tract_core::ops::math::{Add, Div, Max, Mul, Sub};

use super::affine::{AffineTensor, FactorShift};
use super::constant::Constant;
use super::indexing::broadcast;

/// What an operator makes of data and a constant.
pub(super) enum Elementwise {
    /// Another affine function of the same input.
    Affine(AffineTensor),
    /// The ReLU of this.
    Relu(AffineTensor),
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
) -> Result<Elementwise, String> {
    let from = broadcast(&constant.shape, shape);
    let at = |i: usize| constant.values[from[i]];
    let all = |test: fn(f64) -> bool| constant.values.iter().all(|&v| test(v));
    let data = spread(data, shape);
    let affine = if op.is::<Add>() {
        data.scale_shift(|i| FactorShift::plain(1.0, at(i)))
    } else if op.is::<Sub>() && side == DataSide::Left {
        data.scale_shift(|i| FactorShift::plain(1.0, -at(i)))
    } else if op.is::<Sub>() {
        data.scale_shift(|i| FactorShift::plain(-1.0, at(i)))
    } else if op.is::<Mul>() {
        data.scale_shift(|i| FactorShift::plain(at(i), 0.0))
    } else if op.is::<Div>() && side == DataSide::Left && all(|v| v != 0.0) {
        data.scale_shift(|i| FactorShift::quotient(at(i)))
    } else if op.is::<Max>() && all(|v| v == 0.0) {
        return Ok(Elementwise::Relu(data));
    } else {
        return Err(format!("{} with this constant is neither affine nor Relu", op.name()));
    };
    Ok(Elementwise::Affine(affine))
}

/// Data and data.
pub(super) fn of_both(
    op: &dyn BinMiniOp,
    a: &AffineTensor,
    b: &AffineTensor,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let factor = match (op.is::<Add>(), op.is::<Sub>()) {
        (true, _) => 1.0,
        (_, true) => -1.0,
        _ => return Err("combines two tensors that both depend on the data".into()),
    };
    if a.stage != b.stage {
        return Err("is a skip connection over a ReLU, which is not supported".into());
    }
    let [a, b] = [a, b].map(|data| match data.shape == shape {
        true => Cow::Borrowed(data),
        false => Cow::Owned(data.gather(shape, &broadcast(&data.shape, shape))),
    });
    Ok(a.add_scaled(&b, factor))
}

/// The data in this shape, by NumPy's rule.
pub(super) fn spread(data: AffineTensor, shape: &[usize]) -> AffineTensor {
    if data.shape == shape { data } else { data.gather(shape, &broadcast(&data.shape, shape)) }
}
