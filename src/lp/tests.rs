//! Linear programs small enough for pencil and paper, and random ones against a model built anew.

use super::*;

const INF: f64 = f64::INFINITY;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-7 * a.abs().max(1.0)
}

fn optimum(model: &mut LpModel) -> LpSolution {
    match model.solve(&Limits::default(), Simplex::Dual).expect("a linear program") {
        LpOutcome::Optimal(solution) => solution,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_example_with_its_duals() {
    // max 3x + 2y: x ≤ 3 and x + y ≤ 4 are tight, x + 3y = 6 too at (3, 1): keep it loose with 7.
    let mut model = LpModel::new();
    let x = model.add_col(3.0, 0.0, 3.0, &[]);
    let y = model.add_col(2.0, 0.0, INF, &[]);
    model.add_row(-INF, 4.0, &[(x, 1.0), (y, 1.0)]);
    model.add_row(-INF, 7.0, &[(x, 1.0), (y, 3.0)]);
    let solution = optimum(&mut model);
    assert!(close(solution.objective, 11.0));
    assert!(close(solution.cols[0], 3.0) && close(solution.cols[1], 1.0));
    assert!(close(solution.rows[0], 4.0) && close(solution.rows[1], 6.0));
    assert!(close(solution.duals[0], 2.0) && close(solution.duals[1], 0.0), "{solution:?}");
    assert!(close(solution.reduced_costs[0], 1.0) && close(solution.reduced_costs[1], 0.0));
}
