//! Upper bounds of `objective · y` over the whole set that hold whatever rounding does.

use super::certified::{BoundMethod, CertifiedBound, PartBound};
use super::interval::{Interval, Stability};
use super::linear::{Choice, LinearBounds, Multipliers, UpperRelaxation, default_slope};
use crate::budget::Budget;
use crate::network::NeuronId;
use crate::sets::Move;

/// Step of the first improvement of slopes and shares; both live in [0, 1].
const STEP: f64 = 0.2;

/// How much of the step is left at the end.
const LAST_STEP: f64 = 0.1;

/// Improvements on the steepest moves before all of them are looked at.
const STEPS_A_ROUND: usize = 10;

/// Decay of the mean gradient and of its mean square (Kingma and Ba 2015; shorter memories, for a few dozen steps).
const MEMORY: (f64, f64) = (0.8, 0.95);

/// Share of the envelopes behind the first layer to begin with; what is best differs from neuron to neuron.
const FIRST_SHARE: f64 = 0.8;

/// A bound, and where it thinks the largest value is.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The bound.
    pub bound: PartBound,
    /// The moves that lead from the centre to where the linear function behind the bound is largest.
    pub spending: Vec<SpentMove>,
    /// The lines it was made of, for [`LinearBounds::bound_from_lines`]: those of each hidden layer's unstable neurons.
    pub lines: Vec<Vec<ReluLine>>,
}

/// How one unstable neuron was bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReluLine {
    /// Its place in the layer.
    pub index: usize,
    /// Slope of the line below, in [0, 1].
    pub below: f64,
    /// Share of the envelope above, in [0, 1]; the chord gets the rest.
    pub envelope: f64,
}

/// One move of them.
#[derive(Clone, Copy, Debug)]
pub struct SpentMove {
    /// The move's place among the moves of the bounds.
    pub index: usize,
    /// The move.
    pub at: Move,
    /// How much of it is made.
    pub amount: f64,
    /// What that adds to the bound.
    pub worth: f64,
}

/// A bound by multipliers.
#[derive(Clone, Debug)]
pub struct DualBound {
    /// The bound.
    pub bound: PartBound,
    /// What each hidden neuron's output counts for in it, by layer.
    pub coefficients: Vec<Vec<f64>>,
}

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub struct BoundEffort {
    /// Improvements of slopes and shares. Default 40.
    pub steps: usize,
    /// Lower than this the bound need not be.
    pub enough: f64,
}

impl Default for BoundEffort {
    fn default() -> Self {
        Self { steps: 40, enough: f64::NEG_INFINITY }
    }
}

/// A bound, and the linear function behind it.
struct Evaluated {
    value: f64,
    slopes: Vec<f64>,
    /// Where it is largest: moves and their amounts.
    vertex: Vec<(usize, f64)>,
    /// What each neuron's output counted for, by layer.
    coefficients: Vec<Vec<f64>>,
}

/// What is improved for one neuron: slope and share, with what Adam remembers of their gradients.
#[derive(Clone, Copy)]
struct AdamParam {
    value: f64,
    mean: f64,
    square: f64,
}

