//! Backward linear bounds (CROWN, Zhang et al. 2018) over moves, with every rounding error allowed for.
//!
//! A linear function of a layer's outputs is pushed back towards the input. Where its coefficient of an unstable
//! ReLU is negative it takes a line `α·g` below; where it is positive, the chord above, which goes on through the
//! layers below, or the [envelope](super::envelope), which is a function of the moves already, or a share of each.
//! What arrives is linear in the moves, and the knapsack gives its largest value.
//!
//! The promise: every interval and every bound made here holds for the whole set, and for the exact network or, if asked, for
//! every f32 run of it. Coefficients
//! are taken as the numbers they came out as; what they should have been differs by at most a rounding allowance
//! times the magnitudes that were added up, and these are added up alongside.

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::envelope::Envelopes;
use super::lifted::{Lifted, Portion};
use super::rounding::Allowance;
use super::{Interval, NeuronBounds, Stability};
use crate::budget::Budget;
use crate::input::InputSet;
use crate::network::{self, LayerRounding, Network, NeuronId};

/// Rows bounded at once: enough for the matrix product to be fast, few enough to bound memory.
const BLOCK: usize = 256;

/// From here on sums may overflow f32.
const OVERFLOW: f64 = f32::MAX as f64 / 4.0;

/// From this share of the whole box on, chords alone may be better than envelopes.
const LOOSE_BUDGET: f64 = 0.05;

/// Makes up for a handful of roundings of a factor.
const A_HAIR_MORE: f64 = 1.0 + 8.0 * f64::EPSILON;

/// What lies above unstable ReLUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// Chords alone: CROWN.
    Chords,
    /// Chords and envelopes.
    Envelopes,
}

/// Whose results are bounded.
#[derive(Clone, Copy, Debug)]
pub enum Arithmetic<'a> {
    /// The network as a mathematical function.
    Exact,
    /// The file run in f32, in any order of summation; one rounding record per layer, the output's last.
    F32(&'a [LayerRounding]),
}

/// How one unstable ReLU is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Slope of the line below, in [0, 1].
    pub below: f64,
    /// Share of the envelope above, in [0, 1]; the chord gets the rest.
    pub envelope: f64,
}

/// For every hidden neuron an interval and, if unstable, lines above and below it.
pub struct LinearBounds<'n> {
    pub(super) network: &'n Network,
    pub(super) lifted: Lifted,
    /// The first layer's slopes in moves, and its values at the centre.
    pub(super) first: Arc<Mat<f64>>,
    pub(super) at_centre: Vec<Interval>,
    first_reach: Vec<f64>,
    pub(super) neurons: NeuronBounds,
    pub(super) envelopes: Vec<Envelopes>,
    /// For every layer and neuron at least `Σ |w| |h|`, biases left out; for the first, of the image itself.
    pub(super) magnitudes: Vec<Vec<f64>>,
    /// How far each pre-activation, given its inputs, may be from what the weights say: nothing in exact arithmetic.
    noise: Vec<Vec<f64>>,
    allowance: Allowance,
    above: Above,
    for_f32: bool,
    /// For every layer behind the first, if bounds of parts are to be made from these.
    kept: Option<Vec<Lines>>,
}

/// Linear functions of the moves above and below some neurons of a layer.
#[derive(Default)]
struct Lines {
    neurons: Vec<usize>,
    above: Vec<Functions>,
    below: Vec<Functions>,
}

impl Lines {
    /// Each neuron with the functions above it and above its negative, as blocks and columns in them.
    fn iter(&self) -> impl Iterator<Item = (usize, (&Functions, &Functions), usize)> {
        let blocks = self.above.iter().zip(&self.below);
        let columns = blocks.flat_map(|(above, below)| {
            (0..above.constants.len()).map(move |column| ((above, below), column))
        });
        self.neurons.iter().zip(columns).map(|(&j, (pair, column))| (j, pair, column))
    }
}

/// Linear functions of a layer's outputs, one per column.
pub(super) struct Rows {
    coefficients: Mat<f64>,
    constants: Vec<f64>,
    /// The magnitudes added up so far.
    magnitudes: Vec<f64>,
}

/// Linear functions of the moves that lie above the rows they came from, rounding included.
pub(super) struct Functions {
    pub slopes: Mat<f64>,
    pub constants: Vec<f64>,
}

