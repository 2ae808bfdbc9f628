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
    /// The neurons of each hidden layer that have no ReLU, ascending.
    identities: Arc<[Vec<usize>]>,
}

impl NeuronBounds {
    /// No intervals yet.
    pub(super) fn of_no_layer(part: Part, network: &Network) -> Self {
        let identities = network.hidden().iter().map(|layer| layer.identities().to_vec());
        Self { part, layers: Vec::new(), identities: identities.collect() }
    }

    /// The part that they hold in.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The intervals of a hidden layer, base 0.
    pub fn layer(&self, layer: usize) -> &[Interval] {
        &self.layers[layer]
    }

    pub(super) fn layer_mut(&mut self, layer: usize) -> &mut [Interval] {
        &mut self.layers[layer]
    }

    pub(super) fn push_layer(&mut self, intervals: Vec<Interval>) {
        self.layers.push(intervals);
    }

    /// The same intervals, over a part of the part.
    pub(super) fn over(&self, part: Part) -> Self {
        Self { part, ..self.clone() }
    }

    /// The interval of one neuron.
    pub fn get(&self, neuron: NeuronId) -> Interval {
        self.layers[neuron.layer][neuron.index]
    }

    fn is_identity(&self, NeuronId { layer, index }: NeuronId) -> bool {
        self.identities[layer].binary_search(&index).is_ok()
    }

    /// What its interval says about a neuron. One without a ReLU is always on.
    pub fn stability(&self, neuron: NeuronId) -> Stability {
        self.stability_in(neuron, self.get(neuron))
    }

    /// What an interval would say about a neuron.
    pub(super) fn stability_in(&self, neuron: NeuronId, interval: Interval) -> Stability {
        if self.is_identity(neuron) { Stability::On } else { interval.stability() }
    }

    /// What a neuron's output may be.
    pub fn output(&self, neuron: NeuronId) -> Interval {
        let Interval { lower, upper } = self.get(neuron);
        if self.is_identity(neuron) {
            return Interval { lower, upper };
        }
        Interval { lower: lower.max(0.0), upper: upper.max(0.0) }
    }

    /// The neurons that may be on or off.
    pub fn unstable(&self) -> impl Iterator<Item = NeuronId> + '_ {
        let of_layer = |(layer, intervals): (usize, &Vec<Interval>)| {
            (0..intervals.len()).map(move |index| NeuronId { layer, index })
        };
        let all = self.layers.iter().enumerate().flat_map(of_layer);
        all.filter(|neuron| self.stability(*neuron) == Stability::Unstable)
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len()
    }
}
