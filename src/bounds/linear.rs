//! Backward linear bounds (CROWN, Zhang et al. 2018) over moves, with every rounding error allowed for.
//!
//! A linear function of a layer's outputs is [pushed back](super::push_back) towards the input. Where its coefficient of an unstable
//! ReLU is negative it takes a line `α·g` below; where it is positive, the chord above, which goes on through the
//! layers below, or the [envelope](super::envelope), which is a function of the moves already, or a share of each.
//! What arrives is linear in the moves, and the knapsack gives its largest value.
//!
//! The promise: every interval and every bound made here holds for the whole set, and for the exact network or, if asked, for
//! every f32 run of it. Coefficients
//! are taken as the numbers they came out as; what they should have been differs by at most a rounding allowance
//! times the magnitudes that were added up, and these are added up alongside.

use std::sync::Arc;

use super::bounded_part::BoundedPart;
use super::envelope::Envelopes;
use super::functions::LayerLines;
use super::guide::Guide;
use super::interval::Interval;
use super::neurons::NeuronBounds;
use super::part::{Part, PartSet};
use super::relaxation::UpperRelaxation;
use super::slopes::SlopeColumns;
use crate::network::{Network, NeuronId};
use crate::sets::{Allowance, InputSet, MoveSet};

/// Whose results are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// The network as a mathematical function.
    Exact,
    /// The file run in f32, in any order of summation.
    F32,
}

/// For every hidden neuron an interval and, if unstable, lines above and below it.
pub struct LinearBounds {
    pub(super) network: Arc<Network>,
    /// What the neurons were bounded over from the start. These may be bounds of a part of it.
    pub(super) set: Arc<PartSet>,
    pub(super) moves: Arc<MoveSet>,
    pub(super) first: FirstLayer,
    pub(super) neurons: NeuronBounds,
    pub(super) envelopes: Vec<Arc<Envelopes>>,
    /// For every layer and neuron at least `Σ |w| |h|`, biases left out; for the first, of the image itself.
    pub(super) magnitudes: Vec<Vec<f64>>,
    /// How far each pre-activation, given its inputs, may be from what the weights say: nothing in exact arithmetic.
    pub(super) noise: Vec<Vec<f64>>,
    pub(super) allowance: Allowance,
    pub(super) above: UpperRelaxation,
    pub(super) arithmetic: Arithmetic,
    /// For every layer behind the first, if bounds of parts are to be made from these.
    pub(super) lines: Option<Vec<LayerLines>>,
    /// How lower neurons are relaxed in the lines of deeper ones; empty without a guide.
    pub(super) guide: Guide,
    /// The neurons of the last hidden layer that need an interval, if not all do.
    pub(super) wanted: Option<Arc<[bool]>>,
    /// The intervals that these bounds began with, and how they were made.
    pub(super) bounded: Option<Arc<BoundedPart>>,
}

/// The pre-activations of the first layer as functions of the moves.
#[derive(Clone)]
pub(super) struct FirstLayer {
    /// One column per neuron.
    pub slopes: Arc<SlopeColumns>,
    /// The values at the centre, rounding included.
    pub at_centre: Vec<Interval>,
    /// At least `Σ |slope| p` anywhere in the set, by neuron.
    pub reach: Vec<f64>,
    /// The largest magnitude of a slope, by neuron.
    pub steepest: Vec<f64>,
}

impl LinearBounds {
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

    /// The intervals of the part that these bounds, or those that they were made of, were made for, and how they came about.
    ///
    /// # Panics
    /// Never: it is there once bounds are made.
    pub fn bounded_part(&self) -> &Arc<BoundedPart> {
        self.bounded.as_ref().expect("bounds are made")
    }

    /// Points with a smaller value than this are left out of account: a bound is never lower.
    pub fn goal(&self) -> Option<f64> {
        self.neurons.goal().map(|goal| goal.value)
    }

    /// Whether envelopes pass a part of the neuron on: where a budget binds. Elsewhere that does not help.
    pub(super) fn uses_theta(&self) -> bool {
        self.above == UpperRelaxation::Envelopes && self.moves.budget_binds()
    }

    /// Whether every neuron's interval is as narrow as these bounds can make it. Signs are split on such bounds only.
    pub fn has_all_intervals(&self) -> bool {
        self.wanted.is_none()
    }

    /// Whether a neuron needs an interval.
    pub(super) fn wants(&self, layer: usize, j: usize) -> bool {
        layer + 1 < self.network.hidden().len()
            || self.wanted.as_ref().is_none_or(|wanted| wanted[j])
    }

    /// Whether they are ready for [`LinearBounds::within`].
    pub fn is_splittable(&self) -> bool {
        self.lines.is_some()
    }

    /// What lies above unstable ReLUs.
    pub fn above(&self) -> UpperRelaxation {
        self.above
    }

    /// Whether the bounds hold for the network computed in f32, too.
    pub fn for_f32(&self) -> bool {
        self.arithmetic == Arithmetic::F32
    }

    /// The intervals.
    pub fn neurons(&self) -> &NeuronBounds {
        &self.neurons
    }

    /// The envelope of a neuron, if it has one: its output is at most this constant and these slopes, one for each move, times the moves.
    pub fn envelope(&self, neuron: NeuronId) -> Option<(f64, impl Fn(usize) -> f64)> {
        let envelopes = &self.envelopes[neuron.layer];
        let column = envelopes.column(neuron.index)?;
        Some((envelopes.of_column(column, 0.0).at_centre, envelopes.slopes(column)))
    }

    /// The sum of a constant and a support, which was rounded once more, rounded up.
    pub(super) fn rounded_up(&self, value: f64) -> f64 {
        let up = self.allowance.up(value);
        if up.is_nan() { f64::INFINITY } else { up }
    }
}
