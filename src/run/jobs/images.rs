//! Images and what is asked of them.

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::attack::{Classification, ClassifyError, NotFinite, classify};
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
    /// Why the image has no answer, if it can have none. `predicted` is then only the label of the largest logit.
    pub error: Option<NotFinite>,
}

impl ImageTargets {
    /// Asks the model for the label of an image; that is none of the targets. An image with a logit that is not finite has an
    /// [`error`](Self::error).
    ///
    /// # Errors
    /// When tract fails, or the model is no classifier.
    pub fn new(
        model: &OnnxModel,
        sample: Sample,
        targets: &Targets,
    ) -> Result<Self, ClassifyError> {
        let (labels, error) = match classify(model, &sample) {
            Ok(labels) => (labels, None),
            Err(ClassifyError::NotFinite { error, labels, .. }) => (labels, Some(error)),
            Err(other) => return Err(other),
        };
        let of = |Classification { predicted, runner_up }| {
            let targets = targets.of(sample.index, predicted, runner_up);
            (predicted, targets)
        };
        let (mut predicted, mut asked) = of(labels);
        // Without a prediction no image is "predicted as its target already": it would be left out without a word.
        if error.is_some() && asked.is_empty() {
            let Classification { predicted: first, runner_up } = labels;
            (predicted, asked) = of(Classification { predicted: runner_up, runner_up: first });
        }
        Ok(Self { sample, predicted, targets: asked, error })
    }

    /// The same for many images, in parallel.
    ///
    /// # Errors
    /// When tract fails, a logit is not finite, or the model is no classifier.
    pub fn of_samples(
        model: &OnnxModel,
        samples: Vec<Sample>,
        targets: &Targets,
    ) -> Result<Vec<Self>, ClassifyError> {
        let of_sample = |sample| {
            classify(model, &sample)?;
            Self::new(model, sample, targets)
        };
        samples.into_par_iter().map(of_sample).collect()
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
