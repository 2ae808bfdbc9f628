//! Everything that is known in a result directory: the records of a plain run and of every attempt at a shard.
//!
//! Attempts never share a file: `attempts/SHARD-UNIQUE.jsonl` holds the records and `attempts/SHARD-UNIQUE/` the witnesses and
//! sketches of one process, so that a shard may be started twice, killed, or run again with another number of shards. Readers take all
//! files, skip what is torn or was called off, and keep one record for each piece of work. What was drawn of a record lies beside
//! it, so that a record that is kept brings its own picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{Lock, Manifest, unique};
use super::results::StoreError;
use super::shard::Shard;
use super::sketch;
use super::witness;
use crate::record::json;
use crate::record::{Contents, Key, Resumable, Sketches};

/// The folder of the attempts.
pub(crate) const ATTEMPTS: &str = "attempts";
const RECORDS: &str = "jsonl";

/// A place of one's own for one attempt at a shard.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The file of the records.
    pub path: PathBuf,
    /// That file, opened.
    pub records: File,
    /// Where witnesses and sketches go.
    pub folder: PathBuf,
}

impl Attempt {
    /// Makes a file that nobody else writes to.
    pub fn begin(directory: &Path, shard: Shard) -> Result<Self, StoreError> {
        let attempts = directory.join(ATTEMPTS);
        let failed = |path: &Path, source| StoreError::Unwritable { path: path.into(), source };
        fs::create_dir_all(&attempts).map_err(|e| failed(&attempts, e))?;
        loop {
            let folder = attempts.join(format!("{}-{}", shard.index(), unique()));
            let path = folder.with_extension(RECORDS);
            match File::create_new(&path) {
                Ok(records) => return Ok(Self { path, records, folder }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(&path, e)),
            }
        }
    }
}

/// A record, as it was read.
#[derive(Debug)]
struct StoredRecord<R> {
    record: R,
    /// Its own bytes: numbers are not printed anew.
    line: Vec<u8>,
    file: PathBuf,
}

impl<R: Resumable> StoredRecord<R> {
    /// Where the run that made this record has put its other files.
    fn folder(&self, directory: &Path) -> PathBuf {
        if self.file.parent() == Some(directory) {
            directory.to_owned()
        } else {
            self.file.with_extension("")
        }
    }

    /// Whether this tells more than another record of the same work.
    fn is_better_than(&self, other: &Self) -> bool {
        match (self.record.is_finished(), other.record.is_finished()) {
            (true, false) => true,
            (false, true) => false,
            _ => self.record.is_better_than(&other.record),
        }
    }
}

/// The records of a directory, one for each piece of work.
#[derive(Debug)]
pub struct RecordSet<R> {
    kept: BTreeMap<Key, StoredRecord<R>>,
}

impl<R: Resumable> RecordSet<R> {
    /// Reads what is finished, out of every file in the directory. What is damaged or was called off is yet to be done.
    ///
    /// # Errors
    /// When a file cannot be read, two records contradict each other, or one is about something that was not asked for.
    pub fn read(directory: &Path, manifest: &Manifest) -> Result<Self, StoreError> {
        let finished = |parsed: io::Result<R>| Ok(parsed.ok().filter(Resumable::is_finished));
        Self::gather(directory, manifest.contents(), Some(manifest), finished)
    }

    /// Reads everything, also what was called off.
    ///
    /// # Errors
    /// The same, and when there is something that is no record.
    pub(crate) fn everything(
        directory: &Path,
        contents: Contents,
        manifest: Option<&Manifest>,
    ) -> Result<Self, StoreError> {
        Self::gather(directory, contents, manifest, |parsed| parsed.map(Some))
    }

    fn gather(
        directory: &Path,
        contents: Contents,
        manifest: Option<&Manifest>,
        wanted: impl Fn(io::Result<R>) -> io::Result<Option<R>>,
    ) -> Result<Self, StoreError> {
        let asked: Option<BTreeSet<Key>> = manifest.map(|manifest| manifest.keys(None).collect());
        let mut gathered = Self { kept: BTreeMap::new() };
        for file in record_files(directory, contents)? {
            let text = match fs::read(&file) {
                Ok(text) => text,
                Err(source) => return Err(StoreError::Unreadable { path: file, source }),
            };
            for (number, line, parsed) in lines(&text) {
                let record = match wanted(parsed) {
                    Ok(Some(record)) => record,
                    Ok(None) => continue,
                    Err(source) => {
                        return Err(StoreError::Damaged { path: file, line: number, source });
                    }
                };
                if asked.as_ref().is_some_and(|asked| !asked.contains(&record.key())) {
                    let problem = format!("{} was not asked for", record.key());
                    return Err(StoreError::Contradiction { path: file, problem });
                }
                gathered.add(StoredRecord { record, line: line.to_vec(), file: file.clone() })?;
            }
        }
        Ok(gathered)
    }

