//! A run with everything that belongs to it: what exports and the report are made from.

use serde::{Deserialize, Serialize};

use super::attack::AttackRecord;
use super::json::Fields;
use super::key::Key;
use super::sketch::Sketches;

/// How and when a run was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The command line.
    pub command: String,
    /// When it was typed, in UTC.
    pub begun: String,
}

/// The contents of a result directory: its own, and those of all attempts at shards.
#[derive(Debug)]
pub struct StoredRun<R = AttackRecord> {
    /// The records, by image and target.
    pub records: Vec<R>,
    /// How it was begun, if that is known.
    pub origin: Option<RunOrigin>,
    /// What was asked for; empty when it is not known.
    pub settings: Fields,
    /// Records that were asked for, if it is known.
    pub asked: Option<usize>,
    /// Those of them that are missing or were cancelled, if it is known what was asked for.
    pub missing: Option<Vec<Key>>,
    /// `summary.json`; empty when there is none, because the run did not come to its end.
    pub summary: Fields,
    /// What was drawn.
    pub sketches: Sketches,
}
