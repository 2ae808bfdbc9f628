//! Linear programs small enough for pencil and paper, and random ones against a model built anew.

use super::*;

mod by_hand;
mod edits;
mod integers;
mod misuse;
mod warm;
mod write;

const INF: f64 = f64::INFINITY;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-7 * a.abs().max(1.0)
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    let same =
        found.len() == expected.len() && found.iter().zip(expected).all(|(&a, &b)| close(a, b));
    assert!(same, "{found:?} instead of {expected:?}");
}

#[track_caller]
fn optimum(model: &mut LpModel, simplex: Simplex) -> LpSolution {
    match model.solve(None, simplex).expect("a linear program") {
        LpOutcome::Optimal(solution) => solution,
        other => panic!("{other:?}"),
    }
}

/// Numbers in `[0, 1)`, the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}

/// A dense LP with optimum: columns in `[0, 1]`, rows `a·x ≤ b` that 0 satisfies.
fn dense(rows: usize, cols: usize, seed: u64) -> LpModel {
    let mut noise = Noise(seed);
    let mut model = LpModel::new();
    let costs: Vec<f64> = (0..cols).map(|_| noise.between(-0.2, 1.0)).collect();
    for &cost in &costs {
        model.add_col(cost, 0.0, 1.0, &[]);
    }
    for _ in 0..rows {
        let row = dense_row(cols, &mut noise);
        model.add_row(-INF, noise.between(0.5, 2.0), &row);
    }
    model
}

fn dense_row(cols: usize, noise: &mut Noise) -> Vec<(Col, f64)> {
    (0..cols).map(|j| (Col(j), noise.between(-1.0, 1.0))).collect()
}