impl<'n> LinearBounds<'n> {
    /// Bounds all hidden neurons of `network` over `set`; more loosely what is not done when `budget` is spent.
    ///
    /// # Panics
    /// When the rounding records are not those of the network.
    pub fn new(
        network: &'n Network,
        set: &InputSet,
        above: Above,
        arithmetic: Arithmetic,
        budget: &Budget,
    ) -> Self {
        Self::build(network, set, above, arithmetic, budget, None)
    }

    /// The same, ready for [`LinearBounds::within`].
    ///
    /// # Panics
    /// As [`LinearBounds::new`].
    pub fn divisible(
        network: &'n Network,
        set: &InputSet,
        above: Above,
        arithmetic: Arithmetic,
        budget: &Budget,
    ) -> Self {
        Self::build(network, set, above, arithmetic, budget, Some(Vec::new()))
    }

    fn build(
        network: &'n Network,
        set: &InputSet,
        above: Above,
        arithmetic: Arithmetic,
        budget: &Budget,
        kept: Option<Vec<Lines>>,
    ) -> Self {
        let lifted = Lifted::new(set);
        let terms = lifted.len() + network.widths().iter().sum::<usize>();
        let first = lifted.first_layer(network);
        let mut bounds = Self {
            network,
            first_reach: (0..first.ncols()).map(|j| lifted.reach(first.col_as_slice(j))).collect(),
            at_centre: Vec::new(),
            lifted,
            first: Arc::new(first),
            neurons: NeuronBounds { layers: Vec::new() },
            envelopes: Vec::new(),
            magnitudes: Vec::new(),
            noise: Vec::new(),
            allowance: Allowance::f64(terms),
            above,
            for_f32: matches!(arithmetic, Arithmetic::F32(_)),
            kept,
        };
        bounds.first_layer(set.centre(), arithmetic);
        for layer in 1..network.layers().len() {
            bounds.magnitudes.push(bounds.magnitudes_of(layer));
            let below = bounds.neurons.layer(layer - 1);
            let largest = below.iter().fold(0.0, |most, i| i.upper.max(most));
            let magnitudes = &bounds.magnitudes[layer];
            bounds.noise.push(bounds.noise_of(layer, magnitudes, largest, arithmetic));
            if layer < network.hidden().len() {
                bounds.deeper_layer(layer, budget);
            }
        }
        bounds
    }

    /// What lies above unstable ReLUs.
    pub fn above(&self) -> Above {
        self.above
    }

    /// Whether the bounds hold for the network computed in f32, too.
    pub fn for_f32(&self) -> bool {
        self.for_f32
    }

    /// The rounding errors of a layer's own sums: `magnitudes` are those of its products, `largest` that of its inputs.
    fn noise_of(
        &self,
        layer: usize,
        magnitudes: &[f64],
        largest: f64,
        arithmetic: Arithmetic,
    ) -> Vec<f64> {
        let Arithmetic::F32(roundings) = arithmetic else { return vec![0.0; magnitudes.len()] };
        let LayerRounding { gain, offset, operations, .. } = &roundings[layer];
        let allowance = Allowance::f32(*operations);
        let noise = |j: usize| {
            let weights: f64 = self.network.row(layer, j).iter().map(|w| w.abs()).sum();
            // Where folding cancelled numbers, only the sum of their magnitudes is known, not whose they were.
            let cancelled = (gain[j] - weights).max(0.0) + 1e-9 * gain[j];
            let sum = magnitudes[j] + cancelled * largest + offset[j];
            // Partial sums that overflow f32 give anything.
            if sum < OVERFLOW { allowance.of(sum) } else { f64::INFINITY }
        };
        (0..magnitudes.len()).map(noise).collect()
    }

    /// The intervals.
    pub fn neurons(&self) -> &NeuronBounds {
        &self.neurons
    }

