//! `--mean`, `--std`, `--range`, `--classes`: what a model's file does not say about its inputs and outputs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use rw_adv::data::Classes;
use rw_adv::onnx::{Normalisation, OnnxModel};

/// What the model's file does not say.
#[derive(clap::Args)]
pub struct PixelArgs {
    /// Mean of the normalisation that the model expects and its file lacks: a number, or one for each channel
    ///
    /// The model gets (x - mean) / std. Images stay pixels in [0,1], and so do budgets, records and adversaries: with --std 0.5, a budget
    /// of 0.1 moves what the model gets by 0.2. With --out, the model with both operations in front is written to DIR/model.onnx; proofs are about
    /// that file.
    #[arg(
        long,
        value_name = "MEAN",
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true,
        conflicts_with = "range",
        hide_short_help = true
    )]
    mean: Vec<f64>,
    /// Standard deviation of that normalisation: a number, or one for each channel
    #[arg(
        long,
        value_name = "STD",
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true,
        conflicts_with = "range",
        hide_short_help = true
    )]
    std: Vec<f64>,
    /// The values that the model takes, if not 0,1: LO,HI, or these two for each channel (LO,HI,LO,HI,LO,HI)
    ///
    /// Arrays of floats hold such values; bytes and pictures are spread over the range. Budgets, records and adversaries are in pixels: 1 is the
    /// whole range. With --out, the model that takes pixels is written to DIR/model.onnx; proofs are about that file.
    #[arg(
        long,
        value_name = "LO,HI",
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    range: Vec<f64>,
    /// Names of the classes, one on each line [default: those in the model's file, or beside the images]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    classes: Option<PathBuf>,
}

/// A model as it is looked at, and what was put before it.
pub struct PreparedModel {
    pub model: OnnxModel,
    pub normalisation: Option<Normalisation>,
    /// The model's file with the normalisation.
    pub bytes: Option<Vec<u8>>,
}

impl PixelArgs {
    /// The ranges of floats in arrays; none, if it is [0, 1].
    pub fn ranges(&self) -> Result<Vec<(f64, f64)>> {
        if !self.range.len().is_multiple_of(2) {
            bail!("--range: takes two numbers, LO,HI, or two for each channel");
        }
        Ok(self.range.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    }

    fn normalisation(&self) -> Result<Option<Normalisation>> {
        let ranges = self.ranges()?;
        if !ranges.is_empty() {
            let spread = Normalisation::of_ranges(&ranges).map_err(Error::msg);
            return spread.context("--range").map(Some);
        }
        if self.mean.is_empty() && self.std.is_empty() {
            return Ok(None);
        }
        let normalisation = Normalisation::new(self.mean.clone(), self.std.clone());
        normalisation.map_err(Error::msg).context("--mean, --std").map(Some)
    }

    /// Loads the model, one of its outputs if it has several, with the normalisation before it.
    pub fn load(&self, path: &Path, output: Option<&str>) -> Result<PreparedModel> {
        let Some(normalisation) = self.normalisation()? else {
            let model = OnnxModel::load_output(path, output)?;
            return Ok(PreparedModel { model, normalisation: None, bytes: None });
        };
        let file = fs::read(path).with_context(|| path.display().to_string())?;
        let bytes = normalisation.before(path, &file)?;
        let model = OnnxModel::from_bytes_output(path, &bytes, output)?;
        log::info!("budgets and adversaries are in pixels, before the normalisation");
        Ok(PreparedModel { model, normalisation: Some(normalisation), bytes: Some(bytes) })
    }

    /// What classes are called: by the file that was named or, without one, by the model's own.
    pub fn classes(&self, model: &OnnxModel) -> Result<Classes> {
        let count = model.network.outputs();
        match &self.classes {
            Some(file) => Ok(Classes::read(file, count)?),
            None => Ok(Classes::named(count, model.class_names.clone())
                .unwrap_or_else(|_| Classes::unnamed(count))),
        }
    }
}

/// Warns when so few images are predicted as labelled that the images, and not the model, are likely to be wrong.
pub fn warn_of_chance(correct: usize, labelled: usize, classes: usize) {
    /// Of fewer images, a few mistakes say nothing.
    const FEWEST: usize = 5;
    let chance = 1.0 / classes as f64;
    // With two classes, twice chance would be all of them.
    let enough = (2.0 * chance).min(0.5 * (1.0 + chance));
    if labelled >= FEWEST && (correct as f64) < enough * labelled as f64 {
        log::warn!(
            "only {correct} of {labelled} images are predicted as labelled, hardly more than by chance: look at the range of values \
             (--range), the normalisation (--mean, --std), the order of channels (RGB or BGR), and the order of classes (--labels, --classes)"
        );
    }
}
