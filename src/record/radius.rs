//! One flat row per image: how far it may be changed. Field names are a contract with users' scripts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::attack::CommonSettings;
use crate::data::Sample;
use crate::network::Label;
use crate::radius::{Radii, RadiusOptions};

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
    /// The norm the radii are measured in.
    pub norm: Cow<'static, str>,
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
    pub stop: Cow<'static, str>,
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
            norm: options.norm.name().into(),
            certified_radius: radii.certified,
            attack_radius: radii.attacked(),
            target: adversary.map(|adversary| adversary.target.0),
            changed_pixels: adversary.map(|adversary| adversary.witness.point().changed_pixels()),
            seconds,
            stop: radii.stop.name().into(),
            seed: options.search.seed,
            png: None,
            npy: None,
        }
    }

    /// How much farther away the nearest known adversary is than the proof reaches; at best 1.
    pub fn ratio(&self) -> Option<f64> {
        let attacked = self.attack_radius.filter(|_| self.certified_radius > 0.0)?;
        Some(attacked / self.certified_radius)
    }
}

/// Mean and median of some radii.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Averages {
    /// The mean.
    pub mean: f64,
    /// The median; of an even number, the mean of the middle two.
    pub median: f64,
}

impl Averages {
    /// `None` when there are no values.
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (low, high) = (sorted.get((sorted.len().max(1) - 1) / 2)?, sorted[sorted.len() / 2]);
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Some(Self { mean, median: 0.5 * (low + high) })
    }
}

/// What is known over all images.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RadiusSummary {
    /// Number of images asked for.
    pub asked: usize,
    /// Number of records: fewer than asked if the run was interrupted.
    pub records: usize,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// Images that are not predicted as labelled.
    pub misclassified: usize,
    /// Images without a known adversary.
    pub without_adversary: usize,
    /// Of the certified radii.
    pub certified: Option<Averages>,
    /// Of the distances of adversaries, where one was found.
    pub attacked: Option<Averages>,
    /// The certified radii, in the order in which images finished.
    #[serde(skip)]
    pub certified_radii: Vec<f64>,
    /// The distances of adversaries.
    #[serde(skip)]
    pub attack_radii: Vec<f64>,
}

impl RadiusSummary {
    /// Nothing counted yet of so many images.
    pub fn new(asked: usize) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Counts one more record.
    pub fn add(&mut self, record: &RadiusRecord) {
        self.records += 1;
        self.misclassified += usize::from(record.misclassified);
        self.without_adversary += usize::from(record.attack_radius.is_none());
        self.certified_radii.push(record.certified_radius);
        self.attack_radii.extend(record.attack_radius);
        self.certified = Averages::of(&self.certified_radii);
        self.attacked = Averages::of(&self.attack_radii);
    }
}

/// What was asked for, kept beside the results.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusSettings {
    /// What all commands have in common.
    #[serde(flatten)]
    pub common: CommonSettings,
    /// The largest budget tried.
    pub max_delta: f64,
    /// How precise the radii are.
    pub precision: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_by_hand() {
        assert_eq!(Averages::of(&[]), None);
        assert_eq!(Averages::of(&[2.0]), Some(Averages { mean: 2.0, median: 2.0 }));
        assert_eq!(Averages::of(&[4.0, 1.0]), Some(Averages { mean: 2.5, median: 2.5 }));
        assert_eq!(Averages::of(&[9.0, 1.0, 2.0]), Some(Averages { mean: 4.0, median: 2.0 }));
    }
}
