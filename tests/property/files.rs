//! Property files: random formulas over inputs and outputs, written as VNN-LIB and answered by `verify`.
//!
//! Boxes are sometimes empty, open, or inside the disjunctions; rows contradict each other; inputs are constrained together.

use std::fmt::Write as _;
use std::sync::Arc;

use rand::RngExt;
use rw_adv::budget::Budget;
use rw_adv::network::{Network, widened};
use rw_adv::verify::{Verification, VerifyResult};
use rw_adv::vnnlib::VnnlibQuery;

use crate::oracle::{CLOSE, OracleRow, optimum, with_few_digits};
use crate::random::{Numbers, cases, judge, options};

const CASES: u64 = 400;

/// `weights · v + constant` compared with 0, `v` being inputs or outputs.
#[derive(Clone, Debug)]
struct Comparison {
    of_inputs: bool,
    weights: Vec<f64>,
    constant: f64,
    operator: &'static str,
}

impl Comparison {
    fn random(numbers: &mut Numbers, of_inputs: bool, size: usize) -> Self {
        let operators = ["<=", ">=", "<=", ">=", "<", ">", "=="];
        let last = if of_inputs || !numbers.rng.random_bool(0.1) { 5 } else { 6 };
        let operator = operators[numbers.size(0, last)];
        // Mostly two of them, as in files that people write.
        let many = size > 2 && numbers.rng.random_bool(0.3);
        let mut weights: Vec<f64> = vec![0.0; size];
        let (first, second) = (numbers.size(0, size - 1), numbers.size(0, size - 1));
        match (many, numbers.size(0, 2)) {
            (true, _) => weights.iter_mut().for_each(|w| *w = numbers.between(-1.0, 1.0)),
            (_, 0) => weights[first] = 1.0,
            (_, 1) => (weights[first], weights[second]) = (1.0, -1.0),
            _ => weights[first] = numbers.between(0.25, 1.0),
        }
        let constant = numbers.between(-0.75, 0.75);
        Self { of_inputs, weights, constant, operator }
    }

    /// In f64: exact where numbers have few digits.
    fn holds(&self, x: &[f64], y: &[f64]) -> bool {
        let values = if self.of_inputs { x } else { y };
        let sum: f64 = self.weights.iter().zip(values).map(|(w, v)| w * v).sum();
        let sum = sum + self.constant;
        match self.operator {
            "<=" => sum <= 0.0,
            ">=" => sum >= 0.0,
            "<" => sum < 0.0,
            ">" => sum > 0.0,
            _ => sum == 0.0,
        }
    }

    fn write(&self, text: &mut String, two: bool) {
        let letter = if self.of_inputs { 'X' } else { 'Y' };
        let name =
            |i: usize| if two { format!("{letter}[0,{i}]") } else { format!("{letter}_{i}") };
        write!(text, "({} (+", self.operator).expect("memory");
        for (i, weight) in self.weights.iter().enumerate() {
            match weight {
                1.0 => write!(text, " {}", name(i)),
                -1.0 => write!(text, " (- {})", name(i)),
                0.0 => Ok(()),
                weight => write!(text, " (* {weight} {})", name(i)),
            }
            .expect("memory");
        }
        write!(text, " 0) {})", 0.0 - self.constant).expect("memory");
    }

    /// The rows of the LP: strict ones, and those about outputs, are to be as large as possible.
    fn rows(&self, inputs: usize, outputs: usize) -> Vec<OracleRow> {
        let row = |sign: f64| {
            let weights: Vec<f64> = self.weights.iter().map(|weight| sign * weight).collect();
            let (of_inputs, of_outputs) = if self.of_inputs {
                (weights, vec![0.0; outputs])
            } else {
                (vec![0.0; inputs], weights)
            };
            let hard = self.of_inputs && !["<", ">"].contains(&self.operator);
            OracleRow { of_inputs, of_outputs, constant: sign * self.constant, hard }
        };
        match self.operator {
            "<=" | "<" => vec![row(-1.0)],
            ">=" | ">" => vec![row(1.0)],
            _ => vec![row(1.0), row(-1.0)],
        }
    }
}

/// A network and a formula: all of (any of (all of comparisons)), inputs between −2 and 2.
struct FileCase {
    network: Arc<Network>,
    clauses: Vec<Vec<Vec<Comparison>>>,
}

