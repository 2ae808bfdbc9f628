//! The largest value of an objective over a domain: one record.

use crate::budget::Budget;
use crate::judge::Verdict;
use crate::maximize::{Maximization, Maximum};
use crate::observer::Observer;
use crate::record::{Key, MaximizeRecord, MaximizeSettings};
use crate::run::error::StoreError;
use crate::run::job::{BoxError, Job};
use crate::run::proof::ProofFiles;
use crate::run::record_files::RecordFiles;
use crate::run::self_check::{Claimed, SelfCheck};

/// The file of the point.
const POINT: &str = "point.npy";
/// The file of the input above the threshold, as it was replayed.
const WITNESS: &str = "witness.npy";

/// Solves one problem.
pub struct MaximizeJob {
    /// The problem.
    pub problem: Maximization,
    /// What was asked for, as the record tells it.
    pub settings: MaximizeSettings,
    /// Below this gap a value counts as optimal.
    pub optimal_gap: f64,
    /// Where proofs go, if they are kept.
    pub proofs: Option<ProofFiles>,
    /// What checks the proof of what is called robust or optimal, before it is stored.
    pub self_check: Option<SelfCheck>,
    /// The shape of the model's input.
    pub input_dims: Vec<usize>,
}

impl Job for MaximizeJob {
    type Item = ();
    type Shared = ();
    type Answer = Maximum;
    type Record = MaximizeRecord;
    type Summary = ();

    fn input_dims(&self) -> &[usize] {
        &self.input_dims
    }

    fn listing(&self, (): &()) -> (usize, Vec<usize>) {
        (0, Vec::new())
    }

    fn share(&self, (): &()) {}

    fn solve(
        &self,
        (): &(),
        (): &(),
        _: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Maximum, BoxError> {
        Ok(self.problem.solve(budget, observer)?)
    }

    fn record(&self, (): &(), _: Key, answer: &Maximum, seconds: f64) -> MaximizeRecord {
        let (settings, domain) = (self.settings.clone(), self.problem.domain());
        MaximizeRecord::new(settings, self.optimal_gap, domain, answer, seconds)
    }

    fn store(
        &self,
        (): &(),
        answer: &Maximum,
        record: &mut MaximizeRecord,
        files: Option<&RecordFiles>,
    ) -> Result<(), StoreError> {
        let settled = answer.verdict() == Some(Verdict::Robust) || record.optimal;
        if let Some(checker) = self.self_check.as_ref().filter(|_| settled) {
            let claims = &answer.solution.claims;
            let claimed = Claimed { claims, bound: None, robust: false };
            checker.check_maximum(&self.problem.problem(), self.problem.inputs(), claimed)?;
        }
        if let Some(proofs) = &self.proofs {
            let (problem, inputs) = (self.problem.problem(), self.problem.inputs());
            proofs.save_maximum(&problem, inputs, &answer.solution.claims)?;
        }
        let Some(files) = files else { return Ok(()) };
        if answer.verdict() == Some(Verdict::Adversarial)
            && let Some(witness) = answer.solution.judgement.witness()
        {
            files.save_array(WITNESS, witness.point().values())?;
            record.witness = Some(WITNESS.into());
        }
        files.save_array(POINT, &answer.point)
    }
}
