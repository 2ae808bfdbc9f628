//! How far images may be changed, one record for each image.

use std::sync::Arc;

use super::images::ImageTargets;
use crate::budget::Budget;
use crate::judge::EightBit;
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::radius::{Radii, RadiusOptions, radii};
use crate::record::{Key, RadiusRecord, RadiusSummary, Sketch};
use crate::run::error::StoreError;
use crate::run::job::{BoxError, Job};
use crate::run::record_files::RecordFiles;

/// Radii of images.
#[derive(Debug)]
pub struct RadiusJob {
    /// The classifier.
    pub model: Arc<OnnxModel>,
    /// What is asked of every image.
    pub options: RadiusOptions,
}

impl Job for RadiusJob {
    type Item = ImageTargets;
    type Shared = ();
    type Answer = Radii;
    type Record = RadiusRecord;
    type Summary = RadiusSummary;

    fn input_dims(&self) -> &[usize] {
        &self.model.input_dims
    }

    fn listing(&self, item: &ImageTargets) -> (usize, Vec<usize>) {
        item.listing()
    }

    fn share(&self, _: &ImageTargets) {}

    fn error_record(&self, item: &ImageTargets, _: Key) -> Option<RadiusRecord> {
        let record =
            |error| RadiusRecord::of_error(&item.sample, item.predicted, &self.options, &error);
        item.error.map(record)
    }

    fn solve(
        &self,
        item: &ImageTargets,
        (): &(),
        _: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Radii, BoxError> {
        let asked = (item.predicted, &item.targets[..]);
        Ok(radii(&self.model, &item.sample, asked, &self.options, budget, observer)?)
    }

    fn record(&self, item: &ImageTargets, _: Key, answer: &Radii, seconds: f64) -> RadiusRecord {
        RadiusRecord::new(&item.sample, item.predicted, &self.options, answer, seconds)
    }

    fn store(
        &self,
        item: &ImageTargets,
        answer: &Radii,
        record: &mut RadiusRecord,
        files: Option<&RecordFiles>,
    ) -> Result<(), StoreError> {
        if let (Some(files), Some(adversary)) = (files, &answer.adversary) {
            let pair = (item.predicted, adversary.target);
            let picture = adversary.picture.as_ref();
            let saved = files.save_witness(&item.sample, pair, &adversary.witness, picture)?;
            record.npy = Some(saved.npy);
            record.png = saved.png;
            let (dims, original) = (&self.model.input_dims, &item.sample.pixels);
            let point = adversary.witness.point().values();
            let bytes = picture.map(EightBit::bytes);
            let sketch = Sketch::new(dims, original, point, &[]);
            let sketch = sketch.of_witness(dims, original, point, bytes);
            files.draw(&item.sample, adversary.target, &sketch)?;
        }
        Ok(())
    }
}
