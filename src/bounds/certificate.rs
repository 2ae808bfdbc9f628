//! Upper bounds of `objective · y` over the whole set that hold whatever rounding does.

use super::Interval;
use super::Stability;
use super::linear::{Above, Choice, LinearBounds, default_slope};
use crate::budget::Budget;
use crate::input::Move;
use crate::network::NeuronId;

/// Step of the first improvement of slopes and shares; both live in [0, 1].
const STEP: f64 = 0.2;

/// How much of the step is left at the end.
const LAST_STEP: f64 = 0.1;

/// Decay of the mean gradient and of its mean square (Kingma and Ba 2015; shorter memories, for a few dozen steps).
const MEMORY: (f64, f64) = (0.8, 0.95);

/// Share of the envelopes behind the first layer to begin with; what is best differs from neuron to neuron.
const FIRST_SHARE: f64 = 0.8;

/// How a bound was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundMethod {
    /// Backward linear bounds with chords and fixed slopes.
    Crown,
    /// The same with optimised slopes.
    Alpha,
    /// Chords and envelopes, slopes and shares optimised.
    Envelope,
    /// The same for each of the parts that the set was divided into.
    Branch,
}

impl BoundMethod {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crown => "crown",
            Self::Alpha => "alpha",
            Self::Envelope => "envelope",
            Self::Branch => "branch",
        }
    }
}

/// A proven upper bound. Only [`LinearBounds::prove`] makes one, and what is put together of such.
#[derive(Clone, Copy, Debug)]
pub struct CertifiedBound {
    value: f64,
    for_f32: bool,
    method: BoundMethod,
}

impl CertifiedBound {
    /// No point of the set has a larger value in exact arithmetic.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Whether the same is true of the network computed in f32.
    pub fn holds_in_f32(&self) -> bool {
        self.for_f32
    }

    /// The bound of a set that is covered by parts with these bounds: the largest. `None` without parts.
    pub(crate) fn of_cover(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let both = |a: Self, b: Self| Self {
            value: a.value.max(b.value),
            for_f32: a.for_f32 && b.for_f32,
            method: BoundMethod::Branch,
        };
        parts.into_iter().reduce(both)
    }

    /// The lower one of two bounds of the same set, both for the same arithmetic.
    pub(crate) fn or_lower(self, other: Self) -> Self {
        if other.value < self.value { other } else { self }
    }

    /// A bound that nobody has proven, to see what others make of it.
    #[cfg(test)]
    pub(crate) fn forged(value: f64, for_f32: bool) -> Self {
        Self { value, for_f32, method: BoundMethod::Crown }
    }

    /// How it was proven.
    pub fn method(&self) -> BoundMethod {
        self.method
    }
}

/// A bound, and where it thinks the largest value is.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The bound.
    pub bound: CertifiedBound,
    /// The moves that lead from the centre to where the linear function behind the bound is largest.
    pub spending: Vec<Spending>,
}

/// One move of them.
#[derive(Clone, Copy, Debug)]
pub struct Spending {
    /// The move's place among the moves of the bounds.
    pub index: usize,
    /// The move.
    pub at: Move,
    /// How much of it is made.
    pub amount: f64,
    /// What that adds to the bound.
    pub worth: f64,
}

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Improvements of slopes and shares. Default 40.
    pub steps: usize,
    /// Lower than this the bound need not be.
    pub enough: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { steps: 40, enough: f64::NEG_INFINITY }
    }
}

/// What is improved for one neuron: slope and share, with what Adam remembers of their gradients.
#[derive(Clone, Copy)]
struct Knob {
    value: f64,
    mean: f64,
    square: f64,
}

impl Knob {
    fn at(value: f64) -> Self {
        Self { value, mean: 0.0, square: 0.0 }
    }

