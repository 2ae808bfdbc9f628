//! What the user gets to see: records, a table, JSON, files.

pub mod json;
mod npy;
mod png;
mod progress;
mod record;
mod results;
pub mod text;
mod witness;

pub use progress::{Progress, with_bar_aside};
pub use record::{Record, Settings, Summary};
pub use results::{ReportError, ResultDirectory};
pub use witness::{SavedWitness, WitnessFiles};
