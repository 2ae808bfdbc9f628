//! Attacks on images.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use rw_adv::attack::Attack;
use rw_adv::record::{AttackSettings, json};
use rw_adv::run::{AttackJob, ImageTargets, ProofFiles, has_spare_threads};
use rw_adv::search::{Method, SearchOptions};
use rw_adv::solve::{BranchLimits, Goal};

use crate::background;
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
    /// Nodes at most.
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
    name.parse().map_err(|_| {
        Failure::Input(format!("method: '{name}' is none of {}", Method::NAMES.join(", ")))
    })
}

impl AttackOptions {
    /// For so many images at once, on the threads that we are in.
    fn attack(&self, run: &RunOptions, images: usize) -> Result<Attack, Failure> {
        let &Self { delta, gap, .. } = self;
        let proofs = self.proofs || self.check_proofs;
        let (seed, patience, method) = (run.seed, run.patience, method(&self.method)?);
        let search = SearchOptions { seed, patience, method, ..SearchOptions::default() };
        let parallel = has_spare_threads(images);
        let branch = self.branch.map(|nodes| BranchLimits { nodes, gap, parallel });
        Ok(Attack { delta, norm: run.norm()?, search, goal: goal(&self.goal)?, branch, proofs })
    }
}

/// Attacks images; `listener(total, record)` is called for every record.
#[pyfunction]
#[pyo3(signature = (model, pixels, labels, run, options, listener=None))]
pub fn attack(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    pixels: PyReadonlyArray2<'_, f32>,
    labels: Option<Vec<usize>>,
    run: RunOptions,
    options: AttackOptions,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<AttackRun> {
    let samples = samples(&pixels, labels)?;
    drop(pixels);
    let model = model.get().share();
    let finished = background::run(py, run.threads, listener, move |outside| {
        let targets = run.targets(model.model.network.outputs(), samples.len())?;
        let images = samples.len();
        let items = ImageTargets::of_samples(&model.model, samples, &targets)?;
        let attack = options.attack(&run, images)?;
        let Attack { delta, search, branch, .. } = attack;
        let settings = json::fields(&AttackSettings {
            common: run.settings(&model, &items)?,
            delta,
            branch: branch.map(|branch| branch.nodes),
            gap: attack.gap(),
            method: search.method,
            warm_start: false,
            goal: attack.goal,
            way_out: search.way_out,
        });
        let self_check = model.self_check(options.check_proofs)?;
        let job = AttackJob { model: Arc::clone(&model.model), attack, proofs: None, self_check };
        Finished::run(job, items, settings, run.time(), outside)
    })?;
    Ok(AttackRun(finished))
}

/// The records of an attack, and the points that they are about.
#[pyclass(frozen, module = "rw_adv._native")]
pub struct AttackRun(Finished<AttackJob>);

#[pymethods]
impl AttackRun {
    /// The records as JSON, by image and target.
    fn records(&self) -> Vec<String> {
        self.0.to_json()
    }

    /// The label that the model gives each image.
    fn predicted(&self) -> Vec<usize> {
        self.0.items.iter().map(|item| item.predicted.0).collect()
    }

    /// The targets of each image.
    fn targets(&self) -> Vec<Vec<usize>> {
        let targets = |item: &ImageTargets| item.targets.iter().map(|target| target.0).collect();
        self.0.items.iter().map(targets).collect()
    }

    /// The best point of each record: one row each.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let inputs = self.0.job.model.network.inputs();
        let point = |answer: &Arc<rw_adv::attack::Answer>| {
            answer.solution.judgement.point().values().to_vec()
        };
        let all: Vec<f32> = self.0.answers().flat_map(point).collect();
        all.into_pyarray(py).reshape([self.0.answers.len(), inputs])
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
