//! The directory of one experiment: what has been run so far, and a place for more.
//!
//! It is not the store of `run`: its records are those of an instance and a method, which are not known when the directory is
//! made. More methods and more instances may join later, and nothing is shared between processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rw_adv::record::json;
use rw_adv::run::JsonLines;
use serde::{Deserialize, Serialize};

use super::compare::MethodComparison;
use super::instances::NetworkSize;
use super::method_run::MethodRun;

/// What all runs of a directory have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperManifest {
    pub experiment: String,
    pub seconds: f64,
    /// What was typed to begin the run.
    #[serde(default)]
    pub command: String,
    /// Anything else that makes a difference, by the option's name.
    pub settings: BTreeMap<String, String>,
    pub version: String,
    /// SHA-256 of the program; none if any build will do.
    pub binary: Option<String>,
}

impl PaperManifest {
    /// What differs, in words.
    fn difference(&self, other: &Self) -> Option<String> {
        let told = |manifest: &Self| {
            let mut all = manifest.settings.clone();
            all.insert("--experiment".into(), manifest.experiment.clone());
            all.insert("--seconds".into(), manifest.seconds.to_string());
            all.insert("version".into(), manifest.version.clone());
            all
        };
        let (mut ours, mut theirs) = (told(self), told(other));
        if let (Some(this), Some(that)) = (&self.binary, &other.binary) {
            ours.insert("program".into(), this.clone());
            theirs.insert("program".into(), that.clone());
        }
        let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let differs = keys.into_iter().find(|key| ours.get(*key) != theirs.get(*key))?;
        let or_none = |all: &BTreeMap<String, String>| {
            all.get(differs).cloned().unwrap_or_else(|| "none".into())
        };
        Some(format!("{differs} {} there, {} asked", or_none(&theirs), or_none(&ours)))
    }
}

/// The directory of one experiment: what has been run so far, one line each, and a place for more.
pub struct PaperStore {
    pub directory: PathBuf,
    lines: JsonLines,
    pub runs: BTreeMap<(String, String), MethodRun>,
}

const MANIFEST: &str = "manifest.json";
const RUNS: &str = "runs.jsonl";
/// The file with a line for each instance and method, written at the end.
pub const INSTANCES: &str = "instances.csv";

impl PaperStore {
    /// Makes the directory, or opens one that was left unfinished by a run with the same settings.
    pub fn open(directory: &Path, manifest: &PaperManifest) -> Result<Self> {
        let at = |path: &Path| format!("{}", path.display());
        fs::create_dir_all(directory).with_context(|| at(directory))?;
        let path = directory.join(MANIFEST);
        match fs::read(&path) {
            Ok(text) => {
                let theirs: PaperManifest = json::parse(&text).with_context(|| at(&path))?;
                if let Some(difference) = manifest.difference(&theirs) {
                    bail!(
                        "{}: holds another run ({difference}); name another --out",
                        at(directory)
                    );
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut entries = fs::read_dir(directory).with_context(|| at(directory))?;
                if entries.next().is_some() {
                    bail!(
                        "{}: is neither empty nor a bench run; name another --out",
                        at(directory)
                    );
                }
                let mut text = Vec::new();
                let written = json::line(&mut text, manifest).and_then(|()| fs::write(&path, text));
                written.with_context(|| at(&path))?;
            }
            Err(error) => return Err(error).with_context(|| at(&path)),
        }
        let (lines, runs) = JsonLines::resume::<MethodRun>(&directory.join(RUNS))?;
        let runs = runs.into_iter().map(|run| (key(&run), run)).collect();
        Ok(Self { directory: directory.to_owned(), lines, runs })
    }

    pub fn has(&self, instance: &str, method: &str) -> bool {
        self.runs.contains_key(&(instance.to_owned(), method.to_owned()))
    }

    /// Keeps a run, on disk first, with a single write.
    pub fn add(&mut self, run: MethodRun) -> Result<()> {
        self.lines.append(&run)?;
        self.runs.insert(key(&run), run);
        Ok(())
    }
}

/// What [`INSTANCES`] of a finished run tells.
pub struct StoredRuns {
    pub manifest: PaperManifest,
    methods: Vec<String>,
    /// Name and group of each instance: sizes in order, then as they were run.
    instances: Vec<(String, String)>,
    runs: BTreeMap<(String, String), MethodRun>,
}

impl StoredRuns {
    /// What a directory holds; `None` if there is no finished run.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(MANIFEST);
        if !path.exists() || !directory.join(INSTANCES).exists() {
            return Ok(None);
        }
        let at = |path: &Path| format!("{}", path.display());
        let text = fs::read(&path).with_context(|| at(&path))?;
        let manifest = json::parse(&text).with_context(|| at(&path))?;
        let path = directory.join(INSTANCES);
        let mut table = csv::Reader::from_path(&path).with_context(|| at(&path))?;
        let list: Result<Vec<MethodRun>, csv::Error> = table.deserialize().collect();
        let list = list.with_context(|| at(&path))?;
        let (mut methods, mut instances) = (Vec::new(), Vec::new());
        for run in &list {
            if !methods.contains(&run.method) {
                methods.push(run.method.clone());
            }
            let instance = (run.instance.clone(), run.group.clone());
            if !instances.contains(&instance) {
                instances.push(instance);
            }
        }
        instances.sort_by_key(|(_, group)| group.parse::<NetworkSize>().ok());
        let runs = list.into_iter().map(|run| (key(&run), run)).collect();
        Ok(Some(Self { manifest, methods, instances, runs }))
    }

