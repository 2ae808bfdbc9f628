//! What a run is about: a [`Job`] solves pieces of work and makes records of the answers.

use std::error::Error;

use super::error::StoreError;
use super::record_files::RecordFiles;
use crate::budget::Budget;
use crate::observer::Observer;
use crate::record::{Key, Resumable, Summarize, WorkState};

/// Any error of a job or a sink.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// One kind of question, asked of many items.
pub trait Job: Sync {
    /// A piece of the work: what is listed in the manifest, and done on one thread unless it has several targets.
    type Item: Sync;
    /// What all targets of an item share, such as bounds.
    type Shared: Sync;
    /// What solving gives.
    type Answer;
    /// The row that is kept of an answer.
    type Record: Resumable;
    /// What is counted over all records.
    type Summary: Summarize<Self::Record>;

    /// The shape of the model's input.
    fn input_dims(&self) -> &[usize];

    /// An item as the manifest lists it: its number and its targets. There is a record for each target if
    /// [`Contents::is_by_target`](crate::record::Contents::is_by_target), otherwise one.
    fn listing(&self, item: &Self::Item) -> (usize, Vec<usize>);

    /// Prepares what the targets of an item share.
    fn share(&self, item: &Self::Item) -> Self::Shared;

    /// The record of an item that cannot have an answer. The run goes on with the next one.
    fn error_record(&self, item: &Self::Item, key: Key) -> Option<Self::Record> {
        let _ = (item, key);
        None
    }

    /// Answers one question.
    ///
    /// # Errors
    /// When there is no answer. This ends the run.
    fn solve(
        &self,
        item: &Self::Item,
        shared: &Self::Shared,
        key: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Self::Answer, BoxError>;

    /// The record of an answer, before its files are stored.
    fn record(
        &self,
        item: &Self::Item,
        key: Key,
        answer: &Self::Answer,
        seconds: f64,
    ) -> Self::Record;

    /// Stores what belongs to a record, before the record, and names it there. Without a result directory there are no `files`.
    ///
    /// # Errors
    /// When a file cannot be written. This ends the run.
    fn store(
        &self,
        item: &Self::Item,
        answer: &Self::Answer,
        record: &mut Self::Record,
        files: Option<&RecordFiles>,
    ) -> Result<(), StoreError> {
        let _ = (item, answer, record, files);
        Ok(())
    }
}

/// Where a run tells how it goes: a terminal, a log. The library itself prints nothing.
pub trait Sink<R>: Send {
    /// One more record is known, and on disk.
    ///
    /// # Errors
    /// When it cannot be told. This ends the run.
    fn record(&mut self, record: &R) -> Result<(), BoxError>;

    /// Work on a record has begun, or is further than it was.
    fn working(&mut self, state: &WorkState) {
        let _ = state;
    }

    /// No more records come.
    fn end(&mut self) {}
}

/// Nothing is told.
impl<R> Sink<R> for () {
    fn record(&mut self, _: &R) -> Result<(), BoxError> {
        Ok(())
    }
}
