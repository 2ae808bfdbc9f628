//! The images that benchmarks attack.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::attack::{self, Classification};
use rw_adv::data::{DataSource, Dataset, Selection};
use rw_adv::network::{Label, Network};
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Problem;
use rw_adv::sets::{InputSet, Norm, PixelRange};

use crate::values::positive;

// Not a doc comment, which clap would show: which images of which model, and how far they may be changed.
#[derive(Args)]
pub struct ImageArgs {
    /// The classifier
    #[arg(long, value_name = "FILE", default_value = "models/mnist_2x500.onnx")]
    pub model: PathBuf,
    /// The images
    #[arg(long, value_name = "PATH", default_value = "data")]
    pub data: PathBuf,
    /// Which images
    #[arg(long, value_name = "WHICH", default_value = "20")]
    pub images: Selection,
    /// L1 budget
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    pub delta: f64,
}

/// An image to attack: its pixels, who wins, who is second.
pub struct BenchImage {
    pub image: usize,
    pub pixels: Vec<f64>,
    pub predicted: Label,
    pub runner_up: Label,
}

impl ImageArgs {
    /// Loads the model and the images.
    pub fn open(&self) -> Result<(OnnxModel, Vec<BenchImage>)> {
        let model = OnnxModel::load(&self.model)?;
        let source = DataSource { path: self.data.clone(), ..DataSource::default() };
        let data = Dataset::open(&source, &model.input_dims)?;
        let open = |image| -> Result<BenchImage> {
            let sample = data.sample(image)?;
            let Classification { predicted, runner_up, .. } = attack::classify(&model, &sample)?;
            Ok(BenchImage { image, pixels: sample.widened(), predicted, runner_up })
        };
        let images = self.images.indices(data.len())?.into_iter().map(open);
        let images = images.collect::<Result<_>>()?;
        Ok((model, images))
    }

    /// The margin of a target within the budget of an image.
    pub fn problem(&self, network: &Arc<Network>, image: &BenchImage, target: Label) -> Problem {
        Problem::margin(
            network,
            InputSet::ball(Norm::L1, &image.pixels, self.delta, PixelRange::UNIT),
            image.predicted,
            target,
        )
    }
}

/// A label other than the predicted one, always the same for an image.
pub fn random_target(image: usize, predicted: Label, labels: usize) -> Label {
    let mut rng = ChaCha8Rng::seed_from_u64(image as u64);
    let target = rng.random_range(0..labels - 1);
    Label(target + usize::from(target >= predicted.0))
}
