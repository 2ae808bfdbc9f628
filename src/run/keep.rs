//! Answers that stay in memory when their records are made, for front ends that hand them out and may store them later.
//!
//! The trap is the allocator. An answer lies between the temporaries of the thread that made it, and thousands of them leave that thread's
//! memory in pieces: solving took 7 % longer than without keeping. So a thread of its own copies answers, and what the solvers allocate
//! and free stays in one piece.

use std::mem;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::error::StoreError;
use super::job::{BoxError, Job};
use super::record_files::RecordFiles;
use crate::budget::Budget;
use crate::observer::Observer;
use crate::record::{Key, Resumable};

/// How long answers stay where they were made.
const PAUSE: Duration = Duration::from_millis(50);

/// A job whose answers are kept.
#[derive(Debug)]
pub struct KeepAnswers<J: Job> {
    job: J,
    /// Those that are still where they were made.
    made: Mutex<Vec<KeptAnswer<J::Answer>>>,
    copied: Mutex<Vec<KeptAnswer<J::Answer>>>,
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
        Self { job, made: Mutex::default(), copied: Mutex::default() }
    }

    /// Does work that calls this job, while another thread makes copies of the answers and keeps these.
    pub fn copy_during<T>(
        &self,
        copy: impl Fn(&J::Answer) -> J::Answer + Send,
        work: impl FnOnce() -> T,
    ) -> T
    where
        J::Answer: Send + Sync,
    {
        thread::scope(|scope| {
            let (working, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    self.copy(&copy);
                }
            });
            let done = work();
            drop(working);
            done
        })
    }

    /// Copies what was made since.
    fn copy(&self, copy: &impl Fn(&J::Answer) -> J::Answer) {
        let made = mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        let copies = made.iter().map(|kept| {
            let &KeptAnswer { key, ref answer, seconds } = kept;
            KeptAnswer { key, answer: Arc::new(copy(answer)), seconds }
        });
        self.copied.lock().unwrap_or_else(PoisonError::into_inner).extend(copies);
    }

    /// The job and its answers, by image and target.
    pub fn into_answers(self) -> (J, Vec<KeptAnswer<J::Answer>>) {
        let mut kept = self.copied.into_inner().unwrap_or_else(PoisonError::into_inner);
        kept.extend(self.made.into_inner().unwrap_or_else(PoisonError::into_inner));
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
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        self.job.store(item, answer, record, files)
    }
}
