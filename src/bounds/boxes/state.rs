//! What is known of the neurons of several boxes at once: one column for each box.

use super::network::{PaddedLayer, PaddedNetwork};
use crate::bounds::interval::{Interval, Stability};
use crate::bounds::relaxation::RATHER_ON;

/// Makes up for a handful of roundings of a factor.
const A_HAIR_MORE: f64 = 1.0 + 8.0 * f64::EPSILON;

/// Boxes side by side, and their neurons.
#[derive(Default)]
pub(super) struct Boxes {
    /// How many.
    pub count: usize,
    /// The inputs' bounds, padded.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// The hidden layers that were bounded so far, and those of earlier boxes behind them.
    pub layers: Vec<LayerState>,
    /// Boxes in which some neuron's interval is empty.
    pub is_empty: Vec<bool>,
    /// The magnitudes and the noise of the outputs, once the hidden layers are bounded.
    pub outputs: Magnitudes,
    scratch: Scratch,
}

/// The neurons of one layer, padded, box after box.
#[derive(Default)]
pub(super) struct LayerState {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Slope of the line above, where the coefficient is positive.
    pub above: Vec<f64>,
    /// Slope of the line below, where it is negative and nobody proposes another.
    pub below: Vec<f64>,
    /// What the line above adds to the pre-activation: something where the neuron is unstable, 0 where it is not.
    pub lift: Vec<f64>,
    pub magnitudes: Magnitudes,
}

/// What rounding errors of a layer's sums are made of, box after box.
#[derive(Default)]
pub(super) struct Magnitudes {
    /// How far each pre-activation, given its inputs, may be from what the weights say: nothing in exact arithmetic.
    pub noise: Vec<f64>,
    /// At least `Σ |w| |h|`, and the magnitudes of the bias and of the noise.
    pub size: Vec<f64>,
}

/// Intervals of a layer's inputs, as a middle and a radius.
#[derive(Default)]
struct Scratch {
    middle: Vec<f64>,
    radius: Vec<f64>,
    largest: Vec<f64>,
    centre: Vec<f64>,
    spread: Vec<f64>,
    sums: Vec<f64>,
}

impl Boxes {
    /// Begins with other boxes. `bounds` gives the bounds of an input of a box.
    pub fn begin(
        &mut self,
        network: &PaddedNetwork,
        count: usize,
        inputs: usize,
        bounds: impl Fn(usize) -> (f64, f64),
    ) {
        self.count = count;
        let padded = network.inputs();
        for list in [&mut self.lower, &mut self.upper] {
            list.clear();
            list.resize(padded * count, 0.0);
        }
        for node in 0..count {
            for i in 0..inputs {
                (self.lower[node * padded + i], self.upper[node * padded + i]) =
                    bounds(node * inputs + i);
            }
        }
        self.is_empty.clear();
        self.is_empty.resize(count, false);
        self.layers.resize_with(network.hidden(), LayerState::default);
    }

