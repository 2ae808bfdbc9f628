//! One flat row for each instance: a network and a property file. Field names are a contract with users' scripts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::key::{Key, Resumable, Summarize};
use crate::solve::Stop;
use crate::verify::{Counterexample, VerifyAnswer, VerifyResult};
use crate::vnnlib::NetworkDeclaration;

/// The version of the record format.
pub const VERIFY_SCHEMA: &str = "rw-adv/verify/1";

/// A network and a property file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyInstance {
    /// Its place in the list, base 0.
    pub instance: usize,
    /// The model's file as it was named.
    pub model: String,
    /// The property's file as it was named.
    pub property: String,
    /// Seconds, if limited.
    pub timeout: Option<f64>,
}

/// What is known about one instance. What was not found is `null`, never a made-up number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VerifyRecord {
    /// The version of the record format, `rw-adv/verify/1`.
    pub schema: Cow<'static, str>,
    /// What was asked.
    #[serde(flatten)]
    pub instance: VerifyInstance,
    /// `sat`, `unsat`, `unknown`, `timeout`; or `error`, if the files cannot be used.
    pub result: RecordedResult,
    /// What is wrong with the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Proven upper bound of the smallest row of every conjunction; below 0, there is no counterexample.
    pub upper_bound: Option<f64>,
    /// Sets of inputs that the file speaks of.
    pub cases: usize,
    /// Conjunctions over those of them that were looked at.
    pub conjunctions: usize,
    /// Those that are proven to be impossible.
    pub excluded: usize,
    /// Parts of the sets bounded.
    pub nodes: usize,
    /// Number of starts searched from.
    pub starts: usize,
    /// Number of LPs solved.
    pub lps: usize,
    /// Time spent, files read included.
    pub seconds: f64,
    /// Why work ended; `trouble` if the files cannot be used.
    pub stop: Stop,
    /// The seed of the search.
    pub seed: u64,
    /// The file of the proof of `unsat`, if one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// The network as a file in VNN-LIB 2.0 declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkDeclaration>,
    /// The counterexample's input in `f32`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<f32>>,
    /// The outputs that the ONNX file gives for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<f32>>,
}

/// What a record may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedResult {
    /// There is a counterexample.
    Sat,
    /// There is none: proven.
    Unsat,
    /// Neither was found out.
    Unknown,
    /// Neither was found out within the time.
    Timeout,
    /// The files cannot be used.
    Error,
}

impl RecordedResult {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sat => VerifyResult::Sat.name(),
            Self::Unsat => VerifyResult::Unsat.name(),
            Self::Unknown => VerifyResult::Unknown.name(),
            Self::Timeout => VerifyResult::Timeout.name(),
            Self::Error => "error",
        }
    }
}

impl From<VerifyResult> for RecordedResult {
    fn from(result: VerifyResult) -> Self {
        match result {
            VerifyResult::Sat => Self::Sat,
            VerifyResult::Unsat => Self::Unsat,
            VerifyResult::Unknown => Self::Unknown,
            VerifyResult::Timeout => Self::Timeout,
        }
    }
}

impl VerifyRecord {
    /// The answer to one instance, or what is wrong with its files.
    pub fn new(
        instance: &VerifyInstance,
        answer: &Result<VerifyAnswer, String>,
        seed: u64,
        seconds: f64,
    ) -> Self {
        let known = answer.as_ref().ok();
        let count = |of: fn(&VerifyAnswer) -> usize| known.map_or(0, of);
        let counterexample = known.and_then(|answer| answer.counterexample.clone());
        let (inputs, outputs) =
            counterexample.map(|Counterexample { inputs, outputs }| (inputs, outputs)).unzip();
        Self {
            schema: VERIFY_SCHEMA.into(),
            instance: instance.clone(),
            result: known.map_or(RecordedResult::Error, |answer| answer.result.into()),
            error: answer.as_ref().err().cloned(),
            // What overflowed is no bound, and of nothing there is none.
            upper_bound: known.and_then(|answer| answer.bound).filter(|bound| bound.is_finite()),
            cases: count(|answer| answer.cases),
            conjunctions: count(|answer| answer.conjunctions),
            excluded: count(|answer| answer.excluded),
            nodes: count(|answer| answer.nodes),
            starts: count(|answer| answer.starts),
            lps: count(|answer| answer.lps),
            seconds,
            stop: known.map_or(Stop::Trouble, |answer| answer.stop),
            seed,
            proof: None,
            network: known.and_then(|answer| answer.network.clone()),
            inputs,
            outputs,
        }
    }
}

