//! Files that are whole or absent, whenever the process is killed or, if they are synced, the power fails: written beside their place, then
//! moved.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::disk;
use super::error::StoreError;

/// How files end that are not whole yet.
pub(crate) const PARTIAL: &str = "partial";

/// Replaces a file by a whole one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut partial = path.to_owned().into_os_string();
    partial.push(format!(".{PARTIAL}"));
    replace_through(path, partial.as_ref(), bytes)
}

/// The same through a partial file of our own, where other threads or processes may replace the file at the same time.
pub(crate) fn replace_through(path: &Path, partial: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let written = disk::write(partial, bytes).and_then(|()| disk::rename(partial, path));
    written.map_err(|source| {
        // Where there is nothing to remove, nothing is left to do.
        let _ = fs::remove_file(partial);
        StoreError::Unwritable { path: path.to_owned(), source }
    })
}

/// A file that is to be written: its place, where it is written first, and what it holds.
pub(crate) struct NewFile {
    pub path: PathBuf,
    pub partial: PathBuf,
    pub bytes: Vec<u8>,
    /// Whether it has to survive a power loss.
    pub is_synced: bool,
}

/// Writes files of one directory, each whole or not at all; after a power loss that is true of synced ones only. The directory is synced once, for all of them.
pub(crate) fn replace_all(files: &[NewFile]) -> Result<(), StoreError> {
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Unwritable { path, source }
    };
    let write = |file: &NewFile| {
        let write = if file.is_synced { disk::write } else { disk::write_unsynced };
        write(&file.partial, &file.bytes).map_err(unwritable(&file.path))
    };
    let places: Vec<(&Path, &Path)> =
        files.iter().map(|file| (file.partial.as_path(), file.path.as_path())).collect();
    let Some(first) = files.first() else { return Ok(()) };
    let written = files.iter().try_for_each(write);
    let placed = written.and_then(|()| disk::rename_all(&places).map_err(unwritable(&first.path)));
    if placed.is_err() {
        // Where there is nothing to remove, nothing is left to do.
        files.iter().for_each(|file| drop(fs::remove_file(&file.partial)));
    }
    placed
}

/// Removes what killed processes left of files in a directory, if it was last written to at least so long ago.
pub(crate) fn remove_partial(directory: &Path, age: Duration) {
    let Ok(list) = fs::read_dir(directory) else { return };
    for path in list.filter_map(|entry| Some(entry.ok()?.path())) {
        let written = fs::metadata(&path).and_then(|data| data.modified()).ok();
        let is_old = written.is_some_and(|at| at.elapsed().is_ok_and(|since| since >= age));
        if path.extension().is_some_and(|end| end == PARTIAL) && is_old {
            // Where there is nothing to remove, nothing is left to do.
            let _ = fs::remove_file(&path);
        }
    }
}

/// A name that no other process has: sixteen digits of the system's randomness.
pub(crate) fn unique() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}