    fn first_layer(&mut self, centre: &[f64], arithmetic: Arithmetic) {
        let dense = &self.network.layers()[0];
        let mut values = vec![0.0; dense.outputs()];
        dense.apply(centre, &mut values);
        let magnitude = |j: usize| -> f64 {
            self.network.row(0, j).iter().zip(centre).map(|(w, x)| (w * x).abs()).sum()
        };
        let magnitudes: Vec<f64> = (0..dense.outputs()).map(magnitude).collect();
        let anywhere: Vec<f64> =
            magnitudes.iter().zip(&self.first_reach).map(|(at, reach)| at + reach).collect();
        let largest = self.lifted.largest_input(centre);
        let noise = self.noise_of(0, &anywhere, largest, arithmetic);
        let at_centre = |j: usize| {
            let off = self.allowance.of(magnitudes[j] + dense.bias[j].abs()) + noise[j];
            Interval { lower: values[j] - off, upper: values[j] + off }
        };
        self.at_centre = (0..dense.outputs()).map(at_centre).collect();
        let interval = |j: usize| {
            let up = self.first.col_as_slice(j);
            let down: Vec<f64> = up.iter().map(|v| -v).collect();
            Interval {
                lower: self.at_centre[j].lower - self.lifted.support(&down, |_, _| ()),
                upper: self.at_centre[j].upper + self.lifted.support(up, |_, _| ()),
            }
        };
        let intervals: Vec<Interval> = (0..dense.outputs()).map(interval).map(widest).collect();
        let constants: Vec<f64> = self.at_centre.iter().map(|i| i.upper).collect();
        let all: Vec<(usize, usize)> = (0..dense.outputs()).map(|j| (j, j)).collect();
        self.envelopes.push(self.envelopes_of(&intervals, &all, &self.first, &constants));
        self.magnitudes.push(magnitudes);
        self.noise.push(noise);
        self.neurons.layers.push(intervals);
    }

