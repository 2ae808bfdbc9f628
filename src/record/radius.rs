//! One flat row per image: how far it may be changed. Field names are a contract with users' scripts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::key::{Key, Resumable};
use crate::attack::NotFinite;
use crate::data::Sample;
use crate::network::Label;
use crate::radius::{Radii, RadiusOptions, RadiusStop};
use crate::sets::Norm;

/// The version of the record format.
pub const RADIUS_SCHEMA: &str = "rw-adv/radius/1";

/// What is known about one image. What was not found is `null`, never a made-up number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RadiusRecord {
    /// The version of the record format, `rw-adv/radius/1`.
    pub schema: Cow<'static, str>,
    /// Index of the image in the data, base 0.
    pub image: usize,
    /// File name, when the image came from one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True label, if known.
    pub label: Option<usize>,
    /// The label the model gives, whose radii these are.
    pub predicted: usize,
    /// Whether that is not the true label.
    pub misclassified: bool,
    /// Why there is no answer, if there can be none: a logit of the image is not finite. The certified radius is then 0, and
    /// `predicted` is merely the label of the largest logit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The norm the radii are measured in.
    pub norm: Norm,
    /// The largest budget within which there is provably no adversary.
    pub certified_radius: f64,
    /// Distance of the nearest adversary that was found.
    pub attack_radius: Option<f64>,
    /// The label it gets.
    pub target: Option<usize>,
    /// Number of pixels in which it differs from the image.
    pub changed_pixels: Option<usize>,
    /// Time spent on this image.
    pub seconds: f64,
    /// Why work ended.
    pub stop: RadiusStop,
    /// The seed of the run.
    pub seed: u64,
    /// The adversary's picture, relative to the result directory.
    pub png: Option<String>,
    /// The exact adversary, relative to the result directory.
    pub npy: Option<String>,
}

impl RadiusRecord {
    /// The answer for one image, before its files are stored.
    pub fn new(
        sample: &Sample,
        predicted: Label,
        options: &RadiusOptions,
        radii: &Radii,
        seconds: f64,
    ) -> Self {
        let adversary = radii.adversary.as_ref();
        Self {
            schema: RADIUS_SCHEMA.into(),
            image: sample.index,
            name: sample.name.clone(),
            label: sample.label.map(|label| label.0),
            predicted: predicted.0,
            misclassified: sample.label.is_some_and(|label| label != predicted),
            error: None,
            norm: options.norm,
            certified_radius: radii.certified,
            attack_radius: radii.attacked(),
            target: adversary.map(|adversary| adversary.target.0),
            changed_pixels: adversary.map(|adversary| adversary.witness.point().changed()),
            seconds,
            stop: radii.stop,
            seed: options.search.seed,
            png: None,
            npy: None,
        }
    }

    /// Of an image that has no answer.
    pub fn of_error(
        sample: &Sample,
        predicted: Label,
        options: &RadiusOptions,
        error: &NotFinite,
    ) -> Self {
        let nothing = Radii { certified: 0.0, adversary: None, stop: RadiusStop::Error };
        let record = Self::new(sample, predicted, options, &nothing, 0.0);
        Self { error: Some(error.to_string()), misclassified: false, ..record }
    }

    /// How much farther away the nearest known adversary is than the proof reaches; at best 1.
    pub fn ratio(&self) -> Option<f64> {
        let attacked = self.attack_radius.filter(|_| self.certified_radius > 0.0)?;
        Some(attacked / self.certified_radius)
    }
}

impl Resumable for RadiusRecord {
    const CONTENTS: Contents = Contents::Radii;
    const SCHEMA: &'static str = RADIUS_SCHEMA;
    const HAS_PAGE: bool = true;

    fn key(&self) -> Key {
        Key { image: self.image, target: None }
    }

    fn is_finished(&self) -> bool {
        self.stop != RadiusStop::Interrupted
    }

    fn contradiction(&self, other: &Self) -> Option<String> {
        if self.predicted != other.predicted {
            return Some(format!("predicted as {} and as {}", self.predicted, other.predicted));
        }
        let within = |attacked: Option<f64>, certified: f64| {
            let attacked = attacked.filter(|&attacked| attacked < certified)?;
            Some(format!("an adversary at {attacked} and none within {certified}"))
        };
        within(self.attack_radius, other.certified_radius)
            .or_else(|| within(other.attack_radius, self.certified_radius))
    }

    fn is_better_than(&self, other: &Self) -> bool {
        self.certified_radius > other.certified_radius
    }

    fn stored_witness(&self) -> Option<&str> {
        self.npy.as_deref()
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}
