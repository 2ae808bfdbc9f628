//! Bounds of functions by quadratic relaxations of all neurons at once: dearer than lines and, where many neurons count, far lower.

mod cholesky;
mod collapse;
mod evidence;
mod improve;
mod relaxation;
#[cfg(test)]
mod tests;

pub(super) use collapse::CollapsedBox;
pub use evidence::QuadraticEvidence;
pub(super) use improve::{FirstLines, best_point, improve};
pub(super) use relaxation::QuadraticRelaxation;
