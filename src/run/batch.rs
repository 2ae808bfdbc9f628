//! The driver: many problems in parallel, each record on disk as soon as it is known.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use super::error::StoreError;
use super::finish::{write_report, write_summary};
use super::job::{BoxError, Job, Sink};
use super::manifest::{Manifest, keys_of};
use super::record_files::RecordFiles;
use super::store::{OpenMode, OpenStore, Store};
use super::witness::Pictures;
use super::work_observer::WorkObserver;
use crate::budget::Budget;
use crate::observer::{Observer, Phase};
use crate::record::json::Fields;
use crate::record::{Key, PhaseTimes, Plan, Resumable, Summarize, WorkState};

/// Where results go.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The result directory; without one nothing is kept.
    pub directory: Option<PathBuf>,
    /// Whether it is new, continued or shared.
    pub mode: OpenMode,
    /// Which pictures of adversaries are kept.
    pub pictures: Pictures,
}

impl Destination {
    /// Nothing is kept.
    pub const NOWHERE: Self =
        Self { directory: None, mode: OpenMode::New, pictures: Pictures::None };
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits<'f> {
    /// For each record.
    pub time: Option<Duration>,
    /// Ends all work when it is set. A run that fails sets it, too.
    pub cancelled: &'f AtomicBool,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The job has no answer, or the sink failed.
    #[error(transparent)]
    Job(BoxError),
    /// A file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Work that is ready to be done: everything that is written to is open.
pub struct Batch<'j, J: Job> {
    job: &'j J,
    settings: Fields,
    /// The items with something left, and what that is.
    left: Vec<(J::Item, Vec<Key>)>,
    /// The records that our share has in all.
    asked: BTreeSet<Key>,
    /// Those that were there already.
    finished: Vec<J::Record>,
    output: Option<(Store, RecordFiles)>,
}

/// What came out of a run.
pub struct BatchResult<J: Job> {
    /// All records of our share, also those that were there before, in the order in which they came.
    pub records: Vec<J::Record>,
    /// The work of our share that has no finished record.
    pub missing: Vec<Key>,
    /// How many were there before.
    pub finished_before: usize,
    /// The summary of all.
    pub summary: J::Summary,
    /// Whether the run was cancelled.
    pub interrupted: bool,
    /// Time since the run was begun.
    pub elapsed: Duration,
    /// Why work ended early, if it did.
    pub solved: Result<(), RunError>,
    /// Whether summary and report could be written.
    pub stored: Result<(), StoreError>,
}

impl<J: Job> BatchResult<J> {
    /// Seconds since the run was begun; `None` if there was nothing to do.
    pub fn new_seconds(&self) -> Option<f64> {
        (self.records.len() > self.finished_before).then_some(self.elapsed.as_secs_f64())
    }
}

impl<'j, J: Job> Batch<'j, J> {
    /// Opens the result directory, if there is one, and takes what is finished there from the work.
    ///
    /// # Errors
    /// When the directory holds results that are not to be continued, or of another run, or cannot be read or written.
    pub fn open(
        job: &'j J,
        items: Vec<J::Item>,
        settings: Fields,
        destination: &Destination,
    ) -> Result<Self, StoreError> {
        let manifest = manifest(job, &items, &settings);
        let asked: BTreeSet<Key> = manifest.keys(destination.mode.shard()).collect();
        let mut batch = Self {
            job,
            settings,
            left: Vec::new(),
            asked: BTreeSet::new(),
            finished: Vec::new(),
            output: None,
        };
        let mut done = BTreeSet::new();
        if let Some(directory) = &destination.directory {
            let (dims, &Destination { mode, pictures, .. }) = (job.input_dims(), destination);
            let OpenStore { store, files, finished } =
                Store::open::<J::Record>(directory, &manifest, mode, dims, pictures)?;
            batch.output = Some((store, files));
            done.extend(finished.records().map(Resumable::key));
            let mine = finished.into_records().filter(|record| asked.contains(&record.key()));
            batch.finished = mine.collect();
            log::info!(
                "{}: {} of {} records were there already",
                directory.display(),
                batch.finished.len(),
                asked.len()
            );
        }
        let is_left = |key: &Key| asked.contains(key) && !done.contains(key);
        let with_keys = items.into_iter().map(|item| {
            let keys: Vec<Key> = keys(job, &item).into_iter().filter(is_left).collect();
            (item, keys)
        });
        batch.left = with_keys.filter(|(_, keys)| !keys.is_empty()).collect();
        batch.asked = asked;
        Ok(batch)
    }