    /// Bounds a hidden layer by interval arithmetic: exact for the first one. `known` gives what is known of a layer of a box: all lower
    /// bounds, then all upper bounds.
    pub fn intervals<'k>(
        &mut self,
        network: &PaddedNetwork,
        layer: usize,
        known: impl Fn(usize) -> Option<&'k [f64]>,
    ) {
        self.take_inputs(network, layer);
        let of = &network.layers[layer];
        let width = of.padded();
        let mut state = std::mem::take(&mut self.layers[layer]);
        self.magnitudes(network, layer, &mut state.magnitudes);
        let Scratch { middle, radius, centre, spread, .. } = &mut self.scratch;
        for list in [&mut *centre, &mut *spread, &mut state.lower, &mut state.upper] {
            list.resize(width * self.count, 0.0);
        }
        of.weights.multiply(middle, centre);
        of.weights.multiply_magnitudes(radius, spread);
        for node in 0..self.count {
            let known = known(node);
            for j in 0..of.width {
                let at = node * width + j;
                let off = spread[at]
                    + network.allowance.of(state.magnitudes.size[at] + spread[at])
                    + state.magnitudes.noise[at];
                let middle = centre[at] + of.bias[j];
                let mut interval =
                    Interval { lower: middle - off, upper: middle + off }.without_nan();
                if let Some(known) = known {
                    interval.tighten(known[j], known[width + j]);
                }
                (state.lower[at], state.upper[at]) = (interval.lower, interval.upper);
            }
            state.lower[node * width + of.width..(node + 1) * width].fill(0.0);
            state.upper[node * width + of.width..(node + 1) * width].fill(0.0);
        }
        self.layers[layer] = state;
        self.find_empty(of, layer);
    }

    /// The magnitudes of the outputs.
    pub fn output_magnitudes(&mut self, network: &PaddedNetwork) {
        let last = network.hidden();
        self.take_inputs(network, last);
        let mut outputs = std::mem::take(&mut self.outputs);
        self.magnitudes(network, last, &mut outputs);
        self.outputs = outputs;
    }

    /// What a layer's inputs may be.
    fn take_inputs(&mut self, network: &PaddedNetwork, layer: usize) {
        let Scratch { middle, radius, largest, .. } = &mut self.scratch;
        for list in [&mut *middle, &mut *radius, &mut *largest] {
            list.clear();
        }
        let mut push = |lower: f64, upper: f64| {
            let half = lower + 0.5 * (upper - lower);
            let reach = (upper - half).max(half - lower);
            middle.push(half);
            radius.push(if reach > 0.0 { reach.next_up() } else { 0.0 });
            largest.push(lower.abs().max(upper.abs()));
        };
        let Some(below) = layer.checked_sub(1) else {
            self.lower.iter().zip(&self.upper).for_each(|(&lower, &upper)| push(lower, upper));
            return;
        };
        let (of, state) = (&network.layers[below], &self.layers[below]);
        let width = of.padded();
        for node in 0..self.count {
            for j in 0..width {
                let (lower, upper) = (state.lower[node * width + j], state.upper[node * width + j]);
                let is_relu = of.is_relu[j];
                let output = |value: f64| if is_relu { value.max(0.0) } else { value };
                push(output(lower), output(upper));
            }
        }
    }

    fn magnitudes(&mut self, network: &PaddedNetwork, layer: usize, out: &mut Magnitudes) {
        let (of, count) = (&network.layers[layer], self.count);
        let (width, inputs) = (of.padded(), of.weights.inputs());
        let Scratch { largest, sums, .. } = &mut self.scratch;
        for list in [&mut *sums, &mut out.noise, &mut out.size] {
            list.clear();
            list.resize(width * count, 0.0);
        }
        of.weights.multiply_magnitudes(largest, sums);
        for node in 0..count {
            let inputs = &largest[node * inputs..(node + 1) * inputs];
            let largest = inputs.iter().fold(0.0_f64, |most, value| most.max(*value));
            for j in 0..of.width {
                let at = node * width + j;
                let magnitude = network.allowance.up(sums[at]);
                out.noise[at] = of.noise(j, magnitude, largest);
                out.size[at] = magnitude + of.bias[j].abs() + out.noise[at];
            }
        }
    }

    /// Notes boxes in which an interval of a layer is empty.
    fn find_empty(&mut self, of: &PaddedLayer, layer: usize) {
        let (width, state) = (of.padded(), &self.layers[layer]);
        for node in 0..self.count {
            let intervals = state.lower[node * width..].iter().zip(&state.upper[node * width..]);
            let crossed = intervals.take(of.width).any(|(lower, upper)| lower > upper);
            self.is_empty[node] |= crossed;
        }
    }

    /// Tightens the interval of a neuron.
    pub fn tighten(&mut self, layer: usize, at: usize, node: usize, lower: f64, upper: f64) {
        let state = &mut self.layers[layer];
        let mut interval = Interval { lower: state.lower[at], upper: state.upper[at] };
        interval.tighten(lower, upper);
        (state.lower[at], state.upper[at]) = (interval.lower, interval.upper);
        self.is_empty[node] |= interval.lower > interval.upper;
    }

    /// Whether a neuron of a box may be on or off.
    pub fn is_unstable(
        &self,
        network: &PaddedNetwork,
        layer: usize,
        node: usize,
        j: usize,
    ) -> bool {
        let (of, state) = (&network.layers[layer], &self.layers[layer]);
        let at = node * of.padded() + j;
        let interval = Interval { lower: state.lower[at], upper: state.upper[at] };
        of.is_relu[j] && interval.stability() == Stability::Unstable
    }

    /// Lines above and below the ReLUs of a layer, as its intervals are now.
    pub fn relax(&mut self, network: &PaddedNetwork, layer: usize) {
        let (of, state) = (&network.layers[layer], &mut self.layers[layer]);
        let width = of.padded();
        for list in [&mut state.above, &mut state.below, &mut state.lift] {
            list.resize(width * self.count, 0.0);
        }
        for at in 0..width * self.count {
            let interval = Interval { lower: state.lower[at], upper: state.upper[at] };
            let stability =
                if of.is_relu[at % width] { interval.stability() } else { Stability::On };
            let Interval { lower, upper } = interval;
            (state.above[at], state.below[at], state.lift[at]) = match stability {
                Stability::On => (1.0, 1.0, 0.0),
                Stability::Off => (0.0, 0.0, 0.0),
                Stability::Unstable => {
                    let range = upper - lower;
                    let chord = if range.is_finite() { upper / range } else { f64::NAN };
                    let below = if upper > -lower * RATHER_ON { 1.0 } else { 0.0 };
                    (chord * A_HAIR_MORE, below, -lower)
                }
            };
        }
    }
}
