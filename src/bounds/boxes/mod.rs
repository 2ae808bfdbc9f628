//! Certified bounds over boxes: `lower ≤ x ≤ upper` and nothing else.
//!
//! Over a box every linear function has its largest value at a corner that is read off its signs, so there is no knapsack and no envelope,
//! and bounds of many parts are made side by side: all functions of all parts of a batch go through a layer in one product.
//!
//! Neurons are bounded layer after layer by interval arithmetic and, where that leaves them unstable, by backward linear bounds (CROWN,
//! Zhang et al. 2018). A part has what is known of the part that it was split from, so that what is stable stays so and costs nothing. What
//! is asked is a property: any of several conjunctions of rows of the outputs. The bound of a conjunction is that of its smallest row, and
//! the bound of a part is the largest of its conjunctions'.
//!
//! The promise is that of [`LinearBounds`](super::LinearBounds): bounds hold for every point of the part, for the exact network or for every
//! f32 run of it.

mod bottleneck;
mod bounded;
mod cuts;
mod descent;
mod effort;
mod evidence;
mod first_slopes;
mod network;
mod padded_weights;
mod part;
mod push_back;
mod quadratic;
mod quadratic_bounds;
mod questions;
mod rounded_slopes;
mod scores;
mod sign_scores;
mod sign_trees;
mod slope_digits;
mod sloped;
mod state;
mod stored_slopes;
#[cfg(test)]
mod tests;
mod weights;

pub use bottleneck::{Bottleneck, HeadBounds, Inequality, TailBounds};
pub use bounded::{BoundedBox, BoxBounds, BoxScratch, SplitBy};
pub use effort::BoundLimits;
pub use evidence::{
    BoundEvidence, BoxEvidence, HalvesEvidence, LineEvidence, NeuronEvidence, RowCombination,
    SignTreeNode, WholeEvidence,
};
pub use part::BoxPart;
pub use quadratic::QuadraticEvidence;
pub use questions::BoxQuestions;
pub use slope_digits::{NeuronDigits, SlopeDigits};