    /// What [`open`](Self::open) and [`run`](Self::run) would do. What they would refuse is refused; nothing is written.
    ///
    /// # Errors
    /// When the directory holds results that are not to be continued, or of another run, or cannot be read.
    pub fn plan(
        job: &J,
        items: &[J::Item],
        settings: &Fields,
        destination: &Destination,
    ) -> Result<(Manifest, Plan), StoreError> {
        let manifest = manifest(job, items, settings);
        let mut finished = BTreeSet::new();
        if let Some(directory) = &destination.directory {
            let records = Store::look::<J::Record>(directory, &manifest, destination.mode)?;
            finished.extend(records.records().map(Resumable::key));
        }
        let asked: Vec<Key> = manifest.keys(destination.mode.shard()).collect();
        let plan = Plan {
            settings: settings.clone(),
            items: items.len(),
            threads: rayon::current_num_threads(),
            shard: destination.mode.shard().map(|shard| shard.to_string()),
            out: destination.directory.clone(),
            finished: asked.iter().filter(|key| finished.contains(key)).count(),
            asked: asked.len(),
        };
        Ok((manifest, plan))
    }

    /// The records of our share that were there already.
    pub fn finished(&self) -> &[J::Record] {
        &self.finished
    }

    /// How many records are still to be made.
    pub fn left(&self) -> usize {
        self.left.iter().map(|(_, keys)| keys.len()).sum()
    }

    /// Does the work. Items are worked on in parallel, and so are the targets of an item.
    ///
    /// The clock says since when the run goes on.
    pub fn run(
        self,
        limits: &RunLimits,
        clock: &Budget,
        sink: &mut dyn Sink<J::Record>,
    ) -> BatchResult<J> {
        let Self { job, settings, left, asked, finished, output } = self;
        let (store, files) = output.unzip();
        let finished_before = finished.len();
        let prepared = clock.elapsed();
        let times = PhaseTimes::default();
        let shared = Mutex::new(Output { store, records: finished, sink, times });
        let worker = Worker::<J> { job, files: files.as_ref(), limits, clock, output: &shared };
        let solved = left.par_iter().try_for_each(|(item, keys)| worker.solve_all(item, keys));
        let Output { store, records, sink, times } =
            shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        sink.end();
        log::info!(
            "time: {:.2} s to begin, {:.2} s for all records on {} threads: {times}",
            prepared.as_secs_f64(),
            (clock.elapsed() - prepared).as_secs_f64(),
            rayon::current_num_threads(),
        );
        let interrupted = limits.cancelled.load(Ordering::Relaxed);
        let finished = records.iter().filter(|record| record.is_finished());
        let finished: BTreeSet<Key> = finished.map(Resumable::key).collect();
        let missing = asked.difference(&finished).copied().collect();
        let summary = J::Summary::of(&records, asked.len(), interrupted);
        let elapsed = clock.elapsed();
        let stored =
            store.map_or(Ok(()), |store| finish::<J>(&store, &summary, &settings, elapsed));
        BatchResult {
            records,
            missing,
            finished_before,
            summary,
            interrupted,
            elapsed,
            solved,
            stored,
        }
    }

    /// Writes answers that are known already as [`run`](Self::run) would have written them: each with the seconds that it took, all of them
    /// with the time that the run took. Work without an answer stays to be done.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write<'a>(
        self,
        answer_of: impl Fn(Key) -> Option<(&'a J::Answer, f64)>,
        elapsed: Duration,
    ) -> Result<J::Summary, StoreError>
    where
        J::Answer: 'a,
    {
        let Self { job, settings, left, asked, finished: mut records, output } = self;
        let (mut store, files) = output.unzip();
        for (item, key) in left.iter().flat_map(|(item, keys)| keys.iter().map(move |&k| (item, k)))
        {
            let record = match (job.error_record(item, key), answer_of(key)) {
                (Some(record), _) => record,
                (None, None) => continue,
                (None, Some((answer, seconds))) => {
                    let mut record = job.record(item, key, answer, seconds);
                    job.store(item, answer, &mut record, files.as_ref())?;
                    record
                }
            };
            store.as_mut().map_or(Ok(()), |store| store.keep(&record))?;
            records.push(record);
        }
        let interrupted =
            records.len() < asked.len() || !records.iter().all(Resumable::is_finished);
        let summary = J::Summary::of(&records, asked.len(), interrupted);
        store.map_or(Ok(()), |store| finish::<J>(&store, &summary, &settings, elapsed))?;
        Ok(summary)
    }
}

