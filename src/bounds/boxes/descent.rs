//! Slopes of lines below ReLUs (α) and multipliers of demanded signs (β), improved for many functions at once.
//!
//! Whatever slopes in [0, 1] and multipliers of at least 0 are, the bound that is made of them holds (α-CROWN, Xu et al. 2021; β-CROWN,
//! Wang et al. 2021): a line `α·g` is below the ReLU, and a neuron that is on has `g ≥ 0`, so that `β·g` may be added to what is above.
//! Every step evaluates its functions with all allowances for rounding, and the least value of all steps counts.
//!
//! The gradient is a forward pass: where a function of the inputs is largest, follow the lines through the layers. What a slope `α` counts
//! for is `q·g`, with the coefficient `q < 0` of the output and the pre-activation `g` there; a multiplier counts for `g` or `−g`.

use pulp::Arch;

use super::cuts::{Largest, PaddedBox, Price};
use super::network::PaddedNetwork;
use super::padded_weights::LANES;
use super::part::BoxPart;
use super::push_back::Functions;
use super::state::Boxes;
use crate::bounds::part::Sign;
use crate::network::NeuronId;

/// How much of it is left at the last step.
const LAST_STEP: f64 = 0.1;

/// The step of multipliers, in units of the largest coefficient of the layer and of the step of slopes.
const MULTIPLIER_STEP: f64 = 0.5;

/// Decay of the mean gradient and of its mean square (Adam, Kingma and Ba 2015): short memories, for a few dozen steps.
const MEMORY: (f64, f64) = (0.8, 0.95);

/// How far functions are improved.
#[derive(Clone, Copy, Debug)]
pub(super) struct DescentOptions {
    /// Evaluations; a step lies between two of them.
    pub evaluations: usize,
    /// The first step of slopes, which are in [0, 1].
    pub step: f64,
    /// Whether the parts' cuts are used.
    pub cuts: bool,
}

/// Functions that are improved, and all memory for it.
#[derive(Default)]
pub(super) struct SlopeDescent {
    layers: Vec<DescentLayer>,
    multipliers: Vec<Multiplier>,
    work: Functions,
    /// A layer's inputs, and its pre-activations, where the functions are largest.
    forward: Vec<f64>,
    pre_activations: Vec<f64>,
    values: Vec<f64>,
    /// The price of a cut for each function, if it has one.
    prices: Vec<Option<Price>>,
    /// The least value of each function.
    pub best: Vec<f64>,
}

/// One entry for each function and neuron.
#[derive(Default)]
struct DescentLayer {
    /// What the outputs count for, in the last evaluation.
    coefficients: Vec<f64>,
    slopes: Vec<f64>,
    mean: Vec<f64>,
    square: Vec<f64>,
}

/// The multiplier of a neuron's sign in one function.
#[derive(Clone, Copy, Debug)]
struct Multiplier {
    function: usize,
    neuron: NeuronId,
    /// 1 if the neuron is on, −1 if it is off.
    sign: f64,
    value: f64,
    /// Whether the value is yet to be made from the line that the neuron had before the sign was demanded.
    is_new: bool,
    mean: f64,
    square: f64,
    step: f64,
    /// The neuron's pre-activation in the last step.
    pre_activation: f64,
}

impl Multiplier {
    /// The first value: that which leaves a negative coefficient `q` with the line `slope·g`, as it was before.
    fn begin(&mut self, q: f64, slope: f64) {
        if std::mem::replace(&mut self.is_new, false) && q < 0.0 {
            self.value = -q * if self.sign > 0.0 { 1.0 - slope } else { slope };
        }
    }

    /// Where it is in a layer so wide.
    fn place(&self, width: usize) -> usize {
        self.function * width + self.neuron.index
    }

    /// The slope of the pre-activation, if the output counts `q`. Rounded or not, it differs from that of a neuron with this sign by
    /// something that has the sign.
    fn slope(&self, q: f64) -> f64 {
        if self.sign > 0.0 { q + self.value } else { -self.value }
    }

    /// The output, given the pre-activation.
    fn output(&self) -> f64 {
        if self.sign > 0.0 { self.pre_activation } else { 0.0 }
    }
}

