//! The result directory: opened before anything is computed, each record on disk as soon as it is known.
//!
//! A record is whole or absent, whenever the process is killed: its witness's files and its sketch are in place before it is appended,
//! with a single write, and what a killed process left of a line is dropped when the directory is opened again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::attempts::{ATTEMPTS, Attempt, RecordSet, replace};
use super::manifest::{Lock, MANIFEST, Manifest};
use super::npy;
use super::shard::Shard;
use super::sketch::SketchFile;
use super::stored::read_run;
use super::witness::WitnessFiles;
use crate::data::Sample;
use crate::record::json;
use crate::record::{Contents, Resumable, Sketch, StoredRun};
use crate::report::html;

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
    /// A line is no record.
    #[error("{}: line {line} is no record", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Base 1.
        line: usize,
        /// What is wrong with it.
        source: io::Error,
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

/// How to open a result directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// There must be no results yet.
    New,
    /// Continue what is there, if anything is.
    Resume,
    /// Work on one share; others may be working beside us.
    Shard(Shard),
}

/// Where the records, what is drawn of them, `summary.json` and `report.html` go.
#[derive(Debug)]
pub struct ResultDirectory {
    path: PathBuf,
    file: PathBuf,
    records: File,
    sketches: Option<SketchFile>,
    /// Of a share only the records are kept: the summary is that of the whole.
    is_attempt: bool,
    _lock: Option<Lock>,
}

/// A result directory ready for records, and what it held before.
#[derive(Debug)]
pub struct OpenRun<R> {
    /// For the records.
    pub results: ResultDirectory,
    /// For the witnesses.
    pub witnesses: WitnessFiles,
    /// What is finished already.
    pub finished: RecordSet<R>,
}

pub(crate) const SUMMARY: &str = "summary.json";
const REPORT: &str = "report.html";

impl ResultDirectory {
    /// Makes the directory (its parents too) and an empty file for the records in it.
    ///
    /// # Errors
    /// When the directory holds results already, or cannot be written to.
    pub fn create(path: &Path, contents: Contents) -> Result<Self, StoreError> {
        make(path)?;
        if holds_results(path) {
            return Err(StoreError::Taken(path.to_owned()));
        }
        let file = path.join(contents.file());
        let records = File::create_new(&file).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Taken(path.to_owned()),
            _ => StoreError::Unwritable { path: file.clone(), source },
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            records,
            sketches: None,
            is_attempt: false,
            _lock: None,
        })
    }

    /// Opens the directory for the work of the manifest, on a model whose input has these dimensions.
    ///
    /// # Errors
    /// When the directory holds results that are not to be continued, or of another run, or cannot be read or written.
    pub fn open<R: Resumable>(
        path: &Path,
        manifest: &Manifest,
        opening: OpenMode,
        dims: &[usize],
    ) -> Result<OpenRun<R>, StoreError> {
        make(path)?;
        check(path, manifest, opening)?;
        let is_first = manifest.claim(path)?;
        if opening == OpenMode::New && !is_first {
            return Err(StoreError::Begun(path.to_owned()));
        }
        match opening {
            OpenMode::Shard(shard) => Self::attempt(path, manifest, shard, dims),
            _ => Self::whole(path, manifest, dims),
        }
    }

    /// What is finished already, with the refusals of [`open`](Self::open) and without writing anything.
    ///
    /// # Errors
    /// When the directory holds results that are not to be continued, or of another run, or cannot be read.
    pub fn look<R: Resumable>(
        path: &Path,
        manifest: &Manifest,
        opening: OpenMode,
    ) -> Result<RecordSet<R>, StoreError> {
        check(path, manifest, opening)?;
        RecordSet::read(path, manifest)
    }

    fn attempt<R: Resumable>(
        path: &Path,
        manifest: &Manifest,
        shard: Shard,
        dims: &[usize],
    ) -> Result<OpenRun<R>, StoreError> {
        let finished = RecordSet::read(path, manifest)?;
        let Attempt { path: file, records, folder } = Attempt::begin(path, shard)?;
        let witnesses = WitnessFiles::create(&folder, dims)?;
        let contents = manifest.contents();
        let sketches = contents.has_report().then(|| SketchFile::create(&folder, dims));
        let sketches = sketches.transpose()?;
        let path = path.to_owned();
        let results = Self { path, file, records, sketches, is_attempt: true, _lock: None };
        Ok(OpenRun { results, witnesses, finished })
    }

    fn whole<R: Resumable>(
        path: &Path,
        manifest: &Manifest,
        dims: &[usize],
    ) -> Result<OpenRun<R>, StoreError> {
        let lock = Lock::of(path)?;
        let finished = RecordSet::<R>::read(path, manifest)?;
        let witnesses = WitnessFiles::create(path, dims)?;
        let mut sketches = None;
        if manifest.contents().has_report() {
            sketches = Some(SketchFile::resume(path, dims, finished.sketches(path)?)?);
        }
        finished.store(path, manifest)?;
        let file = path.join(manifest.contents().file());
        let records = File::options().append(true).open(&file);
        let records =
            records.map_err(|source| StoreError::Unwritable { path: file.clone(), source })?;
        let path = path.to_owned();
        let _lock = Some(lock);
        let results = Self { path, file, records, sketches, is_attempt: false, _lock };
        Ok(OpenRun { results, witnesses, finished })
    }

    /// Keeps what is drawn of a record. It comes before the record, so that there is none without.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn draw(
        &mut self,
        sample: &Sample,
        target: usize,
        sketch: &Sketch,
    ) -> Result<(), StoreError> {
        let sketches = self.sketches.as_mut();
        sketches.map_or(Ok(()), |sketches| sketches.append(sample, target, sketch))
    }

    /// Keeps one record. What was called off is not worth keeping in an attempt: another one does it again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, record: &impl Resumable) -> Result<(), StoreError> {
        if self.is_attempt && !record.is_finished() { Ok(()) } else { self.append(record) }
    }

    /// Appends one record, whole, with a single write.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        let mut line = Vec::new();
        let written = json::line(&mut line, record).and_then(|()| self.records.write_all(&line));
        written.map_err(|source| StoreError::Unwritable { path: self.file.clone(), source })
    }

    /// Writes a NumPy array of shape `dims`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn array(&self, name: &str, dims: &[usize], values: &[f64]) -> Result<(), StoreError> {
        let path = self.path.join(name);
        let written = fs::write(&path, npy::encode(dims, values));
        written.map_err(|source| StoreError::Unwritable { path, source })
    }

    /// Writes `summary.json`, unless this is an attempt at a share.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(
        &self,
        schema: &str,
        summary: &impl Serialize,
        settings: &impl Serialize,
        elapsed: Duration,
    ) -> Result<(), StoreError> {
        if self.is_attempt {
            return Ok(());
        }
        write_summary(&self.path, schema, summary, settings, elapsed)
    }

    /// Writes `report.html` of everything in the directory, unless this is an attempt at a share.
    ///
    /// # Errors
    /// When it cannot be written, or what is there cannot be read.
    pub fn report(&self) -> Result<(), StoreError> {
        if self.is_attempt { Ok(()) } else { write_report(&self.path, &read_run(&self.path)?) }
    }
}