    fn add(&mut self, new: StoredRecord<R>) -> Result<(), StoreError> {
        let key = new.record.key();
        if let Some(old) = self.kept.get(&key) {
            if let Some(both) = old.record.contradiction(&new.record) {
                let problem = format!("{key} is {both} ({})", old.file.display());
                return Err(StoreError::Contradiction { path: new.file, problem });
            }
            if !new.is_better_than(old) {
                return Ok(());
            }
        }
        self.kept.insert(key, new);
        Ok(())
    }

    /// Whether this work is done.
    pub fn has(&self, key: Key) -> bool {
        self.kept.contains_key(&key)
    }

    /// The records.
    pub fn records(&self) -> impl Iterator<Item = &R> {
        self.kept.values().map(|kept| &kept.record)
    }

    /// The records, for keeps.
    pub fn into_records(self) -> impl Iterator<Item = R> {
        self.kept.into_values().map(|kept| kept.record)
    }

    /// The shards, of so many, that have work left.
    pub fn unfinished(&self, manifest: &Manifest, shards: usize) -> Vec<usize> {
        let is_open = |shard: &Shard| manifest.keys(Some(*shard)).any(|key| !self.has(key));
        Shard::all(shards).filter(is_open).map(Shard::index).collect()
    }

    /// What was drawn of these records, each by the run that made it.
    pub(crate) fn sketches(&self, directory: &Path) -> Result<Sketches, StoreError> {
        let mut from_folder: BTreeMap<PathBuf, Vec<Key>> = BTreeMap::new();
        for (&key, kept) in &self.kept {
            from_folder.entry(kept.folder(directory)).or_default().push(key);
        }
        let mut all = Sketches::default();
        for (folder, keys) in from_folder {
            all.adopt(sketch::read(&folder)?, &keys);
        }
        Ok(all)
    }

    /// Makes the directory's own file of records hold all of these and nothing else, in the order asked for, with every
    /// witness's files in place before the record that names them.
    pub(crate) fn store(&self, directory: &Path, manifest: &Manifest) -> Result<(), StoreError> {
        let own = directory.join(manifest.contents().file());
        let mut text = Vec::new();
        for kept in manifest.keys(None).filter_map(|key| self.kept.get(&key)) {
            if kept.file != own
                && let Some(stored) = kept.record.stored_witness()
            {
                witness::adopt(&kept.folder(directory), directory, stored)?;
            }
            text.extend_from_slice(&kept.line);
            text.push(b'\n');
        }
        replace(&own, &text)
    }
}

/// Makes the directory's own records of all that its files hold, and gives them.
///
/// # Errors
/// When somebody else is writing there, a file cannot be read or written, or records contradict each other.
pub fn merge<R: Resumable>(
    directory: &Path,
    manifest: &Manifest,
) -> Result<RecordSet<R>, StoreError> {
    let _lock = Lock::of(directory)?;
    let gathered = RecordSet::<R>::read(directory, manifest)?;
    if manifest.contents().has_report() {
        sketch::store(&gathered.sketches(directory)?, directory)?;
    }
    gathered.store(directory, manifest)?;
    Ok(gathered)
}

/// The lines of a file from 1 on, each as a record if it is one. A last line without an end that is none is left out: its writer
/// was killed, or is writing right now.
fn lines<R: Resumable>(text: &[u8]) -> impl Iterator<Item = (usize, &[u8], io::Result<R>)> {
    let numbered = text.split_inclusive(|&byte| byte == b'\n').zip(1..);
    numbered.filter_map(|(line, number)| {
        let is_whole = line.ends_with(b"\n");
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let parsed = json::parse(line);
        (is_whole || parsed.is_ok()).then_some((number, line, parsed))
    })
}

/// The directory's own records, and those of all attempts by name, so that every reader sees them in the same order.
fn record_files(directory: &Path, contents: Contents) -> Result<Vec<PathBuf>, StoreError> {
    let own = Some(directory.join(contents.file())).filter(|path| path.exists());
    let folder = directory.join(ATTEMPTS);
    let listed = match fs::read_dir(&folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let mut attempts: Vec<PathBuf> =
        listed.map_err(|source| StoreError::Unreadable { path: folder, source })?;
    attempts.retain(|path| path.extension().is_some_and(|end| end == RECORDS));
    attempts.sort();
    Ok(own.into_iter().chain(attempts).collect())
}

/// Replaces a file by a whole one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut partial = path.to_owned().into_os_string();
    partial.push(".partial");
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    written.map_err(|source| {
        // Where there is nothing to remove, nothing is left to do.
        let _ = fs::remove_file(&partial);
        StoreError::Unwritable { path: path.to_owned(), source }
    })
}
