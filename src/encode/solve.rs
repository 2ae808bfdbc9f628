//! One call of the LP solver, whoever asks: within the budget, counted, and with its outcomes told apart.

use crate::budget::Budget;
use crate::lp::{Limits, LpError, LpModel, LpOutcome, LpSolution, Simplex};

/// What solving has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Calls of the LP solver.
    pub lps: usize,
    /// Simplex iterations.
    pub iterations: usize,
    /// Regions solved.
    pub regions: usize,
    /// Neuron rows made.
    pub rows: usize,
    /// Moves (columns) made.
    pub columns: usize,
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            lps: self.lps + other.lps,
            iterations: self.iterations + other.iterations,
            regions: self.regions + other.regions,
            rows: self.rows + other.rows,
            columns: self.columns + other.columns,
        }
    }
}

/// Why a region, or the relaxation, has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// The time is up.
    #[error("the time is up")]
    Budget,
    /// No point of the set has this pattern, or fits these fixings, up to the solver's tolerance.
    #[error("the region is empty")]
    Empty,
    /// The solver gave no answer.
    #[error("no answer from the LP solver: {0}")]
    Trouble(String),
}

impl RegionError {
    /// An outcome that no bounded LP should have.
    pub(super) fn unexpected(outcome: &LpOutcome) -> Self {
        Self::Trouble(format!("{outcome:?}"))
    }
}

impl From<LpError> for RegionError {
    fn from(error: LpError) -> Self {
        Self::Trouble(error.to_string())
    }
}

/// Solves the LP as it stands, in what is left of the budget.
pub(super) fn solve(
    lp: &mut LpModel,
    simplex: Simplex,
    budget: &Budget,
    work: &mut Work,
) -> Result<LpSolution, RegionError> {
    if budget.is_spent() {
        return Err(RegionError::Budget);
    }
    let limits = Limits { time: budget.left(), ..Limits::default() };
    work.lps += 1;
    match lp.solve(&limits, simplex)? {
        LpOutcome::Optimal(solution) => {
            work.iterations += solution.iterations;
            Ok(solution)
        }
        LpOutcome::Infeasible => Err(RegionError::Empty),
        LpOutcome::Limit(_) => Err(RegionError::Budget),
        other => Err(RegionError::unexpected(&other)),
    }
}
