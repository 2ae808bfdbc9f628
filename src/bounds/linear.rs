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

use super::certified::EmptyPart;
use super::envelope::{self, Envelopes};
use super::interval::{Interval, Stability};
use super::neurons::NeuronBounds;
use super::part::{Part, PartSet, PixelPart, Sign, SplitSide};
use crate::budget::Budget;
use crate::network::{self, AffineMap, LayerRounding, Network, NeuronId};
use crate::sets::{Allowance, InputSet, MoveSet};

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
pub enum UpperRelaxation {
    /// Chords alone: CROWN.
    Chords,
    /// Chords and envelopes.
    Envelopes,
}

/// Whose results are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// The network as a mathematical function.
    Exact,
    /// The file run in f32, in any order of summation.
    F32,
}

/// How one ReLU is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// An unstable one by lines, a stable one by what it is.
    Lines {
        /// Slope of the line below, in [0, 1].
        below: f64,
        /// Share of the envelope above, in [0, 1]; the chord gets the rest.
        envelope: f64,
    },
    /// By multipliers: any numbers will do, those of an LP are the best.
    Duals(NeuronDuals),
}

/// The multipliers of a neuron.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NeuronDuals {
    /// Of its pre-activation, on top of the coefficient where it is on. That is also how a sign counts that is demanded of it.
    pub multiplier: f64,
    /// How much of its output is bounded by its envelope; at least 0.
    pub envelope: f64,
}

/// What a bound by weak duality is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Multipliers {
    /// Of the neurons, one list per hidden layer.
    pub neurons: Vec<Vec<NeuronDuals>>,
    /// Of the set's constraints, if it has any: positive against upper sides, negative against lower ones.
    pub prices: Vec<f64>,
}

/// For every hidden neuron an interval and, if unstable, lines above and below it.
pub struct LinearBounds {
    pub(super) network: Arc<Network>,
    /// What the neurons were bounded over from the start. These may be bounds of a part of it.
    set: Arc<PartSet>,
    pub(super) moves: Arc<MoveSet>,
    /// The first layer's slopes in moves, and its values at the centre.
    pub(super) first: Arc<Mat<f64>>,
    pub(super) at_centre: Vec<Interval>,
    first_reach: Vec<f64>,
    /// The largest magnitude of a slope, by neuron.
    first_steepest: Vec<f64>,
    pub(super) neurons: NeuronBounds,
    pub(super) envelopes: Vec<Arc<Envelopes>>,
    /// For every layer and neuron at least `Σ |w| |h|`, biases left out; for the first, of the image itself.
    pub(super) magnitudes: Vec<Vec<f64>>,
    /// How far each pre-activation, given its inputs, may be from what the weights say: nothing in exact arithmetic.
    noise: Vec<Vec<f64>>,
    allowance: Allowance,
    above: UpperRelaxation,
    arithmetic: Arithmetic,
    /// For every layer behind the first, if bounds of parts are to be made from these.
    kept: Option<Vec<Lines>>,
}

/// How bounds are made.
struct Build<'b> {
    /// Intervals that hold over the set already.
    known: Option<&'b NeuronBounds>,
    /// Whether to keep the lines.
    keep: bool,
    budget: &'b Budget<'b>,
}

/// Linear functions of the moves above and below some neurons of a layer.
#[derive(Default)]
struct Lines {
    neurons: Vec<usize>,
    above: Vec<StoredFunctions>,
    below: Vec<StoredFunctions>,
}

/// Linear functions that stay.
struct StoredFunctions {
    slopes: Arc<Mat<f64>>,
    constants: Vec<f64>,
    /// The largest magnitude of a slope, by function.
    steepest: Vec<f64>,
}

impl From<MoveFunctions> for StoredFunctions {
    fn from(MoveFunctions { slopes, constants }: MoveFunctions) -> Self {
        let steepest = (0..slopes.ncols()).map(|j| steepest(slopes.col_as_slice(j))).collect();
        Self { slopes: Arc::new(slopes), constants, steepest }
    }
}

