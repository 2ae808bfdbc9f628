//! A network over one box in terms of its inputs and of the outputs of its unstable neurons: everything else is linear in these.
//!
//! With `x = centre + radius · ξ` and the output `v = h · (1 + η)` of an unstable neuron, `h` half of its largest value, all `ξ` and `η` are in
//! [−1, 1]. Pre-activations are `constant + coefficients · (ξ, η)` up to an error that is bounded alongside: the noise of the layers' own sums,
//! and the rounding of what is computed here.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use crate::bounds::boxes::network::PaddedNetwork;
use crate::bounds::boxes::push_back::Functions;
use crate::bounds::boxes::state::Boxes;
use crate::network::NeuronId;

/// Sums are made in several steps, from numbers that were rounded before.
const ROUNDED_AGAIN: f64 = 4.0;

/// A linear function of inputs and outputs of unstable neurons.
#[derive(Clone, Debug, Default)]
pub struct CollapsedFunction {
    /// Of the inputs that are not fixed, then of the neurons.
    pub coefficients: Vec<f64>,
    pub constant: f64,
    /// How far it may be off.
    pub error: f64,
}

/// An unstable neuron.
#[derive(Clone, Debug)]
pub struct CollapsedNeuron {
    pub id: NeuronId,
    /// Its pre-activation, of inputs and earlier neurons.
    pub function: CollapsedFunction,
    /// Half of its largest output.
    pub half: f64,
    /// The line above it: slope, and what is added to the pre-activation.
    pub above: f64,
    pub lift: f64,
}

/// The outputs of a layer that are not 0.
struct LayerOutputs {
    /// Their places in the layer.
    neurons: Vec<usize>,
    /// One column each: the inputs' coefficients, the constant, the neurons' coefficients.
    columns: Mat<f64>,
    errors: Vec<f64>,
    /// Magnitudes that were added up.
    sizes: Vec<f64>,
}

/// The network over one box, up to some layer.
pub struct CollapsedBox {
    node: usize,
    /// Inputs that are not fixed, and how far they reach from the middle.
    inputs: Vec<usize>,
    radii: Vec<f64>,
    pub neurons: Vec<CollapsedNeuron>,
    outputs: LayerOutputs,
}

impl CollapsedBox {
    /// The inputs of a box.
    pub fn new(network: &PaddedNetwork, boxes: &Boxes, node: usize) -> Self {
        let padded = network.inputs();
        let range = |i: usize| (boxes.lower[node * padded + i], boxes.upper[node * padded + i]);
        let inputs: Vec<usize> = (0..padded).filter(|&i| range(i).0 < range(i).1).collect();
        let mut columns = Mat::zeros(inputs.len() + 1, padded);
        let mut sizes = Vec::with_capacity(padded);
        for i in 0..padded {
            let (lower, upper) = range(i);
            let centre = lower + 0.5 * (upper - lower);
            columns[(inputs.len(), i)] = centre;
            sizes.push(lower.abs().max(upper.abs()));
        }
        let mut radii = Vec::with_capacity(inputs.len());
        for (row, &i) in inputs.iter().enumerate() {
            let ((lower, upper), centre) = (range(i), columns[(inputs.len(), i)]);
            radii.push((upper - centre).max(centre - lower).next_up());
            columns[(row, i)] = radii[row];
        }
        let errors = vec![0.0; padded];
        let outputs = LayerOutputs { neurons: (0..padded).collect(), columns, errors, sizes };
        Self { node, inputs, radii, neurons: Vec::new(), outputs }
    }

    /// Inputs that are not fixed, and how far they reach from the middle.
    pub fn reaches(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.inputs.iter().copied().zip(self.radii.iter().copied())
    }

