//! What all records have in common: which work they are the result of, whether that was finished, and which of two records of the
//! same work to believe.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::contents::Contents;

/// The work that a record is the result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the image in the data, base 0; 0 where there are no images.
    pub image: usize,
    /// The target, where each has a record of its own.
    pub target: Option<usize>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {}", self.image)?;
        self.target.map_or(Ok(()), |target| write!(f, ", target {target}"))
    }
}

/// A record that can be read again.
pub trait Resumable: Clone + Send + Serialize + DeserializeOwned {
    /// What a directory of such records holds.
    const CONTENTS: Contents;
    /// The version of the record format.
    const SCHEMA: &'static str;
    /// Whether `report.html` can be made of such records. A front end with records of its own has no page.
    const HAS_PAGE: bool = false;

    /// Which work this is the result of.
    fn key(&self) -> Key;

    /// Whether work came to its own end, or to that of its time limit. Work that was cancelled is done again.
    fn is_finished(&self) -> bool;

    /// How this and another record of the same work cannot both be true. Two that merely came to different ends, after
    /// a time limit or on another kind of processor, can.
    fn contradiction(&self, other: &Self) -> Option<String>;

    /// Whether this tells more than another record of the same work.
    fn is_better_than(&self, other: &Self) -> bool;

    /// The witness that belongs to this record: the file of its numbers, relative to the result directory.
    fn stored_witness(&self) -> Option<&str> {
        None
    }

    /// Time spent.
    fn seconds(&self) -> f64;
}

/// Counts over the records of a run.
pub trait Summarize<R>: Serialize {
    /// Counts these records, of `asked` that were asked for.
    fn of(records: &[R], asked: usize, interrupted: bool) -> Self;
}

/// Nothing is counted.
impl<R> Summarize<R> for () {
    fn of(_: &[R], _: usize, _: bool) -> Self {}
}
