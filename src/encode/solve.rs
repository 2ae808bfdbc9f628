//! One call of the LP solver: within the budget, counted, and with its outcomes told apart.

use super::error::EncodeError;
use crate::budget::Budget;
use crate::lp::{self, LpModel, LpOutcome, LpSolution, Simplex};

/// What solving has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LpWork {
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

impl std::ops::Add for LpWork {
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

/// Solves the LP as it stands, in what is left of the budget.
pub(super) fn solve(
    lp: &mut LpModel,
    simplex: Simplex,
    budget: &Budget,
    work: &mut LpWork,
) -> Result<LpSolution, EncodeError> {
    if budget.is_spent() {
        return Err(EncodeError::Budget);
    }
    work.lps += 1;
    match lp.solve(budget.left(), simplex)? {
        LpOutcome::Optimal(solution) => {
            work.iterations += solution.iterations;
            Ok(solution)
        }
        other => Err(EncodeError::without_solution(&other)),
    }
}

/// The version of HiGHS, the LP solver.
pub fn solver_version() -> String {
    lp::solver_version()
}