    fn deeper_layer(&mut self, layer: usize, budget: &Budget) {
        let width = self.network.layers()[layer].outputs();
        let mut intervals: Vec<Interval> =
            (0..width).map(|j| widest(self.plain_interval(layer, j))).collect();
        // What interval arithmetic knows to be stable needs nothing better.
        let open = |j: &usize| intervals[*j].stability() == Stability::Unstable;
        let open: Vec<usize> = (0..width).filter(open).collect();
        let kept = self.above == Above::Envelopes && Envelopes::fit(&self.lifted, open.len());
        let mut slopes = Mat::zeros(self.lifted.len(), if kept { open.len() } else { 0 });
        let (mut constants, mut bounded) = (Vec::new(), Vec::new());
        let mut lines = Lines::default();
        for block in open.chunks(BLOCK) {
            // Without time the looser intervals stay.
            if budget.is_spent() {
                break;
            }
            let uppers = self.best_functions(layer, block, 1.0);
            let lowers = self.best_functions(layer, block, -1.0);
            for (k, &j) in block.iter().enumerate() {
                let (upper, lower) = (uppers.largest[k], -lowers.largest[k]);
                intervals[j] = Interval {
                    lower: lower.max(intervals[j].lower),
                    upper: upper.min(intervals[j].upper),
                };
                if kept {
                    let column = slopes.col_as_slice_mut(bounded.len());
                    column.copy_from_slice(uppers.functions.slopes.col_as_slice(k));
                    constants.push(uppers.functions.constants[k]);
                    bounded.push((j, bounded.len()));
                }
            }
            if self.kept.is_some() {
                lines.neurons.extend(block);
                lines.above.push(uppers.functions);
                lines.below.push(lowers.functions);
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.push(lines);
        }
        self.envelopes.push(self.envelopes_of(&intervals, &bounded, &slopes, &constants));
        self.neurons.layers.push(intervals);
    }

    /// All of the set that these bounds were made for.
    pub fn whole(&self) -> Portion {
        self.lifted.whole()
    }

    /// What a portion is divided into by making at least, or at most, `amount` more of move `k`.
    pub fn divide(&self, portion: &Portion, k: usize, amount: f64) -> [Portion; 2] {
        self.lifted.divide(portion, k, amount)
    }

    /// Bounds over a part of the set: the lines that were proven for all of it, with what they give over the part. Not as good as
    /// bounds made for the part itself, but no layer is pushed back through another.
    ///
    /// # Panics
    /// When these bounds are not [divisible](LinearBounds::divisible).
    pub fn within(&self, portion: &Portion) -> Self {
        let kept = self.kept.as_ref().expect("divisible bounds");
        let lifted = self.lifted.within(portion);
        let at = |slopes: &[f64]| {
            let terms = portion.taken.iter().map(|&(k, amount)| slopes[k] * amount);
            terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()))
        };
        // `constant + slopes · taken`, rounded up.
        let moved = |constant: f64, slopes: &[f64]| {
            let (sum, size) = at(slopes);
            constant + sum + self.allowance.of(constant.abs() + size)
        };
        let largest = |constant: f64, slopes: &[f64]| {
            self.rounded_up(constant + lifted.support(slopes, |_, _| ()))
        };
        let mut part = Self {
            network: self.network,
            first: Arc::clone(&self.first),
            at_centre: self.at_centre.clone(),
            first_reach: self.first_reach.clone(),
            neurons: self.neurons.clone(),
            envelopes: Vec::new(),
            magnitudes: self.magnitudes.clone(),
            noise: self.noise.clone(),
            allowance: self.allowance,
            above: self.above,
            for_f32: self.for_f32,
            kept: None,
            lifted: self.lifted.within(portion),
        };
        let mut constants = Vec::with_capacity(self.at_centre.len());
        let mut unstable = Vec::new();
        for (j, Interval { lower, upper }) in part.at_centre.iter_mut().enumerate() {
            let slopes = self.first.col_as_slice(j);
            let (sum, size) = at(slopes);
            *lower += sum - self.allowance.of(lower.abs() + size);
            *upper = moved(*upper, slopes);
            constants.push(*upper);
            let interval = &mut part.neurons.layers[0][j];
            if interval.stability() == Stability::Unstable {
                let down: Vec<f64> = slopes.iter().map(|v| -v).collect();
                interval.upper = interval.upper.min(largest(*upper, slopes));
                interval.lower = interval.lower.max(-largest(-*lower, &down));
                unstable.push((j, j));
            }
        }
        let of_first =
            part.envelopes_of(&part.neurons.layers[0], &unstable, &self.first, &constants);
        part.envelopes.push(of_first);
        for (layer, lines) in kept.iter().enumerate().map(|(k, lines)| (k + 1, lines)) {
            let mut chosen = Vec::new();
            for (j, (above, below), column) in lines.iter() {
                let interval = &mut part.neurons.layers[layer][j];
                if interval.stability() != Stability::Unstable {
                    continue;
                }
                let slopes = above.slopes.col_as_slice(column);
                let constant = moved(above.constants[column], slopes);
                interval.upper = interval.upper.min(largest(constant, slopes));
                let of_negative = below.slopes.col_as_slice(column);
                let negative = moved(below.constants[column], of_negative);
                interval.lower = interval.lower.max(-largest(negative, of_negative));
                if interval.stability() == Stability::Unstable {
                    chosen.push((j, slopes, constant));
                }
            }
            let width = part.neurons.layers[layer].len();
            part.envelopes.push(match self.above {
                Above::Chords => Envelopes::none(width),
                Above::Envelopes => Envelopes::of_lines(&part.lifted, width, &chosen),
            });
        }
        part
    }

    /// The envelopes of the unstable ones among `bounded` neurons, each with the column of what lies above it.
    fn envelopes_of(
        &self,
        intervals: &[Interval],
        bounded: &[(usize, usize)],
        slopes: &Mat<f64>,
        constants: &[f64],
    ) -> Envelopes {
        if self.above == Above::Chords {
            return Envelopes::none(intervals.len());
        }
        let unstable = |(j, _): &(usize, usize)| intervals[*j].stability() == Stability::Unstable;
        let chosen: Vec<(usize, usize)> = bounded.iter().copied().filter(unstable).collect();
        Envelopes::new(&self.lifted, intervals.len(), &chosen, slopes, constants)
    }

    /// A neuron behind the first layer by interval arithmetic.
    fn plain_interval(&self, layer: usize, j: usize) -> Interval {
        let bias = self.network.layers()[layer].bias[j];
        let (mut lower, mut upper) = (bias, bias);
        for (w, g) in self.network.row(layer, j).iter().zip(self.neurons.layer(layer - 1)) {
            let (least, most) = (g.lower.max(0.0), g.upper.max(0.0));
            lower += w * if *w > 0.0 { least } else { most };
            upper += w * if *w > 0.0 { most } else { least };
        }
        let off = self.allowance.of(self.magnitudes[layer][j] + bias.abs()) + self.noise[layer][j];
        Interval { lower: lower - off, upper: upper + off }
    }

    /// For some neurons of a layer, `sign · g` from above: of several ways to bound the layers below, the best one.
    fn best_functions(&self, layer: usize, block: &[usize], sign: f64) -> Best {
        let mut best: Option<Best> = None;
        // Envelopes everywhere; envelopes in the first layer, chords behind; chords everywhere, which pays when the budget
        // hardly binds.
        let everywhere = usize::MAX;
        let mut ways = match self.above {
            Above::Chords => vec![0],
            Above::Envelopes if layer == 1 => vec![everywhere],
            Above::Envelopes => vec![everywhere, 1],
        };
        if self.above == Above::Envelopes && self.lifted.tightness() > LOOSE_BUDGET {
            ways.push(0);
        }
        for enveloped in ways {
            let rows = self.rows(layer, block, sign);
            let choice = |neuron: NeuronId, _| {
                let share = if neuron.layer < enveloped { 1.0 } else { 0.0 };
                Choice { below: default_slope(self.neurons.get(neuron)), envelope: share }
            };
            let functions = self.push_back(rows, choice, |_, _| ());
            let largest = self.largest(&functions);
            match &mut best {
                None => best = Some(Best { functions, largest }),
                Some(best) => best.improve(&functions, &largest),
            }
        }
        best.expect("there is at least one way")
    }

    /// `sign · g` of some neurons as functions of the outputs of the layer below: exact.
    fn rows(&self, layer: usize, block: &[usize], sign: f64) -> Rows {
        let dense = &self.network.layers()[layer];
        let coefficients = Mat::from_fn(dense.inputs(), block.len(), |i, k| {
            sign * self.network.row(layer, block[k])[i]
        });
        let (bias, noise) = (|j: usize| sign * dense.bias[j], |j: usize| self.noise[layer][j]);
        Rows {
            coefficients,
            constants: block.iter().map(|&j| bias(j) + noise(j)).collect(),
            magnitudes: block.iter().map(|&j| bias(j).abs() + noise(j)).collect(),
        }
    }

    /// `objective · y` as a function of the last hidden layer's outputs.
    pub(super) fn objective_row(&self, objective: &[f64]) -> Rows {
        let output = self.network.output();
        let mut row = vec![0.0; output.inputs()];
        self.network.apply_transposed(self.network.hidden().len(), objective, &mut row);
        let last = self.network.hidden().len();
        let (mut constant, mut magnitude) = (0.0, 0.0);
        for (r, o) in objective.iter().enumerate() {
            let (bias, noise) = (output.bias[r], self.noise[last][r]);
            constant += o * bias + o.abs() * noise;
            magnitude += o.abs() * (bias.abs() + noise + self.magnitudes[last][r]);
        }
        Rows {
            coefficients: Mat::from_fn(row.len(), 1, |i, _| row[i]),
            constants: vec![constant],
            magnitudes: vec![magnitude],
        }
    }

    /// Pushes rows back to the moves. `visit` sees each layer's coefficients on the way.
    pub(super) fn push_back(
        &self,
        rows: Rows,
        choice: impl Fn(NeuronId, usize) -> Choice,
        mut visit: impl FnMut(usize, &Mat<f64>),
    ) -> Functions {
        let Rows { mut coefficients, mut constants, mut magnitudes } = rows;
        let many = constants.len();
        let mut slopes = Mat::zeros(self.lifted.len(), many);
        for layer in (0..self.neurons.hidden()).rev() {
            visit(layer, &coefficients);
            let (intervals, envelopes) = (self.neurons.layer(layer), &self.envelopes[layer]);
            let mut through = coefficients;
            let mut direct = Mat::zeros(envelopes.len(), many);
            for row in 0..many {
                let (mut constant, mut magnitude) = (constants[row], magnitudes[row]);
                let mut add = |term: f64| {
                    constant += term;
                    magnitude += term.abs();
                };
                let mut passed = 0.0;
                for (j, q) in through.col_as_slice_mut(row).iter_mut().enumerate() {
                    let neuron = NeuronId { layer, index: j };
                    match intervals[j].stability() {
                        _ if *q == 0.0 => continue,
                        Stability::On => {}
                        Stability::Off => *q = 0.0,
                        Stability::Unstable if *q < 0.0 => *q *= choice(neuron, row).below,
                        Stability::Unstable => {
                            let mut rest = *q;
                            if let Some(column) = envelopes.column(j) {
                                let share = choice(neuron, row).envelope * *q;
                                // The parts together are at least the whole: a ReLU is never negative.
                                rest = if share >= *q { 0.0 } else { (*q - share) * A_HAIR_MORE };
                                direct[(column, row)] = share;
                                add(share * envelopes.at_centre(column));
                                passed += share * envelopes.reach(column);
                            }
                            let Interval { lower, upper } = intervals[j];
                            let width = upper - lower;
                            let slope = if width.is_finite() { upper / width } else { f64::NAN };
                            *q = rest * (slope * A_HAIR_MORE);
                            add(-*q * lower);
                        }
                    }
                    if layer == 0 {
                        let Interval { lower, upper } = self.at_centre[j];
                        add(*q * if *q > 0.0 { upper } else { lower });
                        passed += q.abs() * self.first_reach[j];
                    } else {
                        add(*q * self.network.layers()[layer].bias[j]);
                        add(q.abs() * self.noise[layer][j]);
                        passed += q.abs() * self.magnitudes[layer][j];
                    }
                }
                (constants[row], magnitudes[row]) = (constant, magnitude + passed);
            }
            add_product(&mut slopes, envelopes.slopes().as_ref(), &direct);
            if layer == 0 {
                add_product(&mut slopes, Mat::as_ref(&self.first), &through);
                break;
            }
            let weights = self.network.transposed(layer);
            coefficients = Mat::zeros(weights.nrows(), many);
            add_product(&mut coefficients, weights, &through);
        }
        for (row, constant) in constants.iter_mut().enumerate() {
            *constant += self.allowance.of(magnitudes[row]);
            // A slope that overflowed may have become anything.
            if !slopes.col_as_slice(row).iter().all(|slope| slope.is_finite()) {
                *constant = f64::INFINITY;
            }
        }
        Functions { slopes, constants }
    }

    fn largest(&self, functions: &Functions) -> Vec<f64> {
        let value = |row: usize| {
            let slopes = functions.slopes.col_as_slice(row);
            functions.constants[row] + self.lifted.support(slopes, |_, _| ())
        };
        (0..functions.constants.len()).map(value).map(|v| self.rounded_up(v)).collect()
    }

    /// The sum of a constant and a support was rounded once more.
    pub(super) fn rounded_up(&self, value: f64) -> f64 {
        let up = self.allowance.up(value);
        if up.is_nan() { f64::INFINITY } else { up }
    }

    /// At least `Σ |w| |h|` for every neuron of a layer behind the first, or every logit.
    fn magnitudes_of(&self, layer: usize) -> Vec<f64> {
        let largest: Vec<f64> =
            self.neurons.layer(layer - 1).iter().map(|i| i.upper.max(0.0)).collect();
        let sum = |j: usize| -> f64 {
            self.network.row(layer, j).iter().zip(&largest).map(|(w, h)| w.abs() * h).sum()
        };
        (0..self.network.layers()[layer].outputs()).map(|j| self.allowance.up(sum(j))).collect()
    }
}

