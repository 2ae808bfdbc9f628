//! Linear functions of a layer's outputs, pushed back to the inputs of their boxes: many functions of many boxes in one product.
//!
//! Coefficients are taken as the numbers they came out as. What they should have been differs by at most the rounding allowance times the
//! magnitudes that were added up (`Σ |w| |h|`), and these are added up alongside: [`Functions::sizes`].

use pulp::Arch;

use super::network::PaddedNetwork;
use super::padded_weights::LANES;
use super::state::Boxes;
use crate::network::NeuronId;

/// Functions of a layer's outputs, or of the inputs, one column each.
#[derive(Default)]
pub(super) struct Functions {
    /// The box that each is about.
    pub nodes: Vec<usize>,
    pub coefficients: Vec<f64>,
    pub constants: Vec<f64>,
    /// The magnitudes added up so far: what rounding errors are proportional to.
    pub sizes: Vec<f64>,
    spare: Vec<f64>,
}

impl Functions {
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.coefficients.clear();
        self.constants.clear();
        self.sizes.clear();
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds `sign · g` of a neuron as a function of the outputs of the layer below: exact.
    pub fn push_neuron(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        layer: usize,
        (node, j): (usize, usize),
        sign: f64,
    ) {
        let of = &network.layers[layer];
        let noise = boxes.layers[layer].magnitudes.noise[node * of.padded() + j];
        self.nodes.push(node);
        of.weights.push_row(j, sign, &mut self.coefficients);
        self.constants.push(sign * of.bias[j] + noise);
        self.sizes.push(of.bias[j].abs() + noise);
    }

    /// Pushes functions of the outputs of hidden layer `layer − 1` back to the inputs. `visit` sees the coefficients of each layer's outputs.
    pub fn push_back(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        layer: usize,
        mut visit: impl FnMut(usize, &Self),
    ) {
        for layer in (0..layer).rev() {
            visit(layer, self);
            self.relax(network, boxes, layer);
            self.pull_back(network, layer);
        }
    }

    /// Coefficients of pre-activations become those of the outputs below.
    pub fn pull_back(&mut self, network: &PaddedNetwork, layer: usize) {
        let weights = &network.layers[layer].weights;
        self.spare.clear();
        self.spare.resize(weights.inputs() * self.len(), 0.0);
        weights.multiply_transposed(&self.coefficients, &mut self.spare);
        std::mem::swap(&mut self.coefficients, &mut self.spare);
    }

    /// Adds one of other functions.
    pub fn push_copy(&mut self, other: &Self, function: usize) {
        let width = other.coefficients.len() / other.len();
        self.nodes.push(other.nodes[function]);
        self.coefficients
            .extend_from_slice(&other.coefficients[function * width..(function + 1) * width]);
        self.constants.push(other.constants[function]);
        self.sizes.push(other.sizes[function]);
    }

    /// Takes over other functions.
    pub fn copy_from(&mut self, other: &Self) {
        self.nodes.clone_from(&other.nodes);
        self.coefficients.clone_from(&other.coefficients);
        self.constants.clone_from(&other.constants);
        self.sizes.clone_from(&other.sizes);
    }

    /// Gives a neuron's pre-activation a slope. It had none.
    pub fn set_slope(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        function: usize,
        NeuronId { layer, index }: NeuronId,
        slope: f64,
    ) {
        let (of, magnitudes) = (&network.layers[layer], &boxes.layers[layer].magnitudes);
        self.coefficients[function * of.padded() + index] = slope;
        let at = self.nodes[function] * of.padded() + index;
        self.constants[function] += slope * of.bias[index] + slope.abs() * magnitudes.noise[at];
        self.sizes[function] += slope.abs() * magnitudes.size[at];
    }

    /// Coefficients of a layer's outputs become those of its pre-activations.
    fn relax(&mut self, network: &PaddedNetwork, boxes: &Boxes, layer: usize) {
        self.relax_by(network, boxes, layer, None);
    }

    /// The same with slopes of lines below unstable neurons, in [0, 1], one for each coefficient.
    pub fn relax_with(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        layer: usize,
        slopes: &[f64],
    ) {
        self.relax_by(network, boxes, layer, Some(slopes));
    }

