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
}

impl NeuronBounds {
    /// Without layers yet.
    pub(super) fn new(part: Part, network: &Network) -> Self {
        let identities = network.hidden().iter().map(|layer| layer.identities().to_vec());
        Self { part, layers: Vec::new(), identities: Arc::new(identities.collect()) }
    }

    /// The same intervals for a network that begins with the same layers.
    pub(super) fn of_longer(&self, network: &Network) -> Self {
        Self { layers: self.layers.clone(), ..Self::new(self.part.clone(), network) }
    }

    pub(super) fn push_layer(&mut self, intervals: Vec<Interval>) {
        self.layers.push(intervals);
    }

    /// The same intervals, over a part of the part.
    pub(super) fn over(&self, part: Part) -> Self {
        Self { part, ..self.clone() }
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
