//! A [`Problem`](crate::problem::Problem) becomes a live LP. Only this room speaks to [`lp`](crate::lp).
//!
//! - [`RegionLp`]: the best point of one linear region, for walks
//! - [`Relaxation`]: the whole network relaxed, with neurons fixed on or off, for starts
//! - [`PartRelaxation`]: the same over a part of the set in which neurons have given signs, for branch and bound
//! - [`Milp`]: the whole problem, or a neighbourhood of a pattern, for MILP solvers
//! - [`Vertices`]: where a linear function of the input is largest; [`interior_point`]: a point deep inside a domain;
//!   [`nearest_integral`]: one with whole numbers where they have to be

mod dense_region;
mod error;
mod integral;
mod interior;
mod lazy;
mod milp;
mod move_columns;
mod network_lp;
mod part;
mod region;
mod relaxation;
mod solve;
mod vertices;

pub use dense_region::dense_region_value;
pub use error::{EncodeError, MilpWriteError};
pub use integral::{nearest_integral, rounded_integral};
pub use interior::interior_point;
pub use milp::{Milp, MilpFile, MilpSolution};
pub use network_lp::WarmStart;
pub use part::{PartRelaxation, PartSolution};
pub use region::{RegionLp, RegionOptimum};
pub use relaxation::{Relaxation, RelaxationSolution};
pub use solve::{LpWork, solver_version};
pub use vertices::Vertices;
