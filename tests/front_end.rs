//! How little a new front end takes: "maximise a random objective over a random box", judged, recorded, resumed. What follows the
//! helpers is all of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::judge::{Judge, Verdict};
use rw_adv::observer::Observer;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Objective;
use rw_adv::record::json::fields;
use rw_adv::record::{Contents, Key, Resumable};
use rw_adv::run::{Batch, BoxError, Destination, Job, OpenMode, RunLimits};
use rw_adv::sets::InputSet;
use rw_adv::solve::{Solution, SolveOptions, Solver};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    seed: usize,
    verdict: Option<Verdict>,
    value: f64,
    bound: Option<f64>,
    seconds: f64,
}

impl Resumable for Row {
    /// One record for each item.
    const CONTENTS: Contents = Contents::Radii;
    const SCHEMA: &'static str = "test/1";

    fn key(&self) -> Key {
        Key { image: self.seed, target: None }
    }
    fn is_finished(&self) -> bool {
        true
    }
    fn contradiction(&self, other: &Self) -> Option<String> {
        (self.bound < Some(other.value)).then(|| format!("{self:?} and {other:?}"))
    }
    fn is_better_than(&self, other: &Self) -> bool {
        self.value > other.value
    }
    fn seconds(&self) -> f64 {
        self.seconds
    }
}

struct RandomBoxes(OnnxModel);

impl Job for RandomBoxes {
    type Item = usize;
    type Shared = ();
    type Answer = Solution;
    type Record = Row;
    type Summary = ();

    fn input_dims(&self) -> &[usize] {
        &self.0.input_dims
    }
    fn listing(&self, seed: &usize) -> (usize, Vec<usize>) {
        (*seed, Vec::new())
    }
    fn share(&self, _: &usize) {}
    fn solve(
        &self,
        seed: &usize,
        (): &(),
        _: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Solution, BoxError> {
        let mut rng = ChaCha8Rng::seed_from_u64(*seed as u64);
        let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random()).collect() };
        let (lower, widths) = (numbers(5), numbers(5));
        let upper: Vec<f64> = lower.iter().zip(widths).map(|(l, w)| l + w).collect();
        let judge = Judge::new(Arc::clone(&self.0.network), self.0.replay.clone());
        let options = SolveOptions { threshold: Some(0.0), ..SolveOptions::default() };
        let solver = Solver::new(judge, InputSet::new_box(&lower, &upper), &options);
        Ok(solver.solve(&Objective::new(numbers(5)), *seed as u64, budget, observer)?)
    }
    fn record(&self, seed: &usize, _: Key, answer: &Solution, seconds: f64) -> Row {
        let (value, bound) = (answer.judgement.point().value(), answer.bound.map(|b| b.value()));
        Row { seed: *seed, verdict: answer.verdict, value, bound, seconds }
    }
}

#[test]
fn a_front_end_of_its_own_is_judged_recorded_and_resumed() {
    let model = OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref()).expect("a model");
    let (job, directory) = (RandomBoxes(model), tempfile::tempdir().expect("a directory"));
    let cancelled = AtomicBool::new(false);
    let run = |mode: OpenMode| {
        let destination = Destination { directory: Some(directory.path().into()), mode };
        let batch = Batch::open(&job, (0..6).collect(), fields(&()), &destination).expect("opens");
        batch.run(&RunLimits { time: None, cancelled: &cancelled }, &Budget::unlimited(), &mut ())
    };
    let first = run(OpenMode::New);
    assert!(first.solved.is_ok() && first.stored.is_ok() && first.finished_before == 0);
    assert_eq!(first.records.len(), 6);
    for row in &first.records {
        assert!(row.bound.is_some_and(|bound| row.value <= bound), "{row:?}");
        assert!(row.verdict != Some(Verdict::Adversarial) || row.value > 0.0, "{row:?}");
    }
    let again = run(OpenMode::Resume);
    assert_eq!((again.finished_before, again.records.len()), (6, 6));
}
