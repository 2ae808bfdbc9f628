//! The result directory: opened before anything is computed, each record on disk as soon as it is known.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::json;
use super::record::{Record, Settings, Summary};

/// A result that could not be stored, and where.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Earlier results are in the way.
    #[error("{}: holds results already; name another directory or remove it", .0.display())]
    Taken(PathBuf),
    /// The file system says no.
    #[error("{}: cannot write: {source}", path.display())]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Where `results.jsonl` and `summary.json` go.
#[derive(Debug)]
pub struct ResultDirectory {
    path: PathBuf,
    records: File,
}

const RECORDS: &str = "results.jsonl";
const SUMMARY: &str = "summary.json";

impl ResultDirectory {
    /// Makes the directory (its parents too) and an empty `results.jsonl` in it.
    ///
    /// # Errors
    /// When the directory holds results already, or cannot be written to.
    pub fn create(path: &Path) -> Result<Self, ReportError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| ReportError::Unwritable { path, source }
        };
        fs::create_dir_all(path).map_err(at(path))?;
        let file = path.join(RECORDS);
        match File::create_new(&file) {
            Ok(records) => Ok(Self { path: path.to_owned(), records }),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Err(ReportError::Taken(path.to_owned()))
            }
            Err(e) => Err(at(&file)(e)),
        }
    }

    /// Appends one record, whole, with a single write.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, record: &Record) -> Result<(), ReportError> {
        let mut line = Vec::new();
        let written = json::line(&mut line, record).and_then(|()| self.records.write_all(&line));
        written.map_err(|source| ReportError::Unwritable { path: self.path.join(RECORDS), source })
    }

    /// Writes `summary.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(
        &self,
        summary: &Summary,
        settings: &Settings,
        elapsed: Duration,
    ) -> Result<(), ReportError> {
        let path = self.path.join(SUMMARY);
        let write = || -> io::Result<()> {
            let mut text = Vec::new();
            json::summary(&mut text, summary, settings, elapsed)?;
            fs::write(&path, text)
        };
        write().map_err(|source| ReportError::Unwritable { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_results_are_never_overwritten() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a/b");
        ResultDirectory::create(&path).expect("parents are made");
        assert!(matches!(ResultDirectory::create(&path), Err(ReportError::Taken(_))));
    }
}
