//! What is written when all records are there: `summary.json` and `report.html`.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::error::StoreError;
use super::stored::{SUMMARY, contents_of, read_run};
use super::whole_file::replace;
use crate::record::{Contents, json};
use crate::report::html;

const REPORT: &str = "report.html";

/// Writes `report.html` of what a directory holds, whole.
///
/// # Errors
/// When results are missing or damaged, or it cannot be written.
pub fn write_report(directory: &Path) -> Result<(), StoreError> {
    let page = match contents_of(directory)? {
        Contents::Attacks => html::attack_page(&read_run(directory)?),
        Contents::Radii => html::radius_page(&read_run(directory)?),
        Contents::Maximum => html::maximum_page(&read_run(directory)?),
        Contents::Instances => html::verify_page(&read_run(directory)?),
    };
    let path = directory.join(REPORT);
    let page = page.map_err(StoreError::unwritable(&path))?;
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