    /// One step of Adam downhill, kept in [0, 1].
    fn turn(&mut self, gradient: f64, step: f64, time: i32) {
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

impl LinearBounds<'_> {
    /// Bounds `objective · y`, better and better until `effort` or the time is spent.
    pub fn certify(&self, objective: &[f64], effort: &Effort, budget: &Budget) -> CertifiedBound {
        self.prove(objective, effort, budget).bound
    }

    /// The same, and where the bound is attained.
    pub fn prove(&self, objective: &[f64], effort: &Effort, budget: &Budget) -> Proof {
        let mut spending: Vec<(usize, f64, f64)> = Vec::new();
        let mut knobs = self.knobs();
        let mut coefficients: Vec<Vec<f64>> = vec![Vec::new(); knobs.len()];
        let mut best = f64::INFINITY;
        let mut tuned = false;
        for time in 0..=effort.steps {
            let choice = |NeuronId { layer, index }, _| {
                let [below, share]: [Knob; 2] = knobs[layer][index];
                Choice { below: below.value, envelope: share.value }
            };
            let rows = self.objective_row(objective);
            let above = self.push_back(rows, choice, |layer, of_layer| {
                coefficients[layer] = of_layer.col_as_slice(0).to_vec();
            });
            let mut vertex = Vec::new();
            let slopes = above.slopes.col_as_slice(0);
            let support = self.lifted.support(slopes, |k, amount| vertex.push((k, amount)));
            let value = self.rounded_up(above.constants[0] + support);
            if value < best {
                (best, tuned) = (value, time > 0);
                spending = vertex.iter().map(|&(k, amount)| (k, amount, slopes[k])).collect();
            }
            if time == effort.steps || best < effort.enough || budget.is_spent() {
                break;
            }
            let progress = time as f64 / effort.steps as f64;
            let step = STEP * LAST_STEP.powf(progress);
            self.turn(&mut knobs, &coefficients, &vertex, step, time as i32 + 1);
        }
        let method = match (self.above(), tuned) {
            (Above::Envelopes, _) => BoundMethod::Envelope,
            (Above::Chords, true) => BoundMethod::Alpha,
            (Above::Chords, false) => BoundMethod::Crown,
        };
        let of_move = |(index, amount, slope): (usize, f64, f64)| {
            let at = self.lifted.moves()[index];
            Spending { index, at, amount, worth: slope * amount }
        };
        let bound = CertifiedBound { value: best, for_f32: self.for_f32(), method };
        Proof { bound, spending: spending.into_iter().map(of_move).collect() }
    }

    fn knobs(&self) -> Vec<Vec<[Knob; 2]>> {
        let of_layer = |layer: usize| {
            let share = if layer == 0 { 1.0 } else { FIRST_SHARE };
            let knobs = |interval: &Interval| [Knob::at(default_slope(*interval)), Knob::at(share)];
            self.neurons().layer(layer).iter().map(knobs).collect()
        };
        (0..self.neurons().hidden()).map(of_layer).collect()
    }

    /// Moves slopes and shares against their gradients: the relaxed network is run forward at the vertex, and a line
    /// counts as much as its coefficient times its value there.
    fn turn(
        &self,
        knobs: &mut [Vec<[Knob; 2]>],
        coefficients: &[Vec<f64>],
        vertex: &[(usize, f64)],
        step: f64,
        time: i32,
    ) {
        let at_vertex = |slopes: &[f64]| vertex.iter().map(|&(k, p)| slopes[k] * p).sum::<f64>();
        let mut outputs: Vec<f64> = Vec::new();
        for (layer, knobs) in knobs.iter_mut().enumerate() {
            let mut values = vec![0.0; knobs.len()];
            if layer == 0 {
                for (j, value) in values.iter_mut().enumerate() {
                    *value = self.at_centre[j].upper + at_vertex(self.first.col_as_slice(j));
                }
            } else {
                self.network.layers()[layer].apply(&outputs, &mut values);
            }
            let envelopes = &self.envelopes[layer];
            for (j, g) in values.iter_mut().enumerate() {
                let interval = self.neurons().layer(layer)[j];
                let q = coefficients[layer][j];
                let [below, share] = &mut knobs[j];
                match interval.stability() {
                    Stability::On => {}
                    Stability::Off => *g = 0.0,
                    Stability::Unstable if q <= 0.0 => {
                        let line = below.value * *g;
                        below.turn(q * *g, step, time);
                        *g = line;
                    }
                    Stability::Unstable => {
                        let Interval { lower, upper } = interval;
                        let chord = upper / (upper - lower) * (*g - lower);
                        *g = chord;
                        if let Some(column) = envelopes.column(j) {
                            let slopes = envelopes.slopes().col_as_slice(column);
                            let envelope = envelopes.at_centre(column) + at_vertex(slopes);
                            *g = share.value * envelope + (1.0 - share.value) * chord;
                            share.turn(q * (envelope - chord), step, time);
                        }
                    }
                }
            }
            outputs = values;
        }
    }
}
