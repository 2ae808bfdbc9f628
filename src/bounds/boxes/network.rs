//! A network as the bounds over boxes want it: matrices whose sides are multiples of the lanes of a vector, and what rounding needs.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::bounds::linear::Arithmetic;
use crate::network::{Activation, LayerRounding, Network};
use crate::sets::Allowance;
use crate::tolerance;

/// Numbers that a vector register holds, at most. Sides of matrices are multiples of this.
pub(super) const LANES: usize = 8;

/// From here on sums may overflow f32.
const OVERFLOW: f64 = f32::MAX as f64 / 4.0;

/// The next multiple of [`LANES`].
pub(super) fn padded(count: usize) -> usize {
    count.div_ceil(LANES) * LANES
}

/// A network with padded matrices.
pub(super) struct PaddedNetwork {
    pub layers: Vec<PaddedLayer>,
    /// Of sums in f64.
    pub allowance: Allowance,
    pub arithmetic: Arithmetic,
}

/// One layer; what pads it is 0.
pub(super) struct PaddedLayer {
    /// Neurons that are there.
    pub width: usize,
    pub weights: Mat<f64>,
    pub transposed: Mat<f64>,
    pub magnitudes: Mat<f64>,
    pub bias: Vec<f64>,
    pub is_relu: Vec<bool>,
    rounding: Option<SumRounding>,
}

/// What the errors of a layer's sums are made of, by neuron: of the file's run in f32, or of folding its operations into one layer.
struct SumRounding {
    /// By neuron; `None` where nothing is rounded.
    allowances: Vec<Option<Allowance>>,
    may_overflow: bool,
    /// Magnitudes that folding cancelled.
    cancelled: Vec<f64>,
    offset: Vec<f64>,
    reach_gain: Vec<f64>,
    reach_offset: Vec<f64>,
}

impl PaddedNetwork {
    pub fn new(network: &Network, arithmetic: Arithmetic) -> Self {
        let terms = network.widths().iter().sum::<usize>() + network.inputs();
        let layer = |k: usize| PaddedLayer::new(network, k, arithmetic);
        Self {
            layers: (0..network.layers().len()).map(layer).collect(),
            allowance: Allowance::f64(terms),
            arithmetic,
        }
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len() - 1
    }

    /// Inputs, padded.
    pub fn inputs(&self) -> usize {
        self.layers[0].weights.ncols()
    }

    /// The widest layer, padded, inputs included.
    pub fn widest(&self) -> usize {
        self.layers.iter().map(PaddedLayer::padded).fold(self.inputs(), usize::max)
    }

    /// Where a hidden layer's intervals begin in the list of all: its lower bounds, then its upper bounds, as wide as it is padded.
    pub fn offset(&self, layer: usize) -> usize {
        self.layers[..layer].iter().map(|layer| 2 * layer.padded()).sum()
    }
}

impl PaddedLayer {
    fn new(network: &Network, k: usize, arithmetic: Arithmetic) -> Self {
        let map = network.affine(k);
        let (width, inputs) = (map.outputs(), map.inputs());
        let is_there = |i: usize, j: usize| i < width && j < inputs;
        let weight = |i, j| if is_there(i, j) { map.weight(i, j) } else { 0.0 };
        let weights = Mat::from_fn(padded(width), padded(inputs), weight);
        let mut bias = map.bias().to_vec();
        bias.resize(padded(width), 0.0);
        let layer = &network.layers()[k];
        let is_relu = |i| i >= width || layer.activation(i) == Activation::Relu;
        Self {
            width,
            transposed: weights.transpose().to_owned(),
            magnitudes: Mat::from_fn(weights.nrows(), weights.ncols(), |i, j| {
                weights[(i, j)].abs()
            }),
            is_relu: (0..padded(width)).map(is_relu).collect(),
            rounding: SumRounding::new(layer.rounding(), &weights, arithmetic),
            weights,
            bias,
        }
    }

    /// Width, padded.
    pub fn padded(&self) -> usize {
        self.bias.len()
    }

    /// How far the layer's own sums may be off: `magnitude` is that of the products of neuron `j`, `largest` that of its inputs.
    pub fn noise(&self, j: usize, magnitude: f64, largest: f64) -> f64 {
        self.rounding.as_ref().map_or(0.0, |rounding| rounding.noise(j, magnitude, largest))
    }
}

impl SumRounding {
    fn new(rounding: &LayerRounding, weights: &Mat<f64>, arithmetic: Arithmetic) -> Option<Self> {
        let LayerRounding { gain, offset, reach_gain, reach_offset, operations, .. } = rounding;
        if operations.iter().all(|&operations| operations == 0) {
            return None;
        }
        // Where folding cancelled numbers, only the sum of their magnitudes is known, not whose they were.
        let cancelled = |j: usize| {
            let Some(&gain) = gain.get(j) else { return 0.0 };
            let sum: f64 = (0..weights.ncols()).map(|i| weights[(j, i)].abs()).sum();
            (gain - sum).max(0.0) + tolerance::FOLDED_GAIN * gain
        };
        let allowance = |j: usize| match operations.get(j) {
            None | Some(0) => None,
            Some(&operations) => Some(match arithmetic {
                Arithmetic::Exact => Allowance::folded(operations),
                Arithmetic::F32 => Allowance::f32(operations),
            }),
        };
        let wide = |list: &[f64]| {
            let mut list = list.to_vec();
            list.resize(weights.nrows(), 0.0);
            list
        };
        Some(Self {
            allowances: (0..weights.nrows()).map(allowance).collect(),
            may_overflow: arithmetic == Arithmetic::F32,
            cancelled: (0..weights.nrows()).map(cancelled).collect(),
            offset: wide(offset),
            reach_gain: wide(reach_gain),
            reach_offset: wide(reach_offset),
        })
    }

    fn noise(&self, j: usize, magnitude: f64, largest: f64) -> f64 {
        let Some(allowance) = self.allowances[j] else { return 0.0 };
        let sum = magnitude + self.cancelled[j] * largest + self.offset[j];
        let reach = self.reach_gain[j] * largest.max(1.0) + self.reach_offset[j];
        let noise = allowance.of_folding(sum, reach);
        // Intermediate results that overflow f32 give anything.
        let is_small = reach < OVERFLOW;
        let overflows = self.may_overflow && !is_small;
        if overflows || noise.is_nan() { f64::INFINITY } else { noise }
    }
}

/// `out = matrix · block`, columns one after the other.
pub(super) fn multiply(matrix: &Mat<f64>, block: &[f64], out: &mut [f64]) {
    let columns = block.len() / matrix.ncols();
    if columns == 0 {
        return;
    }
    let block = MatRef::from_column_major_slice(block, matrix.ncols(), columns);
    let out = MatMut::from_column_major_slice_mut(out, matrix.nrows(), columns);
    matmul(out, Accum::Replace, matrix.as_ref(), block, 1.0, Par::Seq);
}
