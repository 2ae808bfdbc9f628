//! One flat row per (image, target). Field names are a contract with users' scripts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::input::Sample;
use crate::verify::Standing;

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
    pub verdict: &'static str,
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
    /// L1 distance of the point from the image.
    pub distance: f64,
    /// Number of pixels in which they differ.
    pub changed_pixels: usize,
    /// Number of starts searched from.
    pub starts: usize,
    /// Number of linear regions walked through.
    pub regions: usize,
    /// Number of LPs solved.
    pub lps: usize,
    /// Time spent on this record.
    pub seconds: f64,
    /// Time until the best point was found.
    pub seconds_to_best: Option<f64>,
    /// Why the search ended.
    pub stop: &'static str,
    /// The seed of the search.
    pub seed: Option<u64>,
    /// The picture, relative to the result directory.
    pub png: Option<String>,
    /// The exact point, relative to the result directory.
    pub npy: Option<String>,
}

impl Record {
    /// What looking at the image alone tells: the image itself is the best point known.
    pub fn unsearched(sample: &Sample, standing: &Standing, delta: f64) -> Self {
        Self {
            schema: SCHEMA,
            image: sample.index,
            name: sample.name.clone(),
            label: sample.label.map(|l| l.0),
            predicted: standing.predicted.0,
            target: standing.runner_up.0,
            delta,
            norm: "l1",
            verdict: "unknown",
            margin: standing.margin,
            margin_f32: standing.margin_f32,
            margin_png: None,
            upper_bound: None,
            gap: None,
            distance: 0.0,
            changed_pixels: 0,
            starts: 0,
            regions: 0,
            lps: 0,
            seconds: 0.0,
            seconds_to_best: None,
            stop: "not_searched",
            seed: None,
            png: None,
            npy: None,
        }
    }
}

/// Counts over all records.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Number of records.
    pub records: usize,
    /// Records per verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
    /// Records whose true label is known.
    pub labelled: usize,
    /// Of those, records whose predicted label is the true one.
    pub correct: usize,
}

impl Summary {
    /// Counts one more record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        *self.verdicts.entry(record.verdict).or_default() += 1;
        self.labelled += usize::from(record.label.is_some());
        self.correct += usize::from(record.label == Some(record.predicted));
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
}
