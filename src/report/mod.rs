//! What the user gets to see: records, a table, JSON, files.

pub mod csv;
mod entry;
pub mod figure;
mod histogram;
pub mod html;
pub mod json;
pub mod junit;
mod maximize;
mod npy;
mod png;
mod progress;
mod radius;
mod record;
mod results;
mod sketch;
mod stored;
pub mod text;
mod witness;

pub use entry::{Entry, standings};
pub use maximize::{MAXIMIZE_SCHEMA, MaximizeRecord, MaximizeSettings};
pub use progress::{Progress, with_bar_aside};
pub use radius::{Averages, RADIUS_SCHEMA, RadiusRecord, RadiusSettings, RadiusSummary};
pub use record::{CommonSettings, Record, SCHEMA, Settings, Standings, Summary};
pub use results::{Contents, ReportError, ResultDirectory};
pub use sketch::{Sketch, SketchFile};
pub use stored::{Stored, StoredError};
pub use witness::{SavedWitness, WitnessFiles};
