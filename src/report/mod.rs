//! What the user gets to see: records, a table, JSON, files.

pub mod figure;
mod histogram;
pub mod json;
mod maximize;
mod npy;
mod png;
mod progress;
mod proof;
mod radius;
mod record;
mod results;
pub mod text;
mod witness;

pub use maximize::{MAXIMIZE_SCHEMA, MaximizeRecord, MaximizeSettings};
pub use progress::{Progress, with_bar_aside};
pub use proof::ProofFiles;
pub use radius::{Averages, RADIUS_SCHEMA, RadiusRecord, RadiusSettings, RadiusSummary};
pub use record::{CommonSettings, Record, SCHEMA, Settings, Summary};
pub use results::{Contents, ReportError, ResultDirectory};
pub use witness::{SavedWitness, WitnessFiles};