/// Writes `report.html`, whole.
///
/// # Errors
/// When it cannot be written.
pub fn write_report(directory: &Path, run: &StoredRun) -> Result<(), StoreError> {
    let path = directory.join(REPORT);
    match html::page(run) {
        Ok(page) => replace(&path, page.as_bytes()),
        Err(source) => Err(StoreError::Unwritable { path, source }),
    }
}

/// Writes `summary.json`, whole.
///
/// # Errors
/// When it cannot be written.
pub fn write_summary(
    directory: &Path,
    schema: &str,
    summary: &impl Serialize,
    settings: &impl Serialize,
    elapsed: Duration,
) -> Result<(), StoreError> {
    let path = directory.join(SUMMARY);
    let mut text = Vec::new();
    match json::summary(&mut text, schema, summary, settings, elapsed) {
        Ok(()) => replace(&path, &text),
        Err(source) => Err(StoreError::Unwritable { path, source }),
    }
}

/// Whether a run with this manifest may work there.
fn check(path: &Path, manifest: &Manifest, opening: OpenMode) -> Result<(), StoreError> {
    if opening == OpenMode::New && holds_results(path) {
        return Err(StoreError::Begun(path.to_owned()));
    }
    match Manifest::read(path)? {
        Some(theirs) => manifest.compare(&theirs, path),
        None if holds_results(path) => Err(StoreError::NoManifest(path.to_owned())),
        None => Ok(()),
    }
}

fn make(path: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(path)
        .map_err(|source| StoreError::Unwritable { path: path.to_owned(), source })
}

/// Results of any kind: another kind's summary must not be lost either.
fn holds_results(path: &Path) -> bool {
    let records = Contents::ALL.iter().map(|kind| kind.file());
    records.chain([MANIFEST, ATTEMPTS]).any(|name| path.join(name).exists())
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
            assert!(matches!(again, Err(StoreError::Taken(_))));
        }
    }
}
