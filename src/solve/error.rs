//! Why there is no answer.

use crate::judge::{Contradiction, JudgeError};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The judge could not judge.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Search and proof disagree.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
}
