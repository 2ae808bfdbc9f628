//! Slopes and shares of relaxations, improved by Adam (Kingma and Ba 2015). Whatever they are in [0, 1], the bound that is made of them holds.
//!
//! They are improved on the steepest moves alone, which is many times faster; what comes out is then evaluated on all.

use super::certificate::{LineBound, MoveFunction, SpentMove};
use super::certified::{BoundMethod, CertifiedBound};
use super::interval::{Interval, Stability};
use super::linear::LinearBounds;
use super::parts::NarrowedBounds;
use super::relaxation::{ReluLine, ReluRelaxation, UpperRelaxation, default_slope};
use crate::budget::Budget;
use crate::network::NeuronId;

/// Step of the first improvement of slopes and shares; both live in [0, 1].
const STEP: f64 = 0.2;

/// How much of the step is left at the end.
const LAST_STEP: f64 = 0.1;

/// Improvements on the steepest moves before all of them are looked at.
const STEPS_A_ROUND: usize = 10;

/// Decay of the mean gradient and of its mean square; shorter memories than usual, for a few dozen steps.
const MEMORY: (f64, f64) = (0.8, 0.95);

/// Share of the envelopes behind the first layer to begin with; what is best differs from neuron to neuron.
const FIRST_SHARE: f64 = 0.8;

/// The same where a part of them goes on as the neuron itself, and how large that part is.
const FIRST_SHARE_WITH_THETA: f64 = 0.9;
const FIRST_THETA: f64 = 0.5;

/// How far a bound is improved.
#[derive(Clone, Copy, Debug)]
pub struct BoundOptions {
    /// Improvements of slopes and shares. Default 40.
    pub steps: usize,
    /// Stop once the bound is below this. By default never.
    pub cutoff: f64,
}

impl Default for BoundOptions {
    fn default() -> Self {
        Self { steps: 40, cutoff: f64::NEG_INFINITY }
    }
}

/// A number in [0, 1] that is improved, and what Adam remembers of its gradients.
#[derive(Clone, Copy)]
struct AdamParam {
    value: f64,
    mean: f64,
    square: f64,
}

impl AdamParam {
    fn new(value: f64) -> Self {
        Self { value, mean: 0.0, square: 0.0 }
    }

    /// One step of Adam downhill, kept in [0, 1].
    fn step(&mut self, gradient: f64, step: f64, time: i32) {
        let (m, s) = MEMORY;
        self.mean = m * self.mean + (1.0 - m) * gradient;
        self.square = s * self.square + (1.0 - s) * gradient * gradient;
        let mean = self.mean / (1.0 - m.powi(time));
        let square = self.square / (1.0 - s.powi(time));
        if square > 0.0 {
            self.value = (self.value - step * mean / square.sqrt()).clamp(0.0, 1.0);
        }
    }
}

/// What is improved for one neuron.
#[derive(Clone, Copy)]
struct NeuronParams {
    /// Slope of the line below.
    below: AdamParam,
    /// Share of the envelope above.
    share: AdamParam,
    /// How much of the envelope goes on as the neuron itself.
    theta: AdamParam,
}

impl NeuronParams {
    fn new(below: f64, share: f64, theta: f64) -> Self {
        let [below, share, theta] = [below, share, theta].map(AdamParam::new);
        Self { below, share, theta }
    }

    fn line(self, index: usize) -> ReluLine {
        let Self { below, share, theta } = self;
        ReluLine { index, below: below.value, envelope: share.value, theta: theta.value }
    }

    fn relaxation(self) -> ReluRelaxation {
        let Self { below, share, theta } = self;
        ReluRelaxation::Lines { below: below.value, envelope: share.value, theta: theta.value }
    }
}

/// For every neuron of every hidden layer.
type Params = Vec<Vec<NeuronParams>>;

/// Params in thousandths: a proof writes them down, and a bound hardly depends on the rest.
fn rounded(mut params: Params) -> Params {
    let round = |param: &mut AdamParam| param.value = (param.value * 1000.0).round() / 1000.0;
    for NeuronParams { below, share, theta } in params.iter_mut().flatten() {
        [below, share, theta].into_iter().for_each(round);
    }
    params
}

/// A bound, and the linear function behind it.
struct Evaluation {
    value: f64,
    function: MoveFunction,
    /// Where it is largest: moves and their amounts.
    vertex: Vec<(usize, f64)>,
    /// What each neuron's output counted for, by layer.
    coefficients: Vec<Vec<f64>>,
}

/// How far a descent goes.
struct Descent<'d> {
    options: &'d BoundOptions,
    budget: &'d Budget<'d>,
    /// Steps made.
    time: usize,
    /// The sum of all vertices seen, the last ones weighted most, and of the weights.
    vertices: Vec<f64>,
    weight: f64,
}

