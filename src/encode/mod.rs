//! A [`Problem`](crate::problem::Problem) becomes a live LP. Only this room speaks to [`lp`](crate::lp).

mod error;
mod interior;
mod moves;
mod region;
mod relaxation;
mod solve;
mod vertices;

pub use error::{EncodeError, MilpWriteError};
pub use interior::interior_point;
pub use region::{RegionLp, RegionOptimum, dense_region_value};
pub use relaxation::{MilpAnswer, Relaxation, RelaxationSolution, WarmStart};
pub use solve::Work;
pub use vertices::Vertices;
