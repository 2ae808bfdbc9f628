//! One call of the LP solver: within the budget, counted, and with its outcomes told apart.

use super::error::EncodeError;
use crate::budget::Budget;
use crate::lp::{self, Callbacks, LpModel, LpOutcome, LpSolution, Simplex};
use crate::network::Network;

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
    /// What all this has cost, about: simplex iterations times the rows and columns of their LP, and products with the network at
    /// [`LpWork::passes`]. Unlike seconds the same in every run.
    pub operations: usize,
}

/// A simplex iteration takes for each row and column of its LP as long as about so many multiplications in products with the network
/// (measured on 2×500: half a microsecond).
const MULTIPLICATIONS: usize = 5000;

impl LpWork {
    /// What passes through a network cost, forward or backward, in [operations](Self::operations).
    pub fn passes(network: &Network, count: usize) -> usize {
        count * network.parameters() / MULTIPLICATIONS
    }
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
            operations: self.operations + other.operations,
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
    // The solver's own limit is on the wall clock, which may be another one than the budget's; it also has to be told that the work was cancelled.
    let (mut nothing, should_stop) = (|_: &[f64]| (), || budget.is_spent());
    let mut callbacks =
        Callbacks { on_improvement: &mut nothing, should_stop: &should_stop, gives_up: None };
    let outcome = lp.solve_with_callbacks(budget.wall_left(), simplex, Some(&mut callbacks))?;
    work.operations += lp.iterations() * (lp.rows() + lp.cols());
    match outcome {
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
