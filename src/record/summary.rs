//! Counts over all records of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attack::AttackRecord;
use super::key::Summarize;
use super::outcome::{ImageOutcome, ImageOutcomes, by_image};
use super::radius::RadiusRecord;
use crate::judge::Verdict;

/// Counts over the records of attacks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AttackSummary {
    /// Number of (image, target) pairs asked for.
    pub asked: usize,
    /// Number of records: fewer than asked if the run was interrupted.
    pub records: usize,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// Records per verdict.
    pub verdicts: BTreeMap<Verdict, usize>,
    /// Images whose true label is known.
    pub labelled: usize,
    /// Of those, images whose predicted label is the true one.
    pub correct: usize,
    /// What became of the images, over the targets that were asked.
    pub images: ImageOutcomes,
    /// Records whose gap is closed.
    pub optimal: usize,
    /// Records whose bound is so far above the margin that it says nothing.
    pub loose_bounds: usize,
    /// Walks through linear regions, in all.
    pub regions: usize,
    /// LPs solved, in all.
    pub lps: usize,
    /// Starts, in all.
    pub starts: usize,
    /// Parts of sets bounded, in all.
    pub nodes: usize,
    /// Records that were decided by dividing the set.
    pub by_branching: usize,
}

impl Summarize<AttackRecord> for AttackSummary {
    fn of(records: &[AttackRecord], asked: usize, interrupted: bool) -> Self {
        let mut summary = Self { asked, records: records.len(), interrupted, ..Self::default() };
        for record in records {
            *summary.verdicts.entry(record.verdict).or_default() += 1;
            summary.optimal += usize::from(record.optimal);
            summary.loose_bounds += usize::from(record.has_loose_bound());
            summary.regions += record.stats.regions;
            summary.lps += record.stats.lps;
            summary.starts += record.stats.starts;
            summary.nodes += record.stats.nodes;
            let is_decided = record.verdict != Verdict::Unknown;
            summary.by_branching += usize::from(record.stats.nodes > 0 && is_decided);
        }
        for of_image in by_image(records).values() {
            let first = of_image[0];
            summary.labelled += usize::from(first.label.is_some());
            let is_correct = first.error.is_none() && first.label == Some(first.predicted);
            summary.correct += usize::from(is_correct);
            summary.images.add(ImageOutcome::of_image(of_image));
        }
        summary
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
    /// Images without an answer: a logit is not finite.
    pub errors: usize,
    /// Images without a known adversary.
    pub without_adversary: usize,
    /// Of the certified radii.
    pub certified: Option<Averages>,
    /// Of the distances of adversaries, where one was found.
    pub attacked: Option<Averages>,
    /// The certified radii.
    #[serde(skip)]
    pub certified_radii: Vec<f64>,
    /// The distances of adversaries.
    #[serde(skip)]
    pub attack_radii: Vec<f64>,
}

impl Summarize<RadiusRecord> for RadiusSummary {
    fn of(records: &[RadiusRecord], asked: usize, interrupted: bool) -> Self {
        let count = |which: fn(&&RadiusRecord) -> bool| records.iter().filter(which).count();
        let certified_radii: Vec<f64> = records.iter().map(|r| r.certified_radius).collect();
        let attack_radii: Vec<f64> = records.iter().filter_map(|r| r.attack_radius).collect();
        Self {
            asked,
            records: records.len(),
            interrupted,
            misclassified: count(|record| record.misclassified),
            errors: count(|record| record.error.is_some()),
            without_adversary: count(|record| {
                record.attack_radius.is_none() && record.error.is_none()
            }),
            certified: Averages::of(&certified_radii),
            attacked: Averages::of(&attack_radii),
            certified_radii,
            attack_radii,
        }
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
