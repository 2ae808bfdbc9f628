//! One flat row per (image, target). Field names are a contract with users' scripts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::Sample;
use crate::judge::Verdict;
use crate::network::Label;
use crate::verify::{Answer, Attack};

/// The version of the record format.
pub const ATTACK_SCHEMA: &str = "rw-adv/1";

/// What is known about one image and target. What was not computed is `null`, never a made-up number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AttackRecord {
    /// The version of the record format, `rw-adv/1`.
    pub schema: Cow<'static, str>,
    /// Index of the image in the data, base 0.
    pub image: usize,
    /// File name, when the image came from one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True label, if known.
    pub label: Option<usize>,
    /// The label the model gives.
    pub predicted: usize,
    /// The label an adversary should get.
    pub target: usize,
    /// The budget.
    pub delta: f64,
    /// The norm the budget is measured in.
    pub norm: Cow<'static, str>,
    /// `adversarial`, `robust` or `unknown`.
    pub verdict: Verdict,
    /// Largest `y_target − y_predicted` found, in `f64`.
    pub margin: f64,
    /// The same point's margin in tract's `f32` run of the file.
    pub margin_f32: f64,
    /// The margin of the 8-bit picture.
    pub margin_png: Option<f64>,
    /// Proven upper bound of the margin.
    pub upper_bound: Option<f64>,
    /// `upper_bound − margin`.
    pub gap: Option<f64>,
    /// How the bound was proven: `envelope`, or `branch` if the set was divided.
    pub bound_method: Option<Cow<'static, str>>,
    /// Whether the gap is closed: no point of the set has a larger margin (by 1e-6, or `--gap`).
    pub optimal: bool,
    /// What branch and bound claims no point can exceed, with `--method milp`: not a proof.
    pub claimed_bound: Option<f64>,
    /// Distance of the point from the image, in the budget's norm.
    pub distance: f64,
    /// Number of pixels in which they differ.
    pub changed_pixels: usize,
    /// Number of starts searched from.
    pub starts: usize,
    /// Number of linear regions walked through.
    pub regions: usize,
    /// Number of LPs solved.
    pub lps: usize,
    /// Simplex iterations in all of them.
    pub iterations: usize,
    /// Parts of the set bounded, with `--branch`.
    pub nodes: usize,
    /// Divisions that led to one of them, at most.
    pub depth: usize,
    /// Parts that were still to be divided.
    pub open_nodes: usize,
    /// Seconds and the bound that was reached then, with `--branch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound_trace: Vec<(f64, f64)>,
    /// Time spent on this record.
    pub seconds: f64,
    /// Time from the start of the search until the best point was found.
    pub seconds_to_best: f64,
    /// Why the search ended.
    pub stop: Cow<'static, str>,
    /// The seed of this search, made of `--seed`, image and target.
    pub seed: u64,
    /// The picture, relative to the result directory.
    pub png: Option<String>,
    /// The exact point, relative to the result directory.
    pub npy: Option<String>,
}

impl AttackRecord {
    /// The answer for one image and target, before its files are stored.
    pub fn new(
        sample: &Sample,
        pair: (Label, Label),
        attack: &Attack,
        answer: &Answer,
        seconds: f64,
    ) -> Self {
        let (point, found) = (answer.judged.point(), &answer.found);
        // What overflowed is no bound.
        let bound = answer.bound.filter(|bound| bound.value().is_finite());
        Self {
            schema: ATTACK_SCHEMA.into(),
            image: sample.index,
            name: sample.name.clone(),
            label: sample.label.map(|l| l.0),
            predicted: pair.0.0,
            target: pair.1.0,
            delta: attack.delta,
            norm: attack.norm.name().into(),
            verdict: answer.verdict,
            margin: point.margin(),
            margin_f32: point.margin_f32(),
            margin_png: answer.picture.as_ref().map(|picture| picture.margin()),
            upper_bound: bound.map(|bound| bound.value()),
            gap: bound.and(answer.gap()),
            bound_method: bound.map(|bound| bound.method().name().into()),
            optimal: bound.and(answer.gap()).is_some_and(|gap| gap <= attack.gap()),
            claimed_bound: found.claimed_bound.filter(|bound| bound.is_finite()),
            distance: point.distance(),
            changed_pixels: point.changed_pixels(),
            starts: found.starts,
            regions: found.work.regions,
            lps: found.work.lps,
            iterations: found.work.iterations,
            nodes: answer.tree.nodes,
            depth: answer.tree.depth,
            open_nodes: answer.tree.open,
            bound_trace: answer.tree.seconds_and_bounds(),
            seconds,
            seconds_to_best: found.time_to_best.as_secs_f64(),
            stop: answer.stop.name().into(),
            seed: answer.seed,
            png: None,
            npy: None,
        }
    }
}

