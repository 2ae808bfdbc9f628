//! What attacks and radii have in common: images with labels and targets, and how to run.

use std::path::PathBuf;
use std::time::Duration;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use rw_adv::data::{Classes, DataSource, Dataset, Sample, SampleError, TargetChoice, Targets};
use rw_adv::network::Label;
use rw_adv::record::CommonSettings;
use rw_adv::run::{ImageTargets, data_sha256};
use rw_adv::sets::Norm;

use crate::arrays::rows;
use crate::errors::{Failure, chain, guarded};
use crate::model::Model;

/// Which labels adversaries should get.
#[derive(FromPyObject)]
pub enum TargetArgument {
    /// `all`, `runner-up`, or a label.
    Word(String),
    /// One label for each image.
    Each(Vec<usize>),
}

/// How to run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RunOptions {
    pub norm: String,
    pub target: TargetArgument,
    pub seed: u64,
    pub patience: usize,
    /// Seconds for each record.
    pub time_limit: Option<f64>,
    pub threads: Option<usize>,
    /// What classes are called; none, if they have no names.
    pub classes: Vec<String>,
}

impl RunOptions {
    pub fn norm(&self) -> Result<Norm, Failure> {
        self.norm.parse().map_err(|problem| Failure::Input(format!("norm: {problem}")))
    }

    pub fn time(&self) -> Option<Duration> {
        self.time_limit.map(Duration::from_secs_f64)
    }

    fn target_name(&self) -> String {
        match &self.target {
            TargetArgument::Word(word) => word.clone(),
            TargetArgument::Each(_) => "one for each image".into(),
        }
    }

    /// The targets, for a model with so many classes.
    pub fn targets(&self, classes: usize, images: usize) -> Result<Targets, Failure> {
        let targets = match &self.target {
            TargetArgument::Word(word) => {
                let Ok(choice) = word.parse::<TargetChoice>();
                choice.open(&Classes::unnamed(classes), images)
            }
            TargetArgument::Each(labels) => {
                Targets::one_each(labels.iter().copied().map(Label).collect(), classes)
            }
        };
        targets.map_err(|error| Failure::Input(format!("target: {error}")))
    }

    /// What was asked for, to be kept beside the results.
    pub fn settings(
        &self,
        model: &Model,
        items: &[ImageTargets],
    ) -> Result<CommonSettings, Failure> {
        Ok(CommonSettings {
            model: model.name.clone(),
            model_sha256: model.model.sha256.clone(),
            widths: model.model.network.widths(),
            data: format!("an array of {} images", items.len()),
            data_sha256: data_sha256(items),
            images: items.iter().map(|item| item.sample.index).collect(),
            norm: self.norm()?,
            target: self.target_name(),
            seed: self.seed,
            patience: self.patience,
            time_limit: self.time_limit,
            class_names: self.classes.clone(),
            normalisation: None,
        })
    }
}

/// The rows of an array as images.
pub fn samples(
    pixels: &PyReadonlyArray2<'_, f32>,
    labels: Option<Vec<usize>>,
) -> Result<Vec<Sample>, Failure> {
    let label = |index: usize| labels.as_ref().map(|labels| Label(labels[index]));
    let sample = |(index, pixels)| Sample { index, name: None, pixels, label: label(index) };
    Ok(rows(pixels)?.into_iter().enumerate().map(sample).collect())
}

/// Pixels, and labels if all are known.
type PixelsAndLabels<'py> = (Bound<'py, PyArray2<f32>>, Option<Vec<usize>>);

/// The first images of a file or directory as rows, and their labels if all are known.
#[pyfunction]
#[pyo3(signature = (path, model, count=None))]
pub fn read_images<'py>(
    py: Python<'py>,
    path: PathBuf,
    model: &Bound<'py, Model>,
    count: Option<usize>,
) -> PyResult<PixelsAndLabels<'py>> {
    let dims = &model.get().model.input_dims;
    let read = || -> Result<Vec<Sample>, SampleError> {
        let data = Dataset::open(&DataSource { path, ..DataSource::default() }, dims)?;
        let count = count.map_or(data.len(), |count| count.min(data.len()));
        (0..count).map(|index| data.sample(index)).collect()
    };
    let samples = guarded(|| py.detach(read))?.map_err(|error| Failure::Input(chain(&error)))?;
    let labels = samples.iter().map(|sample| sample.label.map(|label| label.0)).collect();
    let pixels: Vec<f32> = samples.iter().flat_map(|sample| sample.pixels.clone()).collect();
    let pixels = pixels.into_pyarray(py).reshape([samples.len(), dims.iter().product()])?;
    Ok((pixels, labels))
}