    /// Inputs that are not fixed.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Goes on to the outputs of the next hidden layer, whose intervals and lines are there.
    pub fn push_layer(&mut self, network: &PaddedNetwork, boxes: &Boxes, layer: usize) {
        let (of, state) = (&network.layers[layer], &boxes.layers[layer]);
        let begin = self.node * of.padded();
        let is_there = |j: &usize| !of.is_relu[*j] || state.upper[begin + j] > 0.0;
        let there: Vec<usize> = (0..of.width).filter(is_there).collect();
        let mut rows = Vec::new();
        there.iter().for_each(|&j| of.weights.push_row(j, 1.0, &mut rows));
        let terms = there.iter().map(|&j| (of.bias[j], of.bias[j].abs()));
        let mut functions = self.linear(network, &rows, of.weights.inputs(), terms);
        for (function, &j) in functions.iter_mut().zip(&there) {
            function.0.error += state.magnitudes.noise[begin + j];
        }
        let is_free = |j: &&usize| boxes.is_unstable(network, layer, self.node, **j);
        let free = there.iter().filter(is_free).count();
        let mut next = LayerOutputs {
            neurons: there.clone(),
            columns: Mat::zeros(self.inputs.len() + 1 + self.neurons.len() + free, there.len()),
            errors: Vec::new(),
            sizes: Vec::new(),
        };
        let (inputs, before) = (self.inputs.len(), self.neurons.len());
        for (k, (&j, (function, size))) in there.iter().zip(functions).enumerate() {
            let at = begin + j;
            if boxes.is_unstable(network, layer, self.node, j) {
                let half = 0.5 * state.upper[at];
                next.columns[(inputs, k)] = half;
                next.columns[(inputs + 1 + self.neurons.len(), k)] = half;
                next.errors.push(0.0);
                next.sizes.push(state.upper[at]);
                let (above, lift) = (state.above[at], state.lift[at]);
                let id = NeuronId { layer, index: j };
                self.neurons.push(CollapsedNeuron { id, function, half, above, lift });
            } else {
                let column = next.columns.col_as_slice_mut(k);
                column[..inputs].copy_from_slice(&function.coefficients[..inputs]);
                column[inputs] = function.constant;
                column[inputs + 1..inputs + 1 + before]
                    .copy_from_slice(&function.coefficients[inputs..]);
                next.errors.push(function.error);
                next.sizes.push(size);
            }
        }
        self.outputs = next;
    }

    /// Functions of the outputs of the last layer.
    pub fn functions(
        &self,
        network: &PaddedNetwork,
        functions: &Functions,
    ) -> Vec<CollapsedFunction> {
        let width = functions.coefficients.len() / functions.len().max(1);
        let terms = functions.constants.iter().copied().zip(functions.sizes.iter().copied());
        let collapsed = self.linear(network, &functions.coefficients, width, terms);
        collapsed.into_iter().map(|(function, _)| function).collect()
    }

    /// Functions of the outputs of the last layer, as rows with so many coefficients and with constants and their magnitudes. With the
    /// magnitudes that were added up.
    fn linear(
        &self,
        network: &PaddedNetwork,
        rows: &[f64],
        width: usize,
        terms: impl Iterator<Item = (f64, f64)>,
    ) -> Vec<(CollapsedFunction, f64)> {
        let LayerOutputs { neurons, columns, errors, sizes } = &self.outputs;
        let count = rows.len() / width.max(1);
        let weights = Mat::from_fn(neurons.len(), count, |k, row| rows[row * width + neurons[k]]);
        let mut products = Mat::zeros(columns.nrows(), count);
        matmul(&mut products, Accum::Replace, columns, &weights, 1.0, Par::Seq);
        let inputs = self.inputs.len();
        let function = |(row, (constant, magnitude)): (usize, (f64, f64))| {
            let weights = weights.col_as_slice(row).iter();
            let (mut error, mut size) = (0.0, magnitude);
            for ((weight, of_error), of_size) in weights.zip(errors).zip(sizes) {
                error += weight.abs() * of_error;
                size += weight.abs() * of_size;
            }
            let column = products.col_as_slice(row);
            let mut coefficients = column[..inputs].to_vec();
            coefficients.extend(&column[inputs + 1..]);
            let size = network.allowance.up(size);
            let error = network.allowance.up(error) + network.allowance.of(ROUNDED_AGAIN * size);
            let constant = column[inputs] + constant;
            (CollapsedFunction { coefficients, constant, error }, size)
        };
        terms.enumerate().map(function).collect()
    }
}
