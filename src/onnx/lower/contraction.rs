//! Sums of products along axes: matrix products however the axes lie, and plain sums.

use tract_onnx::tract_core::ops::change_axes::InOut;
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer};

use super::affine::{AffineTensor, LinearCombination};
use super::constant::Constant;
use super::indexing::{Axis, offsets, strides};
use super::limits::check_sums;
use super::neurons::Neurons;
use super::piecewise::{Extreme, tournament};

/// Data, the operator's operand number `data_slot`, times constant weights, the other one.
pub(super) fn einsum(
    op: &EinSum,
    data_slot: usize,
    data: &AffineTensor,
    weights: &Constant,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    // Every axis runs through the data, the weights and the result with a stride of its own.
    let (data_strides, weight_strides) = (strides(&data.shape), strides(&weights.shape));
    let stride = |positions: &[usize], shape: &[usize], strides: &[usize]| -> usize {
        positions.iter().map(|&a| if shape[a] == 1 { 0 } else { strides[a] }).sum()
    };
    let (mut outer, mut inner): (Vec<(usize, Axis)>, Vec<Axis>) = (Vec::new(), Vec::new());
    for axis in op.axes.iter_all_axes() {
        let in_data = axis.interface(InOut::In(data_slot));
        let in_weights = axis.interface(InOut::In(1 - data_slot));
        let data_dims = in_data.iter().map(|&a| data.shape[a]);
        let dims = data_dims.chain(in_weights.iter().map(|&a| weights.shape[a]));
        let described = Axis {
            len: dims.max().unwrap_or(1),
            data: stride(in_data, &data.shape, &data_strides),
            weights: stride(in_weights, &weights.shape, &weight_strides),
        };
        match axis.interface(InOut::Out(0)) {
            [] => inner.push(described),
            [position] => outer.push((*position, described)),
            _ => return Err("repeats an axis in its result".into()),
        }
    }
    outer.sort_by_key(|(position, _)| *position);
    let outer: Vec<Axis> = outer.into_iter().map(|(_, axis)| axis).collect();
    check_sums(shape, length(&inner), data)?;
    Ok(contract(data, &outer, &inner, |at| weights.values[at], shape))
}

/// Sums over axes, or the largest or smallest element along them.
pub(super) fn reduce(
    neurons: &mut Neurons,
    op: &Reduce,
    data: &AffineTensor,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let extreme = match op.reducer {
        Reducer::Sum => None,
        Reducer::Max => Some(Extreme::Largest),
        Reducer::Min => Some(Extreme::Smallest),
        _ => return Err(format!("{:?} over an axis is not piecewise linear", op.reducer)),
    };
    let strides = strides(&data.shape);
    let axis = |a: usize| Axis { len: data.shape[a], data: strides[a], weights: 0 };
    let (summed, kept): (Vec<usize>, Vec<usize>) =
        (0..data.shape.len()).partition(|a| op.axes.contains(a));
    let inner: Vec<Axis> = summed.into_iter().map(axis).collect();
    let outer: Vec<Axis> = kept.into_iter().map(axis).collect();
    check_sums(shape, length(&inner), data)?;
    if let Some(extreme) = extreme {
        let inner = offsets(&inner);
        let window = |(at, _): (usize, usize)| {
            inner.iter().map(|&(step, _)| data.rows[at + step].clone()).collect()
        };
        let windows = offsets(&outer).into_iter().map(window).collect();
        return Ok(tournament(neurons, extreme, windows, shape.to_vec()));
    }
    Ok(contract(data, &outer, &inner, |_| 1.0, shape))
}

/// Number of positions along these axes.
fn length(axes: &[Axis]) -> usize {
    axes.iter().fold(1, |product, axis| product.saturating_mul(axis.len))
}

/// For every position along the outer axes, the sum over the inner ones of data times weight.
fn contract(
    data: &AffineTensor,
    outer: &[Axis],
    inner: &[Axis],
    weight: impl Fn(usize) -> f64,
    shape: &[usize],
) -> AffineTensor {
    let inner = offsets(inner);
    let mut sum = LinearCombination::new(data.variables);
    let rows = offsets(outer).into_iter().map(|(data_at, weights_at)| {
        for &(data_step, weights_step) in &inner {
            sum.add(&data.rows[data_at + data_step], weight(weights_at + weights_step));
        }
        sum.finish()
    });
    AffineTensor { rows: rows.collect(), shape: shape.to_vec(), variables: data.variables }
}