/// Functions and their largest values.
struct Best {
    functions: Functions,
    largest: Vec<f64>,
}

impl Best {
    fn improve(&mut self, functions: &Functions, largest: &[f64]) {
        for (row, &value) in largest.iter().enumerate() {
            if value < self.largest[row] {
                self.largest[row] = value;
                self.functions.constants[row] = functions.constants[row];
                let slopes = functions.slopes.col_as_slice(row);
                self.functions.slopes.col_as_slice_mut(row).copy_from_slice(slopes);
            }
        }
    }
}

/// Whichever of 0 and `g` leaves the smaller triangle above it.
pub(super) fn default_slope(interval: Interval) -> f64 {
    if interval.upper > -interval.lower { 1.0 } else { 0.0 }
}

/// Numbers that overflowed say nothing.
fn widest(interval: Interval) -> Interval {
    let lower = if interval.lower.is_nan() { f64::NEG_INFINITY } else { interval.lower };
    let upper = if interval.upper.is_nan() { f64::INFINITY } else { interval.upper };
    Interval { lower, upper }
}

/// `out += m · weights`. One row's weights are mostly zeros.
fn add_product(out: &mut Mat<f64>, m: MatRef<'_, f64>, weights: &Mat<f64>) {
    if m.ncols() == 0 {
        return;
    }
    if weights.ncols() > 1 {
        matmul(out.as_mut(), Accum::Add, m, weights.as_ref(), 1.0, Par::Seq);
        return;
    }
    network::add_product(m, weights.col_as_slice(0), out.col_as_slice_mut(0));
}
