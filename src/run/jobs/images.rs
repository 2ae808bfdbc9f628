//! Images and what is asked of them.

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::attack::{ClassifyError, classify};
use crate::data::{Sample, Targets};
use crate::network::Label;
use crate::onnx::OnnxModel;

/// An image, the label it gets, and the labels that an adversary should get.
#[derive(Clone, Debug)]
pub struct ImageTargets {
    /// The image.
    pub sample: Sample,
    /// The label that the model gives.
    pub predicted: Label,
    /// The labels that an adversary should get.
    pub targets: Vec<Label>,
}

impl ImageTargets {
    /// Asks the model for the label of an image; that is none of the targets.
    ///
    /// # Errors
    /// When tract fails, or the model is no classifier.
    pub fn new(
        model: &OnnxModel,
        sample: Sample,
        targets: &Targets,
    ) -> Result<Self, ClassifyError> {
        let labels = classify(model, &sample)?;
        let targets = targets.of(sample.index, labels.predicted, labels.runner_up);
        Ok(Self { sample, predicted: labels.predicted, targets })
    }

    /// The same for many images, in parallel.
    ///
    /// # Errors
    /// When tract fails, or the model is no classifier.
    pub fn of_samples(
        model: &OnnxModel,
        samples: Vec<Sample>,
        targets: &Targets,
    ) -> Result<Vec<Self>, ClassifyError> {
        samples.into_par_iter().map(|sample| Self::new(model, sample, targets)).collect()
    }

    /// As a manifest lists it.
    pub(crate) fn listing(&self) -> (usize, Vec<usize>) {
        (self.sample.index, self.targets.iter().map(|target| target.0).collect())
    }
}

/// SHA-256 of images as they are looked at: indices, labels and pixels, whatever files they came from.
pub fn data_sha256(images: &[ImageTargets]) -> String {
    let mut hash = Sha256::new();
    for ImageTargets { sample, .. } in images {
        let label = sample.label.map_or(u64::MAX, |label| label.0 as u64);
        for number in [sample.index as u64, label, sample.pixels.len() as u64] {
            hash.update(number.to_le_bytes());
        }
        sample.pixels.iter().for_each(|pixel| hash.update(pixel.to_le_bytes()));
    }
    hex::encode(hash.finalize())
}
