//! Files of JSON lines that only grow: a line is appended whole, with a single write, and synced within a second.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{self, GrowingFile, UnsyncedFiles};
use super::error::StoreError;
use crate::record::json;

/// A file of lines, opened for more.
#[derive(Debug)]
pub struct JsonLines(GrowingFile);

impl JsonLines {
    /// Opens a file, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_naming(path, None)
    }

    /// Opens a file whose lines name others: these are synced before it.
    pub(crate) fn open_naming(
        path: &Path,
        named: Option<Arc<UnsyncedFiles>>,
    ) -> Result<Self, StoreError> {
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(StoreError::unwritable(path))?;
        disk::created(path).map_err(StoreError::unwritable(path))?;
        Ok(Self(GrowingFile::new(path, file, named)))
    }

    /// Opens a file for more, and gives the lines that are understood. A line that was torn when its writer was killed is ended, so
    /// that the next one is not lost with it.
    ///
    /// # Errors
    /// When it cannot be read or opened.
    pub fn resume<T: DeserializeOwned>(path: &Path) -> Result<(Self, Vec<T>), StoreError> {
        let mut opened = Self::open(path)?;
        let text = fs::read(path).map_err(StoreError::unreadable(path))?;
        if text.last().is_some_and(|&byte| byte != b'\n') {
            opened.0.append(b"\n").map_err(StoreError::unwritable(path))?;
        }
        let understood = lines(&text).filter_map(|line| line.parsed.ok()).collect();
        Ok((opened, understood))
    }

    /// Syncs now.
    #[cfg(test)]
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    /// Appends a line, whole. A second later it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        self.append_all(std::slice::from_ref(line))
    }

    /// The same with several lines at once.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn append_all(&mut self, lines: &[impl Serialize]) -> Result<(), StoreError> {
        let mut text = Vec::new();
        let mut lines = lines.iter();
        let encoded = lines.try_for_each(|line| json::line(&mut text, line));
        let written = encoded.and_then(|()| self.0.append(&text));
        written.map_err(StoreError::unwritable(self.0.path()))
    }
}

/// A line of a file.
#[derive(Debug)]
pub struct JsonLine<'t, T> {
    /// Base 1.
    pub number: usize,
    /// Its own bytes: numbers are not printed anew.
    pub bytes: &'t [u8],
    /// What it says, if it is understood.
    pub parsed: io::Result<T>,
}

/// The lines of a file. A last line without an end that is not understood is left out: its writer was killed, or is writing right now.
pub fn lines<T: DeserializeOwned>(text: &[u8]) -> impl Iterator<Item = JsonLine<'_, T>> {
    let numbered = text.split_inclusive(|&byte| byte == b'\n').zip(1..);
    numbered.filter_map(|(line, number)| {
        let is_whole = line.ends_with(b"\n");
        let bytes = line.trim_ascii();
        if bytes.is_empty() {
            return None;
        }
        let parsed = json::parse(bytes);
        (is_whole || parsed.is_ok()).then_some(JsonLine { number, bytes, parsed })
    })
}
