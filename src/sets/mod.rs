//! Where inputs may lie: a box, an L1 or L∞ ball cut by a box, a box cut by linear constraints, and every part that branching makes of
//! them. No file, no network, no solver.

mod ball;
mod constraint;
mod domain;
mod norm;
mod set;

pub use ball::{Ball, PixelRange};
pub use constraint::Constraint;
pub use domain::Domain;
pub use norm::Norm;
pub use set::{InputSet, Move, Vertex};
