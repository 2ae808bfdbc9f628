//! Bounds of all neurons over a part of the set, and functions pushed back through them to the moves.

use std::sync::Arc;

use crate::affine::StepErrors;
use crate::first_layer::{FirstLayer, first_noise};
use crate::network::Network;
use crate::number::Number;
use crate::relax::{Interval, Line, LinePair, Relaxation, State};
use crate::set::{Part, Room, Set};

/// From this share of the sum of all caps on, chords alone may bound neurons better than envelopes.
const LOOSE_BUDGET: f64 = 0.05;

/// A layer has envelopes if they and the moves are not more numbers than this.
const MOST_NUMBERS: usize = 32 << 20;

/// A network over a set.
pub struct Problem<N> {
    pub network: Network<N>,
    pub set: Set,
    pub first: FirstLayer<N>,
    /// One weight for each output.
    pub objective: Vec<f64>,
}

/// The lines of a layer's neurons, where they have any.
type LayerLines<N> = Vec<Option<Arc<LinePair<N>>>>;

/// Bounds of all neurons over a part.
#[derive(Clone)]
pub struct Region<'p, N> {
    pub(crate) problem: &'p Problem<N>,
    /// Intervals of the hidden layers' pre-activations.
    pub intervals: Vec<Vec<Interval<N>>>,
    /// Lines of the unstable neurons, over the part that neurons were bounded anew for.
    pub(crate) lines: Arc<Vec<LayerLines<N>>>,
    /// What is lost in each layer behind the first.
    pub(crate) errors: Arc<Vec<Vec<StepErrors<N>>>>,
    /// The first layer's lines there.
    pub(crate) first: Arc<Vec<Arc<LinePair<N>>>>,
    /// That part's budget.
    pub(crate) whole_budget: N,
    /// Moves that are made since, and what is left.
    pub(crate) taken: Vec<(usize, N)>,
    pub(crate) room: Room<N>,
    /// Whether intervals are still those from before these moves were made.
    pub(crate) stale: bool,
    /// How lower neurons are relaxed in the lines of deeper ones. Without it, the best of several ways is taken.
    pub(crate) guide: Option<Arc<Vec<Vec<Relaxation>>>>,
}

/// A part is empty, or numbers overflowed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    Empty,
    Wrong(String),
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self::Wrong(what)
    }
}

impl<'p, N: Number> Region<'p, N> {
    /// Bounds all neurons over a part; `known` are intervals that hold there already.
    ///
    /// # Errors
    /// When the part is empty or numbers overflow.
    pub fn new(
        problem: &'p Problem<N>,
        part: &Part,
        known: Option<&[Vec<Interval<N>>]>,
        guide: Option<Vec<Vec<Relaxation>>>,
    ) -> Result<Self, Failure> {
        let room: Room<N> = Room::new(&problem.set, part);
        let mut region = Self {
            problem,
            intervals: Vec::new(),
            lines: Arc::default(),
            errors: Arc::new(vec![Vec::new()]),
            first: Arc::default(),
            whole_budget: room.budget.clone(),
            taken: Vec::new(),
            room,
            stale: false,
            guide: guide.map(Arc::new),
        };
        region.first_layer(part, known.map(|known| &known[0][..]))?;
        for layer in 1..problem.network.layers.len() {
            let outputs = problem.network.activated(layer - 1, &region.intervals[layer - 1]);
            let magnitudes: Vec<N> = outputs.iter().map(Interval::magnitude).collect();
            let errors = problem.network.errors(layer, &magnitudes, true)?;
            Arc::make_mut(&mut region.errors).push(errors);
            if layer < problem.network.hidden() {
                region.deeper_layer(layer, &outputs, known.map(|known| &known[layer][..]))?;
            }
        }
        Ok(region)
    }

