//! The whole network over the input set as one live LP: the rows and columns that the relaxation, the LP of a part and the MILP share.
//!
//! Stable neurons are substituted away. An unstable one is a column `h` in `[0, u]` with the rows `h ≥ g` and `h ≤ u (g − l) / (u − l)`
//! (the chord), where `g` is affine in the columns below. These rows, and the moves of pixels, are added only when a solution violates
//! them or they price out.
//!
//! Trap: `g` of a neuron runs through stable-on neurons below it, so rows reach further down than one layer.

mod affine;
mod cold_start;
mod model;
mod neurons;
mod rounds;
mod rows;
mod signs;
mod warm_start;

pub(super) use model::NetworkLp;
pub(super) use neurons::{AffineOutput, NeuronSplit, UnstableNeuron};
pub(super) use rounds::NetworkOptimum;
pub(super) use rows::RowKind;
pub(super) use signs::DemandedSigns;
pub use warm_start::WarmStart;
