//! One flat row per (image, target). Field names are a contract with users' scripts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::json;
use super::key::{Key, Resumable};
use super::stats::SolveStats;
use crate::attack::{Answer, Attack, NotFinite};
use crate::bounds::BoundMethod;
use crate::data::Sample;
use crate::judge::Verdict;
use crate::network::Label;
use crate::sets::Norm;
use crate::solve::Stop;

/// The version of the record format.
pub const ATTACK_SCHEMA: &str = "rw-adv/1";

/// A bound that is further above the margin than so many times the margin, or than so much if that is more, says nothing.
const LOOSE: f64 = 100.0;

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
    pub norm: Norm,
    /// `adversarial`, `robust` or `unknown`.
    pub verdict: Verdict,
    /// Why there is no answer, if there can be none: a logit of the image is not finite. The verdict is then `unknown`, the margins
    /// are `null`, and `predicted` is merely the label of the largest logit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Largest `y_target − y_predicted` found, in `f64`.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub margin: f64,
    /// The same point's margin in tract's `f32` run of the file.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub margin_f32: f64,
    /// The margin of the 8-bit picture.
    pub margin_png: Option<f64>,
    /// Proven upper bound of the margin.
    pub upper_bound: Option<f64>,
    /// `upper_bound − margin`.
    pub gap: Option<f64>,
    /// How the bound was proven: `envelope`, or `branch` if the set was divided.
    pub bound_method: Option<BoundMethod>,
    /// Whether the gap is closed: no point of the set has a larger margin (by 1e-6, or `--gap`).
    pub optimal: bool,
    /// What branch and bound claims no point can exceed, with `--method milp`: not a proof.
    pub claimed_bound: Option<f64>,
    /// Distance of the point from the image, in the budget's norm.
    pub distance: f64,
    /// Number of pixels in which they differ.
    pub changed_pixels: usize,
    /// What the pipeline did.
    #[serde(flatten)]
    pub stats: SolveStats,
    /// The seed of this search, made of `--seed`, image and target.
    pub seed: u64,
    /// The picture, relative to the result directory.
    pub png: Option<String>,
    /// The exact point, relative to the result directory.
    pub npy: Option<String>,
}

impl AttackRecord {
    /// Whether the bound is so far above the margin that it says nothing. Tables and pictures leave it out; the record keeps it.
    pub fn has_loose_bound(&self) -> bool {
        self.gap.is_some_and(|gap| gap > LOOSE * self.margin.abs().max(1.0))
    }

    /// The answer for one image and target, before its files are stored.
    pub fn new(
        sample: &Sample,
        pair: (Label, Label),
        attack: &Attack,
        answer: &Answer,
        seconds: f64,
    ) -> Self {
        let solution = &answer.solution;
        let (point, search) = (solution.judgement.point(), &solution.search);
        // A bound that overflowed says nothing.
        let bound = solution.bound.filter(|bound| bound.value().is_finite());
        Self {
            schema: ATTACK_SCHEMA.into(),
            image: sample.index,
            name: sample.name.clone(),
            label: sample.label.map(|l| l.0),
            predicted: pair.0.0,
            target: pair.1.0,
            delta: attack.delta,
            norm: attack.norm,
            verdict: answer.verdict,
            error: None,
            margin: point.value(),
            margin_f32: point.value_f32(),
            margin_png: answer.picture.as_ref().map(|picture| picture.value()),
            upper_bound: bound.map(|bound| bound.value()),
            gap: bound.and(answer.gap()),
            bound_method: bound.map(|bound| bound.method()),
            optimal: bound.and(answer.gap()).is_some_and(|gap| gap <= attack.gap()),
            claimed_bound: search.claimed_bound.filter(|bound| bound.is_finite()),
            distance: point.distance(),
            changed_pixels: point.changed(),
            stats: SolveStats::new(solution, seconds),
            seed: solution.seed,
            png: None,
            npy: None,
        }
    }
}

impl AttackRecord {
    /// Of an image that has no answer.
    pub fn of_error(
        sample: &Sample,
        pair: (Label, Label),
        attack: &Attack,
        error: &NotFinite,
    ) -> Self {
        Self {
            schema: ATTACK_SCHEMA.into(),
            image: sample.index,
            name: sample.name.clone(),
            label: sample.label.map(|l| l.0),
            predicted: pair.0.0,
            target: pair.1.0,
            delta: attack.delta,
            norm: attack.norm,
            verdict: Verdict::Unknown,
            error: Some(error.to_string()),
            margin: f64::NAN,
            margin_f32: f64::NAN,
            margin_png: None,
            upper_bound: None,
            gap: None,
            bound_method: None,
            optimal: false,
            claimed_bound: None,
            distance: 0.0,
            changed_pixels: 0,
            stats: SolveStats::none(Stop::Error),
            seed: attack.search.seed,
            png: None,
            npy: None,
        }
    }

    /// What an adversary does, or would do: `4 → 9`, or by the names of classes.
    pub fn change_text(&self, class_names: &[String]) -> String {
        change_text((self.predicted, self.target), class_names)
    }
}

/// The predicted label and the target, as people read them: `4 → 9`, or `cat → dog` where classes have names.
pub(crate) fn change_text((predicted, target): (usize, usize), class_names: &[String]) -> String {
    let word = |label: usize| class_names.get(label).cloned().unwrap_or(label.to_string());
    format!("{} → {}", word(predicted), word(target))
}

impl Resumable for AttackRecord {
    const CONTENTS: Contents = Contents::Attacks;
    const SCHEMA: &'static str = ATTACK_SCHEMA;
    const HAS_PAGE: bool = true;

    fn key(&self) -> Key {
        Key { image: self.image, target: Some(self.target) }
    }

    fn is_finished(&self) -> bool {
        self.stats.stop != Stop::Interrupted
    }

    fn contradiction(&self, other: &Self) -> Option<String> {
        if self.predicted != other.predicted {
            return Some(format!("predicted as {} and as {}", self.predicted, other.predicted));
        }
        let verdicts = [self.verdict, other.verdict];
        if verdicts.contains(&Verdict::Adversarial) && verdicts.contains(&Verdict::Robust) {
            return Some(format!("{} and {}", self.verdict, other.verdict));
        }
        let above = |margin: f64, bound: Option<f64>| {
            let bound = bound.filter(|&bound| margin > bound)?;
            Some(format!("a margin of {margin} and a bound of {bound}"))
        };
        above(self.margin, other.upper_bound).or_else(|| above(other.margin, self.upper_bound))
    }

    fn is_better_than(&self, other: &Self) -> bool {
        let is_decided = |record: &Self| record.verdict != Verdict::Unknown;
        match (is_decided(self), is_decided(other)) {
            (true, false) => true,
            (false, true) => false,
            _ => self.margin > other.margin,
        }
    }

    fn stored_witness(&self) -> Option<&str> {
        self.npy.as_deref()
    }

    fn seconds(&self) -> f64 {
        self.stats.seconds
    }
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
    fn changes_are_told_by_the_names_of_classes() {
        let names = ["cat", "dog"].map(str::to_owned);
        assert_eq!(change_text((1, 0), &names), "dog → cat");
        assert_eq!(change_text((4, 9), &[]), "4 → 9");
    }
}