fn steepest(slopes: &[f64]) -> f64 {
    slopes.iter().fold(0.0_f64, |most, v| most.max(v.abs()))
}

impl Lines {
    /// Each neuron with the functions above it and above its negative, as blocks and columns in them.
    fn iter(&self) -> impl Iterator<Item = (usize, (&StoredFunctions, &StoredFunctions), usize)> {
        let blocks = self.above.iter().zip(&self.below);
        let columns = blocks.flat_map(|(above, below)| {
            (0..above.constants.len()).map(move |column| ((above, below), column))
        });
        self.neurons.iter().zip(columns).map(|(&j, (pair, column))| (j, pair, column))
    }
}

/// Linear functions of a layer's outputs, one per column.
pub(super) struct LayerFunctions {
    /// The hidden layers up to that one.
    layers: usize,
    coefficients: Mat<f64>,
    constants: Vec<f64>,
    /// The magnitudes added up so far.
    magnitudes: Vec<f64>,
}

/// Linear functions of the moves that lie above the rows they came from, rounding included.
pub(super) struct MoveFunctions {
    pub slopes: Mat<f64>,
    pub constants: Vec<f64>,
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
    ///
    /// # Panics
    /// As [`LinearBounds::new`].
    pub fn divisible(
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

    /// The part of the set that these bounds hold in.
    pub fn part(&self) -> &Part {
        self.neurons.part()
    }

    /// The set that these bounds, or those that they were made of, were made for from the start.
    pub fn set(&self) -> &InputSet {
        &self.set.set
    }

    /// A part of that set as a set of its own. `None` if it is not a part of it, if neurons' signs lead to it, or if it cannot be told
    /// without rounding.
    pub fn set_of(&self, part: &Part) -> Option<InputSet> {
        self.set.set_of(part)
    }

    /// Whether they are ready for [`LinearBounds::within`].
    pub fn is_divisible(&self) -> bool {
        self.kept.is_some()
    }

    fn build(
        network: &Arc<Network>,
        set: PartSet,
        above: UpperRelaxation,
        arithmetic: Arithmetic,
        build: Build,
    ) -> Self {
        let Build { known, keep, budget } = build;
        let moves = MoveSet::new(&set.set);
        let terms = moves.len() + network.widths().iter().sum::<usize>();
        let first = first_slopes(network, &moves);
        let mut bounds = Self {
            network: Arc::clone(network),
            first_reach: (0..first.ncols()).map(|j| moves.reach(first.col_as_slice(j))).collect(),
            first_steepest: (0..first.ncols()).map(|j| steepest(first.col_as_slice(j))).collect(),
            at_centre: Vec::new(),
            moves: Arc::new(moves),
            first: Arc::new(first),
            neurons: NeuronBounds::of_no_layer(set.part.clone(), network),
            set: Arc::new(set),
            envelopes: Vec::new(),
            magnitudes: Vec::new(),
            noise: Vec::new(),
            allowance: Allowance::f64(terms),
            above,
            arithmetic,
            kept: keep.then(Vec::new),
        };
        bounds.first_layer(known);
        for layer in 1..network.layers().len() {
            bounds.magnitudes.push(bounds.magnitudes_of(layer));
            let largest = bounds.largest_outputs(layer - 1).into_iter().fold(0.0, f64::max);
            let magnitudes = &bounds.magnitudes[layer];
            bounds.noise.push(bounds.noise_of(layer, magnitudes, largest));
            if layer < network.hidden().len() {
                bounds.deeper_layer(layer, known, budget);
            }
        }
        bounds
    }

    /// What lies above unstable ReLUs.
    pub fn above(&self) -> UpperRelaxation {
        self.above
    }

    /// Whether the bounds hold for the network computed in f32, too.
    pub fn for_f32(&self) -> bool {
        self.arithmetic == Arithmetic::F32
    }

    /// The rounding errors of a layer's own sums: `magnitudes` are those of its products, `largest` that of its inputs.
    fn noise_of(&self, layer: usize, magnitudes: &[f64], largest: f64) -> Vec<f64> {
        if self.arithmetic == Arithmetic::Exact {
            return vec![0.0; magnitudes.len()];
        }
        let LayerRounding { gain, offset, operations, .. } =
            self.network.layers()[layer].rounding();
        let allowance = Allowance::f32(*operations);
        let noise = |j: usize| {
            let row = self.network.affine(layer).row(j);
            let weights: f64 = row.map(|(_, weight)| weight.abs()).sum();
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

    fn first_layer(&mut self, known: Option<&NeuronBounds>) {
        let centre = self.set.set.centre();
        let map = self.network.affine(0);
        let mut values = vec![0.0; map.outputs()];
        map.apply(centre, &mut values);
        let magnitudes = map.magnitudes(centre);
        let anywhere: Vec<f64> =
            magnitudes.iter().zip(&self.first_reach).map(|(at, reach)| at + reach).collect();
        let largest = self.moves.largest_input(centre);
        let noise = self.noise_of(0, &anywhere, largest);
        let at_centre = |j: usize| {
            let off = self.allowance.of(magnitudes[j] + map.bias()[j].abs()) + noise[j];
            Interval { lower: values[j] - off, upper: values[j] + off }
        };
        self.at_centre = (0..map.outputs()).map(at_centre).collect();
        let interval = |j: usize| {
            let up = self.first.col_as_slice(j);
            let down: Vec<f64> = up.iter().map(|v| -v).collect();
            Interval {
                lower: self.at_centre[j].lower - self.moves.support(&down, |_, _| ()),
                upper: self.at_centre[j].upper + self.moves.support(up, |_, _| ()),
            }
        };
        let intervals = (0..map.outputs()).map(interval).map(Interval::without_nan).enumerate();
        let and =
            |(j, own): (usize, Interval)| known.map_or(own, |known| own.and(known.layer(0)[j]));
        let intervals: Vec<Interval> = intervals.map(and).collect();
        let constants: Vec<f64> = self.at_centre.iter().map(|i| i.upper).collect();
        let line = |j: usize| (j, &self.first, j, constants[j], self.first_reach[j]);
        let envelopes = self.envelopes_of(0, &intervals, (0..intervals.len()).map(line));
        self.envelopes.push(Arc::new(envelopes.written(&self.moves)));
        self.magnitudes.push(magnitudes);
        self.noise.push(noise);
        self.neurons.push_layer(intervals);
    }

    fn deeper_layer(&mut self, layer: usize, known: Option<&NeuronBounds>, budget: &Budget) {
        let width = self.network.layers()[layer].outputs();
        let interval = |j: usize| {
            let plain = self.plain_interval(layer, j).without_nan();
            known.map_or(plain, |known| plain.and(known.layer(layer)[j]))
        };
        let mut intervals: Vec<Interval> = (0..width).map(interval).collect();
        // What is known to be stable needs nothing better.
        let open = |j: &usize| {
            let neuron = NeuronId { layer, index: *j };
            self.neurons.stability_in(neuron, intervals[*j]) == Stability::Unstable
        };
        let open: Vec<usize> = (0..width).filter(open).collect();
        let enveloped =
            self.above == UpperRelaxation::Envelopes && Envelopes::fit(&self.moves, open.len());
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
                intervals[j] = intervals[j].and(Interval { lower, upper });
            }
            if enveloped || self.kept.is_some() {
                lines.neurons.extend(block);
                lines.above.push(StoredFunctions::from(uppers.functions));
                let nothing = MoveFunctions { slopes: Mat::new(), constants: Vec::new() };
                let below = if self.kept.is_some() { lowers.functions } else { nothing };
                lines.below.push(StoredFunctions::from(below));
            }
        }
        let of_lines = lines.iter().map(|(j, (above, _), column)| {
            let reach = self.moves.reach(above.slopes.col_as_slice(column));
            (j, &above.slopes, column, above.constants[column], reach)
        });
        let envelopes = self.envelopes_of(layer, &intervals, of_lines);
        self.envelopes.push(Arc::new(envelopes.written(&self.moves)));
        if let Some(kept) = &mut self.kept {
            kept.push(lines);
        }
        self.neurons.push_layer(intervals);
    }

    /// All of the set that these bounds were made for, to be split by pixels.
    ///
    /// # Panics
    /// When these bounds are not [divisible](LinearBounds::divisible).
    pub fn whole(&self) -> PixelPart {
        assert!(self.is_divisible(), "divisible bounds");
        PixelPart::new(self.part().clone(), self.moves.whole())
    }

    /// The envelope of a neuron, if it has one: its output is at most this constant and these slopes, one for each move, times the moves.
    pub fn envelope(&self, neuron: NeuronId) -> Option<(f64, impl Fn(usize) -> f64)> {
        let envelopes = &self.envelopes[neuron.layer];
        let column = envelopes.column(neuron.index)?;
        Some((envelopes.at_centre(column), move |k| envelopes.slope(column, k)))
    }

    /// Bounds over a part of the set: the lines that were proven for all of it, with what they give over the part. Not as good as
    /// bounds made for the part itself, but no layer is pushed back through another.
    ///
    /// # Panics
    /// When these bounds are not [divisible](LinearBounds::divisible), or it is not a part of their [whole](LinearBounds::whole).
    pub fn within(&self, part: &PixelPart) -> Self {
        let portion = part.moves();
        let kept = self.kept.as_ref().expect("divisible bounds");
        let moves = Arc::new(self.moves.within(portion));
        let at = |slopes: &[f64]| {
            let terms = portion.taken().iter().map(|&(k, amount)| slopes[k] * amount);
            terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()))
        };
        // `constant + slopes · taken`, rounded up.
        let moved = |constant: f64, slopes: &[f64]| {
            let (sum, size) = at(slopes);
            constant + sum + self.allowance.of(constant.abs() + size)
        };
        let largest = |constant: f64, slopes: &[f64]| {
            self.rounded_up(constant + moves.support(slopes, |_, _| ()))
        };
        let mut part = Self {
            moves: Arc::clone(&moves),
            envelopes: Vec::new(),
            ..self.with_neurons(self.neurons.over(part.part().clone()))
        };
        let reach = |steepest: f64| self.allowance.up(steepest * moves.budget());
        let mut first = Vec::new();
        let mut down = Vec::new();
        for (j, Interval { lower, upper }) in part.at_centre.iter_mut().enumerate() {
            let slopes = self.first.col_as_slice(j);
            let (sum, size) = at(slopes);
            *lower += sum - self.allowance.of(lower.abs() + size);
            *upper = moved(*upper, slopes);
            let interval = &mut part.neurons.layer_mut(0)[j];
            if interval.stability() == Stability::Unstable {
                down.clear();
                down.extend(slopes.iter().map(|v| -v));
                interval.upper = interval.upper.min(largest(*upper, slopes));
                interval.lower = interval.lower.max(-largest(-*lower, &down));
                first.push((j, &self.first, j, *upper, reach(self.first_steepest[j])));
            }
        }
        let of_first = part.envelopes_of(0, part.neurons.layer(0), first.into_iter());
        part.envelopes.push(Arc::new(of_first));
        for (layer, lines) in kept.iter().enumerate().map(|(k, lines)| (k + 1, lines)) {
            let mut chosen = Vec::new();
            for (j, (above, below), column) in lines.iter() {
                let interval = &mut part.neurons.layer_mut(layer)[j];
                if interval.stability() != Stability::Unstable {
                    continue;
                }
                let slopes = above.slopes.col_as_slice(column);
                let constant = moved(above.constants[column], slopes);
                interval.upper = interval.upper.min(largest(constant, slopes));
                let of_negative = below.slopes.col_as_slice(column);
                let negative = moved(below.constants[column], of_negative);
                interval.lower = interval.lower.max(-largest(negative, of_negative));
                let reach = reach(above.steepest[column]);
                chosen.push((j, &above.slopes, column, constant, reach));
            }
            let envelopes = part.envelopes_of(layer, part.neurons.layer(layer), chosen.into_iter());
            part.envelopes.push(Arc::new(envelopes));
        }
        part
    }

    /// The same bounds with these intervals, which hold over a part of the set.
    fn with_neurons(&self, neurons: NeuronBounds) -> Self {
        Self {
            network: Arc::clone(&self.network),
            set: Arc::clone(&self.set),
            moves: Arc::clone(&self.moves),
            first: Arc::clone(&self.first),
            at_centre: self.at_centre.clone(),
            first_reach: self.first_reach.clone(),
            first_steepest: self.first_steepest.clone(),
            neurons,
            envelopes: self.envelopes.clone(),
            magnitudes: self.magnitudes.clone(),
            noise: self.noise.clone(),
            allowance: self.allowance,
            above: self.above,
            arithmetic: self.arithmetic,
            kept: None,
        }
    }

    /// The same over the moves in which a linear function with these slopes is steepest, the others held: no bound of the set, but quick to evaluate.
    /// `None` where that would not leave many out.
    pub(super) fn narrowed(&self, slopes: &[f64]) -> Option<Self> {
        let few = self.moves.steepest(slopes)?;
        let rows = |m: &Mat<f64>| Mat::from_fn(few.len(), m.ncols(), |k, j| m[(few[k], j)]);
        let envelopes = self.envelopes.iter().map(|e| Arc::new(e.with_moves(&few)));
        Some(Self {
            moves: Arc::new(self.moves.with_moves(&few)),
            first: Arc::new(rows(&self.first)),
            envelopes: envelopes.collect(),
            ..self.with_neurons(self.neurons.clone())
        })
    }

    /// Bounds over the side of a part on which a neuron is on, or off. `known` are intervals of the part: those of these bounds, or as this function gave
    /// them.
    ///
    /// # Errors
    /// When nothing is there.
    ///
    /// # Panics
    /// When `known` are intervals of something else.
    pub fn signed(&self, known: &NeuronBounds, sign: Sign) -> Result<Self, EmptyPart> {
        let signs = known.part().sides_from(self.part());
        let only_signs = |sides: Vec<SplitSide>| sides.iter().all(|side| side.sign().is_some());
        assert!(signs.is_some_and(only_signs), "intervals of a part that signs lead to");
        let side = known.part().side(SplitSide::Neuron(sign));
        let mut part = self.with_neurons(known.over(side));
        if part.demand(sign).is_none() {
            return Err(EmptyPart::new(part.part().clone(), self.for_f32()));
        }
        Ok(part)
    }

    /// Cuts a neuron's interval to a sign, and bounds the layers behind it again. `None` if nothing is left between the bounds.
    fn demand(&mut self, sign: Sign) -> Option<()> {
        let Sign { neuron: NeuronId { layer, index }, on } = sign;
        let interval = &mut self.neurons.layer_mut(layer)[index];
        if on {
            interval.lower = interval.lower.max(0.0);
        } else {
            interval.upper = interval.upper.min(0.0);
        }
        if interval.lower > interval.upper {
            return None;
        }
        (layer + 1..self.neurons.hidden()).try_for_each(|layer| self.bound_again(layer))
    }

    /// Bounds a layer's unstable neurons once more, after something below has changed. `None` if nothing is left between the bounds.
    fn bound_again(&mut self, layer: usize) -> Option<()> {
        let open = |j: &usize| {
            self.neurons.stability(NeuronId { layer, index: *j }) == Stability::Unstable
        };
        let open: Vec<usize> = (0..self.neurons.layer(layer).len()).filter(open).collect();
        for block in open.chunks(BLOCK) {
            let uppers = self.best_functions(layer, block, 1.0).largest;
            let lowers = self.best_functions(layer, block, -1.0).largest;
            for (k, &j) in block.iter().enumerate() {
                let interval = &mut self.neurons.layer_mut(layer)[j];
                interval.lower = interval.lower.max(-lowers[k]);
                interval.upper = interval.upper.min(uppers[k]);
                if interval.lower > interval.upper {
                    return None;
                }
            }
        }
        Some(())
    }

    /// The envelopes of the unstable ones among neurons with a line above them: the neuron, the line's place, constant and reach.
    fn envelopes_of<'l>(
        &self,
        layer: usize,
        intervals: &[Interval],
        lines: impl Iterator<Item = (usize, &'l Arc<Mat<f64>>, usize, f64, f64)>,
    ) -> Envelopes {
        if self.above == UpperRelaxation::Chords {
            return Envelopes::none(intervals.len());
        }
        let unstable = lines.filter(|&(index, ..)| {
            let neuron = NeuronId { layer, index };
            self.neurons.stability_in(neuron, intervals[index]) == Stability::Unstable
        });
        let lines = unstable.map(|(neuron, lines, column, constant, reach)| {
            envelope::EnvelopeLine { neuron, lines, column, constant, reach }
        });
        Envelopes::of_lines(&self.moves, intervals.len(), lines)
    }

    /// A neuron behind the first layer by interval arithmetic.
    fn plain_interval(&self, layer: usize, j: usize) -> Interval {
        let map = self.network.affine(layer);
        let bias = map.bias()[j];
        let (mut lower, mut upper) = (bias, bias);
        for (i, w) in map.row(j) {
            let h = self.neurons.output(NeuronId { layer: layer - 1, index: i });
            lower += w * if w > 0.0 { h.lower } else { h.upper };
            upper += w * if w > 0.0 { h.upper } else { h.lower };
        }
        let off = self.allowance.of(self.magnitudes[layer][j] + bias.abs()) + self.noise[layer][j];
        Interval { lower: lower - off, upper: upper + off }
    }

    /// For some neurons of a layer, `sign · g` from above: of several ways to bound the layers below, the best one.
    fn best_functions(&self, layer: usize, block: &[usize], sign: f64) -> BestFunctions {
        let mut best: Option<BestFunctions> = None;
        // Envelopes everywhere; envelopes in the first layer, chords behind; chords everywhere, which pays when the budget
        // hardly binds.
        let everywhere = usize::MAX;
        let mut ways = match self.above {
            UpperRelaxation::Chords => vec![0],
            UpperRelaxation::Envelopes if layer == 1 => vec![everywhere],
            UpperRelaxation::Envelopes => vec![everywhere, 1],
        };
        if self.above == UpperRelaxation::Envelopes && self.moves.tightness() > LOOSE_BUDGET {
            ways.push(0);
        }
        for enveloped in ways {
            let rows = self.rows(layer, block, sign);
            let choice = |neuron: NeuronId, _| {
                let share = if neuron.layer < enveloped { 1.0 } else { 0.0 };
                Choice::Lines { below: default_slope(self.neurons.get(neuron)), envelope: share }
            };
            let functions = self.push_back(rows, choice, |_, _| ());
            let largest = self.largest(&functions);
            match &mut best {
                None => best = Some(BestFunctions { functions, largest }),
                Some(best) => best.improve(&functions, &largest),
            }
        }
        best.expect("there is at least one way")
    }

    /// `sign · g` of some neurons as functions of the outputs of the layer below: exact.
    fn rows(&self, layer: usize, block: &[usize], sign: f64) -> LayerFunctions {
        let map = self.network.affine(layer);
        let (bias, noise) = (|j: usize| sign * map.bias()[j], |j: usize| self.noise[layer][j]);
        LayerFunctions {
            layers: layer,
            coefficients: map.row_block(block, sign),
            constants: block.iter().map(|&j| bias(j) + noise(j)).collect(),
            magnitudes: block.iter().map(|&j| bias(j).abs() + noise(j)).collect(),
        }
    }

    /// `objective · y` as a function of the last hidden layer's outputs.
    pub(super) fn objective_row(&self, objective: &[f64]) -> LayerFunctions {
        let output = self.network.output().affine();
        let mut row = vec![0.0; output.inputs()];
        output.apply_transposed(objective, &mut row);
        let last = self.network.hidden().len();
        let (mut constant, mut magnitude) = (0.0, 0.0);
        for (r, o) in objective.iter().enumerate() {
            let (bias, noise) = (output.bias()[r], self.noise[last][r]);
            constant += o * bias + o.abs() * noise;
            magnitude += o.abs() * (bias.abs() + noise + self.magnitudes[last][r]);
        }
        LayerFunctions {
            layers: last,
            coefficients: Mat::from_fn(row.len(), 1, |i, _| row[i]),
            constants: vec![constant],
            magnitudes: vec![magnitude],
        }
    }

    /// Pushes rows back to the moves. `visit` sees each layer's coefficients on the way.
    pub(super) fn push_back(
        &self,
        rows: LayerFunctions,
        choice: impl Fn(NeuronId, usize) -> Choice,
        mut visit: impl FnMut(usize, &Mat<f64>),
    ) -> MoveFunctions {
        let LayerFunctions { layers, mut coefficients, mut constants, mut magnitudes } = rows;
        let many = constants.len();
        let mut slopes = Mat::zeros(self.moves.len(), many);
        for layer in (0..layers).rev() {
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
                    let interval = intervals[j];
                    let stability = self.neurons.stability_in(neuron, interval);
                    match choice(neuron, row) {
                        Choice::Lines { .. } if *q == 0.0 => {}
                        Choice::Lines { below, envelope } => match stability {
                            Stability::On => {}
                            Stability::Off => *q = 0.0,
                            Stability::Unstable if *q < 0.0 => *q *= below,
                            Stability::Unstable => {
                                let mut rest = *q;
                                if let Some(column) = envelopes.column(j) {
                                    let share = envelope * *q;
                                    // The parts together are at least the whole: a ReLU is never negative.
                                    rest =
                                        if share >= *q { 0.0 } else { (*q - share) * A_HAIR_MORE };
                                    direct[(column, row)] = share;
                                    add(share * envelopes.at_centre(column));
                                    passed += share * envelopes.reach(column);
                                }
                                let Interval { lower, upper } = interval;
                                let width = upper - lower;
                                let slope =
                                    if width.is_finite() { upper / width } else { f64::NAN };
                                *q = rest * (slope * A_HAIR_MORE);
                                add(-*q * lower);
                            }
                        },
                        Choice::Duals(NeuronDuals { multiplier, envelope }) => {
                            let mut rest = *q;
                            if let Some(column) = envelopes.column(j).filter(|_| envelope > 0.0) {
                                rest = *q - envelope;
                                direct[(column, row)] = envelope;
                                add(envelope * envelopes.at_centre(column));
                                passed += envelope * envelopes.reach(column);
                                passed += q.abs() * interval.upper.max(0.0);
                            }
                            let held = DualLine::new(interval, stability, rest, multiplier);
                            add(held.constant);
                            passed += held.magnitude;
                            *q = held.slope;
                        }
                    }
                    if *q == 0.0 {
                        continue;
                    }
                    if layer == 0 {
                        let Interval { lower, upper } = self.at_centre[j];
                        add(*q * if *q > 0.0 { upper } else { lower });
                        passed += q.abs() * self.first_reach[j];
                    } else {
                        add(*q * self.network.affine(layer).bias()[j]);
                        add(q.abs() * self.noise[layer][j]);
                        passed += q.abs() * self.magnitudes[layer][j];
                    }
                }
                (constants[row], magnitudes[row]) = (constant, magnitude + passed);
            }
            envelopes.add_to(&mut slopes, &direct);
            if layer == 0 {
                add_product(&mut slopes, Mat::as_ref(&self.first), &through);
                break;
            }
            coefficients = pull_back(self.network.affine(layer), &through);
        }
        for (row, constant) in constants.iter_mut().enumerate() {
            *constant += self.allowance.of(magnitudes[row]);
            // A slope that overflowed may have become anything.
            if !slopes.col_as_slice(row).iter().all(|slope| slope.is_finite()) {
                *constant = f64::INFINITY;
            }
        }
        MoveFunctions { slopes, constants }
    }

    fn largest(&self, functions: &MoveFunctions) -> Vec<f64> {
        let value = |row: usize| {
            let slopes = functions.slopes.col_as_slice(row);
            functions.constants[row] + self.moves.support(slopes, |_, _| ())
        };
        (0..functions.constants.len()).map(value).map(|v| self.rounded_up(v)).collect()
    }

    /// The sum of a constant and a support was rounded once more.
    pub(super) fn rounded_up(&self, value: f64) -> f64 {
        let up = self.allowance.up(value);
        if up.is_nan() { f64::INFINITY } else { up }
    }

    /// At least the magnitude of every output of a hidden layer.
    fn largest_outputs(&self, layer: usize) -> Vec<f64> {
        let output = |index| self.neurons.output(NeuronId { layer, index }).magnitude();
        (0..self.neurons.layer(layer).len()).map(output).collect()
    }

    /// At least `Σ |w| |h|` for every neuron of a layer behind the first, or every logit.
    fn magnitudes_of(&self, layer: usize) -> Vec<f64> {
        let largest = self.largest_outputs(layer - 1);
        let sums = self.network.affine(layer).magnitudes(&largest);
        sums.into_iter().map(|sum| self.allowance.up(sum)).collect()
    }
}

