//! Images and what is asked of them.

use sha2::{Digest, Sha256};

use crate::data::Sample;
use crate::network::Label;

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
