//! Why this room has no answer: the only place where errors and outcomes of the LP solver are translated.

use crate::lp::{LpError, LpOutcome};

/// Why an LP or MILP has no answer.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The time is up, or the work is done that was allowed.
    #[error("the time or the work that was allowed is used up")]
    Budget,
    /// No point of the set has this pattern, or fits these fixings, up to the solver's tolerance.
    #[error("the region is empty")]
    Infeasible,
    /// The solver gave no answer.
    #[error("no answer from the LP solver: {0}")]
    Trouble(String),
}

impl EncodeError {
    /// For an outcome that is neither optimal nor a stop at a limit; our LPs are bounded.
    pub(super) fn without_solution(outcome: &LpOutcome) -> Self {
        match outcome {
            LpOutcome::Infeasible => Self::Infeasible,
            LpOutcome::Limit(_) => Self::Budget,
            other => Self::Trouble(format!("{other:?}")),
        }
    }
}

impl From<LpError> for EncodeError {
    fn from(error: LpError) -> Self {
        Self::Trouble(error.to_string())
    }
}

/// Why a model file was not written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MilpWriteError(String);

impl From<LpError> for MilpWriteError {
    fn from(error: LpError) -> Self {
        Self(error.to_string())
    }
}