    /// All methods on all instances.
    pub fn comparison(&self) -> MethodComparison<'_> {
        MethodComparison::new(self.methods.clone(), &self.instances, &self.runs)
    }
}

fn key(run: &MethodRun) -> (String, String) {
    (run.instance.clone(), run.method.clone())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn manifest(seconds: f64) -> PaperManifest {
        PaperManifest {
            experiment: "random".into(),
            seconds,
            command: "rw-adv bench paper".into(),
            settings: BTreeMap::new(),
            version: "1".into(),
            binary: Some("ab12".into()),
        }
    }

    fn some_run(instance: &str) -> MethodRun {
        MethodRun {
            instance: instance.into(),
            group: "g".into(),
            method: "rw".into(),
            value: 1.5,
            seconds: 1.0,
            wall_seconds: Some(1.0),
            seconds_to_best: 0.5,
            starts: 3,
            finished: 2,
            points: Some(1),
            refused: false,
            regions: 4,
            lps: 5,
            iterations: 6,
            claimed_bound: None,
            claimed_optimal: false,
            trace: vec![(0.25, 1.0), (0.5, 1.5)],
        }
    }

    #[test]
    fn a_run_is_continued_where_it_was_torn() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("runs");
        let mut store = PaperStore::open(&path, &manifest(1.0)).expect("a new directory");
        store.add(some_run("a")).expect("can be written");
        drop(store);
        let torn = b"{\"instance\":\"b\",\"gro";
        let mut file = OpenOptions::new().append(true).open(path.join(RUNS)).expect("is there");
        file.write_all(torn).expect("can be written");
        drop(file);

        let mut store = PaperStore::open(&path, &manifest(1.0)).expect("the same settings");
        assert!(store.has("a", "rw") && !store.has("b", "rw"));
        store.add(some_run("c")).expect("can be written");
        drop(store);
        let store = PaperStore::open(&path, &manifest(1.0)).expect("the same settings");
        assert_eq!(
            store.runs.values().cloned().collect::<Vec<_>>(),
            [some_run("a"), some_run("c")]
        );
    }

    #[test]
    fn other_settings_and_other_peoples_files_are_left_alone() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        PaperStore::open(directory.path(), &manifest(1.0)).map(|_| ()).expect("an empty directory");
        let error =
            PaperStore::open(directory.path(), &manifest(2.0)).map(|_| ()).expect_err("differs");
        assert!(error.to_string().contains("--seconds 1 there, 2 asked"), "{error}");
        let other = directory.path().join("other");
        fs::create_dir(&other).expect("a directory");
        fs::write(other.join("thesis.tex"), "precious").expect("a file");
        assert!(PaperStore::open(&other, &manifest(1.0)).is_err());
    }
}
