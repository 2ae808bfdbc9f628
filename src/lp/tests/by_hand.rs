//! Answers known by hand.

use super::*;

#[test]
fn an_upper_side_has_a_dual_of_at_least_zero_and_an_upper_bound_such_a_reduced_cost() {
    // max 3x + 2y, x + y ≤ 4, x + 3y ≤ 7, 0 ≤ x ≤ 3, y ≥ 0: (3, 1), the second row loose.
    for simplex in [Simplex::Dual, Simplex::Primal, Simplex::Choose] {
        let mut model = LpModel::new();
        let x = model.add_col(3.0, 0.0, 3.0, &[]);
        let y = model.add_col(2.0, 0.0, INF, &[]);
        model.add_row(-INF, 4.0, &[(x, 1.0), (y, 1.0)]);
        model.add_row(-INF, 7.0, &[(x, 1.0), (y, 3.0)]);
        let solution = optimum(&mut model, simplex);
        assert!(close(solution.objective, 11.0));
        assert!(close(solution.bound.value(), 11.0));
        assert_close(&solution.cols, &[3.0, 1.0]);
        assert_close(&solution.duals, &[2.0, 0.0]);
        assert_close(&solution.reduced_costs, &[1.0, 0.0]);
    }
}

#[test]
fn a_lower_side_has_a_dual_of_at_most_zero_and_a_lower_bound_such_a_reduced_cost() {
    // max −2x − 3y, x + y ≥ 4, x, y ≥ 1: (3, 1). One unit more on the row costs 2; y would cost 1 more than x.
    for simplex in [Simplex::Dual, Simplex::Primal] {
        let mut model = LpModel::new();
        let x = model.add_col(-2.0, 1.0, INF, &[]);
        let y = model.add_col(-3.0, 1.0, INF, &[]);
        model.add_row(4.0, INF, &[(x, 1.0), (y, 1.0)]);
        let solution = optimum(&mut model, simplex);
        assert!(close(solution.objective, -9.0));
        assert_close(&solution.cols, &[3.0, 1.0]);
        assert_close(&solution.duals, &[-2.0]);
        assert_close(&solution.reduced_costs, &[0.0, -1.0]);
    }
}

#[test]
fn an_equation_may_have_either_sign() {
    // max x with x − y = 1, y ≤ 2: one more on the right is one more x; and the same for min.
    for (cost, objective, dual) in [(1.0, 3.0, 1.0), (-1.0, -1.0, -1.0)] {
        let mut model = LpModel::new();
        let x = model.add_col(cost, -INF, INF, &[]);
        let y = model.add_col(0.0, 0.0, 2.0, &[]);
        model.add_row(1.0, 1.0, &[(x, 1.0), (y, -1.0)]);
        let solution = optimum(&mut model, Simplex::Dual);
        assert!(close(solution.objective, objective));
        assert_close(&solution.duals, &[dual]);
        assert_close(&solution.reduced_costs, &[0.0, dual]);
    }
}

#[test]
fn infeasible_and_unbounded_are_told_apart() {
    for simplex in [Simplex::Dual, Simplex::Primal, Simplex::Choose] {
        let mut model = LpModel::new();
        let x = model.add_col(1.0, 0.0, INF, &[]);
        let y = model.add_col(1.0, 0.0, INF, &[]);
        let row = model.add_row(-INF, -1.0, &[(x, 1.0), (y, 1.0)]);
        assert_eq!(model.solve(None, simplex), Ok(LpOutcome::Infeasible));
        model.set_row_bounds(row, -1.0, INF);
        assert_eq!(model.solve(None, simplex), Ok(LpOutcome::Unbounded));
        model.set_row_bounds(row, -1.0, 5.0);
        assert!(close(optimum(&mut model, simplex).objective, 5.0));
    }
}

#[test]
fn crossed_bounds_are_infeasible_and_cost_no_basis() {
    let mut model = dense(20, 20, 1);
    let before = optimum(&mut model, Simplex::Dual);
    let basis = model.basis();
    assert!(basis.is_some());
    model.set_col_bounds(Col(3), 1.0, 0.5);
    assert_eq!(model.solve(None, Simplex::Dual), Ok(LpOutcome::Infeasible));
    model.set_col_bounds(Col(3), 0.0, 1.0);
    model.set_row_bounds(Row(2), 1.0, 0.0);
    assert_eq!(model.solve(None, Simplex::Dual), Ok(LpOutcome::Infeasible));
    model.set_row_bounds(Row(2), -INF, INF);
    let loose = optimum(&mut model, Simplex::Dual);
    assert!(loose.iterations < before.iterations);
    let mut fresh = dense(20, 20, 1);
    fresh.set_row_bounds(Row(2), -INF, INF);
    assert!(close(loose.objective, optimum(&mut fresh, Simplex::Dual).objective));
}

#[test]
fn without_rows_each_column_goes_to_its_better_bound() {
    let mut model = LpModel::new();
    model.add_col(2.0, -1.0, 3.0, &[]);
    model.add_col(-1.0, -5.0, 3.0, &[]);
    model.add_col(0.0, 1.0, 2.0, &[]);
    let solution = optimum(&mut model, Simplex::Dual);
    assert!(close(solution.objective, 11.0));
    assert_close(&solution.cols[..2], &[3.0, -5.0]);
    assert_close(&solution.reduced_costs, &[2.0, -1.0, 0.0]);
    assert!(solution.duals.is_empty());
    // With a basis of no rows, too.
    let basis = Basis { cols: vec![BasisStatus::Lower; 3], rows: vec![] };
    model.set_basis(&basis).expect("the right size");
    assert!(close(optimum(&mut model, Simplex::Primal).objective, 11.0));
    model.set_col_bounds(Col(0), 0.0, INF);
    assert_eq!(model.solve(None, Simplex::Dual), Ok(LpOutcome::Unbounded));
}

