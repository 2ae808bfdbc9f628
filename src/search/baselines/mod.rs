//! The methods that Relax-and-Walk is measured against, on the same problems.

mod apgd;
mod external;
mod iterate;
mod milp;
mod projected_gradient;
mod sample_mip;

pub(super) use apgd::apgd;
pub(super) use external::external;
pub(super) use milp::milp;
pub(super) use sample_mip::sample_mip;
