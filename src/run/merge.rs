//! The results of all attempts become those of the directory.

use std::path::Path;
use std::time::Duration;

use super::error::StoreError;
use super::finish::{write_report, write_summary};
use super::lock::Lock;
use super::manifest::{MANIFEST, Manifest};
use super::record_set::RecordSet;
use super::sketch_file;
use crate::record::{Resumable, Summarize};

/// What was merged.
#[derive(Clone, Debug)]
pub struct MergeResult<S> {
    /// How many records were asked for.
    pub asked: usize,
    /// How many are there.
    pub records: usize,
    /// Their summary.
    pub summary: S,
    /// Time spent on all of them.
    pub seconds: f64,
}

/// Makes the directory's own records, summary and report of all that its files hold.
///
/// # Errors
/// When another process is writing there, a file cannot be read or written, or records contradict each other.
pub fn merge<R: Resumable, S: Summarize<R>>(
    directory: &Path,
    manifest: &Manifest,
) -> Result<MergeResult<S>, StoreError> {
    let records = merge_records::<R>(directory, manifest)?;
    let asked = manifest.keys(None).count();
    let summary = S::of(&records, asked, false);
    let seconds = records.iter().map(Resumable::seconds).sum();
    // A sum of what was measured, unless a record was made up.
    let spent = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    write_summary(directory, R::SCHEMA, &summary, manifest.settings(), spent)?;
    if R::HAS_PAGE {
        write_report(directory)?;
    }
    Ok(MergeResult { asked, records: records.len(), summary, seconds })
}

fn merge_records<R: Resumable>(
    directory: &Path,
    manifest: &Manifest,
) -> Result<Vec<R>, StoreError> {
    let _lock = Lock::of(directory, MANIFEST)?;
    let all = RecordSet::<R>::read(directory, manifest)?;
    if R::CONTENTS.has_sketches() {
        sketch_file::store(&all.sketches(directory)?, directory)?;
    }
    all.store(directory, manifest)?;
    Ok(all.into_records().collect())
}
