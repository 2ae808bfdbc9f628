//! Answers that stay in memory when their records are made, for front ends that hand them out and may store them later.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::StoreError;
use super::job::{BoxError, Job};
use super::record_files::RecordFiles;
use crate::budget::Budget;
use crate::observer::Observer;
use crate::record::{Key, Resumable};

/// A job whose answers are kept.
#[derive(Debug)]
pub struct KeepAnswers<J: Job> {
    job: J,
    kept: Mutex<Vec<KeptAnswer<J::Answer>>>,
}

/// An answer, what it answers, and how long it took.
#[derive(Debug)]
pub struct KeptAnswer<A> {
    /// Which work it is the answer of.
    pub key: Key,
    /// The answer.
    pub answer: Arc<A>,
    /// Time spent.
    pub seconds: f64,
}

impl<J: Job> KeepAnswers<J> {
    /// Has no answers yet.
    pub fn new(job: J) -> Self {
        Self { job, kept: Mutex::default() }
    }

    /// The job and its answers, by image and target.
    pub fn into_answers(self) -> (J, Vec<KeptAnswer<J::Answer>>) {
        let mut kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        kept.sort_by_key(|answer| answer.key);
        (self.job, kept)
    }
}

impl<J: Job> Job for KeepAnswers<J>
where
    J::Answer: Send + Sync,
{
    type Item = J::Item;
    type Shared = J::Shared;
    type Answer = Arc<J::Answer>;
    type Record = J::Record;
    type Summary = J::Summary;

    fn input_dims(&self) -> &[usize] {
        self.job.input_dims()
    }

    fn listing(&self, item: &J::Item) -> (usize, Vec<usize>) {
        self.job.listing(item)
    }

    fn share(&self, item: &J::Item) -> J::Shared {
        self.job.share(item)
    }

    fn error_record(&self, item: &J::Item, key: Key) -> Option<J::Record> {
        self.job.error_record(item, key)
    }

    fn solve(
        &self,
        item: &J::Item,
        shared: &J::Shared,
        key: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Arc<J::Answer>, BoxError> {
        self.job.solve(item, shared, key, budget, observer).map(Arc::new)
    }

    fn record(&self, item: &J::Item, key: Key, answer: &Arc<J::Answer>, seconds: f64) -> J::Record {
        self.job.record(item, key, answer, seconds)
    }

    fn store(
        &self,
        item: &J::Item,
        answer: &Arc<J::Answer>,
        record: &mut J::Record,
        files: Option<&RecordFiles>,
    ) -> Result<(), StoreError> {
        let (key, seconds) = (record.key(), record.seconds());
        let kept = KeptAnswer { key, answer: Arc::clone(answer), seconds };
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        self.job.store(item, answer, record, files)
    }
}
