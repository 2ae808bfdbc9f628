//! The intervals of all neurons, layer after layer.

use std::cmp::Ordering;
use std::sync::Arc;

use super::bounded_part::{BoundedPart, Cut};
use super::certificate::LineBound;
use super::envelope::{EnvelopeLine, Envelopes, LinePair};
use super::functions::{LayerLines, NeuronLines, StoredFunctions};
use super::guide::{Guide, GuideSource};
use super::guide_maker::GuideMaker;
use super::interval::{Interval, Stability};
use super::linear::{Arithmetic, FirstLayer, LinearBounds};
use super::neurons::NeuronBounds;
use super::part::{Part, PartSet};
use super::relaxation::UpperRelaxation;
use super::slopes::SlopeColumns;
use crate::budget::Budget;
use crate::network::{LayerRounding, Network};
use crate::sets::{Allowance, InputSet, MoveSet};
use crate::tolerance;

/// Rows bounded at once, where there are not too many moves: enough for the matrix product to be fast.
pub(super) const BLOCK: usize = 256;

/// The slopes of rows that are bounded at once take at most so many numbers (16 MB): four such blocks are in memory at a time.
const BLOCK_NUMBERS: usize = 2 << 20;

/// The fewest rows that are bounded at once.
const SMALLEST_BLOCK: usize = 32;

/// From here on sums may overflow f32.
const OVERFLOW: f64 = f32::MAX as f64 / 4.0;

/// Lines and envelopes of all layers may always take so many numbers: 128 MB.
const FEWEST_NUMBERS: usize = 16 << 20;

/// Puts intervals first whose chords are furthest above the ReLU.
fn by_gap(a: Interval, b: Interval) -> Ordering {
    let gap = |Interval { lower, upper }: Interval| -lower * upper / (upper - lower);
    gap(b).total_cmp(&gap(a))
}

/// How bounds are made.
struct Build<'b> {
    /// Intervals that hold over the set already.
    known: Option<&'b Arc<BoundedPart>>,
    guide: GuideSource<'b>,
    wanted: Option<Arc<[bool]>>,
    /// Whether to keep the lines.
    keep: bool,
    budget: &'b Budget<'b>,
}

impl<'b> Build<'b> {
    /// From nothing.
    fn new(keep: bool, budget: &'b Budget<'b>) -> Self {
        Self { known: None, guide: GuideSource::None, wanted: None, keep, budget }
    }
}

