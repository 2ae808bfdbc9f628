//! Radii of images.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rw_adv::radius::RadiusOptions;
use rw_adv::record::{RadiusSettings, json};
use rw_adv::run::{ImageTargets, RadiusJob};
use rw_adv::search::SearchOptions;

use crate::background::{self, Listener};
use crate::errors::{Failure, guarded};
use crate::images::{RunOptions, samples};
use crate::model::Model;
use crate::saved::Finished;

/// What is asked of every image.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RadiusArguments {
    max_delta: Option<f64>,
    precision: f64,
    /// Nodes for each budget at most.
    branch: Option<usize>,
}

/// Finds how far images may be changed; a listener is told how far it is.
#[pyfunction]
#[pyo3(signature = (model, pixels, labels, run, options, listener=None))]
pub fn radius(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    pixels: PyReadonlyArray2<'_, f32>,
    labels: Option<Vec<usize>>,
    run: RunOptions,
    options: RadiusArguments,
    listener: Option<Listener<'_>>,
) -> PyResult<RadiusRun> {
    let samples = samples(&pixels, labels)?;
    drop(pixels);
    let model = model.get().share();
    let finished = background::run(py, run.threads, listener.as_ref(), move |outside| {
        let network = &model.model.network;
        let targets = run.targets(network.outputs(), samples.len())?;
        let mut items = ImageTargets::of_samples(&model.model, samples, &targets)?;
        items.retain(|item| !item.targets.is_empty());
        let norm = run.norm()?;
        let RadiusArguments { max_delta, precision, branch } = options;
        let max_delta =
            max_delta.unwrap_or_else(|| RadiusOptions::covering(norm, network.inputs()));
        let (seed, patience) = (run.seed, run.patience);
        let search = SearchOptions { seed, patience, ..SearchOptions::default() };
        let nodes = branch.unwrap_or(0);
        let options = RadiusOptions { norm, max_delta, precision, search, nodes };
        let common = run.settings(&model, &items)?;
        let settings = json::fields(&RadiusSettings { common, max_delta, precision, branch });
        let job = RadiusJob { model: Arc::clone(&model.model), options };
        Finished::run(job, items, settings, run.time(), outside, Clone::clone)
    })?;
    Ok(RadiusRun(finished))
}

/// The records of images, and the adversaries that they are about.
#[pyclass(frozen, module = "rw_adv._native")]
pub struct RadiusRun(Finished<RadiusJob>);

#[pymethods]
impl RadiusRun {
    /// The records as a JSON array, by image.
    fn records(&self) -> PyResult<String> {
        Ok(self.0.to_json(0..self.0.records.len())?)
    }

    /// The nearest adversary of each record, if one was found.
    fn points<'py>(&self, py: Python<'py>) -> Vec<Option<Bound<'py, PyArray1<f32>>>> {
        let answers = self.0.answers();
        let point = |answer: &Arc<rw_adv::radius::Radii>| {
            let adversary = answer.adversary.as_ref()?;
            Some(PyArray1::from_slice(py, adversary.witness.point().values()))
        };
        answers.map(point).collect()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.0.complete
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.0.elapsed.as_secs_f64()
    }

    /// Writes the records of some images, with everything that belongs to them, to a new directory.
    fn save(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        images: Vec<usize>,
        pictures: String,
    ) -> PyResult<()> {
        let write = || -> Result<(), Failure> {
            let items = self.0.items.iter().filter(|item| images.contains(&item.sample.index));
            self.0.write(&self.0.job, items.cloned().collect(), &directory, &pictures)
        };
        guarded(|| py.detach(write))?.map_err(Into::into)
    }
}
