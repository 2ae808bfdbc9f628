//! Adversaries of images, one record for each target.

use std::sync::Arc;

use super::images::ImageTargets;
use crate::attack::{Answer, Attack, ImageAttack};
use crate::budget::Budget;
use crate::judge::{EightBit, Verdict};
use crate::network::Label;
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::record::{AttackRecord, AttackSummary, Key, Sketch};
use crate::run::error::StoreError;
use crate::run::job::{BoxError, Job};
use crate::run::proof::ProofFiles;
use crate::run::record_files::RecordFiles;
use crate::run::self_check::{Claimed, SelfCheck};

/// Attacks images. The targets of an image share its bounds.
#[derive(Debug)]
pub struct AttackJob {
    /// The classifier.
    pub model: Arc<OnnxModel>,
    /// What is asked of every image.
    pub attack: Attack,
    /// Where proofs go.
    pub proofs: Option<ProofFiles>,
    /// What checks the proofs of all that is called robust or optimal, before it is stored.
    pub self_check: Option<SelfCheck>,
}

impl Job for AttackJob {
    type Item = ImageTargets;
    type Shared = ImageAttack;
    type Answer = Answer;
    type Record = AttackRecord;
    type Summary = AttackSummary;

    fn input_dims(&self) -> &[usize] {
        &self.model.input_dims
    }

    fn listing(&self, item: &ImageTargets) -> (usize, Vec<usize>) {
        item.listing()
    }

    fn share(&self, item: &ImageTargets) -> ImageAttack {
        ImageAttack::new(&self.model, &item.sample, item.predicted, &self.attack)
    }

    fn error_record(&self, item: &ImageTargets, key: Key) -> Option<AttackRecord> {
        let pair = (item.predicted, target(key));
        item.error.map(|error| AttackRecord::of_error(&item.sample, pair, &self.attack, &error))
    }

    fn solve(
        &self,
        _: &ImageTargets,
        image: &ImageAttack,
        key: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Answer, BoxError> {
        Ok(image.attack(target(key), budget, observer)?)
    }

    fn record(&self, item: &ImageTargets, key: Key, answer: &Answer, seconds: f64) -> AttackRecord {
        let pair = (item.predicted, target(key));
        AttackRecord::new(&item.sample, pair, &self.attack, answer, seconds)
    }

    fn store(
        &self,
        item: &ImageTargets,
        answer: &Answer,
        record: &mut AttackRecord,
        files: Option<&RecordFiles>,
    ) -> Result<(), StoreError> {
        let (sample, target) = (&item.sample, Label(record.target));
        let pair = (item.predicted, target);
        let robust = record.verdict == Verdict::Robust;
        if let Some(checker) = self.self_check.as_ref().filter(|_| robust || record.optimal) {
            let (claims, bound) = (&answer.solution.claims, record.upper_bound);
            let claimed = Claimed { claims, bound, robust };
            checker.check_attack(sample, pair, &self.attack, claimed)?;
        }
        if let Some(proofs) = &self.proofs {
            proofs.save_attack(sample, pair, &self.attack, answer)?;
        }
        let Some(files) = files else { return Ok(()) };
        let solution = &answer.solution;
        if let Some(witness) = solution.judgement.witness() {
            let saved = files.save_witness(sample, pair, witness, answer.picture.as_ref())?;
            record.npy = Some(saved.npy);
            record.png = saved.png;
        }
        let (dims, original) = (&self.model.input_dims, &sample.pixels);
        let point = solution.judgement.point().values();
        let mut sketch = Sketch::new(dims, original, point, &solution.search.curve);
        if solution.judgement.witness().is_some() {
            let picture = answer.picture.as_ref().map(EightBit::bytes);
            sketch = sketch.of_witness(dims, original, point, picture);
        }
        files.draw(sample, target, &sketch)
    }
}

fn target(key: Key) -> Label {
    Label(key.target.expect("each target of an attack has a record"))
}