/// What slopes and multipliers of a function begin with.
pub(super) trait FirstSlopes {
    /// The slopes of a layer's neurons. `default` are those of lines that nobody improved.
    fn slopes(&self, function: usize, layer: usize, default: &[f64], out: &mut [f64]);
    /// The multiplier of the sign that comes as the given one in the list of the part's signs, and then in those of the function. `None` if
    /// it was not demanded before.
    fn multiplier(&self, function: usize, sign: usize) -> Option<f64>;
    /// Signs that are demanded in this function only.
    fn signs(&self, _function: usize) -> &[Sign] {
        &[]
    }
}

/// Nobody knows better.
pub(super) struct DefaultSlopes;

impl FirstSlopes for DefaultSlopes {
    fn slopes(&self, _: usize, _: usize, default: &[f64], out: &mut [f64]) {
        out.copy_from_slice(default);
    }

    fn multiplier(&self, _: usize, _: usize) -> Option<f64> {
        None
    }
}

impl SlopeDescent {
    /// Improves functions of the outputs of hidden layer `layer − 1`. `is_enough` is told the least values so far.
    pub fn run(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        (parts, functions, layer): (&[BoxPart], &Functions, usize),
        first: &impl FirstSlopes,
        options: DescentOptions,
        is_enough: impl Fn(&[f64]) -> bool,
    ) {
        self.begin(network, boxes, parts, functions, layer, first);
        for time in 1..=options.evaluations {
            self.evaluate(network, boxes, functions, layer);
            if options.cuts {
                self.cut(network, boxes, parts);
            }
            for (best, value) in self.best.iter_mut().zip(&self.values) {
                *best = best.min(*value);
            }
            if time == options.evaluations || is_enough(&self.best) {
                break;
            }
            let progress = time as f64 / options.evaluations as f64;
            let pace = options.step * LAST_STEP.powf(progress);
            self.step((network, boxes), parts, layer, time as i32, pace);
        }
    }

    fn begin(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        parts: &[BoxPart],
        functions: &Functions,
        layer: usize,
        first: &impl FirstSlopes,
    ) {
        self.layers.resize_with(network.hidden().max(self.layers.len()), DescentLayer::default);
        self.best.clear();
        self.best.resize(functions.len(), f64::INFINITY);
        self.prices.clear();
        self.prices.resize(functions.len(), None);
        self.multipliers.clear();
        for (k, state) in self.layers[..layer].iter_mut().enumerate() {
            let width = network.layers[k].padded();
            for list in [&mut state.slopes, &mut state.mean, &mut state.square] {
                list.clear();
                list.resize(width * functions.len(), 0.0);
            }
            for (function, &node) in functions.nodes.iter().enumerate() {
                let default = &boxes.layers[k].below[node * width..(node + 1) * width];
                let out = &mut state.slopes[function * width..(function + 1) * width];
                first.slopes(function, k, default, out);
            }
        }
        for (function, &node) in functions.nodes.iter().enumerate() {
            let signs = parts[node].signs.iter().chain(first.signs(function)).enumerate();
            for (k, sign) in signs.filter(|(_, sign)| sign.neuron.layer < layer) {
                self.multipliers.push(Multiplier {
                    function,
                    neuron: sign.neuron,
                    sign: if sign.on { 1.0 } else { -1.0 },
                    value: first.multiplier(function, k).unwrap_or(0.0),
                    is_new: first.multiplier(function, k).is_none(),
                    mean: 0.0,
                    square: 0.0,
                    step: 0.0,
                    pre_activation: 0.0,
                });
            }
        }
        // By layer, the highest first: in this order they are met on the way back.
        self.multipliers.sort_by_key(|multiplier| std::cmp::Reverse(multiplier.neuron.layer));
    }

    /// Bounds the functions with the slopes and multipliers as they are.
    fn evaluate(
        &mut self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        functions: &Functions,
        layer: usize,
    ) {
        self.work.copy_from(functions);
        let mut met = 0;
        for k in (0..layer).rev() {
            let state = &mut self.layers[k];
            state.coefficients.clone_from(&self.work.coefficients);
            let width = network.layers[k].padded();
            let begin = met;
            let of_layer = self.multipliers[met..].iter();
            met += of_layer.take_while(|multiplier| multiplier.neuron.layer == k).count();
            let here = &mut self.multipliers[begin..met];
            for multiplier in &*here {
                self.work.coefficients[multiplier.place(width)] = 0.0;
            }
            self.work.relax_with(network, boxes, k, &state.slopes);
            for multiplier in here {
                if multiplier.step == 0.0 {
                    let begin = multiplier.function * width;
                    let row = &state.coefficients[begin..begin + width];
                    multiplier.step = row.iter().fold(0.0_f64, |most, q| most.max(q.abs()));
                }
                let place = multiplier.place(width);
                multiplier.begin(state.coefficients[place], state.slopes[place]);
                let slope = multiplier.slope(state.coefficients[place]);
                self.work.set_slope(network, boxes, multiplier.function, multiplier.neuron, slope);
            }
            self.work.pull_back(network, k);
        }
        self.work.largest(network, boxes, &mut self.values);
    }