    fn first_layer(&mut self, part: &Part, known: Option<&[Interval<N>]>) -> Result<(), Failure> {
        let Problem { network, set, first, .. } = self.problem;
        let noise = first_noise(network, set, part, &self.room)?;
        let moved: Vec<(usize, N)> = part.taken.iter().map(|(k, a)| (*k, N::of(*a))).collect();
        let (mut intervals, mut lines) = (Vec::new(), Vec::new());
        for (j, pair) in first.lines.iter().enumerate() {
            let mut pair = pair.clone();
            pair.above.constant = pair.above.at(&moved).add_up(&noise[j]);
            pair.below.constant = pair.below.at(&moved).add_up(&noise[j]);
            intervals.push(self.interval(&pair, known.map(|known| &known[j]))?);
            lines.push(Arc::new(pair));
        }
        self.first = Arc::new(lines.clone());
        self.push_layer(intervals, lines.into_iter().map(Some).collect());
        Ok(())
    }

    /// What lines say about a neuron over what is left, and what is known.
    pub(crate) fn interval(
        &self,
        pair: &LinePair<N>,
        known: Option<&Interval<N>>,
    ) -> Result<Interval<N>, Failure> {
        let largest =
            |line: &Line<N>| line.at(&self.taken).add_up(&self.room.support(&line.slopes));
        let (lower, upper) = (largest(&pair.below).negated(), largest(&pair.above));
        let own = Interval { lower, upper };
        checked(known.map_or(own.clone(), |known| known.and(&own.lower, &own.upper)))
    }

    pub(crate) fn push_layer(&mut self, intervals: Vec<Interval<N>>, mut lines: LayerLines<N>) {
        self.intervals.push(intervals);
        let many = self.unstable(self.intervals.len() - 1).len();
        if many.saturating_mul(self.room.caps.len()) > MOST_NUMBERS {
            lines.fill(None);
        }
        Arc::make_mut(&mut self.lines).push(lines);
    }

    /// The same over a part of their part, which is `outer`, by the lines that are there.
    pub fn within(&self, outer: &Part, inner: &Part) -> Self {
        let before =
            |k: usize| outer.taken.iter().find(|(of, _)| *of == k).map_or(0.0, |(_, a)| *a);
        // Exact: amounts are multiples of one number.
        let taken = inner.taken.iter().map(|(k, amount)| (*k, N::of(amount - before(*k))));
        let (taken, room) = (taken.collect(), Room::new(&self.problem.set, inner));
        Self { taken, room, stale: true, ..self.clone() }
    }

    /// The same where a neuron is on, or off: the layers behind it are bounded again.
    ///
    /// # Errors
    /// When nothing is there.
    pub fn signed(&self, layer: usize, j: usize, on: bool) -> Result<Self, Failure> {
        let mut region = self.clone();
        let known = region.intervals.get_mut(layer).and_then(|layer| layer.get_mut(j));
        let known = known.ok_or_else(|| Failure::Wrong("there is no such neuron".into()))?;
        let side = if on { &mut known.lower } else { &mut known.upper };
        *side = if on { side.larger(&N::zero()) } else { side.smaller(&N::zero()) };
        checked(known.clone())?;
        for behind in layer + 1..region.intervals.len() {
            let unstable = region.unstable(behind);
            for (&j, pair) in unstable.iter().zip(region.best_lines(behind, &unstable)?) {
                region.intervals[behind][j] =
                    region.interval(&pair, Some(&region.intervals[behind][j]))?;
            }
        }
        Ok(region)
    }

    pub(crate) fn unstable(&self, layer: usize) -> Vec<usize> {
        let is_unstable = |j: &usize| self.state(layer, *j) == State::Unstable;
        (0..self.intervals[layer].len()).filter(is_unstable).collect()
    }

    /// What a neuron does.
    pub(crate) fn state(&self, layer: usize, j: usize) -> State {
        self.problem.network.state(layer, j, &self.intervals[layer][j])
    }

    /// A function of the moves that are left, not below `objective · y`, by what is proposed for each neuron.
    pub fn objective(&self, by: &dyn Fn(usize, usize) -> Relaxation) -> Result<Line<N>, Failure> {
        let Problem { network, objective, .. } = self.problem;
        let row = objective.iter().map(|&w| N::of(w)).collect();
        Ok(self.push_back(network.hidden(), row, by)?.remove(0))
    }

