//! The three answers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The answer to one problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A witness was found.
    Adversarial,
    /// None exists: a certified upper bound of the margin is below zero.
    Robust,
    /// Neither.
    Unknown,
}

impl Verdict {
    /// All verdicts, in the order they are reported.
    pub const ALL: [Self; 3] = [Self::Adversarial, Self::Robust, Self::Unknown];

    /// The name in records: `adversarial`, `robust` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adversarial => "adversarial",
            Self::Robust => "robust",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A point above a bound that was said to be certified.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a point with margin {margin} contradicts the certified upper bound {bound}: please report this bug"
)]
pub struct Contradiction {
    /// The point's margin.
    pub margin: f64,
    /// The bound.
    pub bound: f64,
}
