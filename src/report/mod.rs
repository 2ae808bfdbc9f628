//! What the user gets to see: records, a table, JSON, files.

pub mod json;
mod record;
mod results;
pub mod text;

pub use record::{Record, Settings, Summary};
pub use results::{ReportError, ResultDirectory};