impl Resumable for VerifyRecord {
    const CONTENTS: Contents = Contents::Instances;
    const SCHEMA: &'static str = VERIFY_SCHEMA;
    const HAS_PAGE: bool = true;

    fn key(&self) -> Key {
        Key { image: self.instance.instance, target: None }
    }

    fn is_finished(&self) -> bool {
        self.stop != Stop::Interrupted
    }

    fn contradiction(&self, other: &Self) -> Option<String> {
        let results = [self.result, other.result];
        let both = [RecordedResult::Sat, RecordedResult::Unsat];
        both.iter().all(|result| results.contains(result)).then(|| "sat and unsat".into())
    }

    fn is_better_than(&self, other: &Self) -> bool {
        let is_decided =
            |record: &Self| matches!(record.result, RecordedResult::Sat | RecordedResult::Unsat);
        is_decided(self) && !is_decided(other)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// Counts over the records of instances.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerifySummary {
    /// Number of instances asked for.
    pub asked: usize,
    /// Number of records: fewer than asked if the run was interrupted.
    pub records: usize,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// Records per result.
    pub results: BTreeMap<RecordedResult, usize>,
    /// Seconds spent on all of them.
    pub seconds: f64,
}

impl Summarize<VerifyRecord> for VerifySummary {
    fn of(records: &[VerifyRecord], asked: usize, interrupted: bool) -> Self {
        let mut summary = Self { asked, records: records.len(), interrupted, ..Self::default() };
        for record in records {
            *summary.results.entry(record.result).or_default() += 1;
            summary.seconds += record.seconds;
        }
        summary
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::json;
    use super::*;

    fn answer(result: VerifyResult) -> VerifyAnswer {
        let counterexample = (result == VerifyResult::Sat)
            .then(|| Counterexample { inputs: vec![0.1, -1e-20], outputs: vec![3.5] });
        VerifyAnswer {
            result,
            counterexample,
            network: None,
            cases: 1,
            conjunctions: 2,
            excluded: 1,
            bound: Some(f64::NEG_INFINITY),
            nodes: 7,
            starts: 3,
            lps: 4,
            stop: Stop::Robust,
            proof: None,
        }
    }

    fn record(answer: &Result<VerifyAnswer, String>) -> VerifyRecord {
        let (model, property) = ("a.onnx".into(), "b.vnnlib".into());
        let instance = VerifyInstance { instance: 3, model, property, timeout: Some(0.5) };
        VerifyRecord::new(&instance, answer, 7, 0.25)
    }

    #[test]
    fn what_is_written_is_read_again() {
        for answer in
            [Ok(answer(VerifyResult::Sat)), Ok(answer(VerifyResult::Unsat)), Err("no file".into())]
        {
            let record = record(&answer);
            let mut line = Vec::new();
            json::line(&mut line, &record).unwrap();
            let again: VerifyRecord = json::parse(&line).unwrap();
            let mut second = Vec::new();
            json::line(&mut second, &again).unwrap();
            assert_eq!(line, second);
            assert_eq!((again.result, again.inputs), (record.result, record.inputs));
        }
    }

    #[test]
    fn sat_and_unsat_cannot_both_be_true() {
        let [sat, unsat, unknown] = [VerifyResult::Sat, VerifyResult::Unsat, VerifyResult::Unknown]
            .map(|r| record(&Ok(answer(r))));
        assert!(sat.contradiction(&unsat).is_some() && unsat.contradiction(&sat).is_some());
        assert!(sat.contradiction(&unknown).is_none() && sat.contradiction(&sat).is_none());
        assert!(sat.is_better_than(&unknown) && !unknown.is_better_than(&sat));
    }
}