    /// Lowers the functions' values to what the cuts of their parts leave.
    fn cut(&mut self, network: &PaddedNetwork, boxes: &Boxes, parts: &[BoxPart]) {
        let inputs = network.inputs();
        let Self { work, values, prices, .. } = self;
        Arch::new().dispatch(|| {
            for (function, &node) in work.nodes.iter().enumerate() {
                let (here, there) = (function * inputs, node * inputs);
                let slopes = &work.coefficients[here..here + inputs];
                let bounds = PaddedBox {
                    lower: &boxes.lower[there..there + inputs],
                    upper: &boxes.upper[there..there + inputs],
                };
                let mut most: Option<(f64, Option<Price>)> = None;
                for (cut, of) in parts[node].cuts.iter().enumerate() {
                    let first = prices[function].map_or(1.0, |price| price.price);
                    let found = bounds.best_price(slopes, of, first);
                    let value = found.map(|(price, Largest { sum, size, .. })| {
                        let terms = work.sizes[function] + size + price * of.room.abs();
                        let value = work.constants[function]
                            + price * of.room
                            + sum
                            + network.allowance.of(terms);
                        let value = if value.is_nan() { f64::INFINITY } else { value };
                        (value, Some(Price { cut, price }))
                    });
                    let own = (values[function], None);
                    let value = value.filter(|(value, _)| *value < own.0).unwrap_or(own);
                    if most.is_none_or(|(most, _)| value.0 > most) {
                        most = Some(value);
                    }
                }
                if let Some((value, price)) = most {
                    (values[function], prices[function]) = (value, price);
                }
            }
        });
    }

    /// One step downhill.
    fn step(
        &mut self,
        (network, boxes): (&PaddedNetwork, &Boxes),
        parts: &[BoxPart],
        layer: usize,
        time: i32,
        pace: f64,
    ) {
        let inputs = network.inputs();
        self.forward.clear();
        for (function, &node) in self.work.nodes.iter().enumerate() {
            let slopes = &self.work.coefficients[function * inputs..(function + 1) * inputs];
            let lower = &boxes.lower[node * inputs..(node + 1) * inputs];
            let upper = &boxes.upper[node * inputs..(node + 1) * inputs];
            let corner = |i: usize, slope: f64| if slope > 0.0 { upper[i] } else { lower[i] };
            match self.prices[function] {
                None => self.forward.extend((0..inputs).map(|i| corner(i, slopes[i]))),
                Some(Price { cut, price }) => {
                    let cut = &parts[node].cuts[cut].slopes;
                    let slope = |i: usize| slopes[i] + price * cut[i];
                    self.forward.extend((0..inputs).map(|i| corner(i, slope(i))));
                }
            }
        }
        let adam = AdamRates::new(time, pace);
        for k in 0..layer {
            let of = &network.layers[k];
            let width = of.padded();
            self.pre_activations.clear();
            self.pre_activations.resize(width * self.work.len(), 0.0);
            of.weights.multiply(&self.forward, &mut self.pre_activations);
            let Self { layers, work, pre_activations, multipliers, .. } = self;
            pre_activations
                .chunks_exact_mut(width)
                .for_each(|g| g.iter_mut().zip(&of.bias).for_each(|(g, bias)| *g += bias));
            for multiplier in multipliers.iter_mut().filter(|m| m.neuron.layer == k) {
                multiplier.pre_activation = pre_activations[multiplier.place(width)];
                adam.step_multiplier(multiplier);
            }
            let state = &mut layers[k];
            Arch::new().dispatch(|| {
                for (function, &node) in work.nodes.iter().enumerate() {
                    let (here, there) = (function * width, node * width);
                    let lines = ForwardLines {
                        above: &boxes.layers[k].above[there..there + width],
                        below: &boxes.layers[k].below[there..there + width],
                        lift: &boxes.layers[k].lift[there..there + width],
                        coefficients: &state.coefficients[here..here + width],
                        slopes: &mut state.slopes[here..here + width],
                        mean: &mut state.mean[here..here + width],
                        square: &mut state.square[here..here + width],
                    };
                    lines.step(&adam, &mut pre_activations[here..here + width]);
                }
            });
            for multiplier in multipliers.iter().filter(|m| m.neuron.layer == k) {
                pre_activations[multiplier.place(width)] = multiplier.output();
            }
            std::mem::swap(&mut self.forward, &mut self.pre_activations);
        }
    }

