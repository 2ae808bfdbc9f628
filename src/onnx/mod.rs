//! A file becomes a [`Network`](crate::network::Network).
//!
//! The promise: what comes out computes what the file computes. [`OnnxModel::load`] extracts affine
//! layers from tract's graph and then compares them with tract's own run of the file on seeded
//! inputs; a network that disagrees is an error, never a warning. What is not understood is refused by name.
//!
//! The trap: tract rewrites graphs and renames nodes, so errors are traced back to the file's own names.

mod check;
mod error;
mod file;
mod graph;
mod guard;
mod lower;
mod model;
mod normalisation;
mod runner;
mod unfolded;
mod upsample;

pub use check::Agreement;
pub use error::{OnnxError, OnnxProblem};
pub use file::{sha256, weight_files};
pub use graph::{NodeNote, Role, operators};
pub use guard::{catches_panics, silence_caught_panics};
pub use model::OnnxModel;
pub use normalisation::Normalisation;
pub use runner::{ReplayError, TractRunner};

/// The oldest opset that is read, and the newest that tests cover. Newer ones are read, too.
pub const OPSETS: (i64, i64) = (graph::OLDEST_OPSET, 21);
