//! A [`Query`](crate::query::Query) becomes a live LP. Only this room speaks to [`lp`](crate::lp).

mod interior;
mod moves;
mod region;
mod relaxation;
mod solve;
mod vertices;

pub use interior::interior_point;
pub use region::{RegionLp, RegionOptimum, dense_region_value};
pub use relaxation::{Footing, MilpAnswer, Relaxation, Relaxed};
pub use solve::{RegionError, Work};
pub use vertices::Vertices;
