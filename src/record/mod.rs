//! What is known about one piece of work, as one flat row. Field names are a contract with users' scripts.

mod attack;
mod changes;
mod inspection;
pub mod json;
mod key;
mod maximize;
mod radius;
mod sketch;
mod stored;

pub use attack::{
    ATTACK_SCHEMA, AttackRecord, AttackSettings, AttackSummary, CommonSettings, ImageOutcomes,
    image_outcomes,
};
pub(crate) use attack::{ImageOutcome, by_image};
pub(crate) use changes::{append_varint, places as picture_places};
pub use inspection::{InspectedNode, Inspection, LayerSize, NodeRole, TractComparison};
pub use key::{Key, Resumable, StoredWitness};
pub use maximize::{MAXIMIZE_SCHEMA, MaximizeRecord, MaximizeSettings};
pub use radius::{Averages, RADIUS_SCHEMA, RadiusRecord, RadiusSettings, RadiusSummary};
pub(crate) use sketch::thinned;
pub use sketch::{PictureSize, Sketch, Sketches};
pub use stored::StoredRun;

pub use crate::judge::Verdict;

#[cfg(test)]
pub(crate) use attack::tests::record;
