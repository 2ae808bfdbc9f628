//! What the user gets to see: records, a table, JSON, files.

mod attempts;
pub mod figure;
mod histogram;
pub mod json;
mod manifest;
mod maximize;
mod npy;
mod paint;
mod plan;
mod png;
mod progress;
mod radius;
mod record;
mod results;
mod resumable;
mod shard;
pub mod text;
mod witness;

pub use attempts::{Gathered, merge};
pub use manifest::{Manifest, data_sha256};
pub use maximize::{MAXIMIZE_SCHEMA, MaximizeRecord, MaximizeSettings};
pub use paint::Paint;
pub use plan::Plan;
pub use progress::{Progress, with_bar_aside};
pub use radius::{Averages, RADIUS_SCHEMA, RadiusRecord, RadiusSettings, RadiusSummary};
pub use record::{CommonSettings, Record, SCHEMA, Settings, Summary};
pub use results::{Contents, Opened, Opening, ReportError, ResultDirectory, write_summary};
pub use resumable::{Key, Resumable, StoredWitness};
pub use shard::{Shard, ranges};
pub use witness::{SavedWitness, WitnessFiles};
