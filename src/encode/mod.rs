//! A [`Query`](crate::query::Query) becomes a live LP. Only this room speaks to [`lp`](crate::lp).

mod moves;
mod region;
mod relaxation;
mod solve;

pub use region::{RegionLp, RegionOptimum, dense_region_value};
pub use relaxation::{MilpAnswer, Relaxation, Relaxed};
pub use solve::{RegionError, Work};