impl FileCase {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers::new(seed);
        let (inputs, outputs) = (numbers.size(1, 3), numbers.size(1, 3));
        let network = numbers.network(inputs, outputs);
        let mut clauses = Vec::new();
        // A box, now and then an empty or an open one.
        for input in 0..inputs {
            let lower = numbers.between(-1.0, 0.5);
            let least = if numbers.size(0, 19) == 0 { -0.5 } else { 0.0 };
            let upper = lower + numbers.between(least, 1.0);
            for (operators, bound) in [([">=", ">"], lower), (["<=", "<"], upper)] {
                let operator = operators[usize::from(numbers.size(0, 5) == 0)];
                let mut weights = vec![0.0; inputs];
                weights[input] = 1.0;
                let constant = 0.0 - bound;
                clauses.push(vec![vec![Comparison {
                    of_inputs: true,
                    weights,
                    constant,
                    operator,
                }]]);
            }
        }
        for _ in 0..numbers.size(1, 2) {
            let mut conjunction = || -> Vec<Comparison> {
                let rows = numbers.size(1, 3);
                let row = |_| {
                    let of_inputs = numbers.size(0, 3) == 0;
                    let size = if of_inputs { inputs } else { outputs };
                    Comparison::random(&mut numbers, of_inputs, size)
                };
                (0..rows).map(row).collect()
            };
            let first = conjunction();
            let second = conjunction();
            clauses.push(if numbers.size(0, 1) == 0 { vec![first] } else { vec![first, second] });
        }
        Self { network, clauses }
    }

    fn holds(&self, x: &[f64], y: &[f64]) -> bool {
        let all = |conjunction: &Vec<Comparison>| conjunction.iter().all(|row| row.holds(x, y));
        self.clauses.iter().all(|any| any.iter().any(all))
    }

    fn text(&self, two: bool) -> String {
        let (inputs, outputs) = (self.network.inputs(), self.network.outputs());
        let mut text = String::new();
        if two {
            let tensors = format!(
                "(declare-input X real [1,{inputs}]) (declare-output Y float32 [1,{outputs}])"
            );
            writeln!(text, "(vnnlib-version <2.0>)\n(declare-network N {tensors})")
                .expect("memory");
        } else {
            let declared = |letter: char, many: usize| {
                (0..many)
                    .map(move |i| format!("(declare-const {letter}_{i} Real)\n"))
                    .collect::<String>()
            };
            text += &(declared('X', inputs) + &declared('Y', outputs));
        }
        for any in &self.clauses {
            text += "(assert (or";
            for all in any {
                text += " (and";
                for row in all {
                    text += " ";
                    row.write(&mut text, two);
                }
                text += ")";
            }
            text += "))\n";
        }
        text
    }

    /// For each way to satisfy all clauses the largest value of the smallest row, and where.
    fn optima(&self) -> Vec<(f64, Vec<f64>)> {
        let mut ways: Vec<Vec<&Comparison>> = vec![Vec::new()];
        for any in &self.clauses {
            ways = ways
                .iter()
                .flat_map(|way| any.iter().map(move |all| way.iter().copied().chain(all).collect()))
                .collect();
        }
        let (inputs, outputs) = (self.network.inputs(), self.network.outputs());
        let far = [vec![-2.0; inputs], vec![2.0; inputs]];
        let optimum = |way: &Vec<&Comparison>| {
            let rows: Vec<OracleRow> =
                way.iter().flat_map(|row| row.rows(inputs, outputs)).collect();
            optimum(&self.network, [&far[0], &far[1]], &rows)
        };
        ways.iter().filter_map(optimum).collect()
    }
}

/// How the answers compare with what is known.
#[derive(Debug, Default)]
struct FileTally {
    sat: usize,
    unsat: usize,
    /// Unknown, and not on a border.
    missed: usize,
    on_border: usize,
    decided_on_border: usize,
}

#[test]
fn no_answer_contradicts_the_enumeration_of_all_regions() {
    let mut tally = FileTally::default();
    for seed in 0..cases(CASES) {
        let case = FileCase::new(seed);
        let text = case.text(seed % 3 == 0);
        let query =
            VnnlibQuery::from_text(&text, "case").unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
        let problem = Verification::of_judge(judge(&case.network), query, &options());
        let answer = problem.expect("sizes fit").solve(&Budget::unlimited(), &());
        let answer = answer.unwrap_or_else(|error| panic!("{seed}: {error}\n{text}"));
        let optima = case.optima();
        let best = optima.iter().map(|(value, _)| *value).fold(f64::NEG_INFINITY, f64::max);
        let logits = |x: &[f64]| case.network.logits(x);
        let has_counterexample = optima
            .iter()
            .flat_map(|(_, x)| with_few_digits(x))
            .any(|x| case.holds(&x, &logits(&x)));
        match answer.result {
            VerifyResult::Sat => {
                let found = answer.counterexample.expect("sat has a counterexample");
                let x = widened(&found.inputs);
                assert!(case.holds(&x, &logits(&x)), "{seed}: {x:?}\n{text}");
                assert!(case.holds(&x, &widened(&found.outputs)), "{seed}: {x:?}\n{text}");
                assert!(best >= -CLOSE, "{seed}: {best}\n{text}");
                tally.sat += 1;
            }
            VerifyResult::Unsat => {
                assert!(!has_counterexample && best <= CLOSE, "{seed}: {optima:?}\n{text}");
                tally.unsat += 1;
            }
            VerifyResult::Unknown => {
                tally.missed += usize::from(best.abs() > 1e-3);
            }
            VerifyResult::Timeout => panic!("{seed}: there is no limit"),
        }
        if best.abs() < CLOSE {
            tally.on_border += 1;
            tally.decided_on_border += usize::from(answer.result != VerifyResult::Unknown);
        }
    }
    let many = cases(CASES) as usize;
    assert!(tally.sat > many / 10 && tally.unsat > many / 10, "{tally:?}");
    assert!(tally.missed <= many / 50 && tally.on_border > many / 50, "{tally:?}");
}
