//! The result directory: opened before anything is computed, each record on disk as soon as it is known.
//!
//! A record is whole or absent, whenever the process is killed: its witness's files and its sketch are in place before it is appended,
//! with a single write, and what a killed process left of a line is dropped when the directory is opened again. So is a record whose
//! witness did not survive a power loss: witnesses are synced together, before the records of the same second.

use std::fs;
use std::path::{Path, PathBuf};

use super::attempt::{ATTEMPTS, Attempt};
use super::error::StoreError;
use super::json_lines::JsonLines;
use super::lock::Lock;
use super::manifest::{MANIFEST, Manifest};
use super::record_files::RecordFiles;
use super::record_set::RecordSet;
use super::shard::Shard;
use super::witness::{ModelWords, Pictures};
use crate::record::{Contents, Resumable, Sketches};

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

impl OpenMode {
    /// Our share, if the work is shared.
    pub fn shard(self) -> Option<Shard> {
        match self {
            Self::Shard(shard) => Some(shard),
            Self::New | Self::Resume => None,
        }
    }
}

/// Where the records go.
#[derive(Debug)]
pub(crate) struct Store {
    pub directory: PathBuf,
    records: JsonLines,
    /// Of a share only the records are kept: summary and report are those of the whole.
    pub is_attempt: bool,
    _lock: Option<Lock>,
}

/// A result directory ready for records, and what it held before.
#[derive(Debug)]
pub(crate) struct OpenStore<R> {
    pub store: Store,
    /// For what belongs to the records.
    pub files: RecordFiles,
    /// What is finished already.
    pub finished: RecordSet<R>,
}

impl Store {
    /// Opens the directory for the work of the manifest, on a model whose input has these dimensions.
    ///
    /// # Errors
    /// When the directory holds results that are not to be continued, or of another run, or cannot be read or written.
    pub fn open<R: Resumable>(
        directory: &Path,
        manifest: &Manifest,
        mode: OpenMode,
        dims: &[usize],
        pictures: Pictures,
    ) -> Result<OpenStore<R>, StoreError> {
        fs::create_dir_all(directory).map_err(StoreError::unwritable(directory))?;
        check(directory, manifest, mode)?;
        let is_first = manifest.claim(directory)?;
        if mode == OpenMode::New && !is_first {
            return Err(StoreError::Begun(directory.to_owned()));
        }
        match mode {
            OpenMode::Shard(shard) => Self::attempt(directory, manifest, shard, dims, pictures),
            OpenMode::New | OpenMode::Resume => Self::whole(directory, manifest, dims, pictures),
        }
    }

    /// What is finished already, with the refusals of [`open`](Self::open) and without writing anything.
    ///
    /// # Errors
    /// When the directory holds results that are not to be continued, or of another run, or cannot be read.
    pub fn look<R: Resumable>(
        directory: &Path,
        manifest: &Manifest,
        mode: OpenMode,
    ) -> Result<RecordSet<R>, StoreError> {
        check(directory, manifest, mode)?;
        RecordSet::read(directory, manifest)
    }

    fn attempt<R: Resumable>(
        directory: &Path,
        manifest: &Manifest,
        shard: Shard,
        dims: &[usize],
        pictures: Pictures,
    ) -> Result<OpenStore<R>, StoreError> {
        let finished = RecordSet::read(directory, manifest)?;
        let Attempt { records, folder } = Attempt::begin(directory, shard)?;
        let words = ModelWords { dims, class_names: &manifest.class_names() };
        let files = RecordFiles::open(R::CONTENTS, &folder, words, pictures, Sketches::default())?;
        let records = JsonLines::open_naming(&records, files.unsynced())?;
        let directory = directory.to_owned();
        let store = Self { directory, records, is_attempt: true, _lock: None };
        Ok(OpenStore { store, files, finished })
    }