impl Descent<'_> {
    fn add_vertex(&mut self, vertex: impl Iterator<Item = (usize, f64)>) {
        let weight = self.time as f64;
        vertex.for_each(|(k, amount)| self.vertices[k] += weight * amount);
        self.weight += weight;
    }

    /// The mean of all vertices seen.
    fn mean_vertex(&self) -> Option<Vec<(usize, f64)>> {
        let made = self.vertices.iter().enumerate().filter(|(_, sum)| **sum > 0.0);
        (self.weight > 0.0).then(|| made.map(|(k, sum)| (k, sum / self.weight)).collect())
    }
}

impl LinearBounds {
    /// Bounds `objective · y` over the whole set, better and better until the steps or the time are spent.
    ///
    /// # Panics
    /// When these are bounds of a part.
    pub fn certify(
        &self,
        objective: &[f64],
        options: &BoundOptions,
        budget: &Budget,
    ) -> CertifiedBound {
        self.prove(objective, options, budget).bound.certified().expect("bounds of the whole set")
    }

    /// Bounds `objective · y` over the part that these bounds are of, and says where the bound is attained.
    pub fn prove(&self, objective: &[f64], options: &BoundOptions, budget: &Budget) -> LineBound {
        self.prove_from(objective, &[], options, budget)
    }

    /// The same, beginning with lines that were good for bounds like these.
    pub fn prove_from(
        &self,
        objective: &[f64],
        lines: &[Vec<ReluLine>],
        options: &BoundOptions,
        budget: &Budget,
    ) -> LineBound {
        self.improved(objective, lines, None, options, budget)
    }

    /// The same, beginning with a bound of what this is a part of. It is not evaluated on all moves before it is improved.
    pub fn prove_near(
        &self,
        objective: &[f64],
        near: &LineBound,
        options: &BoundOptions,
        budget: &Budget,
    ) -> LineBound {
        let slopes = &near.function.slopes[..];
        let fits = slopes.len() == self.moves.len();
        self.improved(objective, &near.lines, fits.then_some(slopes), options, budget)
    }

    /// Improves a bound that begins with these lines. `slopes` are about those that it will have, if they are known.
    fn improved(
        &self,
        objective: &[f64],
        lines: &[Vec<ReluLine>],
        slopes: Option<&[f64]>,
        options: &BoundOptions,
        budget: &Budget,
    ) -> LineBound {
        let mut params = self.params(lines);
        let evaluated = |params: &Params| (self.evaluate(objective, params), params.clone());
        let mut best = slopes.is_none().then(|| evaluated(&params));
        let mut improved = false;
        let vertices = vec![0.0; self.moves.len()];
        let mut descent = Descent { options, budget, time: 0, vertices, weight: 0.0 };
        let rounds = options.steps.div_ceil(STEPS_A_ROUND);
        for round in 1..=rounds {
            let value = best.as_ref().map_or(f64::INFINITY, |(best, _)| best.value);
            if value < options.cutoff || budget.is_spent() {
                break;
            }
            let own = best.as_ref().map(|(best, _)| &best.function.slopes[..]);
            let near = own.or(slopes).and_then(|slopes| self.narrowed(slopes));
            let (near, moves) = match &near {
                Some(NarrowedBounds { bounds, moves }) => (bounds, Some(&moves[..])),
                None => (self, None),
            };
            let until = options.steps * round / rounds;
            let lowest = near.descend(objective, &mut params, &mut descent, moves, until);
            let lowest = rounded(lowest);
            let all = self.evaluate(objective, &lowest);
            if all.value < value || best.is_none() {
                (best, improved) = (Some((all, lowest)), true);
            }
        }
        let (mut evaluation, params) = best.unwrap_or_else(|| evaluated(&params));
        if let Some(mean) = descent.mean_vertex().filter(|_| self.uses_theta()) {
            evaluation.vertex = mean;
        }
        self.proof(objective, evaluation, &params, improved)
    }

    /// Improves the params until so many steps are made in all. Those with the lowest bound on the way. `moves` are the places of these bounds'
    /// moves among those of the descent, if there are more.
    fn descend(
        &self,
        objective: &[f64],
        params: &mut Params,
        descent: &mut Descent,
        moves: Option<&[usize]>,
        until: usize,
    ) -> Params {
        let Descent { options, budget, .. } = *descent;
        let mut lowest = (f64::INFINITY, params.clone());
        loop {
            let here = self.evaluate(objective, params);
            if here.value < lowest.0 {
                lowest = (here.value, params.clone());
            }
            let enough = here.value < options.cutoff || budget.is_spent();
            if enough || descent.time >= until {
                return lowest.1;
            }
            let step = STEP * LAST_STEP.powf(descent.time as f64 / options.steps as f64);
            descent.time += 1;
            let place = |k: usize| moves.map_or(k, |moves| moves[k]);
            descent.add_vertex(here.vertex.iter().map(|&(k, amount)| (place(k), amount)));
            self.step_params(params, &here, step, descent.time as i32);
        }
    }

