//! A result directory read back: what exports and the report are made from.

use std::fs;
use std::path::Path;

use super::attempt::ATTEMPTS;
use super::error::StoreError;
use super::manifest::Manifest;
use super::record_set::RecordSet;
use crate::record::json::{self, Fields, Value};
use crate::record::{Contents, Resumable, StoredRun};

/// What is counted over all records.
pub(crate) const SUMMARY: &str = "summary.json";

/// Reads the records of a result directory, and what else there is.
///
/// # Errors
/// When there are no results, or they are damaged.
pub fn read_run<R: Resumable>(directory: &Path) -> Result<StoredRun<R>, StoreError> {
    let contents = R::CONTENTS;
    if ![contents.file(), ATTEMPTS].iter().any(|name| directory.join(name).exists()) {
        return Err(missing(directory));
    }
    let manifest = Manifest::read(directory)?;
    if manifest.as_ref().is_some_and(|manifest| manifest.contents() != contents) {
        return Err(missing(directory));
    }
    let gathered = RecordSet::<R>::everything(directory, manifest.as_ref())?;
    let sketches = gathered.sketches(directory)?;
    let summary = summary(&directory.join(SUMMARY));
    let of_summary = summary.get("settings").and_then(Value::as_object);
    let settings = of_summary.or(manifest.as_ref().map(Manifest::settings));
    let missing = manifest.as_ref().map(|manifest| gathered.missing(manifest));
    let origin = manifest.as_ref().and_then(Manifest::origin).cloned();
    Ok(StoredRun {
        origin,
        records: gathered.into_records().collect(),
        settings: settings.cloned().unwrap_or_default(),
        asked: manifest.map(|manifest| manifest.keys(None).count()),
        missing,
        summary,
        sketches,
    })
}

/// What a directory holds.
///
/// # Errors
/// When there are no results.
pub fn contents_of(directory: &Path) -> Result<Contents, StoreError> {
    let told = Manifest::read(directory)?.map(|manifest| manifest.contents());
    let is_there = |kind: &Contents| directory.join(kind.file()).exists();
    let held = told.or_else(|| Contents::ALL.into_iter().find(is_there));
    held.ok_or_else(|| StoreError::NoResults(directory.to_owned()))
}

fn missing(directory: &Path) -> StoreError {
    let path = directory.to_owned();
    match contents_of(directory) {
        Ok(Contents::Attacks) | Err(_) => StoreError::NoResults(path),
        Ok(Contents::Radii) => StoreError::OtherResults { path, what: "radii" },
        Ok(Contents::Maximum) => StoreError::OtherResults { path, what: "the result of maximize" },
        Ok(Contents::Instances) => StoreError::OtherResults { path, what: "the results of verify" },
    }
}

/// Records say what counts: a summary that is missing or damaged is none.
fn summary(path: &Path) -> Fields {
    let read = fs::read(path).and_then(|text| json::parse(&text));
    read.unwrap_or_else(|error| {
        log::info!("{}: left out: {error}", path.display());
        Fields::new()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::record::{AttackRecord, Sketches, record};

    fn line(image: usize, target: usize, more: &str) -> String {
        let mut line = Vec::new();
        json::line(&mut line, &record(image, target, "unknown", more)).unwrap();
        String::from_utf8(line).unwrap()
    }

    fn folder_with(results: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.jsonl");
        fs::write(&file, results).unwrap();
        (folder, file)
    }

    #[test]
    fn records_come_in_order_once_each_and_whole() {
        let called_off = line(2, 8, r#","stop":"interrupted","margin":9"#);
        let text = [&line(9, 3, ""), &called_off, "\n", &line(2, 3, ""), &line(2, 8, "")].concat();
        let (folder, file) = folder_with(&text);
        let found = || {
            let stored = read_run::<AttackRecord>(folder.path()).unwrap();
            let of =
                |record: &AttackRecord| (record.image, record.target, record.stats.stop.name());
            stored.records.iter().map(of).collect::<Vec<_>>()
        };
        let expected = [(2, 3, "no_gain"), (2, 8, "no_gain"), (9, 3, "no_gain")];
        assert_eq!(found(), expected);
        // Cancelled work is shown until it is done again.
        fs::write(&file, called_off).unwrap();
        assert_eq!(found(), [(2, 8, "interrupted")]);
        fs::write(&file, text.clone() + "{\"image\":7").unwrap();
        assert_eq!(found(), expected);
        fs::write(&file, "{\"image\":7\n".to_owned() + &text).unwrap();
        let error = read_run::<AttackRecord>(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("results.jsonl: line 1 is not a valid record"), "{error}");
    }

    #[test]
    fn a_directory_without_results_says_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path| read_run::<AttackRecord>(path).unwrap_err().to_string();
        assert!(error(folder.path()).ends_with("holds no results.jsonl: name the --out of a run"));
        assert!(error(&folder.path().join("none")).contains("none: holds no results.jsonl"));
        fs::write(folder.path().join("radii.jsonl"), "").unwrap();
        assert!(error(folder.path()).contains("holds radii: "));
        fs::create_dir(folder.path().join("results.jsonl")).unwrap();
        assert!(error(folder.path()).contains("results.jsonl: cannot read"));
    }

    #[test]
    fn what_is_missing_beside_the_records_is_empty() {
        let (folder, _) = folder_with(&line(1, 2, ""));
        fs::write(folder.path().join(SUMMARY), "{\"settings\":").unwrap();
        let stored = read_run::<AttackRecord>(folder.path()).unwrap();
        assert_eq!((stored.records.len(), stored.settings.len(), stored.asked), (1, 0, None));
        assert_eq!(stored.missing, None);
        assert_eq!(stored.sketches, Sketches::default());
    }
}