    /// What the outputs of a layer count for in a function, in the last evaluation.
    pub fn coefficients(&self, layer: usize, function: usize, width: usize) -> &[f64] {
        &self.layers[layer].coefficients[function * width..(function + 1) * width]
    }

    /// The slopes of a layer in a function, after the last step.
    pub fn slopes(&self, layer: usize, function: usize, width: usize) -> &[f64] {
        &self.layers[layer].slopes[function * width..(function + 1) * width]
    }

    /// The multipliers of a function, with their neurons.
    pub fn multipliers(&self, function: usize) -> impl Iterator<Item = (NeuronId, f64)> + '_ {
        let of_function = move |m: &&Multiplier| m.function == function;
        self.multipliers.iter().filter(of_function).map(|m| (m.neuron, m.value))
    }

    /// The functions of the inputs, as last evaluated.
    pub fn functions(&self) -> &Functions {
        &self.work
    }
}

/// What all numbers of one step have in common.
struct AdamRates {
    step: f64,
    of_mean: f64,
    of_square: f64,
}

impl AdamRates {
    fn new(time: i32, pace: f64) -> Self {
        let (mean, square) = MEMORY;
        Self {
            step: pace,
            of_mean: 1.0 / (1.0 - mean.powi(time)),
            of_square: 1.0 / (1.0 - square.powi(time)),
        }
    }

    /// How far to go, in units of the step.
    #[inline(always)]
    fn advance(&self, gradient: f64, mean: &mut f64, square: &mut f64) -> f64 {
        let (of_mean, of_square) = MEMORY;
        *mean = of_mean * *mean + (1.0 - of_mean) * gradient;
        *square = of_square * *square + (1.0 - of_square) * gradient * gradient;
        *mean * self.of_mean / ((*square * self.of_square).sqrt() + 1e-30) * self.step
    }

    fn step_multiplier(&self, multiplier: &mut Multiplier) {
        let Multiplier { sign, value, mean, square, step, pre_activation, .. } = multiplier;
        let by = self.advance(*sign * *pre_activation, mean, square);
        let next = *value - MULTIPLIER_STEP * *step * by;
        *value = if next > 0.0 { next } else { 0.0 };
    }
}

/// The lines of one layer in one function.
struct ForwardLines<'l> {
    above: &'l [f64],
    below: &'l [f64],
    lift: &'l [f64],
    coefficients: &'l [f64],
    slopes: &'l mut [f64],
    mean: &'l mut [f64],
    square: &'l mut [f64],
}

impl ForwardLines<'_> {
    /// Improves the slopes, and turns pre-activations into what the lines give.
    #[inline(always)]
    fn step(self, adam: &AdamRates, values: &mut [f64]) {
        for (k, values) in values.chunks_exact_mut(LANES).enumerate() {
            let at = k * LANES;
            let chunk = |list: &[f64]| -> [f64; LANES] {
                list[at..at + LANES].try_into().expect("a padded list")
            };
            let (above, below, lift) = (chunk(self.above), chunk(self.below), chunk(self.lift));
            let coefficients = chunk(self.coefficients);
            let (mut slopes, mut mean) = (chunk(self.slopes), chunk(self.mean));
            let mut square = chunk(self.square);
            for lane in 0..LANES {
                let (g, q) = (values[lane], coefficients[lane]);
                let is_free = lift[lane] > 0.0;
                let alpha = slopes[lane];
                let gradient = if is_free && q < 0.0 { q * g } else { 0.0 };
                let by = adam.advance(gradient, &mut mean[lane], &mut square[lane]);
                slopes[lane] = (alpha - by).clamp(0.0, 1.0);
                let line_below = if is_free { alpha } else { below[lane] };
                values[lane] =
                    if q > 0.0 { above[lane] * (g + lift[lane]) } else { line_below * g };
            }
            self.slopes[at..at + LANES].copy_from_slice(&slopes);
            self.mean[at..at + LANES].copy_from_slice(&mean);
            self.square[at..at + LANES].copy_from_slice(&square);
        }
    }
}
