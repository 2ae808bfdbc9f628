//! Which input to divide a box at: the one whose width makes the relaxation loose.
//!
//! An unstable neuron whose output counts `q` costs at most `|q|` times the gap between its lines and its ReLU, and that gap is there
//! because the neuron's pre-activation has a range. The slopes of the neuron's own line tell how much of the range is due to each input.

use super::network::PaddedNetwork;
use super::push_back::Functions;
use super::state::Boxes;

/// With more inputs, no input is worth a split.
const MOST_INPUTS: usize = 128;

/// Which functions: rows on their own, or combinations of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Rows,
    Combined,
}

/// What scores are made of.
#[derive(Default)]
pub(super) struct InputScores {
    /// The unstable neurons behind the first layer, by box: layer, place, and where the slopes of their upper lines are.
    neurons: Vec<Vec<(usize, usize, usize)>>,
    slopes: Vec<f64>,
    /// For each pass and layer, what each neuron's output counts for in each function.
    coefficients: [Vec<Vec<f64>>; 2],
    /// For each box the function with the largest bound, and this.
    chosen: Vec<Option<((Pass, usize), f64)>>,
}

impl InputScores {
    pub fn begin(&mut self, count: usize) {
        self.neurons.resize_with(self.neurons.len().max(count), Vec::new);
        self.neurons.iter_mut().for_each(Vec::clear);
        self.slopes.clear();
    }

    /// Notes the lines of unstable neurons: every other function is the upper one.
    pub fn keep(
        &mut self,
        network: &PaddedNetwork,
        layer: usize,
        block: &[(usize, usize)],
        functions: &Functions,
    ) {
        let inputs = network.inputs();
        if inputs > MOST_INPUTS {
            return;
        }
        for (k, &(node, j)) in block.iter().enumerate() {
            self.neurons[node].push((layer, j, self.slopes.len()));
            let slopes = &functions.coefficients[2 * k * inputs..(2 * k + 1) * inputs];
            self.slopes.extend(slopes);
        }
    }

    pub fn begin_rows(&mut self, count: usize) {
        self.chosen.clear();
        self.chosen.resize(count, None);
    }

    /// Sees what the outputs of a layer count for.
    pub fn visit(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        pass: Pass,
        layer: usize,
        functions: &Functions,
    ) {
        if network.inputs() > MOST_INPUTS {
            return;
        }
        let coefficients = &mut self.coefficients[pass as usize];
        coefficients.resize_with(boxes.layers.len(), Vec::new);
        coefficients[layer].clone_from(&functions.coefficients);
    }

    /// Notes the function that a question's bound is made of.
    pub fn choose(&mut self, node: usize, function: (Pass, usize), value: f64) {
        if self.chosen[node].is_none_or(|(_, most)| value > most) {
            self.chosen[node] = Some((function, value));
        }
    }

    /// The function with the largest bound.
    pub fn chosen(&self, node: usize) -> Option<(Pass, usize)> {
        self.chosen[node].map(|(function, _)| function)
    }

    /// The scores of a box.
    pub fn of_node(
        &self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        node: usize,
        inputs: usize,
    ) -> Vec<f64> {
        let padded = network.inputs();
        let Some(((pass, column), _)) = self.chosen[node].filter(|_| padded <= MOST_INPUTS) else {
            return Vec::new();
        };
        let mut scores = vec![0.0; inputs];
        let width = |i: usize| boxes.upper[node * padded + i] - boxes.lower[node * padded + i];
        let mut share = |layer: usize, j: usize, slopes: &mut dyn Iterator<Item = f64>| {
            let (of, state) = (&network.layers[layer], &boxes.layers[layer]);
            let at = node * of.padded() + j;
            if state.lift[at] == 0.0 {
                return;
            }
            let q = self.coefficients[pass as usize][layer][column * of.padded() + j];
            let (lower, upper) = (state.lower[at], state.upper[at]);
            let gap = if q > 0.0 { -lower * upper / (upper - lower) } else { upper.min(-lower) };
            let weight = q.abs() * gap / (upper - lower);
            for (i, slope) in slopes.take(inputs).enumerate() {
                scores[i] += weight * slope.abs() * width(i);
            }
        };
        let first = &network.layers[0];
        for j in 0..first.width {
            share(0, j, &mut (0..inputs).map(|i| first.weights.get(j, i)));
        }
        for &(layer, j, at) in &self.neurons[node] {
            share(layer, j, &mut self.slopes[at..at + padded].iter().copied());
        }
        scores
    }
}
