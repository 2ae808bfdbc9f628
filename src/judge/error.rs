//! Why there is no judgement.

use super::replay::ReplayFailure;

/// A set or candidate that makes no sense, or a model that does not run. A candidate that is no witness is no error.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// Image, candidate or logits have the wrong length.
    #[error("{what}: {found} values, the model has {wanted}")]
    Length {
        /// Which of them.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        wanted: usize,
    },
    /// A NaN or an infinity in the candidate.
    #[error("the candidate's value {position} is {value}, not a finite number")]
    NotFinite {
        /// Where, base 0.
        position: usize,
        /// What is there.
        value: f64,
    },
    /// The centre of a ball is not in the range that the ball is cut by, or no `f32`.
    #[error("the image's value {position} is {value}, not in [{lower}, {upper}]")]
    CentreOutside {
        /// Where, base 0.
        position: usize,
        /// What is there.
        value: f64,
        /// The least value allowed there.
        lower: f64,
        /// The largest value allowed there.
        upper: f64,
    },
    /// A radius that is zero, negative, infinite or NaN.
    #[error("the budget {0} is not a positive number")]
    Radius(f64),
    /// The file could not be run.
    #[error(transparent)]
    Replay(ReplayFailure),
}