    fn whole<R: Resumable>(
        directory: &Path,
        manifest: &Manifest,
        dims: &[usize],
        pictures: Pictures,
    ) -> Result<OpenStore<R>, StoreError> {
        let lock = Lock::of(directory, MANIFEST)?;
        let finished = RecordSet::<R>::read(directory, manifest)?;
        let earlier = if R::CONTENTS.has_sketches() {
            finished.sketches(directory)?
        } else {
            Sketches::default()
        };
        let words = ModelWords { dims, class_names: &manifest.class_names() };
        let files = RecordFiles::open(R::CONTENTS, directory, words, pictures, earlier)?;
        finished.store(directory, manifest)?;
        let file = directory.join(R::CONTENTS.file());
        let records = JsonLines::open_naming(&file, files.unsynced())?;
        let directory = directory.to_owned();
        let store = Self { directory, records, is_attempt: false, _lock: Some(lock) };
        Ok(OpenStore { store, files, finished })
    }

    /// Keeps one record. A share does not keep work that was cancelled: another attempt does it again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, record: &impl Resumable) -> Result<(), StoreError> {
        if self.is_attempt && !record.is_finished() {
            return Ok(());
        }
        self.records.append(record)
    }
}

/// Whether a run with this manifest may work there.
fn check(directory: &Path, manifest: &Manifest, mode: OpenMode) -> Result<(), StoreError> {
    if mode == OpenMode::New && holds_results(directory) {
        return Err(StoreError::Begun(directory.to_owned()));
    }
    match Manifest::read(directory)? {
        Some(theirs) => manifest.compare(&theirs, directory),
        None if holds_results(directory) => Err(StoreError::NoManifest(directory.to_owned())),
        None => Ok(()),
    }
}

/// Results of any kind: another kind's summary must not be lost either.
fn holds_results(directory: &Path) -> bool {
    let records = Contents::ALL.iter().map(|kind| kind.file());
    records.chain([MANIFEST, ATTEMPTS]).any(|name| directory.join(name).exists())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::{AttackRecord, record};
    use crate::run::npy;

    #[test]
    fn earlier_results_are_never_overwritten() {
        let manifest = Manifest::new(Contents::Attacks, &(), [(4, vec![3])]);
        let open = |path: &Path, mode| {
            Store::open::<AttackRecord>(path, &manifest, mode, &[2, 2], Pictures::All).map(|_| ())
        };
        for contents in Contents::ALL {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a/b");
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(contents.file()), "").unwrap();
            assert!(matches!(open(&path, OpenMode::New), Err(StoreError::Begun(_))));
            assert!(matches!(open(&path, OpenMode::Resume), Err(StoreError::NoManifest(_))));
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        open(&path, OpenMode::New).expect("parents are made");
        assert!(matches!(open(&path, OpenMode::New), Err(StoreError::Begun(_))));
        open(&path, OpenMode::Resume).expect("the same work");
    }

    #[test]
    fn a_record_that_lost_its_witness_is_yet_to_be_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let manifest = Manifest::new(Contents::Attacks, &(), [(4, vec![1, 2, 3, 5])]);
        let open = || {
            let mode = OpenMode::Resume;
            Store::open::<AttackRecord>(path, &manifest, mode, &[2, 2], Pictures::None).unwrap()
        };
        let file = npy::encode(&[2, 2], &[0.0f32; 4]);
        let OpenStore { mut store, files, .. } = open();
        // Torn, empty, missing and whole.
        let stored = [Some(&file[..20]), Some(&[]), None, Some(&file[..])];
        for (target, bytes) in [1, 2, 3, 5].into_iter().zip(stored) {
            let name = format!("adversarial/4_c0_w{target}.npy");
            if let Some(bytes) = bytes {
                fs::write(path.join(&name), bytes).unwrap();
            }
            let more = format!(r#","margin":1.0,"npy":"{name}""#);
            store.keep(&record(4, target, "adversarial", &more)).unwrap();
        }
        drop((store, files));
        let left: Vec<usize> = open().finished.records().map(|record| record.target).collect();
        assert_eq!(left, [5]);
    }
}
