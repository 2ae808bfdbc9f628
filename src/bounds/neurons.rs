//! Intervals of all hidden neurons.

use super::interval::{Interval, Stability};
use super::part::Part;
use crate::network::NeuronId;

/// An interval for the pre-activation of every hidden neuron, over a part of the set.
#[derive(Clone, Debug)]
pub struct NeuronBounds {
    part: Part,
    layers: Vec<Vec<Interval>>,
}

impl NeuronBounds {
    pub(super) fn new(part: Part, layers: Vec<Vec<Interval>>) -> Self {
        Self { part, layers }
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
        Self { part, layers: self.layers.clone() }
    }

    /// The interval of one neuron.
    pub fn get(&self, neuron: NeuronId) -> Interval {
        self.layers[neuron.layer][neuron.index]
    }

    /// The neurons that may be on or off.
    pub fn unstable(&self) -> impl Iterator<Item = NeuronId> + '_ {
        let of_layer = |(layer, intervals): (usize, &Vec<Interval>)| {
            let unstable =
                |(_, interval): &(usize, &Interval)| interval.stability() == Stability::Unstable;
            let open = intervals.iter().enumerate().filter(unstable);
            open.map(|(index, _)| NeuronId { layer, index }).collect::<Vec<_>>()
        };
        self.layers.iter().enumerate().flat_map(of_layer)
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len()
    }
}
