//! Any of (all of rows) over a box.

use std::sync::Arc;

use rand::RngExt;
use rw_adv::budget::Budget;
use rw_adv::judge::Verdict;
use rw_adv::network::{Network, widened};
use rw_adv::problem::{Conjunction, Objective, Property, PropertyRow};
use rw_adv::sets::InputSet;
use rw_adv::solve::Solver;

use crate::oracle::{CLOSE, OracleRow, optimum, with_few_digits};
use crate::random::{Numbers, cases, judge, options};

const CASES: u64 = 300;

/// A network, a box and a property.
struct Case {
    network: Arc<Network>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    property: Property,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers::new(seed);
        let (inputs, outputs) = (numbers.size(1, 3), numbers.size(1, 4));
        let network = numbers.network(inputs, outputs);
        let (conjunctions, rows) = (numbers.size(1, 3), numbers.size(1, 5));
        let mut row = || {
            let weights = (0..outputs).map(|_| numbers.between(-1.0, 1.0)).collect();
            let constant = numbers.between(-0.75, 0.75);
            PropertyRow::new(Objective { weights, constant }, numbers.rng.random())
        };
        let mut all = |rows: usize| Conjunction { all_of: (0..rows).map(|_| row()).collect() };
        let any_of = (0..conjunctions).map(|k| all(1 + (rows + 2 * k) % 5)).collect();
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
        let set = InputSet::new_box(&self.lower, &self.upper);
        let solver = Solver::new(judge(&self.network), set, &options());
        let decided = solver.decide(&self.property, seed, &Budget::unlimited(), &());
        let answer = decided.unwrap_or_else(|error| panic!("{seed}: {error}"));
        (answer.verdict, widened(answer.judgement.point().values()))
    }

    /// The largest value of the smallest row of a conjunction, and where.
    fn optimum(&self, conjunction: &Conjunction) -> (f64, Vec<f64>) {
        let row = |row: &PropertyRow| OracleRow {
            of_inputs: vec![0.0; self.lower.len()],
            of_outputs: row.objective.weights.clone(),
            constant: row.objective.constant,
            hard: false,
        };
        let rows: Vec<OracleRow> = conjunction.all_of.iter().map(row).collect();
        optimum(&self.network, [&self.lower, &self.upper], &rows).expect("the box is not empty")
    }
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
    for seed in 0..cases(CASES) {
        let mut case = Case::new(seed);
        if seed % 4 == 0 {
            case.move_to_border();
        }
        let (verdict, point) = case.decide(seed);
        let optima = case.property.any_of.iter().map(|all| case.optimum(all));
        let optima: Vec<(f64, Vec<f64>)> = optima.collect();
        let best = optima.iter().map(|(value, _)| *value).fold(f64::NEG_INFINITY, f64::max);
        let has_counterexample = optima
            .iter()
            .flat_map(|(_, x)| with_few_digits(x))
            .filter(|x| case.contains(x))
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
    let many = cases(CASES) as usize;
    assert!(tally.adversarial > many / 5 && tally.robust > many / 5, "{tally:?}");
    assert!(tally.missed <= many / 100 && tally.on_border > many / 20, "{tally:?}");
}
