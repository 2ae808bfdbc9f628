//! Convolution and pooling as sparse rows.

use tract_onnx::tract_core::ops::cnn::{Conv, MaxPool, PaddingSpec, PoolSpec, SumPool};

use super::affine::{AffineRow, AffineTensor, FactorShift, LinearCombination};
use super::constant::Constant;
use super::indexing::strides;
use super::limits::{check_sums, check_tensor};
use super::neurons::Neurons;
use super::piecewise::{Extreme, tournament};

/// The output positions of a sliding window and what each one sees.
struct Windows {
    /// Spatial extent of the output.
    extent: Vec<usize>,
    windows: Vec<Window>,
}

/// What one output position sees.
struct Window {
    /// `(kernel tap, spatial offset into the input)` of the taps that fall on the input.
    taps: Vec<(usize, usize)>,
    /// Number of taps on the input and its stated padding: the divisor when padding counts.
    padded: usize,
}

/// Where channels and spatial axes lie in a tensor of the pool's data format.
struct Layout {
    spatial: Vec<usize>,
    spatial_strides: Vec<usize>,
    channel_stride: usize,
}

impl Layout {
    /// # Errors
    /// When the tensor holds more than one image.
    fn new(spec: &PoolSpec, shape: &[usize]) -> Result<Self, String> {
        if spec.data_format.has_n() && shape[0] != 1 {
            return Err(format!("works on a batch of {}", shape[0]));
        }
        let strides = strides(shape);
        let first = spec.data_format.h_axis();
        let axes = first..first + spec.rank();
        let channel = if spec.data_format.c_is_last() {
            shape.len() - 1
        } else {
            usize::from(spec.data_format.has_n())
        };
        Ok(Self {
            spatial: shape[axes.clone()].to_vec(),
            spatial_strides: strides[axes].to_vec(),
            channel_stride: strides[channel],
        })
    }
}

impl Windows {
    fn new(spec: &PoolSpec, input: &Layout) -> Self {
        let padding = spec.computed_padding(&input.spatial);
        let extent: Vec<usize> = padding.iter().map(|p| p.convoluted).collect();
        let mut windows = vec![Window { taps: vec![(0, 0)], padded: 1 }];
        // One axis at a time: the taps of a window are the product of those along its axes.
        for axis in 0..spec.rank() {
            let (kernel, length) = (spec.kernel_shape[axis], input.spatial[axis]);
            let padded_length = match &spec.padding {
                PaddingSpec::ExplicitOnnxPool(before, after, true) => {
                    before[axis] + length + after[axis]
                }
                _ => usize::MAX,
            };
            let along = |position: usize| {
                let start = position * spec.stride(axis);
                let places = (0..kernel).map(move |tap| (tap, start + tap * spec.dilation(axis)));
                let before = padding[axis].pad_before;
                let taps: Vec<(usize, usize)> = places
                    .clone()
                    .filter(|&(_, place)| (before..before + length).contains(&place))
                    .map(|(tap, place)| (tap, (place - before) * input.spatial_strides[axis]))
                    .collect();
                (taps, places.filter(|&(_, place)| place < padded_length).count())
            };
            let along: Vec<_> = (0..extent[axis]).map(along).collect();
            let extend = |window: &Window| {
                let outer = window.taps.clone();
                let padded = window.padded;
                let positions = along.iter().map(move |(taps, padded_here)| {
                    let product = outer.iter().flat_map(|&(tap, offset)| {
                        taps.iter().map(move |&(t, o)| (tap * kernel + t, offset + o))
                    });
                    Window { taps: product.collect(), padded: padded * padded_here }
                });
                positions.collect::<Vec<_>>()
            };
            windows = windows.iter().flat_map(extend).collect();
        }
        Self { extent, windows }
    }
}

