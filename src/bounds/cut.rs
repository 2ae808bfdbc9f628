//! Cuts toward a goal: what neurons can do at those points of a part whose value is at least the goal.
//!
//! A bound is a linear function `k + s·p ≥ f` of the moves, so points with `f ≥ goal` satisfy `k − goal + s·p ≥ 0`. For every `μ ≥ 0` a neuron
//! with `g ≤ c + v·p` obeys there
//!
//! `g ≤ c + μ (k − goal) + (v + μ s)·p`
//!
//! and the support of the right-hand side is often far lower than that of the line alone. With narrower intervals all lines are made anew. What
//! comes out is a bound of the points with `f ≥ goal`; all others are below the goal, so the larger of both is a bound of the part.
//!
//! Rounding: the slopes `v + μ s` are off by two roundings each, and the sum of constant and support by a few more. Both are within the
//! allowance of `|c| + Σ|v|p + μ (|k − goal| + Σ|s|p)`.

use std::sync::Arc;

use pulp::{Arch, NullaryFnOnce};

use super::bounded_part::{BoundedPart, Cut, CutBy};
use super::build::BLOCK;
use super::certificate::{LineBound, MoveFunction};
use super::certified::EmptyPart;
use super::functions::{BoundedFunctions, LayerLines};
use super::guide::{Guide, GuideSource};
use super::guide_maker::GuideMaker;
use super::interval::Interval;
use super::linear::LinearBounds;
use super::neurons::CutGoal;
use super::relaxation::{Multipliers, ReluLine};

/// The first multiplier tried, as a share of what makes the steepest slopes of both functions equal.
const FIRST_MULTIPLIER: f64 = 0.25;

/// Multipliers tried after it: each is twice or half the one before.
const MORE_MULTIPLIERS: usize = 3;

/// The function `k − goal + s·p`, which is not negative where the value is at least the goal.
struct CutFunction<'c> {
    bounds: &'c LinearBounds,
    slopes: &'c [f64],
    /// At least `k − goal`.
    room: f64,
    /// At least `|k − goal| + Σ |s| p`.
    magnitude: f64,
    steepest: f64,
    /// `v + μ s`.
    sum: Vec<f64>,
}

/// The largest magnitude.
fn steepest(slopes: &[f64]) -> f64 {
    Arch::new().dispatch(LargestMagnitude(slopes))
}

/// Work that is compiled for the machine at hand; numbers do not depend on it. (A closure is only where it happens to be inlined.)
struct LargestMagnitude<'s>(&'s [f64]);

impl NullaryFnOnce for LargestMagnitude<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut most = [0.0_f64; 8];
        for slopes in self.0.chunks(8) {
            for (most, slope) in most.iter_mut().zip(slopes) {
                *most = if slope.abs() > *most { slope.abs() } else { *most };
            }
        }
        most.into_iter().fold(0.0, f64::max)
    }
}

/// `sum = a·v + b·w`.
struct SumOfFunctions<'s> {
    sum: &'s mut [f64],
    a: f64,
    v: &'s [f64],
    b: f64,
    w: &'s [f64],
}

impl NullaryFnOnce for SumOfFunctions<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { sum, a, v, b, w } = self;
        for ((sum, v), w) in sum.iter_mut().zip(v).zip(w) {
            *sum = a * v + b * w;
        }
    }
}

fn add_functions(sum: &mut Vec<f64>, (a, v): (f64, &[f64]), (b, w): (f64, &[f64])) {
    sum.resize(v.len(), 0.0);
    Arch::new().dispatch(SumOfFunctions { sum, a, v, b, w });
}

impl<'c> CutFunction<'c> {
    fn new(
        bounds: &'c LinearBounds,
        MoveFunction { slopes, constant }: &'c MoveFunction,
        goal: f64,
    ) -> Self {
        let room = (constant - goal).next_up();
        let magnitude = bounds.moves.reach(slopes) + room.abs();
        Self { bounds, slopes, room, magnitude, steepest: steepest(slopes), sum: Vec::new() }
    }

    /// At most how large `c + sign · v·p` is at points of interest, for one multiplier. Whether a larger multiplier is better.
    fn largest_at(
        &mut self,
        c: f64,
        (v, steepest): (&[f64], f64),
        sign: f64,
        multiplier: f64,
    ) -> (f64, bool) {
        add_functions(&mut self.sum, (sign, v), (multiplier, self.slopes));
        let mut derivative = self.room;
        let spend = |k: usize, amount: f64| derivative += self.slopes[k] * amount;
        let support = self.bounds.moves.support(&self.sum, spend);
        let reach = self.bounds.moves.budget() * steepest;
        let rounding = self.bounds.allowance.of(c.abs() + reach + multiplier * self.magnitude);
        let value = self.bounds.rounded_up(c + multiplier * self.room + support) + rounding;
        (value, derivative < 0.0)
    }