/// What bounds of a part begin with.
#[derive(Clone, Copy, Debug)]
pub struct PartStart<'p> {
    /// What is known of the neurons in the part, or in one that it is a part of.
    pub known: &'p Arc<BoundedPart>,
    /// The lines of lower neurons.
    pub guide: GuideSource<'p>,
    /// If this is all that will be bounded in the part, neurons that it takes with a negative coefficient need no interval.
    pub only_for: Option<&'p [f64]>,
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
        Self::build(network, set, above, arithmetic, Build::new(false, budget))
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
        Self::build(network, set, above, arithmetic, Build::new(true, budget))
    }

    /// Bounds over a part of these bounds' part, as tight as new ones, and not looser than what is known; ready for [`LinearBounds::within`].
    /// `None` if it is not a part of both, if neurons' signs lead to it, or if it cannot be told without rounding.
    pub fn of_part(&self, part: &Part, start: &PartStart, budget: &Budget) -> Option<Self> {
        part.sides_from(self.part())?;
        part.sides_from(start.known.part())?;
        let set = PartSet { part: part.clone(), set: self.set_of(part)? };
        let (known, guide) = (Some(start.known), start.guide);
        let wanted = start.only_for.map(|objective| self.wanted_for(objective));
        let build = Build { known, guide, wanted, keep: true, budget };
        // With the same moves, places of moves mean the same in the part as in its set.
        let has_same_moves = set.set.moves().len() == self.moves.len();
        if self.moves.has_constraints() || !has_same_moves {
            return Some(Self::build(&self.network, set, self.above, self.arithmetic, build));
        }
        let first_layer =
            self.first_layer_of_part(set, start.known.neurons(), build.wanted.clone())?;
        Some(first_layer.with_deeper_layers(build))
    }

    /// Bounds over the same part once more, with lines that are tight where a bound that was made of these is attained. `None` where that does not
    /// help: no budget binds, or there is one hidden layer only.
    pub fn guided_by(&self, bound: &LineBound, objective: &[f64], budget: &Budget) -> Option<Self> {
        if !self.uses_theta() || self.neurons.hidden() < 2 || budget.is_spent() {
            return None;
        }
        let point = bound.point(self.set());
        let (known, guide) = (self.bounded_part(), GuideSource::Point(&point));
        let start = PartStart { known, guide, only_for: Some(objective) };
        self.of_part(self.part(), &start, budget)
    }

    /// The neurons of the last hidden layer whose output the objective takes with a positive coefficient: the line below the others needs no
    /// interval.
    fn wanted_for(&self, objective: &[f64]) -> Arc<[bool]> {
        let output = self.network.output().affine();
        let mut row = vec![0.0; output.inputs()];
        output.apply_transposed(objective, &mut row);
        row.iter().map(|q| *q > 0.0).collect()
    }

    /// Bounds of a network that begins with the layers of these bounds' network, over the same set. Only what is behind them is bounded.
    ///
    /// # Panics
    /// When it begins with other widths, or these bounds are behind a cut.
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
        for envelopes in &mut bounds.envelopes {
            *envelopes = Arc::new(Envelopes::clone(envelopes).with_dense_slopes(&self.moves));
        }
        bounds.deeper_layer(last, None, budget);
        bounds.deeper_layers(last + 1, None, &GuideMaker::None, budget);
        bounds.finish(None, None)
    }

    /// The same, once all layers are bounded.
    pub(super) fn finish(mut self, parent: Option<&Arc<BoundedPart>>, cut: Option<Cut>) -> Self {
        let guide = (!self.guide.layers.is_empty()).then(|| self.guide.clone());
        let bounded = BoundedPart::new(parent.cloned(), self.neurons.clone(), guide, cut);
        self.bounded = Some(Arc::new(bounded));
        self
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
        let slopes = SlopeColumns::of_first_layer(network.affine(0), &moves);
        let first = FirstLayer {
            at_centre: Vec::new(),
            reach: (0..slopes.len()).map(|j| moves.reach(&slopes.column(j))).collect(),
            steepest: slopes.steepest(),
            slopes: Arc::new(slopes),
        };
        let mut bounds = Self {
            network: Arc::clone(network),
            neurons: NeuronBounds::new(set.part.clone(), network)
                .toward(build.known.and_then(|known| known.neurons().goal())),
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
            guide: Guide::default(),
            wanted: build.wanted.clone(),
            bounded: None,
        };
        bounds.first_layer(build.known.map(|known| known.neurons()));
        bounds.with_deeper_layers(build)
    }

    /// All layers, once the first one is bounded.
    fn with_deeper_layers(mut self, build: Build) -> Self {
        let guide = GuideMaker::new(&self, build.guide);
        let known = build.known.map(|known| known.neurons());
        self.deeper_layers(1, known, &guide, build.budget);
        self.finish(build.known, None)
    }

    /// All layers from this one on, the logits included.
    fn deeper_layers(
        &mut self,
        first: usize,
        known: Option<&NeuronBounds>,
        guide: &GuideMaker,
        budget: &Budget,
    ) {
        for layer in first..self.network.layers().len() {
            if guide.is_some() && layer < self.network.hidden().len() {
                let lines = guide.layer(self, layer - 1);
                self.guide.layers.push(lines);
            }
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

    /// What a layer's own sums may be off by: `magnitudes` are those of its products, `largest` that of its inputs. The file's operations were
    /// folded into one map, nearly exactly; in f32 they are rounded one by one (docs/certificates.md, "Rounding").
    fn noise_of(&self, layer: usize, magnitudes: &[f64], largest: f64) -> Vec<f64> {
        let rounding = self.network.layers()[layer].rounding();
        let LayerRounding { gain, offset, reach_gain, reach_offset, operations, .. } = rounding;
        let noise = |j: usize| {
            if operations[j] == 0 {
                return 0.0;
            }
            let weights = self.network.layers()[layer].weight_sums()[j];
            // Where folding cancelled numbers, only the sum of their magnitudes is known, not whose they were.
            let cancelled = (gain[j] - weights).max(0.0) + tolerance::FOLDED_GAIN * gain[j];
            let sum = magnitudes[j] + cancelled * largest + offset[j];
            let reach = reach_gain[j] * largest.max(1.0) + reach_offset[j];
            let noise = match self.arithmetic {
                Arithmetic::Exact => Allowance::folded(operations[j]).of_folding(sum, reach),
                // Intermediate results that overflow f32 give anything.
                Arithmetic::F32 if reach < OVERFLOW => {
                    Allowance::f32(operations[j]).of_folding(sum, reach)
                }
                Arithmetic::F32 => f64::INFINITY,
            };
            if noise.is_nan() { f64::INFINITY } else { noise }
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
        let envelopes = self.first_envelopes(&intervals);
        self.envelopes.push(Arc::new(envelopes));
        self.magnitudes.push(magnitudes);
        self.noise.push(noise);
        self.neurons.push_layer(intervals);
    }

    /// The envelopes of the first layer, if these are its intervals.
    pub(super) fn first_envelopes(&self, intervals: &[Interval]) -> Envelopes {
        let FirstLayer { slopes, at_centre, reach, .. } = &self.first;
        let line = |j: usize| {
            let (slopes, constant, reach) = (Arc::clone(slopes), at_centre[j].upper, reach[j]);
            let above = EnvelopeLine { slopes, column: j, constant, reach };
            LinePair { neuron: j, above, below: None }
        };
        let envelopes = self.envelopes_of(0, intervals, (0..intervals.len()).map(line));
        envelopes.with_dense_slopes(&self.moves)
    }

    /// A neuron of the first layer: what its own slopes give.
    fn first_interval(&self, j: usize) -> Interval {
        let up = self.first.slopes.column(j);
        let down: Vec<f64> = up.iter().map(|v| -v).collect();
        Interval {
            lower: self.first.at_centre[j].lower - self.moves.support(&down, |_, _| ()),
            upper: self.first.at_centre[j].upper + self.moves.support(&up, |_, _| ()),
        }
    }

    fn deeper_layer(&mut self, layer: usize, known: Option<&NeuronBounds>, budget: &Budget) {
        let width = self.network.layers()[layer].outputs();
        let below = self.neurons.outputs(layer - 1);
        let mut intervals: Vec<Interval> = {
            let stability = self.neurons.stabilities(layer);
            let plain = self.plain_intervals(layer, &below);
            let interval = |j: usize| match known.map(|known| known.layer(layer)[j]) {
                // What is known to be stable needs nothing better.
                Some(known) if stability(j, known) != Stability::Unstable => known,
                known => {
                    let plain = plain[j].without_nan();
                    known.map_or(plain, |known| plain.and(known))
                }
            };
            (0..width).map(interval).collect()
        };
        let mut unstable = self.wanted_among(layer, &intervals);
        let mut ways = self.ways(layer);
        let (most_numbers, mut left) = (self.most_numbers(), self.most_neurons(layer));
        let numbers = self.moves.len().saturating_mul(2 * unstable.len());
        if numbers > most_numbers || unstable.len() * ways.len() > left {
            unstable.sort_by(|&a, &b| by_gap(intervals[a], intervals[b]).then(a.cmp(&b)));
        }
        let enveloped = self.above == UpperRelaxation::Envelopes;
        let mut lines = LayerLines::default();
        let mut rest = &unstable[..];
        loop {
            // The first neurons show which ways are worth it.
            let most = if ways.len() > 1 && rest.len() == unstable.len() {
                SMALLEST_BLOCK
            } else {
                self.block_rows()
            };
            let (block, others) = rest.split_at(most.min(left / ways.len()).min(rest.len()));
            // Without time, or when enough was multiplied, the looser intervals stay.
            if block.is_empty() || budget.is_spent() {
                break;
            }
            (rest, left) = (others, left - block.len() * ways.len());
            let [uppers, lowers] = self.best_lines(&mut ways, layer, block);
            for (k, &j) in block.iter().enumerate() {
                let (upper, lower) = (uppers.largest[k], -lowers.largest[k]);
                intervals[j] = intervals[j].and(Interval { lower, upper });
            }
            // A neuron without lines has a chord, and keeps its interval in parts.
            if (enveloped || self.lines.is_some()) && lines.numbers() < most_numbers {
                lines.push(block, uppers.functions, lowers.functions);
            }
        }
        let envelopes = self.deeper_envelopes(layer, &intervals, &lines);
        self.envelopes.push(Arc::new(envelopes));
        if let Some(stored) = &mut self.lines {
            stored.push(lines);
        }
        self.neurons.push_layer(intervals);
    }

    /// Rows bounded at once.
    pub(super) fn block_rows(&self) -> usize {
        (BLOCK_NUMBERS / self.moves.len().max(1)).clamp(SMALLEST_BLOCK, BLOCK)
    }

    /// The envelopes of a layer behind the first, if these are its intervals.
    pub(super) fn deeper_envelopes(
        &self,
        layer: usize,
        intervals: &[Interval],
        lines: &LayerLines,
    ) -> Envelopes {
        let of_neuron = |NeuronLines { neuron, above, below, column }| {
            let line = |of: &StoredFunctions| EnvelopeLine {
                slopes: Arc::clone(&of.slopes),
                column,
                constant: of.constants[column],
                reach: self.moves.reach(&of.slopes.column(column)),
            };
            let below = self.uses_theta().then(|| line(below));
            LinePair { neuron, above: line(above), below }
        };
        let envelopes = self.envelopes_of(layer, intervals, lines.iter().map(of_neuron));
        // Those of the last layer are used by the objective alone, with a θ each.
        if self.uses_theta() && layer + 1 == self.network.hidden().len() {
            return envelopes;
        }
        envelopes.with_dense_slopes(&self.moves)
    }

    /// The neurons of a layer behind the first by interval arithmetic: `below` is what the outputs of the layer below may be.
    fn plain_intervals(&self, layer: usize, below: &[Interval]) -> Vec<Interval> {
        let map = self.network.affine(layer);
        let (least, most): (Vec<f64>, Vec<f64>) = below.iter().map(|h| (h.lower, h.upper)).unzip();
        let [lower, upper] = map.range(&least, &most);
        let interval = |j: usize| {
            let magnitude = self.magnitudes[layer][j] + map.bias()[j].abs();
            let off = self.allowance.of(magnitude) + self.noise[layer][j];
            Interval { lower: lower[j] - off, upper: upper[j] + off }
        };
        (0..map.outputs()).map(interval).collect()
    }

    /// The neurons of a layer that are unstable, if these are its intervals.
    pub(super) fn unstable_among(&self, layer: usize, intervals: &[Interval]) -> Vec<usize> {
        let stability = self.neurons.stabilities(layer);
        let unstable = |j: &usize| stability(*j, intervals[*j]) == Stability::Unstable;
        (0..intervals.len()).filter(unstable).collect()
    }

    /// Those of them that need an interval.
    pub(super) fn wanted_among(&self, layer: usize, intervals: &[Interval]) -> Vec<usize> {
        let mut unstable = self.unstable_among(layer, intervals);
        unstable.retain(|&j| self.wants(layer, j));
        unstable
    }

    /// The envelopes of the unstable ones among neurons of a layer with lines above them.
    pub(super) fn envelopes_of(
        &self,
        layer: usize,
        intervals: &[Interval],
        lines: impl Iterator<Item = LinePair>,
    ) -> Envelopes {
        if self.above == UpperRelaxation::Chords {
            return Envelopes::none(intervals.len());
        }
        let stability = self.neurons.stabilities(layer);
        let unstable =
            |pair: &LinePair| stability(pair.neuron, intervals[pair.neuron]) == Stability::Unstable;
        let mut lines: Vec<LinePair> = lines.filter(unstable).collect();
        let (most, numbers) = (self.most_numbers(), |pair: &LinePair| pair.above.numbers());
        if lines.iter().map(numbers).sum::<usize>() > most {
            lines.sort_by(|a, b| by_gap(intervals[a.neuron], intervals[b.neuron]));
            let mut left = most;
            let fits = |pair: &LinePair| {
                let numbers = numbers(pair);
                let fits = numbers <= left;
                left -= if fits { numbers } else { 0 };
                fits
            };
            lines.retain(fits);
        }
        Envelopes::of_lines(&self.moves, intervals.len(), lines)
    }

    /// The most numbers that lines or envelopes of one layer may take: of all layers together as many as the network has weights, or
    /// 128 MB if that is more. Neurons whose chords are loosest get them; the others are bounded by chords.
    fn most_numbers(&self) -> usize {
        self.network.parameters().max(FEWEST_NUMBERS) / self.network.hidden().len()
    }
}