    /// At least its largest value; `prices` are proposals for the constraints.
    pub fn bound(
        &self,
        by: &dyn Fn(usize, usize) -> Relaxation,
        prices: &[f64],
    ) -> Result<N, Failure> {
        let line = self.objective(by)?;
        let mut support = self.room.support(&line.slopes);
        if !prices.is_empty() {
            support = support.smaller(&self.room.support_at(&line.slopes, prices));
        }
        Ok(line.constant.add_up(&support))
    }

    /// Results of each layer.
    pub fn widths(&self) -> &[usize] {
        &self.problem.network.widths
    }

    fn deeper_layer(
        &mut self,
        layer: usize,
        outputs: &[Interval<N>],
        known: Option<&[Interval<N>]>,
    ) -> Result<(), Failure> {
        let mut intervals = self.problem.network.intervals(layer, &self.errors[layer], outputs);
        if let Some(known) = known {
            for (own, known) in intervals.iter_mut().zip(known) {
                *own = checked(own.and(&known.lower, &known.upper))?;
            }
        }
        let network = &self.problem.network;
        let is_unstable = |j: &usize| network.state(layer, *j, &intervals[*j]) == State::Unstable;
        let unstable: Vec<usize> = (0..intervals.len()).filter(is_unstable).collect();
        let mut lines = vec![None; intervals.len()];
        for (&j, pair) in unstable.iter().zip(self.best_lines(layer, &unstable)?) {
            intervals[j] = self.interval(&pair, Some(&intervals[j]))?;
            lines[j] = Some(Arc::new(pair));
        }
        self.push_layer(intervals, lines);
        Ok(())
    }

    /// Lines above and below some neurons of a layer: of several ways to relax the layers below, the one that gives the smallest maximum.
    pub(crate) fn best_lines(
        &self,
        layer: usize,
        neurons: &[usize],
    ) -> Result<Vec<LinePair<N>>, Failure> {
        let mut ways = if layer == 1 { vec![usize::MAX] } else { vec![usize::MAX, 1] };
        if self.room.tightness > LOOSE_BUDGET * 0.999 {
            ways.push(0);
        }
        if self.guide.is_some() {
            ways.truncate(1);
        }
        let width = self.problem.network.widths[layer];
        let mut best: Vec<(N, Line<N>)> = Vec::new();
        for enveloped in ways {
            let mut rows = vec![N::zero(); 2 * neurons.len() * width];
            for (k, &j) in neurons.iter().enumerate() {
                rows[2 * k * width + j] = N::of(1.0);
                rows[(2 * k + 1) * width + j] = N::of(-1.0);
            }
            let by = |below: usize, j: usize| match &self.guide {
                Some(guide) => guide[below][j],
                None => Relaxation::Lines {
                    below: self.intervals[below][j].default_slope(),
                    share: if below < enveloped { 1.0 } else { 0.0 },
                    theta: 0.0,
                },
            };
            let lines = self.push_back(layer, rows, &by)?;
            let largest = |line: &Line<N>| line.constant.add_up(&self.room.support(&line.slopes));
            let bounded: Vec<(N, Line<N>)> = lines.into_iter().map(|l| (largest(&l), l)).collect();
            if best.is_empty() {
                best = bounded;
                continue;
            }
            for (best, other) in best.iter_mut().zip(bounded) {
                if other.0 < best.0 {
                    *best = other;
                }
            }
        }
        let mut lines = best.into_iter().map(|(_, line)| line);
        let pair = || Some(LinePair { above: lines.next()?, below: lines.next()? });
        Ok(std::iter::from_fn(pair).collect())
    }
}

/// An interval that has some number in it, and no overflow.
pub(crate) fn checked<N: Number>(interval: Interval<N>) -> Result<Interval<N>, Failure> {
    if !interval.lower.is_finite() || !interval.upper.is_finite() {
        return Err(Failure::Wrong("numbers overflow".into()));
    }
    if interval.lower > interval.upper { Err(Failure::Empty) } else { Ok(interval) }
}
