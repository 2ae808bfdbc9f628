//! Intervals that every neuron provably stays in while the input stays in its set, and proven upper bounds of what the
//! network can be made to say there.

mod certificate;
mod envelope;
mod interval;
mod linear;
#[cfg(test)]
mod tests;

use crate::network::NeuronId;

pub use certificate::{
    BoundEffort, BoundMethod, CertifiedBound, DualBound, Proof, ReluLine, SpentMove,
};
pub use interval::interval_arithmetic;
pub use linear::{
    Arithmetic, Choice, LinearBounds, Multipliers, NeuronDuals, Sign, UpperRelaxation,
};

/// `lower ≤ g ≤ upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Smallest value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
}

/// What bounds say about a ReLU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Passes its input everywhere in the set.
    On,
    /// Gives 0 everywhere in the set.
    Off,
    /// May be either.
    Unstable,
}

impl Interval {
    /// What is in both.
    fn and(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }

    /// The state of a ReLU whose pre-activation stays in this interval.
    pub fn stability(&self) -> Stability {
        if self.lower >= 0.0 {
            Stability::On
        } else if self.upper <= 0.0 {
            Stability::Off
        } else {
            Stability::Unstable
        }
    }
}

/// An interval for the pre-activation of every hidden neuron.
#[derive(Clone, Debug)]
pub struct NeuronBounds {
    layers: Vec<Vec<Interval>>,
}

impl NeuronBounds {
    /// The intervals of a hidden layer, base 0.
    pub fn layer(&self, layer: usize) -> &[Interval] {
        &self.layers[layer]
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