/// What is known about an image once all its targets are done; the worst target counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImageOutcome {
    Certified,
    Undecided,
    Attacked,
    Misclassified,
}

impl ImageOutcome {
    /// What one target says about an image. Where the true label is not known, the predicted one counts as true.
    pub fn of(label: Option<usize>, predicted: usize, verdict: Verdict) -> Self {
        match verdict {
            _ if label.is_some_and(|label| label != predicted) => Self::Misclassified,
            Verdict::Robust => Self::Certified,
            Verdict::Unknown => Self::Undecided,
            Verdict::Adversarial => Self::Attacked,
        }
    }

    /// What all of its records say about an image: the worst target counts.
    pub fn of_image(records: &[&AttackRecord]) -> Self {
        let each = records.iter().map(|r| Self::of(r.label, r.predicted, r.verdict));
        each.max().unwrap_or(Self::Certified)
    }
}

/// Images per standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageOutcomes {
    /// No target can be reached.
    pub certified: usize,
    /// No target was reached, but not all are excluded.
    pub undecided: usize,
    /// Some target was reached.
    pub attacked: usize,
    /// Not predicted as labelled in the first place.
    pub misclassified: usize,
}

impl ImageOutcomes {
    pub(crate) fn count<'a>(all: impl Iterator<Item = &'a ImageOutcome>) -> Self {
        let mut counts = Self::default();
        for standing in all {
            *match standing {
                ImageOutcome::Certified => &mut counts.certified,
                ImageOutcome::Undecided => &mut counts.undecided,
                ImageOutcome::Attacked => &mut counts.attacked,
                ImageOutcome::Misclassified => &mut counts.misclassified,
            } += 1;
        }
        counts
    }

    /// Number of images.
    pub fn all(&self) -> usize {
        self.certified + self.undecided + self.attacked + self.misclassified
    }

    /// The share of images that are predicted as labelled and for which every asked target is excluded; of no images, 1.
    pub fn certified_accuracy(&self) -> f64 {
        if self.all() == 0 { 1.0 } else { self.certified as f64 / self.all() as f64 }
    }
}

/// Counts over all records.
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
    #[serde(skip)]
    seen: BTreeMap<usize, ImageOutcome>,
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

impl AttackSummary {
    /// Nothing counted yet of so many (image, target) pairs.
    pub fn new(asked: usize) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Counts one more record.
    pub fn add(&mut self, record: &AttackRecord) {
        self.records += 1;
        *self.verdicts.entry(record.verdict).or_default() += 1;
        self.optimal += usize::from(record.optimal);
        if !self.seen.contains_key(&record.image) {
            self.labelled += usize::from(record.label.is_some());
            self.correct += usize::from(record.label == Some(record.predicted));
        }
        let standing = ImageOutcome::of(record.label, record.predicted, record.verdict);
        let worst = self.seen.entry(record.image).or_insert(standing);
        *worst = standing.max(*worst);
        self.images = ImageOutcomes::count(self.seen.values());
        self.regions += record.regions;
        self.lps += record.lps;
        self.starts += record.starts;
        self.nodes += record.nodes;
        self.by_branching += usize::from(record.nodes > 0 && record.verdict != Verdict::Unknown);
    }
}

