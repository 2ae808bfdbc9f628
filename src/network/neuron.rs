//! One hidden neuron: its name, and what it does with its pre-activation.

/// A hidden neuron: layer and place in it, both base 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeuronId {
    /// Hidden layer, first is 0.
    pub layer: usize,
    /// Place in the layer, first is 0.
    pub index: usize,
}

/// What a neuron does with its pre-activation `g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Gives `max(g, 0)`.
    Relu,
    /// Gives `g`: always on, never unstable.
    Identity,
}