/// A line above `q · relu(g)`, whatever its slope: what is left of it is largest at a corner of the ReLU's hull.
struct DualLine {
    slope: f64,
    constant: f64,
    /// The magnitudes of what the constant is the difference of.
    magnitude: f64,
}

impl DualLine {
    fn new(interval: Interval, stability: Stability, q: f64, multiplier: f64) -> Self {
        let Interval { lower, upper } = interval;
        let furthest = upper.max(-lower);
        let (slope, constant) = match stability {
            Stability::On if multiplier == 0.0 => return Self::exact(q),
            Stability::Off if multiplier == 0.0 => return Self::exact(0.0),
            _ if !furthest.is_finite() => (multiplier, f64::INFINITY),
            Stability::On => (q + multiplier, (-multiplier * lower).max(-multiplier * upper)),
            Stability::Off => (multiplier, (-multiplier * lower).max(-multiplier * upper)),
            Stability::Unstable => {
                (multiplier, (-multiplier * lower).max((q - multiplier) * upper).max(0.0))
            }
        };
        Self { slope, constant, magnitude: (q.abs() + multiplier.abs()) * furthest }
    }

    fn exact(slope: f64) -> Self {
        Self { slope, constant: 0.0, magnitude: 0.0 }
    }
}

/// Functions and their largest values.
struct BestFunctions {
    functions: MoveFunctions,
    largest: Vec<f64>,
}

