//! How little a new front end takes: "maximise a random objective over a random box", judged, recorded, resumed. What follows the
//! helpers is all of it.

use std::path::Path;
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
use rw_adv::run::{Batch, BoxError, Destination, Job, KeepAnswers, OpenMode, Pictures, RunLimits};
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
        let directory = Some(directory.path().into());
        let destination = Destination { directory, mode, ..Destination::NOWHERE };
        let batch = Batch::open(&job, (0..6).collect(), fields(&()), &destination).expect("opens");
        batch.run(&RunLimits { time: None, cancelled: &cancelled }, &Budget::unlimited(), &mut ())
    };
    let first = run(OpenMode::New);
    assert!(first.solved.is_ok(), "{:?}", first.solved);
    assert!(first.stored.is_ok(), "{:?}", first.stored);
    assert_eq!(first.finished_before, 0);
    assert_eq!(first.records.len(), 6);
    for row in &first.records {
        assert!(row.bound.is_some_and(|bound| row.value <= bound), "{row:?}");
        assert!(row.verdict != Some(Verdict::Adversarial) || row.value > 0.0, "{row:?}");
    }
    let again = run(OpenMode::Resume);
    assert_eq!((again.finished_before, again.records.len()), (6, 6));
}

#[test]
fn answers_that_were_kept_are_written_as_a_run_writes_them() {
    let model = || OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref()).expect("loads");
    let cancelled = AtomicBool::new(false);
    let limits = RunLimits { time: None, cancelled: &cancelled };
    let run = |directory: Option<&Path>| {
        let keeping = KeepAnswers::new(RandomBoxes(model()));
        let destination = Destination {
            directory: directory.map(Into::into),
            mode: OpenMode::New,
            pictures: Pictures::default(),
        };
        let batch = Batch::open(&keeping, (0..4).collect(), fields(&()), &destination);
        let batch = batch.expect("opens");
        let clock = Budget::unlimited();
        let result = keeping.copy_during(Clone::clone, || batch.run(&limits, &clock, &mut ()));
        assert!(result.solved.is_ok() && result.stored.is_ok());
        (keeping.into_answers(), result.elapsed)
    };
    let [at_once, later] = [0, 1].map(|_| tempfile::tempdir().expect("a directory"));
    run(Some(at_once.path()));
    let ((job, answers), elapsed) = run(None);
    let places: Vec<usize> = answers.iter().map(|answer| answer.key.image).collect();
    assert_eq!(places, [0, 1, 2, 3]);
    let destination = Destination {
        directory: Some(later.path().into()),
        mode: OpenMode::New,
        pictures: Pictures::default(),
    };
    let batch = Batch::open(&job, (0..4).collect(), fields(&()), &destination).expect("opens");
    // The last one is not known yet.
    let known = |key: Key| {
        let kept = answers.iter().take(3).find(|kept| kept.key == key)?;
        Some((&*kept.answer, kept.seconds))
    };
    batch.write(known, elapsed).expect("writes");
    let rows = |directory: &Path| -> Vec<(usize, f64, Option<f64>)> {
        let text = std::fs::read_to_string(directory.join("radii.jsonl")).expect("records");
        let rows = text.lines().map(|line| serde_json::from_str(line).expect("a record"));
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by_key(|row| row.seed);
        rows.into_iter().map(|row| (row.seed, row.value, row.bound)).collect()
    };
    assert_eq!(rows(later.path()), rows(at_once.path())[..3]);
    // The rest can be done later.
    let destination = Destination { mode: OpenMode::Resume, ..destination };
    let batch = Batch::open(&job, (0..4).collect(), fields(&()), &destination).expect("opens");
    assert_eq!((batch.finished().len(), batch.left()), (3, 1));
}