#[test]
fn without_columns_all_activities_are_zero() {
    let mut model = LpModel::new();
    assert!(close(optimum(&mut model, Simplex::Dual).objective, 0.0));
    let row = model.add_row(-1.0, 1.0, &[]);
    assert_close(&optimum(&mut model, Simplex::Dual).duals, &[0.0]);
    model.set_row_bounds(row, 1.0, 2.0);
    assert_eq!(model.solve(None, Simplex::Dual), Ok(LpOutcome::Infeasible));
    // A column that fills the row makes it a program after all: max −x, x ≥ 1.
    model.add_col(-1.0, 0.0, INF, &[(row, 1.0)]);
    assert!(close(optimum(&mut model, Simplex::Dual).objective, -1.0));
}

#[test]
fn a_cleared_model_still_maximises() {
    let mut model = LpModel::new();
    for upper in [2.0, 5.0] {
        let x = model.add_col(1.0, 0.0, upper, &[]);
        model.add_row(-INF, 10.0, &[(x, 1.0)]);
        assert!(close(optimum(&mut model, Simplex::Dual).objective, upper));
        model.clear();
        assert_eq!((model.cols(), model.rows()), (0, 0));
    }
}

#[test]
fn several_rows_in_one_call() {
    // x + 2y ≤ 4 and 3x ≤ 6: (2, 1). Then x − y ≥ 1.5 and a row without entries: (2, 0.5).
    let mut model = LpModel::new();
    let (x, y) = (model.add_col(1.0, 0.0, 9.0, &[]), model.add_col(1.0, 0.0, 9.0, &[]));
    let mut rows = NewRows::default();
    rows.push(-INF, 4.0, [(x, 1.0), (y, 2.0)]);
    rows.push(-INF, 6.0, [(x, 3.0)]);
    assert_eq!(model.add_rows(&rows), Row(0));
    assert_close(&optimum(&mut model, Simplex::Choose).cols, &[2.0, 1.0]);
    let mut rows = NewRows::default();
    rows.push(1.5, INF, [(y, -1.0), (x, 1.0)]);
    rows.push(0.0, 0.0, []);
    assert_eq!(model.add_rows(&rows), Row(2));
    assert_close(&optimum(&mut model, Simplex::Dual).cols, &[2.0, 0.5]);
    assert_eq!(model.add_rows(&NewRows::default()), Row(4));
    assert_eq!((model.cols(), model.rows()), (2, 4));
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    let names = ["a", "b", "c"].map(String::from);
    let written = dense(2, 3, 0).write("/no/such/place/net.lp".as_ref(), &names, 0.0);
    assert!(matches!(written, Err(LpError::Unwritable(_))), "{written:?}");
}

/// The same random LPs by the crate alone, with rows and columns that it adds itself and its own solve.
#[test]
fn the_crate_alone_finds_the_same_optima() {
    use ::highs::{HighsModelStatus, RowProblem, Sense};
    let (rows, cols) = (12, 20);
    for seed in 0..50 {
        let ours = optimum(&mut dense(rows, cols, seed), Simplex::Dual).objective;
        let mut noise = Noise(seed);
        let mut problem = RowProblem::default();
        let costs: Vec<f64> = (0..cols).map(|_| noise.between(-0.2, 1.0)).collect();
        let columns: Vec<_> =
            costs.iter().map(|&cost| problem.add_column(cost, 0.0..=1.0)).collect();
        for _ in 0..rows {
            let row = dense_row(cols, &mut noise);
            let entries = columns.iter().copied().zip(row.iter().map(|(_, value)| *value));
            problem.add_row(..=noise.between(0.5, 2.0), entries);
        }
        let solved = problem.optimise(Sense::Maximise).solve();
        assert_eq!(solved.status(), HighsModelStatus::Optimal);
        let theirs = solved.objective_value();
        assert!(close(ours, theirs), "seed {seed}: {ours} and {theirs}");
    }
}

#[test]
fn several_columns_in_one_call() {
    // 2x + y ≤ 4 with x ≤ 1.5: (1.5, 1), worth 3x + y. Then z, which the row charges nothing for.
    let mut model = LpModel::new();
    let row = model.add_row(-INF, 4.0, &[]);
    let mut cols = NewCols::default();
    cols.push(3.0, (0.0, 1.5), [(row, 2.0)]);
    cols.push(1.0, (0.0, 9.0), [(row, 1.0)]);
    assert_eq!(model.add_cols(&cols), Col(0));
    assert_close(&optimum(&mut model, Simplex::Dual).cols, &[1.5, 1.0]);
    let mut cols = NewCols::default();
    cols.push(0.5, (-1.0, 2.0), []);
    assert_eq!(model.add_cols(&cols), Col(2));
    assert_close(&optimum(&mut model, Simplex::Primal).cols, &[1.5, 1.0, 2.0]);
    assert_eq!(model.add_cols(&NewCols::default()), Col(3));
    assert_eq!((model.cols(), model.rows()), (3, 1));
}