/// Puts `of(channel, window)` where the output's layout wants it.
fn place<T: Clone>(
    spec: &PoolSpec,
    data: &AffineTensor,
    shape: &[usize],
    mut of: impl FnMut(usize, &Window, &Layout) -> T,
) -> Result<Vec<T>, String> {
    let (input, output) = (Layout::new(spec, &data.shape)?, Layout::new(spec, shape)?);
    for axis in 0..spec.rank() {
        // Taps are looked at one by one, also those that fall on padding.
        let axes = [spec.kernel_shape[axis], spec.dilation(axis), output.spatial[axis]];
        check_tensor(&axes)?;
    }
    let Windows { extent, windows } = Windows::new(spec, &input);
    if extent != output.spatial {
        return Err(format!("gives {:?} where {extent:?} was expected", output.spatial));
    }
    let within = strides(&extent);
    let mut placed: Vec<Option<T>> = vec![None; shape.iter().product()];
    for (number, window) in windows.iter().enumerate() {
        let coordinates = (0..extent.len()).map(|axis| number / within[axis] % extent[axis]);
        let offset: usize = coordinates.zip(&output.spatial_strides).map(|(x, s)| x * s).sum();
        for channel in 0..spec.output_channels {
            placed[offset + channel * output.channel_stride] = Some(of(channel, window, &input));
        }
    }
    let placed: Option<Vec<T>> = placed.into_iter().collect();
    Ok(placed.ok_or("some of its outputs are not computed")?)
}

/// `kernel` is ordered group, output channel, input channel, taps.
pub(super) fn convolve(
    op: &Conv,
    data: &AffineTensor,
    kernel: &Constant,
    bias: &Constant,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let spec = &op.pool_spec;
    let (out_per_group, in_per_group) =
        (spec.output_channels / op.group, spec.input_channels / op.group);
    let taps: usize = spec.kernel_shape.iter().product();
    if op.q_params.is_some() || kernel.values.len() != spec.output_channels * in_per_group * taps {
        return Err("is not a plain convolution".into());
    }
    let bias_of = |channel: usize| match bias.values.len() {
        1 => bias.values[0],
        _ => bias.values[channel],
    };
    if bias.values.len() != 1 && bias.values.len() != spec.output_channels {
        return Err(format!("has a bias of length {}", bias.values.len()));
    }
    check_sums(shape, in_per_group.saturating_mul(taps), data)?;
    let mut sum = LinearCombination::new(data.variables);
    let rows = place(spec, data, shape, |channel, window, input| {
        let first_input = channel / out_per_group * in_per_group;
        for i in 0..in_per_group {
            let weights = &kernel.values[(channel * in_per_group + i) * taps..][..taps];
            let base = (first_input + i) * input.channel_stride;
            for &(tap, offset) in &window.taps {
                sum.add(&data.rows[base + offset], weights[tap]);
            }
        }
        sum.shift(bias_of(channel));
        sum.finish()
    });
    Ok(AffineTensor { rows: rows?, shape: shape.to_vec(), variables: data.variables })
}

/// Sums over windows; averages when the operator normalises.
pub(super) fn pool(
    op: &SumPool,
    data: &AffineTensor,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let taps = op.pool_spec.kernel_shape.iter().fold(1_usize, |all, &len| all.saturating_mul(len));
    check_sums(shape, taps, data)?;
    let mut sum = LinearCombination::new(data.variables);
    let rows = place(&op.pool_spec, data, shape, |channel, window, input| {
        let count = if op.count_include_pad { window.padded } else { window.taps.len() };
        for &(_, offset) in &window.taps {
            sum.add(&data.rows[channel * input.channel_stride + offset], 1.0);
        }
        let mut row = sum.finish();
        if op.normalize {
            row.scale_shift(FactorShift::quotient(count.max(1) as f64));
        }
        row
    });
    Ok(AffineTensor { rows: rows?, shape: shape.to_vec(), variables: data.variables })
}

/// The largest element of every window; padding counts for nothing.
pub(super) fn max_pool(
    neurons: &mut Neurons,
    op: &MaxPool,
    data: &AffineTensor,
    shape: &[usize],
) -> Result<AffineTensor, String> {
    let windows = place(&op.pool_spec, data, shape, |channel, window, input| {
        let base = channel * input.channel_stride;
        window.taps.iter().map(|&(_, offset)| data.rows[base + offset].clone()).collect()
    });
    let windows: Vec<Vec<AffineRow>> = windows?;
    if windows.iter().any(Vec::is_empty) {
        return Err("has a window that sees nothing but padding".into());
    }
    Ok(tournament(neurons, Extreme::Largest, windows, shape.to_vec()))
}
