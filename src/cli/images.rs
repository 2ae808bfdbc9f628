//! Which images are looked at: a model, images and targets, opened and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::ValueEnum;
use rayon::prelude::*;
use rw_adv::data::{DataSource, Dataset, Selection, Split, TargetChoice, Targets};
use rw_adv::onnx::OnnxModel;
use rw_adv::record::CommonSettings;
use rw_adv::run::{ImageTargets, data_sha256};
use rw_adv::sets::Norm;

use super::run_args::RunArgs;

/// How many images are looked at when none are named.
const DEFAULT_IMAGES: usize = 10;

/// What is looked at.
#[derive(clap::Args)]
pub struct ImageInputArgs {
    /// The classifier (.onnx or .onnx.gz)
    #[arg(long, value_name = "FILE", required = true)]
    model: Option<PathBuf>,
    /// Which output of the model, if it has several
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    output: Option<String>,
    /// Images: an MNIST directory, an IDX file (.gz too), PNG files (directory or glob), or an .npy array
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// Which set of an MNIST directory
    #[arg(long, value_enum, default_value_t = SplitArg::Test, hide_short_help = true)]
    split: SplitArg,
    /// True labels: IDX, .npy, or text with one label per line [default: found beside IDX images]
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Which images: a count (50), indices (3,7,9), a range (100..150) [default: the first 10]
    #[arg(long, value_name = "WHICH")]
    images: Option<Selection>,
    /// Norm of the budget
    #[arg(long, value_name = "NORM", default_value_t = Norm::L1)]
    pub norm: Norm,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitArg {
    Train,
    Test,
}

/// A model, images and targets.
pub struct ImageInputs {
    pub model: Arc<OnnxModel>,
    path: PathBuf,
    data: Dataset,
    images: Vec<usize>,
    norm: Norm,
    asked: TargetChoice,
    targets: Targets,
}

impl ImageInputs {
    /// How many images are looked at.
    pub fn images(&self) -> usize {
        self.images.len()
    }

    /// The model's file.
    pub fn model_path(&self) -> &Path {
        &self.path
    }

    pub fn open(args: ImageInputArgs, target: TargetChoice) -> Result<Self> {
        let path = args.model.expect("clap requires --model");
        let model = OnnxModel::load_output(&path, args.output.as_deref())?;
        let classes = model.network.outputs();
        if classes < 2 {
            bail!("{}: has one output, a classifier needs at least two", path.display());
        }
        let split = match args.split {
            SplitArg::Train => Split::Train,
            SplitArg::Test => Split::Test,
        };
        let source = DataSource { path: args.data, split, labels: args.labels };
        let data = Dataset::open(&source, &model.input_dims)?;
        let targets = target.open(classes, data.len())?;
        let images = match (args.images, targets.images()) {
            (Some(selection), _) => selection.indices(data.len())?,
            (None, Some(listed)) => listed,
            (None, None) => (0..data.len().min(DEFAULT_IMAGES)).collect(),
        };
        Ok(Self {
            model: Arc::new(model),
            path,
            data,
            images,
            norm: args.norm,
            asked: target,
            targets,
        })
    }

    /// What was asked for, to be kept beside the results.
    pub fn settings(
        &self,
        run: &RunArgs,
        patience: usize,
        items: &[ImageTargets],
    ) -> CommonSettings {
        CommonSettings {
            model: self.path.display().to_string(),
            model_sha256: self.model.sha256.clone(),
            widths: self.model.network.widths(),
            data: self.data.describe(),
            data_sha256: data_sha256(items),
            images: self.images.clone(),
            norm: self.norm,
            target: self.asked.to_string(),
            seed: run.seed,
            patience,
            time_limit: run.time_limit,
        }
    }

    /// The images with their targets: the samples, who wins there, and who shall. Images that are predicted as their
    /// target already are left out.
    pub fn items(&self) -> Result<Vec<ImageTargets>> {
        let classes = self.model.network.outputs();
        let of_image = |&index: &usize| -> Result<ImageTargets> {
            let sample = self.data.sample(index)?;
            if let Some(label) = sample.label.filter(|label| label.0 >= classes) {
                bail!(
                    "--labels: image {index} has label {label}, the model has the classes 0 to {}",
                    classes - 1
                );
            }
            Ok(ImageTargets::new(&self.model, sample, &self.targets)?)
        };
        let items: Result<Vec<ImageTargets>> = self.images.par_iter().map(of_image).collect();
        let items: Vec<ImageTargets> =
            items?.into_iter().filter(|i| !i.targets.is_empty()).collect();
        if items.is_empty() {
            bail!("--target {}: every image is predicted as its target already", self.asked);
        }
        Ok(items)
    }

    /// How many images were left out.
    pub fn skipped(&self, items: &[ImageTargets]) -> usize {
        self.images.len() - items.len()
    }
}
