//! The function under attack, in `f64`: affine maps, and behind each neuron a ReLU or nothing. No file, no solver.
//!
//! Trap: the last layer has no ReLU. Hidden layers are all but the last, the last one gives the logits.

mod affine;
mod chain;
mod compressed;
mod dense;
mod error;
mod forward;
mod gradient;
mod halves;
mod label;
mod layer;
mod neuron;
mod pattern;
#[cfg(test)]
pub(crate) mod random;
mod slopes;
mod sparse;
pub mod torch;
mod trace;
mod weights;
mod with_inputs;

pub use affine::AffineMap;
pub use chain::Network;
pub(crate) use dense::{add_block_product, add_product};
pub use error::NetworkError;
pub use forward::widened;
pub use gradient::Gradients;
pub use label::Label;
pub use layer::{Layer, LayerRounding};
pub use neuron::{Activation, NeuronId};
pub use pattern::ActivationPattern;
pub use slopes::PulledBackNeurons;
pub use trace::Trace;
pub use weights::MapRow;
