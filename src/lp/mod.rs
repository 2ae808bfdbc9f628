//! Linear programs in our own words: [`LpModel`] is one live program, edited and solved again from the last basis.
//!
//! We maximise, always. `max 3x + 2y` with `x + y ≤ 4`, `x + 3y ≤ 6`, `0 ≤ x ≤ 3`, `y ≥ 0` has its optimum 11 at (3, 1):
//!
//! ```
//! use rw_adv::lp::{LpModel, LpOutcome, Simplex};
//!
//! let mut model = LpModel::new();
//! let x = model.add_col(3.0, 0.0, 3.0, &[]);
//! let y = model.add_col(2.0, 0.0, f64::INFINITY, &[]);
//! model.add_row(f64::NEG_INFINITY, 4.0, &[(x, 1.0), (y, 1.0)]);
//! model.add_row(f64::NEG_INFINITY, 6.0, &[(x, 1.0), (y, 3.0)]);
//! let LpOutcome::Optimal(solution) = model.solve(None, Simplex::Dual)? else { panic!() };
//! assert!((solution.objective - 11.0).abs() < 1e-9);
//! assert!((solution.cols[y.0] - 1.0).abs() < 1e-9);
//! # Ok::<(), rw_adv::lp::LpError>(())
//! ```

mod apart;
mod basis;
mod check;
mod entries;
#[allow(unsafe_code, reason = "the C interface of HiGHS")]
mod highs;
mod model;
mod outcome;
mod program;
mod request;
mod solve;
#[cfg(test)]
mod tests;
mod write;

pub use basis::{Basis, BasisStatus};
pub use entries::{Col, NewCols, NewRows, Row};
pub use highs::version as solver_version;
pub use model::LpModel;
pub use outcome::{ClaimedBound, LpError, LpOutcome, LpProgress, LpSolution};
pub use request::{Callbacks, Simplex};
pub use write::CONSTANT_COLUMN;
