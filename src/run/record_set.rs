//! Everything that is known in a result directory: the records of a plain run and of every attempt at a shard.
//!
//! Readers take all files, skip what is torn or was cancelled, and keep one record for each piece of work. What was drawn of a
//! record lies beside it, so that a record that is kept brings its own picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::attempt::{attempt_files, folder_of};
use super::error::StoreError;
use super::json_lines::{JsonLine, lines};
use super::manifest::Manifest;
use super::npy;
use super::shard::Shard;
use super::sketch_file;
use super::whole_file::replace;
use super::witness;
use crate::record::{Key, Resumable, Sketches};

/// A record, as it was read.
#[derive(Debug)]
struct StoredRecord<R> {
    record: R,
    /// Its own bytes: numbers are not printed anew.
    line: Vec<u8>,
    file: PathBuf,
}

impl<R: Resumable> StoredRecord<R> {
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
    from_key: BTreeMap<Key, StoredRecord<R>>,
}

impl<R: Resumable> RecordSet<R> {
    /// Reads what is finished, out of every file in the directory. What is damaged or was cancelled is yet to be done, and so is what has lost
    /// its witness in a power loss.
    ///
    /// # Errors
    /// When a file cannot be read, two records contradict each other, or one is about something that was not asked for.
    pub fn read(directory: &Path, manifest: &Manifest) -> Result<Self, StoreError> {
        let finished = |file: &Path, parsed: io::Result<R>| {
            let folder = folder_of(directory, file);
            Ok(parsed.ok().filter(|record| record.is_finished() && has_witness(&folder, record)))
        };
        Self::gather(directory, Some(manifest), finished)
    }

    /// Reads everything, also what was cancelled.
    ///
    /// # Errors
    /// The same, and when there is a line that is not a record.
    pub(crate) fn everything(
        directory: &Path,
        manifest: Option<&Manifest>,
    ) -> Result<Self, StoreError> {
        Self::gather(directory, manifest, |_, parsed| parsed.map(Some))
    }

    fn gather(
        directory: &Path,
        manifest: Option<&Manifest>,
        wanted: impl Fn(&Path, io::Result<R>) -> io::Result<Option<R>>,
    ) -> Result<Self, StoreError> {
        let asked: Option<BTreeSet<Key>> = manifest.map(|manifest| manifest.keys(None).collect());
        let mut gathered = Self { from_key: BTreeMap::new() };
        let own = Some(directory.join(R::CONTENTS.file())).filter(|path| path.exists());
        for file in own.into_iter().chain(attempt_files(directory)?) {
            let text = fs::read(&file).map_err(StoreError::unreadable(&file))?;
            for JsonLine { number, bytes, parsed } in lines(&text) {
                let record = match wanted(&file, parsed) {
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
                gathered.add(StoredRecord { record, line: bytes.to_vec(), file: file.clone() })?;
            }
        }
        Ok(gathered)
    }

    fn add(&mut self, new: StoredRecord<R>) -> Result<(), StoreError> {
        let key = new.record.key();
        if let Some(old) = self.from_key.get(&key) {
            if let Some(both) = old.record.contradiction(&new.record) {
                let problem = format!("{key} is {both} ({})", old.file.display());
                return Err(StoreError::Contradiction { path: new.file, problem });
            }
            if !new.is_better_than(old) {
                return Ok(());
            }
        }
        self.from_key.insert(key, new);
        Ok(())
    }

    /// Whether this work is done.
    pub fn has(&self, key: Key) -> bool {
        self.from_key.contains_key(&key)
    }

    /// The records.
    pub fn records(&self) -> impl Iterator<Item = &R> {
        self.from_key.values().map(|stored| &stored.record)
    }

    /// The records, for keeps.
    pub fn into_records(self) -> impl Iterator<Item = R> {
        self.from_key.into_values().map(|stored| stored.record)
    }

    /// The work that has no finished record.
    pub fn missing(&self, manifest: &Manifest) -> Vec<Key> {
        let is_done =
            |key: &Key| self.from_key.get(key).is_some_and(|stored| stored.record.is_finished());
        manifest.keys(None).filter(|key| !is_done(key)).collect()
    }

    /// The shards, of so many, that have work left.
    pub fn unfinished(&self, manifest: &Manifest, shards: usize) -> Vec<usize> {
        let is_open = |shard: &Shard| manifest.keys(Some(*shard)).any(|key| !self.has(key));
        Shard::all(shards).filter(is_open).map(Shard::index).collect()
    }

    /// What was drawn of these records, each by the run that made it.
    pub(crate) fn sketches(&self, directory: &Path) -> Result<Sketches, StoreError> {
        let mut from_folder: BTreeMap<PathBuf, Vec<Key>> = BTreeMap::new();
        for (&key, stored) in &self.from_key {
            from_folder.entry(folder_of(directory, &stored.file)).or_default().push(key);
        }
        let mut all = Sketches::default();
        for (folder, keys) in from_folder {
            all.adopt(sketch_file::read(&folder)?, &keys);
        }
        Ok(all)
    }

    /// Makes the directory's own file of records hold all of these and nothing else, in the order asked for, with every
    /// witness's files in place before the record that names them.
    pub(crate) fn store(&self, directory: &Path, manifest: &Manifest) -> Result<(), StoreError> {
        let own = directory.join(R::CONTENTS.file());
        let mut text = Vec::new();
        for stored in manifest.keys(None).filter_map(|key| self.from_key.get(&key)) {
            if stored.file != own
                && let Some(witness) = stored.record.stored_witness()
            {
                witness::adopt(&folder_of(directory, &stored.file), directory, witness)?;
            }
            text.extend_from_slice(&stored.line);
            text.push(b'\n');
        }
        replace(&own, &text)
    }
}

/// Whether the witness that a record names is there, whole; or it names none.
fn has_witness(folder: &Path, record: &impl Resumable) -> bool {
    let Some(name) = record.stored_witness() else { return true };
    let is_whole = npy::is_whole(&folder.join(name));
    if !is_whole {
        log::warn!("{}: the adversary's file is not whole: it is searched again", record.key());
    }
    is_whole
}
