//! Files that are whole or absent, whenever the process is killed: written beside their place, then moved.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

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
    let written = fs::write(partial, bytes).and_then(|()| fs::rename(partial, path));
    written.map_err(|source| {
        // Where there is nothing to remove, nothing is left to do.
        let _ = fs::remove_file(partial);
        StoreError::Unwritable { path: path.to_owned(), source }
    })
}

/// A name that no other process has: sixteen digits of the system's randomness.
pub(crate) fn unique() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}
