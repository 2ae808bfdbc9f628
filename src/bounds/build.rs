//! The intervals of all neurons, layer after layer.

use std::sync::Arc;

use faer::Mat;

use super::envelope::{EnvelopeLine, Envelopes};
use super::functions::{LayerLines, MoveFunctions, NeuronLines, steepest};
use super::interval::{Interval, Stability};
use super::linear::{Arithmetic, FirstLayer, LinearBounds};
use super::neurons::NeuronBounds;
use super::part::{Part, PartSet};
use super::relaxation::UpperRelaxation;
use crate::budget::Budget;
use crate::network::{LayerRounding, Network};
use crate::sets::{Allowance, InputSet, MoveSet};
use crate::tolerance;

/// Rows bounded at once: enough for the matrix product to be fast, few enough to bound memory.
pub(super) const BLOCK: usize = 256;

/// From here on sums may overflow f32.
const OVERFLOW: f64 = f32::MAX as f64 / 4.0;

/// How bounds are made.
struct Build<'b> {
    /// Intervals that hold over the set already.
    known: Option<&'b NeuronBounds>,
    /// Whether to keep the lines.
    keep: bool,
    budget: &'b Budget<'b>,
}

impl LinearBounds {
    /// Bounds all hidden neurons of `network` over `set`; more loosely what is not done when `budget` is spent.
    pub fn new(
        network: &Arc<Network>,
        set: &InputSet,
        above: UpperRelaxation,
        arithmetic: Arithmetic,
        budget: &Budget,
    ) -> Self {
        let set = PartSet { part: Part::whole(), set: set.clone() };
        Self::build(network, set, above, arithmetic, Build { known: None, keep: false, budget })
    }

    /// The same, ready for [`LinearBounds::within`].
    pub fn splittable(
        network: &Arc<Network>,
        set: &InputSet,
        above: UpperRelaxation,
        arithmetic: Arithmetic,
        budget: &Budget,
    ) -> Self {
        let set = PartSet { part: Part::whole(), set: set.clone() };
        Self::build(network, set, above, arithmetic, Build { known: None, keep: true, budget })
    }

    /// Bounds over a part of these bounds' part, as tight as new ones, and not looser than these; ready for [`LinearBounds::within`]. `None` if it
    /// is not a part of it, if neurons' signs lead to it, or if it cannot be told without rounding.
    pub fn of_part(&self, part: &Part, budget: &Budget) -> Option<Self> {
        part.sides_from(self.part())?;
        let set = PartSet { part: part.clone(), set: self.set_of(part)? };
        let build = Build { known: Some(&self.neurons), keep: true, budget };
        Some(Self::build(&self.network, set, self.above, self.arithmetic, build))
    }

    /// Bounds of a network that begins with the layers of these bounds' network, over the same set. Only what is behind them is bounded.
    ///
    /// # Panics
    /// When it begins with other widths.
    pub fn extended(&self, network: &Arc<Network>, budget: &Budget) -> Self {
        let ours = self.network.widths();
        assert!(network.widths().starts_with(&ours), "the same layers to begin with");
        let terms = self.moves.len() + network.widths().iter().sum::<usize>();
        let mut bounds = Self {
            network: Arc::clone(network),
            allowance: Allowance::f64(terms),
            lines: self.lines.clone(),
            ..self.with_neurons(self.neurons.of_longer(network))
        };
        // What gave the logits is hidden now.
        let last = self.network.hidden().len();
        bounds.deeper_layer(last, None, budget);
        bounds.deeper_layers(last + 1, None, budget);
        bounds
    }

    fn build(
        network: &Arc<Network>,
        set: PartSet,
        above: UpperRelaxation,
        arithmetic: Arithmetic,
        build: Build,
    ) -> Self {
        let moves = MoveSet::new(&set.set);
        let terms = moves.len() + network.widths().iter().sum::<usize>();
        let slopes = first_slopes(network, &moves);
        let first = FirstLayer {
            at_centre: Vec::new(),
            reach: (0..slopes.ncols()).map(|j| moves.reach(slopes.col_as_slice(j))).collect(),
            steepest: steepest(&slopes),
            slopes: Arc::new(slopes),
        };
        let mut bounds = Self {
            network: Arc::clone(network),
            neurons: NeuronBounds::new(set.part.clone(), network),
            set: Arc::new(set),
            moves: Arc::new(moves),
            first,
            envelopes: Vec::new(),
            magnitudes: Vec::new(),
            noise: Vec::new(),
            allowance: Allowance::f64(terms),
            above,
            arithmetic,
            lines: build.keep.then(Vec::new),
        };
        bounds.first_layer(build.known);
        bounds.deeper_layers(1, build.known, build.budget);
        bounds
    }

