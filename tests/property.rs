//! Properties of the outputs (any of, all of) on random networks so small that every activation pattern can be tried: no verdict
//! contradicts what is known, and nearly all that is not on a border is decided.
//!
//! Half of the cases have numbers with few digits, so that the largest value of the smallest row is often exactly 0: there strict and
//! non-strict rows differ.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::judge::{Judge, Replay, ReplayFailure, Verdict};
use rw_adv::lp::{Col, LpModel, LpOutcome, Simplex};
use rw_adv::network::{AffineMap, Network, widened};
use rw_adv::problem::{Conjunction, Objective, Property, PropertyRow};
use rw_adv::search::SearchOptions;
use rw_adv::sets::InputSet;
use rw_adv::solve::{BranchLimits, Goal, SolveOptions, Solver};

const CASES: u64 = 300;

/// `RW_ADV_CASES` asks for so many times more.
fn cases() -> u64 {
    CASES * std::env::var("RW_ADV_CASES").map_or(1, |text| text.parse::<u64>().expect("a number"))
}

/// What LPs agree to.
const CLOSE: f64 = 1e-6;

/// A file that computes what the network does.
struct Agrees(Arc<Network>);

impl Replay for Agrees {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(self.0.logits(&widened(x)).into_iter().map(|y| y as f32).collect())
    }
}

/// Random numbers, with few digits or with many.
struct Numbers {
    rng: ChaCha8Rng,
    coarse: bool,
}

impl Numbers {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let number = self.rng.random_range(low..=high);
        if self.coarse { (4.0 * number).round() / 4.0 } else { number }
    }

    fn layer(&mut self, inputs: usize, outputs: usize) -> AffineMap {
        let bias = (0..outputs).map(|_| self.between(-1.0, 1.0)).collect();
        AffineMap::from_fn(outputs, inputs, |_, _| self.between(-1.0, 1.0), bias)
    }

    fn row(&mut self, outputs: usize) -> PropertyRow {
        let weights = (0..outputs).map(|_| self.between(-1.0, 1.0)).collect();
        let constant = self.between(-0.75, 0.75);
        PropertyRow::new(Objective { weights, constant }, self.rng.random())
    }
}

/// A network, a box and a property.
struct Case {
    network: Arc<Network>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    property: Property,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut numbers =
            Numbers { rng: ChaCha8Rng::seed_from_u64(seed), coarse: seed.is_multiple_of(2) };
        let mut size = |from: usize, to: usize| numbers.rng.random_range(from..=to);
        let (inputs, hidden, deeper, outputs) = (size(1, 3), size(2, 4), size(1, 3), size(1, 4));
        let (conjunctions, rows) = (size(1, 3), size(1, 5));
        let layers = vec![
            numbers.layer(inputs, hidden),
            numbers.layer(hidden, deeper),
            numbers.layer(deeper, outputs),
        ];
        let mut all = |rows: usize| {
            let all_of = (0..rows).map(|_| numbers.row(outputs)).collect();
            Conjunction { all_of }
        };
        let any_of = (0..conjunctions).map(|k| all(1 + (rows + 2 * k) % 5)).collect();
        let network = Arc::new(Network::new(layers).expect("shapes fit"));
        let lower: Vec<f64> = (0..inputs).map(|_| numbers.between(-1.0, 0.0)).collect();
        let upper = lower.iter().map(|lower| lower + numbers.between(0.0, 1.5)).collect();
        Self { network, lower, upper, property: Property { any_of, of_inputs: Vec::new() } }
    }

    /// Leaves one conjunction, and lowers its rows so that the largest value of the smallest is 0, if that takes few digits.
    fn move_to_border(&mut self) {
        self.property.any_of.truncate(1);
        let (value, _) = self.optimum(&self.property.any_of[0]);
        let rounded = (1024.0 * value).round() / 1024.0;
        if (value - rounded).abs() < 1e-9 {
            let rows = &mut self.property.any_of[0].all_of;
            rows.iter_mut().for_each(|row| row.objective.constant -= rounded);
        }
    }

    fn contains(&self, x: &[f64]) -> bool {
        x.iter().zip(self.lower.iter().zip(&self.upper)).all(|(x, (l, u))| l <= x && x <= u)
    }

    fn decide(&self, seed: u64) -> (Verdict, Vec<f64>) {
        let network = &self.network;
        let judge = Judge::new(Arc::clone(network), Arc::new(Agrees(Arc::clone(network))));
        let options = SolveOptions {
            goal: Goal::Verdict,
            search: SearchOptions { patience: 5, ..SearchOptions::default() },
            branch: Some(BranchLimits { nodes: 500, gap: 1e-6, parallel: false }),
            ..SolveOptions::default()
        };
        let solver = Solver::new(judge, InputSet::new_box(&self.lower, &self.upper), &options);
        let decided = solver.decide(&self.property, seed, &Budget::unlimited(), &());
        let answer = decided.unwrap_or_else(|error| panic!("{seed}: {error}"));
        (answer.verdict, widened(answer.judgement.point().values()))
    }

    /// The largest value of the smallest row of a conjunction, and where: an LP for each activation pattern.
    fn optimum(&self, conjunction: &Conjunction) -> (f64, Vec<f64>) {
        let neurons = self.network.relu_count();
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for pattern in 0..1u32 << neurons {
            if let Some(found) = self.optimum_in(conjunction, pattern).filter(|f| f.0 > best.0) {
                best = found;
            }
        }
        best
    }

    /// The same in one region. `None` if there is nothing.
    fn optimum_in(&self, conjunction: &Conjunction, pattern: u32) -> Option<(f64, Vec<f64>)> {
        let mut lp = LpModel::new();
        let bounds = self.lower.iter().zip(&self.upper);
        let inputs: Vec<Col> = bounds.map(|(&l, &u)| lp.add_col(0.0, l, u, &[])).collect();
        let smallest = lp.add_col(1.0, -1e3, 1e3, &[]);
        // Every value as a function of the inputs: weights and a constant.
        let identity = |i: usize| (0..inputs.len()).map(|j| f64::from(i == j)).collect();
        let mut values: Vec<(Vec<f64>, f64)> =
            (0..inputs.len()).map(|i| (identity(i), 0.0)).collect();
        let mut neuron = 0;
        type Value = (Vec<f64>, f64);
        let at_least_zero =
            |lp: &mut LpModel, value: &Value, sign: f64, more: Option<(Col, f64)>| {
                let own = inputs.iter().copied().zip(value.0.iter().map(|weight| sign * weight));
                let entries: Vec<(Col, f64)> = own.chain(more).collect();
                lp.add_row(-sign * value.1, f64::INFINITY, &entries);
            };
        let last = self.network.layers().len() - 1;
        for layer in 0..=last {
            let map = self.network.affine(layer);
            let mut next = Vec::new();
            for output in 0..map.outputs() {
                let value = combine(&values, &map.dense_row(output), map.bias()[output]);
                if layer == last {
                    next.push(value);
                    continue;
                }
                let on = pattern >> neuron & 1 == 1;
                neuron += 1;
                at_least_zero(&mut lp, &value, if on { 1.0 } else { -1.0 }, None);
                next.push(if on { value } else { (vec![0.0; inputs.len()], 0.0) });
            }
            values = next;
        }
        for PropertyRow { objective, .. } in &conjunction.all_of {
            let value = combine(&values, &objective.weights, objective.constant);
            at_least_zero(&mut lp, &value, 1.0, Some((smallest, -1.0)));
        }
        match lp.solve(None, Simplex::Dual).expect("an answer") {
            LpOutcome::Optimal(solution) => {
                Some((solution.objective, solution.cols[..inputs.len()].to_vec()))
            }
            _ => None,
        }
    }
}

