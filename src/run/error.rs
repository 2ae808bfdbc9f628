//! Why results could not be read or stored.

use std::io;
use std::path::{Path, PathBuf};

/// A result that could not be stored, and where.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Earlier results are in the way.
    #[error("{}: holds results already; name another directory or remove it", .0.display())]
    Taken(PathBuf),
    /// An earlier run is in the way, and could be continued.
    #[error("{}: holds results already; continue them with --resume or name another directory", .0.display())]
    Begun(PathBuf),
    /// The earlier run was another one.
    #[error("{}: holds another run ({difference}); name another directory", path.display())]
    Differs {
        /// The directory.
        path: PathBuf,
        /// What differs.
        difference: String,
    },
    /// Nothing tells what the results belong to.
    #[error("{}: has no manifest.json, so there is no run to continue", .0.display())]
    NoManifest(PathBuf),
    /// Another process is at work there.
    #[error("{}: another rw-adv is writing there", .0.display())]
    Busy(PathBuf),
    /// Records cannot all be true.
    #[error("{}: contradictory: {problem}", path.display())]
    Contradiction {
        /// The file of the record that does not fit.
        path: PathBuf,
        /// What does not.
        problem: String,
    },
    /// A line is not a valid record.
    #[error("{}: line {line} is not a valid record", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Base 1.
        line: usize,
        /// What is wrong with it.
        source: io::Error,
    },
    /// An answer was not accepted by the independent checker.
    #[error("{about}: --check-proofs: the proof does not hold: {problem}")]
    Unproven {
        /// What the answer is about.
        about: String,
        /// What is wrong with its proof.
        problem: String,
    },
    /// There is nothing to report.
    #[error("{}: holds no results.jsonl: name the --out of a run", .0.display())]
    NoResults(PathBuf),
    /// There is something else.
    #[error("{}: holds {what}: a report is made of a run with --delta only", path.display())]
    OtherResults {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        what: &'static str,
    },
    /// What is there is not what should be.
    #[error("{}: cannot read", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system, or the reader, said.
        source: io::Error,
    },
    /// The file system says no.
    #[error("{}: cannot write", path.display())]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// For `map_err`: this file or directory cannot be written.
    pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unwritable { path, source }
    }

    /// For `map_err`: this file or directory cannot be read.
    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }
}
