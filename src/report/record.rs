//! One flat row per (image, target). Field names are a contract with users' scripts.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::input::Sample;
use crate::network::Label;
use crate::search::SearchStop;
use crate::verdict::Verdict;
use crate::verify::{Answer, Attack};

/// The version of the record format.
pub const SCHEMA: &str = "rw-adv/1";

/// What is known about one image and target. What was not computed is `null`, never a made-up number.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The version of the record format, `rw-adv/1`.
    pub schema: &'static str,
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
    pub norm: &'static str,
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
    /// Time spent on this record.
    pub seconds: f64,
    /// Time from the start of the search until the best point was found.
    pub seconds_to_best: f64,
    /// Why the search ended.
    pub stop: &'static str,
    /// The seed of this search, made of `--seed`, image and target.
    pub seed: u64,
    /// The picture, relative to the result directory.
    pub png: Option<String>,
    /// The exact point, relative to the result directory.
    pub npy: Option<String>,
}

impl Record {
    /// The answer for one image and target, before its files are stored.
    pub fn new(
        sample: &Sample,
        pair: (Label, Label),
        attack: &Attack,
        answer: &Answer,
        seconds: f64,
    ) -> Self {
        let (point, found) = (answer.judged.point(), &answer.found);
        Self {
            schema: SCHEMA,
            image: sample.index,
            name: sample.name.clone(),
            label: sample.label.map(|l| l.0),
            predicted: pair.0.0,
            target: pair.1.0,
            delta: attack.delta,
            norm: attack.norm.name(),
            verdict: answer.verdict,
            margin: point.margin(),
            margin_f32: point.margin_f32(),
            margin_png: answer.picture.as_ref().map(|picture| picture.margin()),
            upper_bound: None,
            gap: None,
            distance: point.distance(),
            changed_pixels: point.changed_pixels(),
            starts: found.starts,
            regions: found.work.regions,
            lps: found.work.lps,
            iterations: found.work.iterations,
            seconds,
            seconds_to_best: found.time_to_best.as_secs_f64(),
            stop: match found.stop {
                SearchStop::Patience => "no_gain",
                SearchStop::Time => "time",
                SearchStop::Cancelled => "interrupted",
                SearchStop::Enough => "first",
            },
            seed: answer.seed,
            png: None,
            npy: None,
        }
    }
}

/// Counts over all records.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
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
    #[serde(skip)]
    counted: HashSet<usize>,
    /// Walks through linear regions, in all.
    pub regions: usize,
    /// LPs solved, in all.
    pub lps: usize,
    /// Starts, in all.
    pub starts: usize,
}

impl Summary {
    /// Nothing counted yet of so many (image, target) pairs.
    pub fn new(asked: usize) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Counts one more record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        *self.verdicts.entry(record.verdict).or_default() += 1;
        if self.counted.insert(record.image) {
            self.labelled += usize::from(record.label.is_some());
            self.correct += usize::from(record.label == Some(record.predicted));
        }
        self.regions += record.regions;
        self.lps += record.lps;
        self.starts += record.starts;
    }
}

/// What was asked for, kept beside the results.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// The model file as it was named.
    pub model: String,
    /// Its SHA-256.
    pub model_sha256: String,
    /// Its widths, inputs first.
    pub widths: Vec<usize>,
    /// The data, described.
    pub data: String,
    /// The images looked at.
    pub images: Vec<usize>,
    /// The budget.
    pub delta: f64,
    /// Its norm.
    pub norm: &'static str,
    /// The targets as they were asked for.
    pub target: String,
    /// The algorithm.
    pub method: &'static str,
    /// The seed.
    pub seed: u64,
    /// Starts in a row without gain before a search ends.
    pub patience: usize,
    /// Time limit of a search, if any.
    pub time_limit: Option<f64>,
    /// Whether searches end at the first adversary.
    pub first: bool,
    /// How walks leave a region.
    pub way_out: &'static str,
}
