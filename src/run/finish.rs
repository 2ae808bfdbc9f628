//! What is written when all records are there: `summary.json` and `report.html`.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::error::StoreError;
use super::stored::SUMMARY;
use super::whole_file::replace;
use crate::record::{StoredRun, json};
use crate::report::html;

const REPORT: &str = "report.html";

/// Writes `report.html`, whole.
///
/// # Errors
/// When it cannot be written.
pub fn write_report(directory: &Path, run: &StoredRun) -> Result<(), StoreError> {
    let path = directory.join(REPORT);
    let page = html::page(run).map_err(StoreError::unwritable(&path))?;
    replace(&path, page.as_bytes())
}

/// Writes `summary.json`, whole.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_summary(
    directory: &Path,
    schema: &str,
    summary: &impl Serialize,
    settings: &impl Serialize,
    elapsed: Duration,
) -> Result<(), StoreError> {
    let path = directory.join(SUMMARY);
    let mut text = Vec::new();
    let written = json::summary(&mut text, schema, summary, settings, elapsed);
    written.map_err(StoreError::unwritable(&path))?;
    replace(&path, &text)
}