    /// At most how large `c + sign · v·p` is at points of interest, if `known` is a bound of it already.
    fn largest(&mut self, c: f64, v: &[f64], sign: f64, known: f64) -> f64 {
        let v = (v, steepest(v));
        let mut multiplier = FIRST_MULTIPLIER * v.1 / self.steepest;
        if !multiplier.is_finite() || multiplier <= 0.0 {
            return known;
        }
        let (mut best, upward) = self.largest_at(c, v, sign, multiplier);
        for _ in 0..MORE_MULTIPLIERS {
            multiplier *= if upward { 2.0 } else { 0.5 };
            let (value, still_upward) = self.largest_at(c, v, sign, multiplier);
            if value >= best {
                break;
            }
            best = value;
            if still_upward != upward {
                break;
            }
        }
        // What overflowed is not lower.
        best.min(known)
    }

    /// The same for rows of a block.
    fn largest_of(&mut self, bounded: &BoundedFunctions, row: usize, known: f64) -> f64 {
        let BoundedFunctions { functions, largest } = bounded;
        let known = known.min(largest[row]);
        self.largest(functions.constants[row], functions.slopes.col_as_slice(row), 1.0, known)
    }
}

/// Nothing is left between a neuron's bounds.
struct NothingLeft;

impl LinearBounds {
    /// Bounds over those points of the part at which the objective is at least `goal`, for all that `bound` says. Lines of lower neurons are
    /// chosen where that bound is attained.
    ///
    /// # Errors
    /// When there is no such point.
    ///
    /// # Panics
    /// When the bound is about another part, or these bounds are behind a cut of another objective.
    pub fn cut(&self, bound: &LineBound, goal: f64) -> Result<Self, EmptyPart> {
        let LineBound { bound: of, function, lines, .. } = bound;
        assert!(
            of.part().sides_from(self.part()).is_some_and(|sides| sides.is_empty()),
            "a bound of this part"
        );
        let point = bound.point(self.set());
        let goal = CutGoal { objective: Arc::clone(of.objective()), value: goal };
        self.cut_by_lines(function, goal, lines, GuideSource::Point(&point))
    }

    /// The same, once more: by a cut and a guide that are known.
    ///
    /// # Errors
    /// When there is no such point.
    pub fn cut_again(
        &self,
        objective: &[f64],
        cut: &Cut,
        guide: &Guide,
    ) -> Result<Self, EmptyPart> {
        match &cut.by {
            CutBy::Lines(lines) => {
                let function = self.function_from_lines(objective, lines).function();
                let goal = CutGoal { objective: objective.into(), value: cut.goal };
                self.cut_by_lines(&function, goal, lines, GuideSource::Given(guide))
            }
            CutBy::Multipliers(multipliers) => {
                self.cut_by_multipliers(objective, multipliers, cut.goal)
            }
        }
    }

    /// Intervals over those points of the part at which the objective is at least `goal`, for all that the bound by these multipliers says. Lines
    /// and envelopes stay as they are.
    ///
    /// # Errors
    /// When there is no such point.
    ///
    /// # Panics
    /// When these bounds are behind a cut of another objective.
    pub fn cut_by_multipliers(
        &self,
        objective: &[f64],
        multipliers: &Multipliers,
        goal: f64,
    ) -> Result<Self, EmptyPart> {
        let function = self.function_from_duals(objective, multipliers).function();
        let mut by = CutFunction::new(self, &function, goal);
        let of_goal = CutGoal { objective: objective.into(), value: goal };
        let mut part = self.with_neurons(self.neurons.clone().toward(Some(&of_goal)));
        let narrowed = part.narrow_layers(&mut by);
        let (parent, neurons) = (Some(Arc::clone(self.bounded_part())), part.neurons.clone());
        let cut = Cut { goal, by: CutBy::Multipliers(multipliers.clone()) };
        let bounded = Arc::new(BoundedPart::new(parent, neurons, None, Some(cut)));
        match narrowed {
            Ok(()) => Ok(Self { bounded: Some(bounded), ..part }),
            Err(NothingLeft) => Err(part.empty(&bounded)),
        }
    }

