//! A place of one's own for one attempt at a shard.
//!
//! Attempts never share a file: `attempts/SHARD-UNIQUE.jsonl` holds the records and `attempts/SHARD-UNIQUE/` the witnesses and
//! sketches of one process, so that a shard may be started twice, killed, or run again with another number of shards.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::shard::Shard;
use super::whole_file::unique;

/// The folder of the attempts.
pub(crate) const ATTEMPTS: &str = "attempts";
const RECORDS: &str = "jsonl";

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The file of the records.
    pub records: PathBuf,
    /// Where witnesses and sketches go.
    pub folder: PathBuf,
}

impl Attempt {
    /// Makes a file that no other process writes to.
    pub fn begin(directory: &Path, shard: Shard) -> Result<Self, StoreError> {
        let attempts = directory.join(ATTEMPTS);
        fs::create_dir_all(&attempts).map_err(StoreError::unwritable(&attempts))?;
        loop {
            let folder = attempts.join(format!("{}-{}", shard.index(), unique()));
            let records = folder.with_extension(RECORDS);
            match File::create_new(&records) {
                Ok(_) => return Ok(Self { records, folder }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::Unwritable { path: records, source }),
            }
        }
    }
}

/// The records of all attempts, by name, so that every reader sees them in the same order.
pub(crate) fn attempt_files(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = directory.join(ATTEMPTS);
    let listed = match fs::read_dir(&folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let mut files: Vec<PathBuf> = listed.map_err(StoreError::unreadable(&folder))?;
    files.retain(|path| path.extension().is_some_and(|end| end == RECORDS));
    files.sort();
    Ok(files)
}

/// Where the run that wrote this file of records has put what belongs to them.
pub(crate) fn folder_of(directory: &Path, file: &Path) -> PathBuf {
    if file.parent() == Some(directory) { directory.to_owned() } else { file.with_extension("") }
}
