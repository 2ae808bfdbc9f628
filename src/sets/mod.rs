//! Where inputs may lie: a box, an L1 or L∞ ball cut by a box, a box cut by linear constraints, and every part that branching makes of
//! them. No file, no network, no solver.

mod ball;
mod constraint;
mod domain;
mod maximise;
mod move_constraints;
mod moves;
mod norm;
mod project;
mod rounding;
mod set;
mod split;
mod steepest;
#[cfg(test)]
mod tests;

pub use ball::{Ball, PixelRange};
pub use constraint::Constraint;
pub use domain::{Domain, NoInteger};
pub use maximise::Vertex;
pub use moves::{MovePart, MoveSet};
pub use norm::Norm;
pub(crate) use rounding::Allowance;
pub use set::{InputSet, Move};
pub use split::{Half, PixelSplit};
