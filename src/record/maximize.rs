//! One answer to one problem. Field names are a contract with users' scripts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::json;
use super::key::{Key, Resumable};
use super::settings::MaximizeSettings;
use super::stats::SolveStats;
use crate::bounds::BoundMethod;
use crate::judge::Verdict;
use crate::maximize::Maximum;
use crate::sets::Domain;
use crate::solve::Stop;

/// The version of the record format.
pub const MAXIMIZE_SCHEMA: &str = "rw-adv/maximize/1";

/// What is known about the maximum. What was not computed is `null`, never a made-up number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MaximizeRecord {
    /// The version of the record format, `rw-adv/maximize/1`.
    pub schema: Cow<'static, str>,
    /// The version of the program.
    pub version: Cow<'static, str>,
    /// What was asked for.
    #[serde(flatten)]
    pub settings: MaximizeSettings,
    /// Whether an input exceeds the threshold, if there is one: `adversarial` if one does, `robust` if none can, or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The largest value found, in `f64`, at `point` as it stands here.
    pub value: f64,
    /// The same point's value in tract's `f32` run of the file.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub value_f32: f64,
    /// Proven upper bound of the value.
    pub upper_bound: Option<f64>,
    /// `upper_bound − value`.
    pub gap: Option<f64>,
    /// How the bound was proven: `envelope`, or `branch` if the domain was divided.
    pub bound_method: Option<BoundMethod>,
    /// Whether the gap is closed: no point has a larger value (by 1e-6, or `--gap`).
    pub optimal: bool,
    /// What branch and bound claims no point can exceed: not a proof. With `--method milp` only.
    pub claimed_bound: Option<f64>,
    /// Number of linear constraints.
    pub constraint_count: usize,
    /// The inputs that take whole numbers only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integers: Vec<usize>,
    /// How far the point breaks one of them, in units of its largest weight; at most 2e-7.
    pub violation: f64,
    /// Number of inputs at their lower bound, fixed ones included.
    pub at_lower: usize,
    /// Number of inputs at their upper bound, fixed ones left out.
    pub at_upper: usize,
    /// What the pipeline did.
    #[serde(flatten)]
    pub stats: SolveStats,
    /// The network's outputs at the point, in `f64`.
    pub outputs: Vec<f64>,
    /// The point, exactly within its bounds.
    pub point: Vec<f64>,
    /// An input above the threshold as it was replayed, in `f32`, relative to the result directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
}

impl MaximizeRecord {
    /// The answer. Below `optimal_gap` a value counts as optimal.
    pub fn new(
        settings: MaximizeSettings,
        optimal_gap: f64,
        domain: &Domain,
        maximum: &Maximum,
        seconds: f64,
    ) -> Self {
        let solution = &maximum.solution;
        let bounds = || domain.lower.iter().zip(&domain.upper);
        let at = |which: fn((f64, f64, f64)) -> bool| {
            let all = maximum.point.iter().zip(bounds());
            all.filter(|(x, (lower, upper))| which((**x, **lower, **upper))).count()
        };
        // A bound that overflowed says nothing.
        let bound = maximum.bound.filter(|bound| bound.value().is_finite());
        let gap = bound.and(maximum.gap());
        Self {
            schema: MAXIMIZE_SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            verdict: maximum.verdict(),
            value: maximum.measurement.value,
            value_f32: maximum.measurement.value_f32,
            upper_bound: bound.map(|bound| bound.value()),
            gap,
            bound_method: bound.map(|bound| bound.method()),
            optimal: gap.is_some_and(|gap| gap <= optimal_gap),
            settings,
            claimed_bound: maximum.claimed_bound.filter(|bound| bound.is_finite()),
            constraint_count: domain.constraints.len(),
            integers: domain.integers.clone(),
            violation: maximum.violation,
            at_lower: at(|(x, lower, _)| x == lower),
            at_upper: at(|(x, lower, upper)| x == upper && lower < upper),
            stats: SolveStats::new(solution, seconds),
            outputs: maximum.measurement.outputs.clone(),
            point: maximum.point.clone(),
            witness: None,
        }
    }
}

impl Resumable for MaximizeRecord {
    const CONTENTS: Contents = Contents::Maximum;
    const SCHEMA: &'static str = MAXIMIZE_SCHEMA;
    const HAS_PAGE: bool = true;

    fn key(&self) -> Key {
        Key { image: 0, target: None }
    }

    fn is_finished(&self) -> bool {
        self.stats.stop != Stop::Interrupted
    }

    fn contradiction(&self, other: &Self) -> Option<String> {
        let verdicts = [self.verdict, other.verdict];
        if verdicts.contains(&Some(Verdict::Adversarial))
            && verdicts.contains(&Some(Verdict::Robust))
        {
            return Some("above the threshold and never above it".into());
        }
        let above = |value: f64, bound: Option<f64>| {
            let bound = bound.filter(|&bound| value > bound)?;
            Some(format!("a value of {value} and a bound of {bound}"))
        };
        above(self.value, other.upper_bound).or_else(|| above(other.value, self.upper_bound))
    }

    fn is_better_than(&self, other: &Self) -> bool {
        self.value > other.value
    }

    fn seconds(&self) -> f64 {
        self.stats.seconds
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{"schema":"rw-adv/maximize/1","version":"0.1.0","model":"m.onnx","model_sha256":"ab","widths":[2,1],
            "objective":"y0","box":[-1.0,1.0],"constraints":null,"method":"frank-wolfe","way_out":"flip","patience":40,"branch":18446744073709551615,
            "time_limit":0.1,"seed":18446744073709551615,"value":0.1,"value_f32":0.10000000149011612,"upper_bound":null,"gap":null,
            "bound_method":"branch","optimal":false,"claimed_bound":null,"constraint_count":0,"violation":0.0,"at_lower":1,"at_upper":1,
            "starts":1,"regions":2,"lps":3,"iterations":4,"nodes":5,"depth":6,"open_nodes":7,"bound_trace":[[0.1,0.2]],"seconds":0.5,
            "seconds_to_best":0.25,"stop":"nodes","outputs":[0.1],"point":[-1.0,1.0]}"#;
        let record: MaximizeRecord = json::parse(text.as_bytes()).unwrap();
        let mut line = Vec::new();
        json::line(&mut line, &record).unwrap();
        let compact: String = text.split_whitespace().collect();
        assert_eq!(String::from_utf8(line).unwrap().trim_end(), compact);
    }
}
