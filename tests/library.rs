//! The library as another program uses it: what an observer hears, and how a search is called off.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rw_adv::attack::{Attack, ImageAttack, classify};
use rw_adv::bounds::CertifiedBound;
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset, Sample};
use rw_adv::observer::Observer;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Candidate;
use rw_adv::solve::{Goal, Stop};

/// Writes down what it hears.
#[derive(Default)]
struct Listener {
    margins: Mutex<Vec<f64>>,
    bounds: Mutex<Vec<f64>>,
}

impl Observer for Listener {
    fn better(&self, candidate: &Candidate) {
        self.margins.lock().expect("nobody panics").push(candidate.margin);
    }

    fn bounded(&self, bound: &CertifiedBound) {
        self.bounds.lock().expect("nobody panics").push(bound.value());
    }
}

fn fixture(image: usize) -> (OnnxModel, Sample) {
    let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref()).expect("bundled");
    let source = DataSource { path: "data".into(), ..DataSource::default() };
    let data = Dataset::open(&source, &model.input_dims).expect("bundled");
    let sample = data.sample(image).expect("there");
    (model, sample)
}

#[test]
fn an_observer_hears_of_every_improvement_and_bound() {
    let (model, sample) = fixture(4);
    let standing = classify(&model, &sample).expect("a classifier");
    for goal in [Goal::Optimum, Goal::Verdict] {
        for delta in [0.5, 2.0, 5.0] {
            let listener = Listener::default();
            let attack = Attack { goal, ..Attack::within(delta) };
            let image = ImageAttack::new(&model, &sample, standing.predicted, &attack);
            let answer =
                image.attack(standing.runner_up, &Budget::unlimited(), &listener).expect("judged");
            let margins = listener.margins.into_inner().expect("nobody panics");
            let bounds = listener.bounds.into_inner().expect("nobody panics");
            assert!(margins.is_sorted(), "{margins:?}");
            let lowest = bounds.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(margins.iter().all(|&margin| margin <= lowest), "{margins:?} {bounds:?}");
            assert_eq!(answer.solution.bound.is_some(), !bounds.is_empty());
            if goal == Goal::Optimum {
                let best = margins.last().expect("a search has a best point");
                assert!(
                    (best - answer.solution.judgement.point().value()).abs() < 1e-4,
                    "{margins:?}"
                );
            }
        }
    }
}

/// Raises a flag at the first improvement.
struct Impatient<'f>(&'f AtomicBool);

impl Observer for Impatient<'_> {
    fn better(&self, _: &Candidate) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_search_is_called_off_by_its_flag() {
    let (model, sample) = fixture(0);
    let standing = classify(&model, &sample).expect("a classifier");
    let mut attack = Attack::within(5.0);
    attack.search.patience = usize::MAX;
    let flag = AtomicBool::new(false);
    let impatient = Impatient(&flag);
    let image = ImageAttack::new(&model, &sample, standing.predicted, &attack);
    let budget = Budget::start(None, Some(&flag));
    let answer = image.attack(standing.runner_up, &budget, &impatient).expect("judged");
    assert_eq!(answer.solution.stop, Stop::Interrupted);
    assert!(answer.solution.judgement.point().distance() < 5.0);
}
