//! Intervals of all hidden neurons.

use std::sync::Arc;

use super::interval::{Interval, Stability};
use super::part::Part;
use crate::network::{Network, NeuronId};

/// An interval for the pre-activation of every hidden neuron, over a part of the set.
#[derive(Clone, Debug)]
pub struct NeuronBounds {
    part: Part,
    layers: Vec<Vec<Interval>>,
    /// The neurons of each layer that have no ReLU, ascending.
    identities: Arc<Vec<Vec<usize>>>,
    /// What they leave out of account, if they do not hold for all points of the part.
    goal: Option<CutGoal>,
}

/// Intervals behind a cut hold for points at which `objective · y` is at least `value`. They carry this along, so that whatever is made of them
/// knows it, too.
#[derive(Clone, Debug)]
pub(super) struct CutGoal {
    pub objective: Arc<[f64]>,
    pub value: f64,
}

impl CutGoal {
    /// The bound of a function over points that are at least the goal, where it is at most `value`, and over all others.
    pub fn bound(&self, objective: &[f64], value: f64) -> f64 {
        // Of another function nothing is known at points below the goal.
        if *self.objective == *objective { value.max(self.value) } else { f64::INFINITY }
    }

    /// What holds where both hold.
    ///
    /// # Panics
    /// When they are about different functions.
    fn and(&self, other: &Self) -> Self {
        assert!(self.objective == other.objective, "goals of one objective");
        Self { objective: Arc::clone(&self.objective), value: self.value.max(other.value) }
    }
}

impl NeuronBounds {
    /// Without layers yet.
    pub(super) fn new(part: Part, network: &Network) -> Self {
        let identities = network.hidden().iter().map(|layer| layer.identities().to_vec());
        Self { part, layers: Vec::new(), identities: Arc::new(identities.collect()), goal: None }
    }

    /// The same intervals for a network that begins with the same layers.
    ///
    /// # Panics
    /// When they are behind a cut: its objective is about other outputs.
    pub(super) fn of_longer(&self, network: &Network) -> Self {
        assert!(self.goal.is_none(), "intervals of all points");
        Self { layers: self.layers.clone(), ..Self::new(self.part.clone(), network) }
    }

    pub(super) fn push_layer(&mut self, intervals: Vec<Interval>) {
        self.layers.push(intervals);
    }

    /// The same intervals, over a part of the part.
    pub(super) fn over(&self, part: Part) -> Self {
        Self { part, ..self.clone() }
    }

    /// The same, if they also hold only where others hold, or a cut says so.
    ///
    /// # Panics
    /// When the cuts have different objectives.
    pub(super) fn toward(mut self, goal: Option<&CutGoal>) -> Self {
        self.goal = match (self.goal.take(), goal) {
            (Some(own), Some(other)) => Some(own.and(other)),
            (own, other) => own.or_else(|| other.cloned()),
        };
        self
    }

    /// Points with a smaller value of its objective may be outside of the intervals.
    pub(super) fn goal(&self) -> Option<&CutGoal> {
        self.goal.as_ref()
    }

    /// The part that they hold in.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len()
    }

    /// The intervals of a hidden layer, base 0.
    pub fn layer(&self, layer: usize) -> &[Interval] {
        &self.layers[layer]
    }

    pub(super) fn layer_mut(&mut self, layer: usize) -> &mut [Interval] {
        &mut self.layers[layer]
    }

    /// The interval of one neuron.
    pub fn get(&self, neuron: NeuronId) -> Interval {
        self.layers[neuron.layer][neuron.index]
    }

    /// Whether a neuron is on, off, or may be either. One without a ReLU is always on.
    pub fn stability(&self, neuron: NeuronId) -> Stability {
        self.stabilities(neuron.layer)(neuron.index, self.get(neuron))
    }

    /// The same for all neurons of a layer, told their place and interval.
    pub(super) fn stabilities(&self, layer: usize) -> impl Fn(usize, Interval) -> Stability + '_ {
        let identities = &self.identities[layer];
        move |index, interval| {
            let is_identity = !identities.is_empty() && identities.binary_search(&index).is_ok();
            if is_identity { Stability::On } else { interval.stability() }
        }
    }

    /// The neurons that may be on or off.
    pub fn unstable(&self) -> impl Iterator<Item = NeuronId> + '_ {
        let neurons = |layer: usize| {
            (0..self.layers[layer].len()).map(move |index| NeuronId { layer, index })
        };
        let unstable = |neuron: &NeuronId| self.stability(*neuron) == Stability::Unstable;
        (0..self.layers.len()).flat_map(neurons).filter(unstable)
    }

    /// What the output of a neuron may be.
    pub fn output(&self, neuron: NeuronId) -> Interval {
        let Interval { lower, upper } = self.get(neuron);
        match self.identities[neuron.layer].binary_search(&neuron.index) {
            Ok(_) => Interval { lower, upper },
            Err(_) => Interval { lower: lower.max(0.0), upper: upper.max(0.0) },
        }
    }

    /// What the outputs of a layer may be.
    pub(super) fn outputs(&self, layer: usize) -> Vec<Interval> {
        (0..self.layers[layer].len()).map(|index| self.output(NeuronId { layer, index })).collect()
    }
}