    fn narrow_layers(&mut self, by: &mut CutFunction) -> Result<(), NothingLeft> {
        self.narrow_first_layer(by)?;
        for layer in 1..self.neurons.hidden() {
            for block in self.wanted_among(layer, self.neurons.layer(layer)).chunks(BLOCK) {
                let uppers = self.best_functions(layer, block, 1.0);
                let lowers = self.best_functions(layer, block, -1.0);
                self.narrow_block(by, layer, block, [&uppers, &lowers])?;
            }
        }
        Ok(())
    }

    fn cut_by_lines(
        &self,
        function: &MoveFunction,
        goal: CutGoal,
        lines: &[Vec<ReluLine>],
        guide: GuideSource,
    ) -> Result<Self, EmptyPart> {
        let cut = Cut { goal: goal.value, by: CutBy::Lines(lines.to_vec()) };
        let mut by = CutFunction::new(self, function, goal.value);
        let mut part = self.with_neurons(self.neurons.clone().toward(Some(&goal)));
        part.envelopes.clear();
        part.guide = Guide::default();
        match part.cut_layers(&mut by, guide) {
            Ok(()) => Ok(part.finish(Some(self.bounded_part()), Some(cut))),
            Err(NothingLeft) => {
                let (parent, guide) = (Arc::clone(self.bounded_part()), Some(part.guide.clone()));
                let neurons = part.neurons.clone();
                let bounded = BoundedPart::new(Some(parent), neurons, guide, Some(cut));
                Err(part.empty(&Arc::new(bounded)))
            }
        }
    }

    fn cut_layers(&mut self, by: &mut CutFunction, guide: GuideSource) -> Result<(), NothingLeft> {
        self.cut_first_layer(by)?;
        let guide = GuideMaker::new(self, guide);
        let mut all_lines = Vec::new();
        for layer in 1..self.neurons.hidden() {
            if guide.is_some() {
                let lines = guide.layer(self, layer - 1);
                self.guide.layers.push(lines);
            }
            all_lines.push(self.cut_layer(by, layer)?);
        }
        self.lines = Some(all_lines);
        Ok(())
    }

    fn cut_first_layer(&mut self, by: &mut CutFunction) -> Result<(), NothingLeft> {
        self.narrow_first_layer(by)?;
        let envelopes = self.first_envelopes(self.neurons.layer(0));
        self.envelopes.push(Arc::new(envelopes));
        Ok(())
    }

    fn narrow_first_layer(&mut self, by: &mut CutFunction) -> Result<(), NothingLeft> {
        for j in self.unstable_among(0, self.neurons.layer(0)) {
            let Interval { lower, upper } = self.neurons.layer(0)[j];
            let (v, at) = (by.bounds.first.slopes.column(j), by.bounds.first.at_centre[j]);
            let upper = by.largest(at.upper, &v, 1.0, upper);
            let lower = -by.largest(-at.lower, &v, -1.0, -lower);
            self.narrow(0, j, Interval { lower, upper })?;
        }
        Ok(())
    }

    fn cut_layer(&mut self, by: &mut CutFunction, layer: usize) -> Result<LayerLines, NothingLeft> {
        let mut lines = LayerLines::default();
        for block in self.wanted_among(layer, self.neurons.layer(layer)).chunks(BLOCK) {
            let uppers = self.best_functions(layer, block, 1.0);
            let lowers = self.best_functions(layer, block, -1.0);
            self.narrow_block(by, layer, block, [&uppers, &lowers])?;
            lines.push(block, uppers.functions, lowers.functions);
        }
        let envelopes = self.deeper_envelopes(layer, self.neurons.layer(layer), &lines);
        self.envelopes.push(Arc::new(envelopes));
        Ok(lines)
    }

    /// Narrows the intervals of some neurons by functions above them and above their negatives.
    fn narrow_block(
        &mut self,
        by: &mut CutFunction,
        layer: usize,
        block: &[usize],
        [uppers, lowers]: [&BoundedFunctions; 2],
    ) -> Result<(), NothingLeft> {
        for (row, &j) in block.iter().enumerate() {
            let Interval { lower, upper } = self.neurons.layer(layer)[j];
            let upper = by.largest_of(uppers, row, upper);
            let lower = -by.largest_of(lowers, row, -lower);
            self.narrow(layer, j, Interval { lower, upper })?;
        }
        Ok(())
    }

    fn narrow(&mut self, layer: usize, j: usize, interval: Interval) -> Result<(), NothingLeft> {
        self.neurons.layer_mut(layer)[j] = interval;
        if interval.lower > interval.upper { Err(NothingLeft) } else { Ok(()) }
    }
}
