//! One method on one instance: run, recorded, and found again when a run is continued.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rw_adv::bounds::{Arithmetic, LinearBounds, NeuronBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::problem::Problem;
use rw_adv::record::json;
use rw_adv::search::{Method, SearchOptions, SearchStop, search};
use serde::{Deserialize, Serialize};

use crate::cli::STOP;

/// What a method did with an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub instance: String,
    pub group: String,
    pub method: String,
    /// The best value, by the network's own forward pass.
    pub value: f64,
    pub seconds: f64,
    pub seconds_to_best: f64,
    pub starts: usize,
    /// Local searches that came to their end in time.
    pub finished: usize,
    pub regions: usize,
    pub lps: usize,
    pub iterations: usize,
    /// What branch and bound claims no point can exceed.
    pub claimed_bound: Option<f64>,
    /// Whether branch and bound claims that its value is optimal.
    pub claimed_optimal: bool,
    /// When which value was reached.
    pub trace: Vec<(f64, f64)>,
}

/// Runs a method; the time counts for all it does, bounds of neurons included.
pub fn run(
    problem: &Problem,
    (instance, group): (&str, &str),
    method: Method,
    seed: u64,
    seconds: f64,
) -> Run {
    let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), Some(&STOP));
    let bounds: OnceCell<NeuronBounds> = OnceCell::new();
    let make = || {
        bounds.get_or_init(|| {
            let (network, set) = (&problem.network, &problem.set);
            let half = budget.half();
            LinearBounds::new(network, set, UpperRelaxation::Envelopes, Arithmetic::Exact, &half)
                .neurons()
                .clone()
        })
    };
    let options = SearchOptions { seed, patience: usize::MAX, method, ..SearchOptions::default() };
    let mut trace = Vec::new();
    let found = search(problem, &make, &options, &budget, |better| {
        trace.push((budget.elapsed().as_secs_f64(), better.margin));
        ControlFlow::Continue(())
    });
    Run {
        instance: instance.to_owned(),
        group: group.to_owned(),
        method: method.name().to_owned(),
        value: found.best.margin,
        seconds: budget.elapsed().as_secs_f64(),
        seconds_to_best: found.time_to_best.as_secs_f64(),
        starts: found.starts,
        finished: found.finished,
        regions: found.work.regions,
        lps: found.work.lps,
        iterations: found.work.iterations,
        claimed_bound: found.claimed_bound,
        claimed_optimal: found.stop == SearchStop::Claimed,
        trace,
    }
}

/// What all runs of a directory have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub experiment: String,
    pub seconds: f64,
    /// Anything else that makes a difference, by the option's name.
    pub settings: BTreeMap<String, String>,
    pub version: String,
    /// SHA-256 of the program.
    pub binary: String,
}

impl Manifest {
    /// What differs, in words.
    fn difference(&self, other: &Self) -> Option<String> {
        let told = |manifest: &Self| {
            let mut all = manifest.settings.clone();
            all.insert("--experiment".into(), manifest.experiment.clone());
            all.insert("--seconds".into(), manifest.seconds.to_string());
            all.insert("version".into(), manifest.version.clone());
            all.insert("program".into(), manifest.binary.clone());
            all
        };
        let (ours, theirs) = (told(self), told(other));
        let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let differs = keys.into_iter().find(|key| ours.get(*key) != theirs.get(*key))?;
        let or_none = |all: &BTreeMap<String, String>| {
            all.get(differs).cloned().unwrap_or_else(|| "none".into())
        };
        Some(format!("{differs} {} there, {} asked", or_none(&theirs), or_none(&ours)))
    }
}

/// The directory of one experiment: what has been run so far, one line each, and a place for more.
pub struct Store {
    pub directory: PathBuf,
    file: File,
    pub runs: BTreeMap<(String, String), Run>,
}

const MANIFEST: &str = "manifest.json";
const RUNS: &str = "runs.jsonl";

impl Store {
    /// Makes the directory, or opens one that was left unfinished by a run with the same settings.
    pub fn open(directory: &Path, manifest: &Manifest) -> Result<Self> {
        let at = |path: &Path| format!("{}", path.display());
        fs::create_dir_all(directory).with_context(|| at(directory))?;
        let path = directory.join(MANIFEST);
        match fs::read(&path) {
            Ok(text) => {
                let theirs: Manifest = json::parse(&text).with_context(|| at(&path))?;
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
        let path = directory.join(RUNS);
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .with_context(|| at(&path))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).with_context(|| at(&path))?;
        // A line that was torn when the machine stopped ends without a newline, or in the middle of a later one.
        if text.last().is_some_and(|&byte| byte != b'\n') {
            file.write_all(b"\n").with_context(|| at(&path))?;
        }
        let whole = text.split(|&byte| byte == b'\n').filter_map(|l| json::parse(l).ok());
        let runs =
            whole.map(|run: Run| ((run.instance.clone(), run.method.clone()), run)).collect();
        Ok(Self { directory: directory.to_owned(), file, runs })
    }

    pub fn has(&self, instance: &str, method: Method) -> bool {
        self.runs.contains_key(&(instance.to_owned(), method.name().to_owned()))
    }

    /// Keeps a run, on disk first, with a single write.
    pub fn add(&mut self, run: Run) -> Result<()> {
        let mut line = Vec::new();
        let path = self.directory.join(RUNS);
        let written = json::line(&mut line, &run).and_then(|()| self.file.write_all(&line));
        written.with_context(|| format!("{}", path.display()))?;
        self.runs.insert((run.instance.clone(), run.method.clone()), run);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(seconds: f64) -> Manifest {
        Manifest {
            experiment: "random".into(),
            seconds,
            settings: BTreeMap::new(),
            version: "1".into(),
            binary: "ab12".into(),
        }
    }

    fn some_run(instance: &str) -> Run {
        Run {
            instance: instance.into(),
            group: "g".into(),
            method: "rw".into(),
            value: 1.5,
            seconds: 1.0,
            seconds_to_best: 0.5,
            starts: 3,
            finished: 2,
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
        let mut store = Store::open(&path, &manifest(1.0)).expect("a new directory");
        store.add(some_run("a")).expect("can be written");
        drop(store);
        let torn = b"{\"instance\":\"b\",\"gro";
        let mut file = OpenOptions::new().append(true).open(path.join(RUNS)).expect("is there");
        file.write_all(torn).expect("can be written");
        drop(file);

        let mut store = Store::open(&path, &manifest(1.0)).expect("the same settings");
        assert!(store.has("a", Method::Rw) && !store.has("b", Method::Rw));
        store.add(some_run("c")).expect("can be written");
        drop(store);
        let store = Store::open(&path, &manifest(1.0)).expect("the same settings");
        assert_eq!(
            store.runs.values().cloned().collect::<Vec<_>>(),
            [some_run("a"), some_run("c")]
        );
    }

    #[test]
    fn other_settings_and_other_peoples_files_are_left_alone() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Store::open(directory.path(), &manifest(1.0)).map(|_| ()).expect("an empty directory");
        let error = Store::open(directory.path(), &manifest(2.0)).map(|_| ()).expect_err("differs");
        assert!(error.to_string().contains("--seconds 1 there, 2 asked"), "{error}");
        let other = directory.path().join("other");
        fs::create_dir(&other).expect("a directory");
        fs::write(other.join("thesis.tex"), "precious").expect("a file");
        assert!(Store::open(&other, &manifest(1.0)).is_err());
    }
}