/// What was asked for, kept beside the results: what all commands have in common.
#[derive(Clone, Debug, Serialize)]
pub struct CommonSettings {
    /// The model file as it was named.
    pub model: String,
    /// Its SHA-256.
    pub model_sha256: String,
    /// Its widths, inputs first.
    pub widths: Vec<usize>,
    /// The data, described.
    pub data: String,
    /// SHA-256 of the images looked at, with their labels.
    pub data_sha256: String,
    /// The images looked at.
    pub images: Vec<usize>,
    /// The norm of the budget.
    pub norm: &'static str,
    /// The targets as they were asked for.
    pub target: String,
    /// The seed.
    pub seed: u64,
    /// Starts in a row without gain before a search ends.
    pub patience: usize,
    /// Time limit of each record in seconds, if any.
    pub time_limit: Option<f64>,
}

/// What was asked of an attack.
#[derive(Clone, Debug, Serialize)]
pub struct AttackSettings {
    /// What all commands have in common.
    #[serde(flatten)]
    pub common: CommonSettings,
    /// The budget.
    pub delta: f64,
    /// Parts of the set bounded at most, if it may be divided.
    pub branch: Option<usize>,
    /// Below this gap a margin counts as optimal.
    pub gap: f64,
    /// The algorithm.
    pub method: &'static str,
    /// Whether branch and bound began with a point of ours.
    pub warm_start: bool,
    /// What was wanted, `optimum` or `verdict`.
    pub goal: &'static str,
    /// How walks leave a region.
    pub way_out: &'static str,
}

/// The records of each image, by image; within one, by target.
pub(crate) fn by_image(records: &[AttackRecord]) -> BTreeMap<usize, Vec<&AttackRecord>> {
    let mut images: BTreeMap<usize, Vec<&AttackRecord>> = BTreeMap::new();
    for record in records {
        images.entry(record.image).or_default().push(record);
    }
    images.values_mut().for_each(|records| records.sort_by_key(|record| record.target));
    images
}

/// What became of the images.
pub fn image_outcomes(records: &[AttackRecord]) -> ImageOutcomes {
    let images = by_image(records);
    let all: Vec<ImageOutcome> =
        images.values().map(|records| ImageOutcome::of_image(records)).collect();
    ImageOutcomes::count(all.iter())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::super::json::{self, Fields};
    use super::*;

    /// A record with these fields; `more` (`,"margin":2`) stands instead of what all have in common.
    pub fn record(image: usize, target: usize, verdict: &str, more: &str) -> AttackRecord {
        let common = r#"{"schema":"rw-adv/1","label":1,"predicted":1,"delta":5.0,"norm":"l1","margin":-1.0,"margin_f32":-1.0,
            "margin_png":null,"upper_bound":null,"gap":null,"bound_method":null,"optimal":false,"claimed_bound":null,
            "distance":1.5,"changed_pixels":3,"starts":1,"regions":2,"lps":3,"iterations":4,"nodes":0,"depth":0,
            "open_nodes":0,"seconds":0.0,"seconds_to_best":0.0,"stop":"no_gain","seed":0,"png":null,"npy":null}"#;
        let own = format!(r#"{{"image":{image},"target":{target},"verdict":"{verdict}"{more}}}"#);
        let mut fields: Fields = json::parse(common.as_bytes()).unwrap();
        fields.extend(json::parse::<Fields>(own.as_bytes()).unwrap());
        json::parse(&serde_json::to_vec(&fields).unwrap()).unwrap()
    }

    #[test]
    fn the_worst_target_decides_about_an_image() {
        let records = [
            record(0, 2, "robust", ""),
            record(1, 3, "unknown", ""),
            record(1, 2, "robust", ""),
            record(2, 2, "adversarial", ""),
            record(2, 3, "unknown", ""),
            record(3, 2, "robust", r#","label":7"#),
        ];
        let standings = image_outcomes(&records);
        assert_eq!((standings.certified, standings.undecided), (1, 1));
        assert_eq!((standings.attacked, standings.misclassified), (1, 1));
        assert_eq!(standings.certified_accuracy(), 0.25);
        assert_eq!(ImageOutcomes::default().certified_accuracy(), 1.0);
        let targets: Vec<usize> =
            by_image(&records)[&1].iter().map(|record| record.target).collect();
        assert_eq!(targets, [2, 3]);
    }
}
