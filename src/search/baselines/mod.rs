//! The methods that Relax-and-Walk is measured against, on the same problems.

pub(super) mod apgd;
pub(super) mod milp;
pub(super) mod sample_mip;
