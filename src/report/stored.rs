//! A result directory read back: what exports and the report are made from.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::json::{self, Map, Value};
use super::png;
use super::sketch::Sketches;
use crate::verdict::Verdict;

/// Why a directory cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// There is nothing to read.
    #[error("{}: holds no results.jsonl: name the --out of a run", .0.display())]
    NoResults(PathBuf),
    /// There are other results.
    #[error("{}: holds {what}: a report is made of a run with --delta only", path.display())]
    OtherResults {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        what: &'static str,
    },
    /// The file system says no.
    #[error("{}: cannot read: {source}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is no record.
    #[error("{}: line {line} is no record: {source}", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Base 1.
        line: usize,
        /// What is wrong with it.
        source: io::Error,
    },
}

/// The contents of a result directory.
#[derive(Debug)]
pub struct Stored {
    /// The records, by image and target.
    pub rows: Vec<Entry>,
    /// `summary.json`; empty when there is none, because the run did not come to its end.
    pub summary: Map<String, Value>,
    /// What was drawn.
    pub(super) sketches: Sketches,
}

impl Stored {
    /// Reads `results.jsonl`, and what else there is.
    ///
    /// # Errors
    /// When there are no results, or they are damaged.
    pub fn read(directory: &Path) -> Result<Self, StoredError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| StoredError::Unreadable { path, source }
        };
        let path = directory.join("results.jsonl");
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(missing(directory)),
            text => text.map_err(unreadable(&path))?,
        };
        let path = path.as_path();
        let rows = rows(&text).map_err(|(line, source)| {
            let path = path.to_owned();
            StoredError::NoRecord { path, line, source }
        })?;
        let sketches = Sketches::read(directory).map_err(unreadable(directory))?;
        Ok(Self { rows, summary: summary(&directory.join("summary.json")), sketches })
    }

    /// The first adversaries side by side as a PNG: image, adversary, difference, one below the other. `None` when there are none,
    /// or inputs are no pictures.
    pub fn strip(&self, most: usize) -> Option<Vec<u8>> {
        let Sketches { shape, originals, sketches } = &self.sketches;
        let pair = |row: &Entry| {
            let original = originals.get(&row.image)?;
            let adversary = sketches.get(&(row.image, row.target))?.changed(original)?;
            Some((original.clone(), adversary))
        };
        let adversaries = self.rows.iter().filter(|row| row.verdict == Verdict::Adversarial);
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = adversaries.filter_map(pair).take(most).collect();
        let layout = shape.filter(|_| !pairs.is_empty())?.layout();
        Some(png::gallery(&layout, &pairs))
    }

    /// What was asked for; empty when it is not known.
    pub fn settings(&self) -> Map<String, Value> {
        self.summary.get("settings").and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

fn missing(directory: &Path) -> StoredError {
    let path = directory.to_owned();
    let others = [("radii.jsonl", "radii"), ("result.json", "the result of maximize")];
    match others.into_iter().find(|(file, _)| directory.join(file).exists()) {
        Some((_, what)) => StoredError::OtherResults { path, what },
        None => StoredError::NoResults(path),
    }
}

/// The rows of a file; of two for the same image and target, the later one. A last line that is not whole is left out: the run
/// was killed while it wrote.
fn rows(text: &[u8]) -> Result<Vec<Entry>, (usize, io::Error)> {
    let mut rows = BTreeMap::new();
    let mut lines = text.split(|&byte| byte == b'\n').enumerate().peekable();
    while let Some((k, line)) = lines.next() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match Entry::parse(line) {
            Ok(row) => {
                rows.insert((row.image, row.target), row);
            }
            Err(_) if lines.peek().is_none() => log::warn!("the last record is not whole"),
            Err(error) => return Err((k + 1, error)),
        }
    }
    Ok(rows.into_values().collect())
}

/// Records say what counts: without a summary, only settings are not known.
fn summary(path: &Path) -> Map<String, Value> {
    let read = fs::read(path).and_then(|text| json::parse(&text));
    read.unwrap_or_else(|error| {
        log::warn!("{}: settings are left out: {error}", path.display());
        Map::new()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(image: usize, target: usize, margin: f64) -> String {
        format!(
            "{{\"image\":{image},\"predicted\":1,\"target\":{target},\"verdict\":\"unknown\",\"margin\":{margin}}}\n"
        )
    }

    #[test]
    fn rows_come_in_order_once_each_and_whole() {
        let text = line(9, 3, 1.0) + &line(2, 8, 2.0) + "\n" + &line(2, 3, 3.0) + &line(2, 8, 4.0);
        let read = rows(text.as_bytes()).unwrap();
        let found: Vec<_> =
            read.iter().map(|row| (row.image, row.target, row.number("margin").unwrap())).collect();
        assert_eq!(found, [(2, 3, 3.0), (2, 8, 4.0), (9, 3, 1.0)]);
        assert_eq!(rows((text.clone() + "{\"image\":7").as_bytes()).unwrap(), read);
        let (at, _) = rows(("{\"image\":7\n".to_owned() + &text).as_bytes()).unwrap_err();
        assert_eq!(at, 1);
    }

    #[test]
    fn a_directory_without_results_says_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path| Stored::read(path).unwrap_err().to_string();
        assert!(error(folder.path()).ends_with("holds no results.jsonl: name the --out of a run"));
        assert!(error(&folder.path().join("none")).contains("none: holds no results.jsonl"));
        fs::write(folder.path().join("radii.jsonl"), "").unwrap();
        assert!(error(folder.path()).contains("holds radii: "));
        fs::create_dir(folder.path().join("results.jsonl")).unwrap();
        assert!(error(folder.path()).contains("results.jsonl: cannot read: "));
    }

    #[test]
    fn what_is_missing_beside_the_records_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("results.jsonl"), line(1, 2, 0.5)).unwrap();
        fs::write(folder.path().join("summary.json"), "{\"settings\":").unwrap();
        let stored = Stored::read(folder.path()).unwrap();
        assert_eq!((stored.rows.len(), stored.settings().len()), (1, 0));
        assert_eq!(stored.sketches, Sketches::default());
    }
}
