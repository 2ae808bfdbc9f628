//! What is known about one piece of work, as one flat row. Field names are a contract with users' scripts.

mod attack;
pub mod json;
mod key;
mod maximize;
mod radius;

pub use attack::{
    AttackSettings, CommonSettings, ImageOutcomes, Record, SCHEMA, Summary, standings,
};
pub(crate) use attack::{ImageOutcome, by_image};
pub use key::{Key, Resumable, StoredWitness};
pub use maximize::{MAXIMIZE_SCHEMA, MaximizeRecord, MaximizeSettings};
pub use radius::{Averages, RADIUS_SCHEMA, RadiusRecord, RadiusSettings, RadiusSummary};

#[cfg(test)]
pub(crate) use attack::tests::record;