fn manifest<J: Job>(job: &J, items: &[J::Item], settings: &Fields) -> Manifest {
    Manifest::new(J::Record::CONTENTS, settings, items.iter().map(|item| job.listing(item)))
}

fn keys<J: Job>(job: &J, item: &J::Item) -> Vec<Key> {
    let (image, targets) = job.listing(item);
    keys_of(J::Record::CONTENTS, image, &targets)
}

/// Summary and report. Those of a share would not be of the whole.
fn finish<J: Job>(
    store: &Store,
    summary: &J::Summary,
    settings: &Fields,
    elapsed: Duration,
) -> Result<(), StoreError> {
    let (contents, directory) = (J::Record::CONTENTS, &store.directory);
    if contents.has_summary() && !store.is_attempt {
        write_summary(directory, J::Record::SCHEMA, summary, settings, elapsed)?;
    }
    if J::Record::HAS_PAGE && !store.is_attempt {
        write_report(directory)?;
    }
    Ok(())
}

/// Where records go, one at a time.
struct Output<'s, R> {
    store: Option<Store>,
    records: Vec<R>,
    sink: &'s mut dyn Sink<R>,
    /// Where the time of all threads went.
    times: PhaseTimes,
}

impl<R: Resumable> Output<'_, R> {
    fn add(&mut self, record: R) -> Result<(), RunError> {
        if let Some(store) = &mut self.store {
            store.keep(&record)?;
        }
        let told = self.sink.record(&record);
        self.records.push(record);
        told.map_err(RunError::Job)
    }
}

/// What all threads share.
struct Worker<'w, 's, J: Job> {
    job: &'w J,
    files: Option<&'w RecordFiles>,
    limits: &'w RunLimits<'w>,
    /// The clock of the run.
    clock: &'w Budget<'w>,
    output: &'w Mutex<Output<'s, J::Record>>,
}

impl<'s, J: Job> Worker<'_, 's, J> {
    fn with_output<T>(&self, act: impl FnOnce(&mut Output<'s, J::Record>) -> T) -> T {
        act(&mut self.output.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn solve_all(&self, item: &J::Item, keys: &[Key]) -> Result<(), RunError> {
        let shared = self.job.share(item);
        keys.par_iter().try_for_each(|&key| {
            if self.limits.cancelled.load(Ordering::Relaxed) {
                return Ok(());
            }
            // A record that cannot be written ends the run: what is on disk stays, nothing more is computed in vain.
            self.solve(item, &shared, key)
                .inspect_err(|_| self.limits.cancelled.store(true, Ordering::Relaxed))
        })
    }

    fn solve(&self, item: &J::Item, shared: &J::Shared, key: Key) -> Result<(), RunError> {
        if let Some(record) = self.job.error_record(item, key) {
            return self.with_output(|output| output.add(record));
        }
        let budget = Budget::start(self.limits.time, Some(self.limits.cancelled));
        let state = WorkState::new(J::Record::CONTENTS, key, self.clock.elapsed());
        let tell = |state: &WorkState| self.with_output(|output| output.sink.working(state));
        let observer = WorkObserver::new(state, &budget, tell);
        let answer = self.job.solve(item, shared, key, &budget, &observer);
        let answer = answer.map_err(RunError::Job)?;
        let seconds = budget.elapsed().as_secs_f64();
        observer.entered(Phase::Files);
        let mut record = self.job.record(item, key, &answer, seconds);
        self.job.store(item, &answer, &mut record, self.files)?;
        let times = observer.into_times();
        self.with_output(|output| {
            output.times.add_all(&times);
            output.add(record)
        })
    }
}
