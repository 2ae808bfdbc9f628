//! Properties of the outputs (any of, all of) on random small networks: what is called robust has no sampled counterexample, and what is
//! called adversarial comes with a witness that the network itself confirms.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::judge::{Judge, Replay, ReplayFailure, Verdict};
use rw_adv::network::{AffineMap, Network, widened};
use rw_adv::problem::{Conjunction, Objective, Property, PropertyRow};
use rw_adv::search::SearchOptions;
use rw_adv::sets::InputSet;
use rw_adv::solve::{BranchLimits, Goal, SolveOptions, Solver};

const CASES: u64 = 150;
const SAMPLES: usize = 2000;

/// A file that computes what the network does.
struct Agrees(Arc<Network>);

impl Replay for Agrees {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(self.0.logits(&widened(x)).into_iter().map(|y| y as f32).collect())
    }
}

fn layer(inputs: usize, outputs: usize, rng: &mut ChaCha8Rng) -> AffineMap {
    let mut number = || rng.random_range(-1.0..1.0);
    let bias = (0..outputs).map(|_| number()).collect();
    AffineMap::from_fn(outputs, inputs, |_, _| number(), bias)
}

/// Up to three conjunctions of up to three rows, with constants that leave about as many properties reachable as not.
fn property(outputs: usize, rng: &mut ChaCha8Rng) -> Property {
    let mut row = || {
        let objective = Objective {
            weights: (0..outputs).map(|_| rng.random_range(-1.0..1.0)).collect(),
            constant: rng.random_range(-1.0..0.25),
        };
        PropertyRow::new(objective, true)
    };
    let mut all = |rows: usize| Conjunction { all_of: (0..rows).map(|_| row()).collect() };
    let first = all(2);
    Property { any_of: vec![first, all(1), all(3)], ..Property::default() }
}

#[test]
fn no_sample_contradicts_a_verdict() {
    let mut counts = [0; 3];
    for seed in 0..CASES {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (inputs, outputs) = (rng.random_range(1..5), rng.random_range(1..4));
        let layers =
            vec![layer(inputs, 8, &mut rng), layer(8, 6, &mut rng), layer(6, outputs, &mut rng)];
        let network = Arc::new(Network::new(layers).expect("shapes fit"));
        let lower: Vec<f64> = (0..inputs).map(|_| rng.random_range(-1.0..0.0)).collect();
        let upper: Vec<f64> = (0..inputs).map(|_| rng.random_range(0.0..1.0)).collect();
        let property = property(outputs, &mut rng);
        let judge = Judge::new(Arc::clone(&network), Arc::new(Agrees(Arc::clone(&network))));
        let options = SolveOptions {
            goal: Goal::Verdict,
            search: SearchOptions { patience: 5, ..SearchOptions::default() },
            branch: Some(BranchLimits { nodes: 200, gap: 1e-6, parallel: false }),
            ..SolveOptions::default()
        };
        let solver = Solver::new(judge, InputSet::new_box(&lower, &upper), &options);
        let answer = solver.decide(&property, seed, &Budget::unlimited(), &()).expect("an answer");
        let point = widened(answer.judgement.point().values());
        match answer.verdict {
            Verdict::Adversarial => {
                assert!(property.value(&network.logits(&point)) > 0.0, "{seed}");
                assert!(
                    point.iter().zip(lower.iter().zip(&upper)).all(|(x, (l, u))| l <= x && x <= u)
                );
            }
            Verdict::Robust => {
                for _ in 0..SAMPLES {
                    let sides = lower.iter().zip(&upper);
                    let x: Vec<f64> =
                        sides.map(|(l, u)| l + rng.random::<f64>() * (u - l)).collect();
                    assert!(property.value(&network.logits(&x)) <= 0.0, "{seed}: {x:?}");
                }
            }
            Verdict::Unknown => {}
        }
        let place = Verdict::ALL.iter().position(|verdict| *verdict == answer.verdict);
        counts[place.expect("one of the three")] += 1;
    }
    // Rows are looked at one by one, so that a conjunction may stay open; most are decided.
    assert!(counts[0] > 20 && counts[1] > 20 && counts[2] < CASES / 4, "{counts:?}");
}
