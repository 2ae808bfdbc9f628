//! Transposed convolution as sparse rows.

use tract_onnx::tract_core::ops::cnn::Deconv;

use super::affine::{AffineTensor, LinearCombination};
use super::constant::Constant;
use super::indexing::strides;
use super::limits::check_sums;

/// `kernel` is ordered group, output channel, input channel, taps; data and result batch, channel, space.
pub(super) fn deconvolve(
    op: &Deconv,
    data: &AffineTensor,
    kernel: &Constant,
    bias: &Constant,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let spec = &op.pool_spec;
    if spec.data_format.c_is_last() || !spec.data_format.has_n() || shape[0] != 1 {
        return Err("is not a transposed convolution of one image, channels first".into());
    }
    let (input, output) = (&data.shape[2..], &shape[2..]);
    let (ins, outs) = (data.shape[1] / op.group, shape[1] / op.group);
    let taps: usize = spec.kernel_shape.iter().product();
    let biases = bias.values.len();
    if kernel.values.len() != op.group * ins * outs * taps || (biases != 1 && biases != shape[1]) {
        return Err("has weights of another size than its channels".into());
    }
    check_sums(shape, ins.saturating_mul(taps), data)?;
    let padding = spec.padding.compute_for_deconv(
        input,
        &spec.kernel_shape,
        &spec.dilations(),
        &spec.strides(),
        &op.adjustments,
    );
    let before: Vec<usize> =
        padding.map_err(|e| format!("{e:#}"))?.iter().map(|p| p.pad_before).collect();
    let (in_strides, out_strides) = (strides(input), strides(output));
    let tap_strides = strides(&spec.kernel_shape);
    // By place in the output: which tap falls there, from which place in the input.
    let mut seen: Vec<Vec<(usize, usize)>> = vec![Vec::new(); output.iter().product()];
    for from in 0..input.iter().product::<usize>() {
        for tap in 0..taps {
            let along = |axis: usize| {
                let place = from / in_strides[axis] % input[axis] * spec.stride(axis);
                let step = tap / tap_strides[axis] % spec.kernel_shape[axis] * spec.dilation(axis);
                let at = (place + step).checked_sub(before[axis])?;
                (at < output[axis]).then(|| at * out_strides[axis])
            };
            if let Some(at) = (0..input.len()).map(along).sum::<Option<usize>>() {
                seen[at].push((tap, from));
            }
        }
    }
    let mut sum = LinearCombination::new(data.variables);
    let (in_size, out_size) = (input.iter().product::<usize>(), seen.len());
    let rows = (0..shape[1] * out_size).map(|at| {
        let (channel, place) = (at / out_size, at % out_size);
        let group = channel / outs;
        for i in 0..ins {
            let weights = &kernel.values[(channel * ins + i) * taps..][..taps];
            for &(tap, from) in &seen[place] {
                sum.add(&data.rows[(group * ins + i) * in_size + from], weights[tap]);
            }
        }
        sum.shift(bias.values[if biases == 1 { 0 } else { channel }]);
        sum.finish()
    });
    Ok(AffineTensor { rows: rows.collect(), shape: shape.to_vec(), variables: data.variables })
}
