//! Tables and sentences for people.

pub mod attack;
mod inspect;
mod labels;
mod maximize;
pub mod radius;
mod run;
pub mod verify;

pub use inspect::inspection;
pub use maximize::maximum;
pub use run::{continued, plan, shards, status};
