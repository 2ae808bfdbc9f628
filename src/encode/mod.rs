//! A [`Query`](crate::query::Query) becomes a live LP. Only this room speaks to [`lp`](crate::lp).

mod moves;
mod region;
mod relaxation;

pub use region::{RegionError, RegionLp, RegionOptimum, Work, dense_region_value};
pub use relaxation::{MilpAnswer, Relaxation, Relaxed};
