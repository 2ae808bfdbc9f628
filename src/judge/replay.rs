//! The second opinion, as far as the judge needs to know it.

use std::error::Error;

/// The model's file run as it is, in its own precision. Shared between threads.
pub trait Replay: Send + Sync {
    /// The logits that the file gives for `x`.
    ///
    /// # Errors
    /// When the file cannot be run on `x`.
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure>;
}

/// What a replay says when it fails.
pub type ReplayFailure = Box<dyn Error + Send + Sync>;