    /// All layers from this one on, the logits included.
    fn deeper_layers(&mut self, first: usize, known: Option<&NeuronBounds>, budget: &Budget) {
        for layer in first..self.network.layers().len() {
            let outputs = self.neurons.outputs(layer - 1).into_iter();
            let outputs: Vec<f64> = outputs.map(Interval::magnitude).collect();
            let magnitudes = self.network.affine(layer).magnitudes(&outputs).into_iter();
            let magnitudes = magnitudes.map(|sum| self.allowance.up(sum)).collect();
            self.magnitudes.push(magnitudes);
            let largest = outputs.into_iter().fold(0.0, f64::max);
            self.noise.push(self.noise_of(layer, &self.magnitudes[layer], largest));
            if layer < self.network.hidden().len() {
                self.deeper_layer(layer, known, budget);
            }
        }
    }

    /// The rounding errors of a layer's own sums: `magnitudes` are those of its products, `largest` that of its inputs.
    fn noise_of(&self, layer: usize, magnitudes: &[f64], largest: f64) -> Vec<f64> {
        let LayerRounding { gain, offset, operations, .. } =
            self.network.layers()[layer].rounding();
        if self.arithmetic == Arithmetic::Exact || *operations == 0 {
            return vec![0.0; magnitudes.len()];
        }
        let allowance = Allowance::f32(*operations);
        let noise = |j: usize| {
            let row = self.network.affine(layer).row(j);
            let weights: f64 = row.map(|(_, weight)| weight.abs()).sum();
            // Where folding cancelled numbers, only the sum of their magnitudes is known, not whose they were.
            let cancelled = (gain[j] - weights).max(0.0) + tolerance::FOLDED_GAIN * gain[j];
            let sum = magnitudes[j] + cancelled * largest + offset[j];
            // Partial sums that overflow f32 give anything.
            if sum < OVERFLOW { allowance.of(sum) } else { f64::INFINITY }
        };
        (0..magnitudes.len()).map(noise).collect()
    }

    fn first_layer(&mut self, known: Option<&NeuronBounds>) {
        let centre = self.set.set.centre();
        let map = self.network.affine(0);
        let mut values = vec![0.0; map.outputs()];
        map.apply(centre, &mut values);
        let magnitudes = map.magnitudes(centre);
        let anywhere: Vec<f64> =
            magnitudes.iter().zip(&self.first.reach).map(|(at, reach)| at + reach).collect();
        let largest = self.moves.largest_input(centre);
        let noise = self.noise_of(0, &anywhere, largest);
        let at_centre = |j: usize| {
            let off = self.allowance.of(magnitudes[j] + map.bias()[j].abs()) + noise[j];
            Interval { lower: values[j] - off, upper: values[j] + off }
        };
        self.first.at_centre = (0..map.outputs()).map(at_centre).collect();
        let interval = |j: usize| {
            let own = self.first_interval(j).without_nan();
            known.map_or(own, |known| own.and(known.layer(0)[j]))
        };
        let intervals: Vec<Interval> = (0..map.outputs()).map(interval).collect();
        let FirstLayer { slopes, at_centre, reach, .. } = &self.first;
        let line = |j: usize| {
            let (constant, reach) = (at_centre[j].upper, reach[j]);
            EnvelopeLine { neuron: j, slopes, column: j, constant, reach }
        };
        let envelopes = self.envelopes_of(0, &intervals, (0..intervals.len()).map(line));
        self.envelopes.push(Arc::new(envelopes.with_dense_slopes(&self.moves)));
        self.magnitudes.push(magnitudes);
        self.noise.push(noise);
        self.neurons.push_layer(intervals);
    }

    /// A neuron of the first layer: what its own slopes give.
    fn first_interval(&self, j: usize) -> Interval {
        let up = self.first.slopes.col_as_slice(j);
        let down: Vec<f64> = up.iter().map(|v| -v).collect();
        Interval {
            lower: self.first.at_centre[j].lower - self.moves.support(&down, |_, _| ()),
            upper: self.first.at_centre[j].upper + self.moves.support(up, |_, _| ()),
        }
    }

