//! Attacks on images.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rw_adv::attack::{Answer, Attack};
use rw_adv::network::Network;
use rw_adv::record::{AttackRecord, AttackSettings, json};
use rw_adv::run::{AttackJob, ImageTargets, ProofFiles, has_spare_threads};
use rw_adv::search::{Method, SearchOptions};
use rw_adv::solve::{BranchLimits, Goal};

use crate::background::{self, Listener};
use crate::errors::{Failure, guarded};
use crate::images::{RunOptions, samples};
use crate::model::Model;
use crate::saved::Finished;

/// The folder of proofs in a result directory.
pub const PROOFS: &str = "proofs";

/// What is asked of every image.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AttackOptions {
    delta: f64,
    goal: String,
    method: String,
    /// Nodes at most, 0 for no branching; none: as many as the command line spends on a verdict by default.
    branch: Option<usize>,
    gap: f64,
    proofs: bool,
    /// Whether an independent checker looks at every proof.
    check_proofs: bool,
}

/// One of the goals, by its name.
pub fn goal(name: &str) -> Result<Goal, Failure> {
    let goals = [Goal::Optimum, Goal::Verdict];
    let named = goals.into_iter().find(|goal| goal.name() == name);
    named.ok_or_else(|| Failure::Input(format!("goal: '{name}' is neither optimum nor verdict")))
}

/// One of the methods, by its name.
pub fn method(name: &str) -> Result<Method, Failure> {
    let built_in = Method::NAMES.contains(&name).then(|| name.parse().ok()).flatten();
    built_in.ok_or_else(|| {
        Failure::Input(format!("method: '{name}' is none of {}", Method::NAMES.join(", ")))
    })
}

impl AttackOptions {
    /// For so many images at once, on the threads that we are in.
    fn attack(
        &self,
        run: &RunOptions,
        network: &Network,
        images: usize,
    ) -> Result<Attack, Failure> {
        let &Self { delta, gap, .. } = self;
        let proofs = self.proofs || self.check_proofs;
        let (seed, patience, method) = (run.seed, run.patience, method(&self.method)?);
        let search = SearchOptions { seed, patience, method, ..SearchOptions::default() };
        let parallel = has_spare_threads(images);
        let branch = match self.branch {
            None => Some(BranchLimits::for_verdict(BranchLimits::default_nodes(network), parallel)),
            Some(0) => None,
            Some(nodes) => Some(BranchLimits { nodes, gap, parallel }),
        };
        Ok(Attack { delta, norm: run.norm()?, search, goal: goal(&self.goal)?, branch, proofs })
    }
}

/// Attacks images; a listener is told how far it is.
#[pyfunction]
#[pyo3(signature = (model, pixels, labels, run, options, listener=None))]
pub fn attack(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    pixels: PyReadonlyArray2<'_, f32>,
    labels: Option<Vec<usize>>,
    run: RunOptions,
    options: AttackOptions,
    listener: Option<Listener<'_>>,
) -> PyResult<AttackRun> {
    let samples = samples(&pixels, labels)?;
    drop(pixels);
    let model = model.get().share();
    let finished = background::run(py, run.threads, listener.as_ref(), move |outside| {
        let targets = run.targets(model.model.network.outputs(), samples.len())?;
        let images = samples.len();
        let items = ImageTargets::of_samples(&model.model, samples, &targets)?;
        let attack = options.attack(&run, &model.model.network, images)?;
        let Attack { delta, search, branch, .. } = attack;
        let settings = json::fields(&AttackSettings {
            common: run.settings(&model, &items)?,
            delta,
            branch: branch.map(|branch| branch.nodes),
            gap: attack.gap(),
            method: search.method,
            warm_start: false,
            solver: None,
            goal: attack.goal,
            way_out: search.way_out,
        });
        let self_check = model.self_check(options.check_proofs)?;
        let job = AttackJob { model: Arc::clone(&model.model), attack, proofs: None, self_check };
        Finished::run(job, items, settings, run.time(), outside, kept)
    })?;
    Ok(AttackRun(finished))
}

/// What is kept of an answer. The point as the judge stored it is handed out; the candidate that it was made of takes twice the memory.
fn kept(answer: &Answer) -> Answer {
    let mut copy = answer.clone();
    copy.solution.search.best.point = Vec::new();
    copy
}

/// The records of an attack, and the points that they are about.
#[pyclass(frozen, module = "rw_adv._native")]
pub struct AttackRun(Finished<AttackJob>);

#[pymethods]
impl AttackRun {
    /// Where the records of each image begin, and after the last one, where they end: records are sorted by image and target.
    fn offsets(&self) -> Vec<usize> {
        let records = &self.0.records;
        let begin = |image| records.partition_point(|record| record.image < image);
        (0..=self.0.items.len()).map(begin).collect()
    }

    /// Some records, from one place to another, as one JSON array.
    fn records(&self, begin: usize, end: usize) -> PyResult<String> {
        Ok(self.0.to_json(begin..end)?)
    }

    /// The verdict of each record.
    fn verdicts<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyString>> {
        let verdict = |record: &AttackRecord| PyString::intern(py, record.verdict.name());
        self.0.records.iter().map(verdict).collect()
    }

    /// The label that the model gives each image.
    fn predicted(&self) -> Vec<usize> {
        self.0.items.iter().map(|item| item.predicted.0).collect()
    }

    /// How many targets each image has.
    fn asked(&self) -> Vec<usize> {
        self.0.items.iter().map(|item| item.targets.len()).collect()
    }

    /// The best point of one record.
    fn point<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let kept = self.0.answers.get(place);
        let kept = kept.ok_or_else(|| Failure::Internal("no such record".into()))?;
        Ok(PyArray1::from_slice(py, kept.answer.solution.judgement.point().values()))
    }

    #[getter]
    fn complete(&self) -> bool {
        self.0.complete
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.0.elapsed.as_secs_f64()
    }

    #[getter]
    fn settings(&self) -> String {
        json::Value::Object(self.0.settings.clone()).to_string()
    }

    /// Writes the records of some images, with everything that belongs to them, to a new directory.
    fn save(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        images: Vec<usize>,
        pictures: String,
    ) -> PyResult<()> {
        guarded(|| py.detach(|| self.write(&directory, &images, &pictures)))?.map_err(Into::into)
    }
}

impl AttackRun {
    fn write(
        &self,
        directory: &std::path::Path,
        images: &[usize],
        pictures: &str,
    ) -> Result<(), Failure> {
        let items: Vec<ImageTargets> =
            images.iter().filter_map(|&image| self.0.items.get(image)).cloned().collect();
        self.0.check(&items, directory)?;
        let AttackJob { model, attack, .. } = &self.0.job;
        let folder = directory.join(PROOFS);
        let proofs = attack.proofs.then(|| ProofFiles::create(&folder, &model.sha256));
        let job = AttackJob {
            model: Arc::clone(model),
            attack: *attack,
            proofs: proofs.transpose()?,
            self_check: None,
        };
        self.0.write(&job, items, directory, pictures)
    }
}
