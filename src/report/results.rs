//! The result directory: opened before anything is computed, each record on disk as soon as it is known.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::{json, npy};

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

/// What a result directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// One record per image and target.
    Attacks,
    /// One record per image.
    Radii,
    /// One record.
    Maximum,
}

impl Contents {
    const ALL: [Self; 3] = [Self::Attacks, Self::Radii, Self::Maximum];

    /// Where the records go.
    fn file(self) -> &'static str {
        match self {
            Self::Attacks => "results.jsonl",
            Self::Radii => "radii.jsonl",
            Self::Maximum => "result.json",
        }
    }
}

/// Where the records and `summary.json` go.
#[derive(Debug)]
pub struct ResultDirectory {
    path: PathBuf,
    contents: Contents,
    records: File,
}

const SUMMARY: &str = "summary.json";

impl ResultDirectory {
    /// Makes the directory (its parents too) and an empty file for the records in it.
    ///
    /// # Errors
    /// When the directory holds results already, or cannot be written to.
    pub fn create(path: &Path, contents: Contents) -> Result<Self, ReportError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| ReportError::Unwritable { path, source }
        };
        fs::create_dir_all(path).map_err(at(path))?;
        // Results of another kind have a summary too, which must not be lost.
        if Contents::ALL.iter().any(|kind| path.join(kind.file()).exists()) {
            return Err(ReportError::Taken(path.to_owned()));
        }
        let file = path.join(contents.file());
        match File::create_new(&file) {
            Ok(records) => Ok(Self { path: path.to_owned(), contents, records }),
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
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), ReportError> {
        let mut line = Vec::new();
        let written = json::line(&mut line, record).and_then(|()| self.records.write_all(&line));
        let path = || self.path.join(self.contents.file());
        written.map_err(|source| ReportError::Unwritable { path: path(), source })
    }

    /// Writes a NumPy array of shape `dims`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn array(&self, name: &str, dims: &[usize], values: &[f64]) -> Result<(), ReportError> {
        let path = self.path.join(name);
        let written = fs::write(&path, npy::encode(dims, values));
        written.map_err(|source| ReportError::Unwritable { path, source })
    }

    /// Writes `summary.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(
        &self,
        schema: &str,
        summary: &impl Serialize,
        settings: &impl Serialize,
        elapsed: Duration,
    ) -> Result<(), ReportError> {
        let path = self.path.join(SUMMARY);
        let write = || -> io::Result<()> {
            let mut text = Vec::new();
            json::summary(&mut text, schema, summary, settings, elapsed)?;
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
        ResultDirectory::create(&path, Contents::Attacks).expect("parents are made");
        for contents in Contents::ALL {
            let again = ResultDirectory::create(&path, contents);
            assert!(matches!(again, Err(ReportError::Taken(_))));
        }
    }
}
