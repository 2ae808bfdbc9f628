//! What a solve can end with. Infeasible, unbounded, stopped early and numerical trouble stay apart: folding any of
//! them into another turns *unknown* into a claim.

use thiserror::Error;

/// How a solve ended.
#[derive(Clone, Debug, PartialEq)]
pub enum LpOutcome {
    /// An optimal point, as far as the solver's tolerances go.
    Optimal(LpSolution),
    /// No point satisfies all rows and bounds.
    Infeasible,
    /// The objective grows without end over the feasible points.
    Unbounded,
    /// One of the two; the solver stopped before it knew which.
    InfeasibleOrUnbounded,
    /// The time limit, the iteration limit or a callback ended the solve first.
    Limit(LpProgress),
    /// The solver gave up or contradicted itself, also from cold starts: nothing is known.
    Trouble(String),
}

/// An optimal (or, in [`LpProgress`], a feasible) point of `max c·x`.
///
/// `reduced_costs[j] = c_j − Σ_i duals[i]·a_ij`. At an optimum a reduced cost is ≤ 0 where the column sits at its lower
/// bound, ≥ 0 at its upper bound and 0 between; a dual is ≥ 0 where the row is tight at its upper side, ≤ 0 at its lower
/// side and 0 between. So `duals[i]` is what one more unit of the tight side of row `i` adds to the optimum.
///
/// Branch and bound has no duals: with integer columns both vectors are empty.
#[derive(Clone, Debug, PartialEq)]
pub struct LpSolution {
    /// `c·x`.
    pub objective: f64,
    /// `x`, by column.
    pub cols: Vec<f64>,
    /// By column; empty if there are integer columns.
    pub reduced_costs: Vec<f64>,
    /// By row; empty if there are integer columns.
    pub duals: Vec<f64>,
    /// Simplex iterations of this solve (all nodes, with integer columns).
    pub iterations: usize,
    /// What the solver says no point can exceed. For an LP the objective; with integer columns it may lie above it by
    /// the gap that was allowed.
    pub bound: ClaimedBound,
}

/// What was known when the time was up or a callback stopped a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct LpProgress {
    /// The best feasible point so far.
    pub incumbent: Option<LpSolution>,
    /// What the solver says no point can exceed: for an LP only if the duals at hand are feasible.
    pub bound: Option<ClaimedBound>,
}

/// An upper bound on the objective that the solver claims, in its floating point and tolerances: not a proof.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct ClaimedBound(f64);

impl ClaimedBound {
    /// What the solver said.
    pub(super) fn new(value: f64) -> Self {
        ClaimedBound(value)
    }

    /// The number claimed; infinite if nothing is known.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// Why there is no answer: the model was handed something that is not a linear program, or the solver refused a call.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LpError {
    /// A caller gave up a solve, and the model went with it.
    #[error("the model was given up with its last solve")]
    GivenUp,
    /// A cost, bound, coefficient or start value is NaN.
    #[error("the {what} at position {position} is not a number")]
    NotANumber {
        /// What it should have been.
        what: &'static str,
        /// Its place in the slice that was handed over.
        position: usize,
    },
    /// A value that the solver would read as infinite where it must be finite, or an infinite bound on the wrong side.
    #[error("the {what} at position {position} cannot be {value}")]
    OutOfRange {
        /// What it should have been.
        what: &'static str,
        /// Its place in the slice that was handed over.
        position: usize,
        /// What it is.
        value: f64,
    },
    /// A column that the model does not have.
    #[error("there is no column {col}: the model has {cols}")]
    NoSuchCol {
        /// The column asked for.
        col: usize,
        /// How many there are.
        cols: usize,
    },
    /// A row that the model does not have.
    #[error("there is no row {row}: the model has {rows}")]
    NoSuchRow {
        /// The row asked for.
        row: usize,
        /// How many there are.
        rows: usize,
    },
    /// The same row or column twice in one list of entries.
    #[error("position {position} of the entries repeats the index {index}")]
    Repeated {
        /// Where the second one stands.
        position: usize,
        /// The index that stands there.
        index: usize,
    },
    /// Slices that do not fit together, or do not fit the model.
    #[error("{what}: {found} instead of {expected}")]
    Length {
        /// Which slice.
        what: &'static str,
        /// How long it should be.
        expected: usize,
        /// How long it is.
        found: usize,
    },
    /// The solver refused a call.
    #[error("the solver refused: {call}")]
    Refused {
        /// The name of the call.
        call: &'static str,
    },
    /// The system does not let us write a file.
    #[error("cannot write: {0}")]
    Unwritable(String),
}
