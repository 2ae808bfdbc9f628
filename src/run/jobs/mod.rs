//! The kinds of work: attacks, radii, a maximum.

mod attack;
mod images;
mod maximize;
mod radius;
mod verify;

pub use attack::AttackJob;
pub use images::{ImageTargets, data_sha256};
pub use maximize::MaximizeJob;
pub use radius::RadiusJob;
pub use verify::{VerifyItem, VerifyJob};