    fn proof(
        &self,
        objective: &[f64],
        evaluation: Evaluation,
        params: &Params,
        improved: bool,
    ) -> LineBound {
        let Evaluation { value, vertex, function, .. } = evaluation;
        let method = match (self.above, improved) {
            (UpperRelaxation::Envelopes, _) => BoundMethod::Envelope,
            (UpperRelaxation::Chords, true) => BoundMethod::Alpha,
            (UpperRelaxation::Chords, false) => BoundMethod::Crown,
        };
        let of_move = |(index, amount): (usize, f64)| {
            let at = self.moves.moves()[index];
            SpentMove { index, at, amount, worth: function.slopes[index] * amount }
        };
        let bound = self.part_bound(objective, value, method);
        let spending = vertex.into_iter().map(of_move).collect();
        let mut lines = vec![Vec::new(); params.len()];
        for NeuronId { layer, index } in self.neurons.unstable() {
            lines[layer].push(params[layer][index].line(index));
        }
        LineBound { bound, spending, lines, function }
    }

    fn evaluate(&self, objective: &[f64], params: &Params) -> Evaluation {
        let lines = |NeuronId { layer, index }| params[layer][index].relaxation();
        let above = self.objective_function(objective, lines);
        let mut vertex = Vec::new();
        let support = self.moves.support(above.slopes(), |k, amount| vertex.push((k, amount)));
        let (value, function) = (self.largest_value(&above, support), above.function());
        Evaluation { value, function, vertex, coefficients: above.coefficients }
    }

    /// What to begin with: what is given, and else what is usually good.
    fn params(&self, lines: &[Vec<ReluLine>]) -> Params {
        let of_layer = |layer: usize| {
            let (share, theta) = match layer {
                0 => (1.0, 0.0),
                _ if self.uses_theta() => (FIRST_SHARE_WITH_THETA, FIRST_THETA),
                _ => (FIRST_SHARE, 0.0),
            };
            let params =
                |interval: &Interval| NeuronParams::new(default_slope(*interval), share, theta);
            let mut params: Vec<NeuronParams> =
                self.neurons.layer(layer).iter().map(params).collect();
            for line in lines.get(layer).into_iter().flatten() {
                let ReluLine { index, below, envelope, theta } = line.valid();
                params[index] = NeuronParams::new(below, envelope, theta);
            }
            params
        };
        (0..self.neurons.hidden()).map(of_layer).collect()
    }

    /// Moves slopes and shares against their gradients: the relaxed network is run forward at the vertex, and a line
    /// counts as much as its coefficient times its value there.
    fn step_params(&self, params: &mut Params, at: &Evaluation, step: f64, time: i32) {
        let Evaluation { vertex, coefficients, .. } = at;
        let mut outputs: Vec<f64> = Vec::new();
        for (layer, params) in params.iter_mut().enumerate() {
            let mut values = self.values_at_vertex(layer, vertex, &outputs);
            let (intervals, envelopes) = (self.neurons.layer(layer), &self.envelopes[layer]);
            let stability = self.neurons.stabilities(layer);
            for (j, g) in values.iter_mut().enumerate() {
                let q = coefficients[layer][j];
                let NeuronParams { below, share, theta } = &mut params[j];
                match stability(j, intervals[j]) {
                    Stability::On => {}
                    Stability::Off => *g = 0.0,
                    Stability::Unstable if q <= 0.0 => {
                        let line = below.value * *g;
                        below.step(q * *g, step, time);
                        *g = line;
                    }
                    Stability::Unstable => {
                        let Interval { lower, upper } = intervals[j];
                        let chord = upper / (upper - lower) * (*g - lower);
                        let before = std::mem::replace(g, chord);
                        if let Some(column) = envelopes.column(j) {
                            let (value, slope) = envelopes.value_at(column, theta.value, vertex);
                            let passed_on = envelopes.of_column(column, theta.value).theta;
                            let envelope = passed_on * before + value;
                            *g = share.value * envelope + (1.0 - share.value) * chord;
                            theta.step(q * share.value * (before + slope), step, time);
                            share.step(q * (envelope - chord), step, time);
                        }
                    }
                }
            }
            outputs = values;
        }
    }

    /// The pre-activations of a layer, given the outputs of the layer below, or for the first one the moves.
    fn values_at_vertex(&self, layer: usize, vertex: &[(usize, f64)], outputs: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.neurons.layer(layer).len()];
        if layer > 0 {
            self.network.affine(layer).apply(outputs, &mut values);
            return values;
        }
        for (j, value) in values.iter_mut().enumerate() {
            let slopes = &self.first.slopes;
            let moved = vertex.iter().map(|&(k, p)| slopes.get(k, j) * p).sum::<f64>();
            *value = self.first.at_centre[j].upper + moved;
        }
        values
    }
}