impl AdamParam {
    fn at(value: f64) -> Self {
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

impl LinearBounds {
    /// Bounds `objective · y` over the whole set, better and better until `effort` or the time is spent.
    ///
    /// # Panics
    /// When these are bounds of a part.
    pub fn certify(
        &self,
        objective: &[f64],
        effort: &BoundEffort,
        budget: &Budget,
    ) -> CertifiedBound {
        self.prove(objective, effort, budget).bound.certified().expect("bounds of the whole set")
    }

    fn bound_of_part(&self, objective: &[f64], value: f64, method: BoundMethod) -> PartBound {
        let bound = CertifiedBound::new(value, self.for_f32(), method);
        PartBound::new(self.part(), objective, bound)
    }

    /// Bounds `objective · y` over the part that these bounds are of, and says where the bound is attained.
    pub fn prove(&self, objective: &[f64], effort: &BoundEffort, budget: &Budget) -> Proof {
        self.prove_from(objective, &[], effort, budget)
    }

    /// The same, beginning with lines that were good for bounds like these.
    ///
    /// Slopes and shares are improved on the steepest moves alone, which is many times faster; what comes out is then evaluated on all.
    pub fn prove_from(
        &self,
        objective: &[f64],
        lines: &[Vec<ReluLine>],
        effort: &BoundEffort,
        budget: &Budget,
    ) -> Proof {
        let mut params = self.params(lines);
        let mut best = (self.evaluate(objective, &params), params.clone());
        let (mut time, mut tuned) = (0, false);
        let rounds = effort.steps.div_ceil(STEPS_A_ROUND);
        for round in 1..=rounds {
            if best.0.value < effort.enough || budget.is_spent() {
                break;
            }
            let near = self.narrowed(&best.0.slopes);
            let near = near.as_ref().unwrap_or(self);
            let mut lowest = (f64::INFINITY, params.clone());
            loop {
                let here = near.evaluate(objective, &params);
                if here.value < lowest.0 {
                    lowest = (here.value, params.clone());
                }
                let enough = here.value < effort.enough || budget.is_spent();
                if enough || time >= effort.steps * round / rounds {
                    break;
                }
                let step = STEP * LAST_STEP.powf(time as f64 / effort.steps as f64);
                time += 1;
                near.step_params(&mut params, &here.coefficients, &here.vertex, step, time as i32);
            }
            let all = self.evaluate(objective, &lowest.1);
            if all.value < best.0.value {
                (best, tuned) = ((all, lowest.1), true);
            }
        }
        let (Evaluated { value, vertex, slopes, .. }, params) = best;
        let method = match (self.above(), tuned) {
            (UpperRelaxation::Envelopes, _) => BoundMethod::Envelope,
            (UpperRelaxation::Chords, true) => BoundMethod::Alpha,
            (UpperRelaxation::Chords, false) => BoundMethod::Crown,
        };
        let of_move = |(index, amount): (usize, f64)| {
            let at = self.moves.moves()[index];
            SpentMove { index, at, amount, worth: slopes[index] * amount }
        };
        let bound = self.bound_of_part(objective, value, method);
        let spending = vertex.into_iter().map(of_move).collect();
        Proof { bound, spending, lines: self.lines(&params) }
    }

    fn evaluate(&self, objective: &[f64], params: &[Vec<[AdamParam; 2]>]) -> Evaluated {
        let choice = |NeuronId { layer, index }, _| {
            let [below, share]: [AdamParam; 2] = params[layer][index];
            Choice::Lines { below: below.value, envelope: share.value }
        };
        let mut coefficients: Vec<Vec<f64>> = vec![Vec::new(); params.len()];
        let above = self.push_back(self.objective_row(objective), choice, |layer, of_layer| {
            coefficients[layer] = of_layer.col_as_slice(0).to_vec();
        });
        let mut vertex = Vec::new();
        let slopes = above.slopes.col_as_slice(0);
        let support = self.moves.support(slopes, |k, amount| vertex.push((k, amount)));
        let value = self.rounded_up(above.constants[0] + support);
        Evaluated { value, slopes: slopes.to_vec(), vertex, coefficients }
    }

    fn lines(&self, params: &[Vec<[AdamParam; 2]>]) -> Vec<Vec<ReluLine>> {
        let mut lines = vec![Vec::new(); params.len()];
        for NeuronId { layer, index } in self.neurons().unstable() {
            let [below, share] = params[layer][index];
            lines[layer].push(ReluLine { index, below: below.value, envelope: share.value });
        }
        lines
    }

    /// The bound that these lines give: once more what [`LinearBounds::prove`] found out. Neurons without a line have 0 below and the
    /// chord above.
    pub fn bound_from_lines(&self, objective: &[f64], lines: &[Vec<ReluLine>]) -> PartBound {
        let mut choices: Vec<Vec<Choice>> = Vec::new();
        for layer in 0..self.neurons().hidden() {
            let chord = Choice::Lines { below: 0.0, envelope: 0.0 };
            let mut of_layer = vec![chord; self.neurons().layer(layer).len()];
            for &ReluLine { index, below, envelope } in lines.get(layer).into_iter().flatten() {
                if let Some(choice) = of_layer.get_mut(index) {
                    // What is no share says nothing.
                    let share = |v: f64| if (0.0..=1.0).contains(&v) { v } else { 0.0 };
                    *choice = Choice::Lines { below: share(below), envelope: share(envelope) };
                }
            }
            choices.push(of_layer);
        }
        let choice = |NeuronId { layer, index }, _| choices[layer][index];
        let above = self.push_back(self.objective_row(objective), choice, |_, _| ());
        let support = self.moves.support(above.slopes.col_as_slice(0), |_, _| ());
        let value = self.rounded_up(above.constants[0] + support);
        self.bound_of_part(objective, value, BoundMethod::Envelope)
    }

    /// Bounds `objective · y` by multipliers of all neurons and constraints: weak duality. Whatever they are, the
    /// bound holds; from the optimal duals of the relaxation it is the relaxation's optimum.
    pub fn dual_bound(&self, objective: &[f64], multipliers: &Multipliers) -> DualBound {
        let Multipliers { neurons, prices } = multipliers;
        let choice = |NeuronId { layer, index }, _| Choice::Duals(neurons[layer][index]);
        let mut coefficients: Vec<Vec<f64>> = vec![Vec::new(); neurons.len()];
        let above = self.push_back(self.objective_row(objective), choice, |layer, of_layer| {
            coefficients[layer] = of_layer.col_as_slice(0).to_vec();
        });
        let support = self.moves.support_at(above.slopes.col_as_slice(0), prices);
        let value = self.rounded_up(above.constants[0] + support);
        let bound = self.bound_of_part(objective, value, BoundMethod::Branch);
        DualBound { bound, coefficients }
    }

    fn params(&self, lines: &[Vec<ReluLine>]) -> Vec<Vec<[AdamParam; 2]>> {
        let of_layer = |layer: usize| {
            let share = if layer == 0 { 1.0 } else { FIRST_SHARE };
            let params = |interval: &Interval| {
                [AdamParam::at(default_slope(*interval)), AdamParam::at(share)]
            };
            let mut params: Vec<[AdamParam; 2]> =
                self.neurons().layer(layer).iter().map(params).collect();
            for line in lines.get(layer).into_iter().flatten() {
                params[line.index] = [AdamParam::at(line.below), AdamParam::at(line.envelope)];
            }
            params
        };
        (0..self.neurons().hidden()).map(of_layer).collect()
    }

    /// Moves slopes and shares against their gradients: the relaxed network is run forward at the vertex, and a line
    /// counts as much as its coefficient times its value there.
    fn step_params(
        &self,
        params: &mut [Vec<[AdamParam; 2]>],
        coefficients: &[Vec<f64>],
        vertex: &[(usize, f64)],
        step: f64,
        time: i32,
    ) {
        let at_vertex = |slopes: &[f64]| vertex.iter().map(|&(k, p)| slopes[k] * p).sum::<f64>();
        let mut outputs: Vec<f64> = Vec::new();
        for (layer, params) in params.iter_mut().enumerate() {
            let mut values = vec![0.0; params.len()];
            if layer == 0 {
                for (j, value) in values.iter_mut().enumerate() {
                    *value = self.at_centre[j].upper + at_vertex(self.first.col_as_slice(j));
                }
            } else {
                self.network.affine(layer).apply(&outputs, &mut values);
            }
            let envelopes = &self.envelopes[layer];
            for (j, g) in values.iter_mut().enumerate() {
                let interval = self.neurons().layer(layer)[j];
                let q = coefficients[layer][j];
                let [below, share] = &mut params[j];
                match self.neurons().stability(NeuronId { layer, index: j }) {
                    Stability::On => {}
                    Stability::Off => *g = 0.0,
                    Stability::Unstable if q <= 0.0 => {
                        let line = below.value * *g;
                        below.step(q * *g, step, time);
                        *g = line;
                    }
                    Stability::Unstable => {
                        let Interval { lower, upper } = interval;
                        let chord = upper / (upper - lower) * (*g - lower);
                        *g = chord;
                        if let Some(column) = envelopes.column(j) {
                            let moved = vertex.iter().map(|&(k, p)| envelopes.slope(column, k) * p);
                            let envelope = envelopes.at_centre(column) + moved.sum::<f64>();
                            *g = share.value * envelope + (1.0 - share.value) * chord;
                            share.step(q * (envelope - chord), step, time);
                        }
                    }
                }
            }
            outputs = values;
        }
    }
}