/// `weights · values + constant`.
fn combine(values: &[(Vec<f64>, f64)], weights: &[f64], constant: f64) -> (Vec<f64>, f64) {
    let mut sum = (vec![0.0; values[0].0.len()], constant);
    for ((of_value, at_zero), weight) in values.iter().zip(weights) {
        sum.0.iter_mut().zip(of_value).for_each(|(sum, v)| *sum += weight * v);
        sum.1 += weight * at_zero;
    }
    sum
}

/// How the verdicts compare with what is known.
#[derive(Debug, Default)]
struct Tally {
    adversarial: usize,
    robust: usize,
    /// Unknown, and not on a border.
    missed: usize,
    /// The optimum is 0 as far as an LP can tell.
    on_border: usize,
    /// Of those, the ones that are decided.
    decided_on_border: usize,
}

#[test]
fn no_verdict_contradicts_the_enumeration_of_all_regions() {
    let mut tally = Tally::default();
    for seed in 0..cases() {
        let mut case = Case::new(seed);
        if seed % 4 == 0 {
            case.move_to_border();
        }
        let (verdict, point) = case.decide(seed);
        let optima = case.property.any_of.iter().map(|all| case.optimum(all));
        let optima: Vec<(f64, Vec<f64>)> = optima.collect();
        let best = optima.iter().map(|(value, _)| *value).fold(f64::NEG_INFINITY, f64::max);
        // Points of the LPs, also with few digits: where the network has few digits, too, its outputs there are exact.
        let snapped = |x: &Vec<f64>| x.iter().map(|x| (1024.0 * x).round() / 1024.0).collect();
        let points = optima.iter().flat_map(|(_, x)| [x.clone(), snapped(x)]);
        let has_counterexample = points
            .filter(|x: &Vec<f64>| !x.is_empty() && case.contains(x))
            .any(|x| case.property.holds(&case.network.logits(&x)));
        match verdict {
            Verdict::Adversarial => {
                assert!(case.contains(&point), "{seed}");
                assert!(case.property.holds(&case.network.logits(&point)), "{seed}: {point:?}");
                assert!(best >= -CLOSE, "{seed}: {best}");
                tally.adversarial += 1;
            }
            Verdict::Robust => {
                assert!(!has_counterexample, "{seed}: {optima:?}");
                assert!(best <= CLOSE, "{seed}: {best}");
                tally.robust += 1;
            }
            Verdict::Unknown => tally.missed += usize::from(best.abs() > 1e-3),
        }
        if best.abs() < CLOSE {
            tally.on_border += 1;
            tally.decided_on_border += usize::from(verdict != Verdict::Unknown);
        }
    }
    let many = cases() as usize;
    assert!(tally.adversarial > many / 5 && tally.robust > many / 5, "{tally:?}");
    assert!(tally.missed <= many / 100 && tally.on_border > many / 20, "{tally:?}");
}
