//! Files that are whole or absent, whenever the process is killed or the power fails: written beside their place, then moved.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
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