impl BestFunctions {
    fn improve(&mut self, functions: &MoveFunctions, largest: &[f64]) {
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

/// Whichever of 0 and `g` leaves the smaller triangle above it.
pub(super) fn default_slope(interval: Interval) -> f64 {
    if interval.upper > -interval.lower { 1.0 } else { 0.0 }
}

/// Functions of a layer's pre-activations as functions of the outputs below it. One alone has mostly zeros.
fn pull_back(map: &AffineMap, functions: &Mat<f64>) -> Mat<f64> {
    if functions.ncols() > 1 {
        return map.apply_transposed_to_block(functions.as_ref());
    }
    let mut below = Mat::zeros(map.inputs(), 1);
    map.apply_transposed(functions.col_as_slice(0), below.col_as_slice_mut(0));
    below
}

/// `out += m · weights`. One row's weights are mostly zeros.
pub(super) fn add_product(out: &mut Mat<f64>, m: MatRef<'_, f64>, weights: &Mat<f64>) {
    if m.ncols() == 0 {
        return;
    }
    if weights.ncols() > 1 {
        matmul(out.as_mut(), Accum::Add, m, weights.as_ref(), 1.0, Par::Seq);
        return;
    }
    network::add_product(m, weights.col_as_slice(0), out.col_as_slice_mut(0));
}