    fn relax_by(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        layer: usize,
        slopes: Option<&[f64]>,
    ) {
        let (of, state) = (&network.layers[layer], &boxes.layers[layer]);
        let width = of.padded();
        let Self { nodes, coefficients, constants, sizes, .. } = self;
        Arch::new().dispatch(|| {
            let columns = coefficients.chunks_exact_mut(width).zip(nodes.iter());
            let sums = constants.iter_mut().zip(sizes.iter_mut());
            for (function, ((column, &node), (constant, size))) in columns.zip(sums).enumerate() {
                let here = node * width..(node + 1) * width;
                let below = &state.below[here.clone()];
                let free = slopes.map_or(below, |slopes| &slopes[function * width..][..width]);
                let lines = NodeLines {
                    above: &state.above[here.clone()],
                    below,
                    free,
                    lift: &state.lift[here.clone()],
                    bias: &of.bias,
                    noise: &state.magnitudes.noise[here.clone()],
                    size: &state.magnitudes.size[here],
                };
                let sums = lines.relax(column);
                *constant += sums[0];
                *size += sums[1];
            }
        });
    }
}

/// The lines of one layer of one box.
struct NodeLines<'l> {
    above: &'l [f64],
    below: &'l [f64],
    /// The same for neurons that are unstable.
    free: &'l [f64],
    lift: &'l [f64],
    bias: &'l [f64],
    noise: &'l [f64],
    size: &'l [f64],
}

impl NodeLines<'_> {
    /// Turns coefficients of outputs into slopes of pre-activations. What that adds to the constant, and to the magnitudes.
    #[inline(always)]
    fn relax(&self, column: &mut [f64]) -> [f64; 2] {
        let (mut constants, mut sizes) = ([0.0; LANES], [0.0; LANES]);
        let chunk = |list: &[f64], at: usize| -> [f64; LANES] {
            list[at..at + LANES].try_into().expect("a padded list")
        };
        for (k, column) in column.chunks_exact_mut(LANES).enumerate() {
            let at = k * LANES;
            let (above, below) = (chunk(self.above, at), chunk(self.below, at));
            let (lift, bias) = (chunk(self.lift, at), chunk(self.bias, at));
            let (noise, size) = (chunk(self.noise, at), chunk(self.size, at));
            let free = chunk(self.free, at);
            for lane in 0..LANES {
                let q = column[lane];
                let is_above = q > 0.0;
                let line_below = if lift[lane] > 0.0 { free[lane] } else { below[lane] };
                let slope = q * if is_above { above[lane] } else { line_below };
                let lifted = if is_above { slope * lift[lane] } else { 0.0 };
                let magnitude = slope.abs();
                constants[lane] += slope * bias[lane] + magnitude * noise[lane] + lifted;
                sizes[lane] += magnitude * size[lane] + lifted;
                column[lane] = slope;
            }
        }
        [constants.iter().sum(), sizes.iter().sum()]
    }
}

impl Functions {
    /// The largest values over the boxes, rounded up. The functions are of inputs.
    pub fn largest(&self, network: &PaddedNetwork, boxes: &Boxes, values: &mut Vec<f64>) {
        let inputs = network.inputs();
        values.clear();
        for (column, &node) in self.nodes.iter().enumerate() {
            let slopes = &self.coefficients[column * inputs..(column + 1) * inputs];
            let lower = &boxes.lower[node * inputs..(node + 1) * inputs];
            let upper = &boxes.upper[node * inputs..(node + 1) * inputs];
            let (mut sums, mut sizes) = ([0.0; LANES], [0.0; LANES]);
            let chunks = slopes.chunks_exact(LANES);
            let bounds = lower.chunks_exact(LANES).zip(upper.chunks_exact(LANES));
            for (slopes, (lower, upper)) in chunks.zip(bounds) {
                for lane in 0..LANES {
                    let (low, high) = (slopes[lane] * lower[lane], slopes[lane] * upper[lane]);
                    sums[lane] += if slopes[lane] > 0.0 { high } else { low };
                    sizes[lane] += low.abs().max(high.abs());
                }
            }
            let (sum, size): (f64, f64) = (sums.iter().sum(), sizes.iter().sum());
            let off = network.allowance.of(self.sizes[column] + size);
            let value = self.constants[column] + sum + off;
            values.push(if value.is_nan() { f64::INFINITY } else { value });
        }
    }
}