    fn deeper_layer(&mut self, layer: usize, known: Option<&NeuronBounds>, budget: &Budget) {
        let width = self.network.layers()[layer].outputs();
        let below = self.neurons.outputs(layer - 1);
        let interval = |j: usize| {
            let plain = self.plain_interval(layer, j, &below).without_nan();
            known.map_or(plain, |known| plain.and(known.layer(layer)[j]))
        };
        let mut intervals: Vec<Interval> = (0..width).map(interval).collect();
        // What is known to be stable needs nothing better.
        let unstable = self.unstable_among(layer, &intervals);
        let enveloped =
            self.above == UpperRelaxation::Envelopes && Envelopes::fit(&self.moves, unstable.len());
        let mut lines = LayerLines::default();
        for block in unstable.chunks(BLOCK) {
            // Without time the looser intervals stay.
            if budget.is_spent() {
                break;
            }
            let uppers = self.best_functions(layer, block, 1.0);
            let lowers = self.best_functions(layer, block, -1.0);
            for (k, &j) in block.iter().enumerate() {
                let (upper, lower) = (uppers.largest[k], -lowers.largest[k]);
                intervals[j] = intervals[j].and(Interval { lower, upper });
            }
            let keep = self.lines.is_some();
            if enveloped || keep {
                let below = if keep { lowers.functions } else { MoveFunctions::none() };
                lines.push(block, uppers.functions, below);
            }
        }
        let of_neuron = |NeuronLines { neuron, above, column, .. }| {
            let reach = self.moves.reach(above.slopes.col_as_slice(column));
            let constant = above.constants[column];
            EnvelopeLine { neuron, slopes: &above.slopes, column, constant, reach }
        };
        let envelopes = self.envelopes_of(layer, &intervals, lines.iter().map(of_neuron));
        self.envelopes.push(Arc::new(envelopes.with_dense_slopes(&self.moves)));
        if let Some(stored) = &mut self.lines {
            stored.push(lines);
        }
        self.neurons.push_layer(intervals);
    }

    /// A neuron behind the first layer by interval arithmetic: `below` is what the outputs of the layer below may be.
    fn plain_interval(&self, layer: usize, j: usize, below: &[Interval]) -> Interval {
        let map = self.network.affine(layer);
        let bias = map.bias()[j];
        let (mut lower, mut upper) = (bias, bias);
        for (i, w) in map.row(j) {
            lower += w * if w > 0.0 { below[i].lower } else { below[i].upper };
            upper += w * if w > 0.0 { below[i].upper } else { below[i].lower };
        }
        let off = self.allowance.of(self.magnitudes[layer][j] + bias.abs()) + self.noise[layer][j];
        Interval { lower: lower - off, upper: upper + off }
    }

    /// The neurons of a layer that are unstable, if these are its intervals.
    pub(super) fn unstable_among(&self, layer: usize, intervals: &[Interval]) -> Vec<usize> {
        let stability = self.neurons.stabilities(layer);
        let unstable = |j: &usize| stability(*j, intervals[*j]) == Stability::Unstable;
        (0..intervals.len()).filter(unstable).collect()
    }

    /// The envelopes of the unstable ones among neurons of a layer with lines above them.
    pub(super) fn envelopes_of<'l>(
        &self,
        layer: usize,
        intervals: &[Interval],
        lines: impl Iterator<Item = EnvelopeLine<'l>>,
    ) -> Envelopes {
        if self.above == UpperRelaxation::Chords {
            return Envelopes::none(intervals.len());
        }
        let stability = self.neurons.stabilities(layer);
        let unstable = |line: &EnvelopeLine| {
            stability(line.neuron, intervals[line.neuron]) == Stability::Unstable
        };
        Envelopes::of_lines(&self.moves, intervals.len(), lines.filter(unstable))
    }
}

/// The first layer's rows in moves: one column per neuron, exact.
fn first_slopes(network: &Network, moves: &MoveSet) -> Mat<f64> {
    let map = network.affine(0);
    let mut slopes = Mat::zeros(moves.len(), map.outputs());
    for j in 0..map.outputs() {
        let row = map.dense_row(j);
        for (slope, m) in slopes.col_as_slice_mut(j).iter_mut().zip(moves.moves().iter()) {
            *slope = m.sign * row[m.pixel];
        }
    }
    slopes
}
