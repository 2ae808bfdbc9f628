//! Which images are looked at: a model, images and targets, opened and checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rayon::prelude::*;
use rw_adv::data::{Classes, DataSource, Dataset, Selection, Split, TargetChoice, Targets};
use rw_adv::onnx::{Normalisation, OnnxModel, weight_files};
use rw_adv::record::CommonSettings;
use rw_adv::run::{Destination, ImageTargets, data_sha256};
use rw_adv::sets::Norm;

use super::pixels::{PixelArgs, PreparedModel, warn_of_chance};
use super::run_args::RunArgs;

/// How many images are looked at when none are named.
const DEFAULT_IMAGES: usize = 10;

/// Where images are looked for when no place is named: in the clone, the bundled ones.
const DEFAULT_DATA: &str = "data";

/// What is looked at.
#[derive(clap::Args)]
pub struct ImageInputArgs {
    /// The classifier (.onnx or .onnx.gz)
    #[arg(long, value_name = "FILE", required = true)]
    model: Option<PathBuf>,
    /// Which output of the model, if it has several
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    output: Option<String>,
    /// Images: pictures (directory, folders of classes, or glob), an .npy or .npz array, MNIST, IDX or CIFAR-10 files [default: data]
    ///
    /// PNG, JPEG and WebP pictures of the model's size; one folder for each class gives labels (cats/1.jpg). An array of an archive is named with a
    /// colon: arrays.npz:x_test. CIFAR-10 in its binary version, a batch or the directory.
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Which set of an MNIST or CIFAR-10 directory [default: test]
    #[arg(long, value_enum, hide_short_help = true)]
    split: Option<SplitArg>,
    /// True labels: IDX, .npy, or text with one label or class name per line [default: found beside IDX images]
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Which images: a count (50), indices (3,7,9), a range (100..150) [default: the first 10]
    #[arg(long, value_name = "WHICH")]
    images: Option<Selection>,
    /// Norm of the budget
    #[arg(long, value_name = "NORM", default_value_t = Norm::L1)]
    pub norm: Norm,
    #[command(flatten)]
    pixels: PixelArgs,
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
    pub classes: Classes,
    normalisation: Option<Normalisation>,
    /// The model's file with the normalisation.
    normalised: Option<Vec<u8>>,
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
        let PreparedModel { model, normalisation, bytes: normalised } =
            args.pixels.load(&path, args.output.as_deref())?;
        let mut classes = args.pixels.classes(&model)?;
        if classes.count() < 2 {
            bail!("{}: has one output, a classifier needs at least two", path.display());
        }
        let split = match args.split {
            Some(SplitArg::Train) => Split::Train,
            Some(SplitArg::Test) | None => Split::Test,
        };
        let source = DataSource {
            path: data_path(args.data)?,
            split,
            labels: args.labels,
            ranges: args.pixels.ranges()?,
            classes: classes.clone(),
        };
        if args.split.is_some() && source.path.exists() && !Dataset::has_splits(&source) {
            bail!(
                "--split {split}: {} is not an MNIST or CIFAR-10 directory",
                source.path.display()
            );
        }
        let data = Dataset::open(&source, &model.input_dims)?;
        if classes.names().is_empty()
            && let Ok(named) = Classes::named(classes.count(), data.class_names().to_vec())
        {
            classes = named;
        }
        let targets = target.open(&classes, data.len())?;
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
            classes,
            normalisation,
            normalised,
        })
    }

    /// Whether the model's file is another one than was named.
    pub fn is_normalised(&self) -> bool {
        self.normalised.is_some()
    }

    /// The model's file with its normalisation, if it has one.
    pub fn normalised(&self) -> Option<&[u8]> {
        self.normalised.as_deref()
    }

    /// Writes the model with its normalisation, and the files that hold weights of it, to a result directory. Records and proofs there are about
    /// it.
    pub fn write_model(&self, destination: &Destination) -> Result<()> {
        if let (Some(bytes), Some(directory)) = (&self.normalised, &destination.directory) {
            let file = directory.join("model.onnx");
            fs::write(&file, bytes).with_context(|| file.display().to_string())?;
            for name in weight_files(&self.path, bytes)? {
                let from = self.path.parent().unwrap_or(Path::new("")).join(&name);
                let to = directory.join(&name);
                let folder = to.parent().unwrap_or(directory);
                let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(&from, &to));
                copied.with_context(|| to.display().to_string())?;
            }
        }
        Ok(())
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
            class_names: self.classes.names().to_vec(),
            normalisation: self.normalisation.clone(),
        }
    }

    /// The images with their targets: the samples, who wins there, and who shall. Images that are predicted as their
    /// target already are left out.
    pub fn items(&self) -> Result<Vec<ImageTargets>> {
        let classes = self.classes.count();
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
        let items = items?;
        let labels = items.iter().filter_map(|item| Some((item.sample.label?, item.predicted)));
        let correct = labels.clone().filter(|(label, predicted)| label == predicted).count();
        warn_of_chance(correct, labels.count(), classes);
        let items: Vec<ImageTargets> =
            items.into_iter().filter(|i| !i.targets.is_empty()).collect();
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

/// Where the images are.
fn data_path(named: Option<PathBuf>) -> Result<PathBuf> {
    let path = named.clone().unwrap_or_else(|| DEFAULT_DATA.into());
    if named.is_none() && !path.exists() {
        bail!(
            "--data: name the images; without it they are looked for in {DEFAULT_DATA}, which is not here"
        );
    }
    Ok(path)
}
