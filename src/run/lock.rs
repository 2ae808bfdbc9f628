//! One writer of a result directory at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::error::StoreError;

/// Holds on to a directory for as long as it lives. The system lets go when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code)] Option<File>);

impl Lock {
    /// Locks a directory by a file in it that is never replaced.
    ///
    /// # Errors
    /// When another process has.
    pub fn of(directory: &Path, file: &str) -> Result<Self, StoreError> {
        let file = File::options().append(true).open(directory.join(file)).ok();
        match file.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Err(StoreError::Busy(directory.to_owned())),
            // Not every file system knows locks, and a run without is better than none.
            Some(Err(TryLockError::Error(_))) | None => Ok(Self(None)),
            Some(Ok(())) => Ok(Self(file)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), "").unwrap();
        let lock = || Lock::of(directory.path(), "file");
        let first = lock().unwrap();
        assert!(matches!(lock(), Err(StoreError::Busy(_))));
        drop(first);
        lock().unwrap();
    }
}
