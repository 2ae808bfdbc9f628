//! Finished work, kept so that it can be looked at and stored as the command line would have stored it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rw_adv::budget::Budget;
use rw_adv::record::json::Fields;
use rw_adv::record::{Key, Resumable};
use rw_adv::run::{
    Batch, Destination, Job, KeepAnswers, KeptAnswer, OpenMode, Pictures, RunLimits,
};

use crate::background::{Outside, RecordSink, to_json};
use crate::errors::Failure;

/// What came out of a run: records and answers, both by image and target.
pub struct Finished<J: Job> {
    pub job: J,
    pub items: Vec<J::Item>,
    pub settings: Fields,
    pub records: Vec<J::Record>,
    pub answers: Vec<KeptAnswer<J::Answer>>,
    pub elapsed: Duration,
    /// Whether everything that was asked has an answer.
    pub complete: bool,
}

impl<J: Job> Finished<J>
where
    J::Answer: Send + Sync,
    J::Item: Clone,
{
    /// Runs a job, in the threads that we are in. `copy` makes what is kept of an answer.
    pub fn run(
        job: J,
        items: Vec<J::Item>,
        settings: Fields,
        time: Option<Duration>,
        outside: &Outside,
        copy: impl Fn(&J::Answer) -> J::Answer + Send,
    ) -> Result<Self, Failure> {
        let (clock, job) = (Budget::unlimited(), KeepAnswers::new(job));
        let nowhere = Destination::NOWHERE;
        let batch = Batch::open(&job, items.clone(), settings.clone(), &nowhere)?;
        outside.expect(batch.left());
        let limits = RunLimits { time, cancelled: outside.cancelled() };
        let work = || batch.run(&limits, &clock, &mut RecordSink(outside));
        let result = job.copy_during(copy, work);
        result.solved?;
        let (elapsed, mut records) = (result.elapsed, result.records);
        records.sort_by_key(Resumable::key);
        let complete = !result.interrupted && records.iter().all(Resumable::is_finished);
        let (job, answers) = job.into_answers();
        Ok(Self { job, items, settings, records, answers, elapsed, complete })
    }

    /// Some records as one JSON array, which Python parses faster than many texts.
    pub fn to_json(&self, places: Range<usize>) -> Result<String, Failure> {
        let records = self.records.get(places);
        let records = records.ok_or_else(|| Failure::Internal("no such records".into()))?;
        let records: Vec<String> = records.iter().map(to_json).collect();
        Ok(format!("[{}]", records.join(",")))
    }

    /// The answer of one record.
    fn answer(&self, key: Key) -> Option<(&J::Answer, f64)> {
        let place = self.answers.binary_search_by_key(&key, |answer| answer.key).ok()?;
        let KeptAnswer { answer, seconds, .. } = &self.answers[place];
        Some((&**answer, *seconds))
    }

    /// Writes what is known of some items to a new directory, with all `pictures` or some; `job` says where proofs go.
    pub fn write(
        &self,
        job: &J,
        items: Vec<J::Item>,
        directory: &std::path::Path,
        pictures: &str,
    ) -> Result<(), Failure> {
        let named = Pictures::ALL.into_iter().find(|choice| choice.name() == pictures);
        let unknown = || Failure::Input(format!("pictures: '{pictures}' is not a choice"));
        let destination = Destination {
            directory: Some(directory.into()),
            mode: OpenMode::New,
            pictures: named.ok_or_else(unknown)?,
        };
        let batch = Batch::open(job, items, self.settings.clone(), &destination)?;
        batch.write(|key| self.answer(key), self.elapsed)?;
        Ok(())
    }

    /// Whether a run could be written there.
    pub fn check(&self, items: &[J::Item], directory: &std::path::Path) -> Result<(), Failure> {
        let destination = Destination {
            directory: Some(directory.into()),
            mode: OpenMode::New,
            pictures: Pictures::default(),
        };
        Batch::plan(&self.job, items, &self.settings, &destination)?;
        Ok(())
    }
}

/// The answers of the records, in their order.
impl<J: Job> Finished<J> {
    pub fn answers(&self) -> impl Iterator<Item = &Arc<J::Answer>> {
        self.answers.iter().map(|kept| &kept.answer)
    }
}
