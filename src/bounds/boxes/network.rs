//! A network as the bounds over boxes want it: matrices whose sides are multiples of the lanes of a vector, and what rounding needs.

use super::padded_weights::{PaddedWeights, padded};
use crate::bounds::linear::Arithmetic;
use crate::network::{Activation, AffineMap, LayerRounding, Network};
use crate::sets::Allowance;
use crate::tolerance;

/// From here on sums may overflow f32.
const OVERFLOW: f64 = f32::MAX as f64 / 4.0;

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
    pub weights: PaddedWeights,
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
        self.layers[0].weights.inputs()
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
        let width = map.outputs();
        let mut bias = map.bias().to_vec();
        bias.resize(padded(width), 0.0);
        let layer = &network.layers()[k];
        let is_relu = |i| i >= width || layer.activation(i) == Activation::Relu;
        Self {
            width,
            is_relu: (0..padded(width)).map(is_relu).collect(),
            rounding: SumRounding::new(layer.rounding(), map, arithmetic),
            weights: PaddedWeights::new(map),
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
    fn new(rounding: &LayerRounding, map: &AffineMap, arithmetic: Arithmetic) -> Option<Self> {
        let LayerRounding { gain, offset, reach_gain, reach_offset, operations, .. } = rounding;
        if operations.iter().all(|&operations| operations == 0) {
            return None;
        }
        // Where folding cancelled numbers, only the sum of their magnitudes is known, not whose they were.
        let cancelled = |j: usize| {
            let Some(&gain) = gain.get(j) else { return 0.0 };
            let sum: f64 = map.row(j).map(|(_, weight)| weight.abs()).sum();
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
            list.resize(padded(map.outputs()), 0.0);
            list
        };
        Some(Self {
            allowances: (0..padded(map.outputs())).map(allowance).collect(),
            may_overflow: arithmetic == Arithmetic::F32,
            cancelled: (0..padded(map.outputs())).map(cancelled).collect(),
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
