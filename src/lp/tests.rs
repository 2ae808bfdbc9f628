//! Linear programs small enough for pencil and paper, and random ones against a model built anew.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const INF: f64 = f64::INFINITY;
const NEVER: Limits = Limits { time: None, iterations: None, nodes: None, mip_gap: None };

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
    match model.solve(&NEVER, simplex).expect("a linear program") {
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
    model.add_cols(&costs, &vec![0.0; cols], &vec![1.0; cols], Sparse::default());
    for _ in 0..rows {
        let row = dense_row(cols, &mut noise);
        model.add_row(-INF, noise.between(0.5, 2.0), &row);
    }
    model
}

fn dense_row(cols: usize, noise: &mut Noise) -> Vec<(Col, f64)> {
    (0..cols).map(|j| (Col(j), noise.between(-1.0, 1.0))).collect()
}

mod by_hand {
    use super::*;

    #[test]
    fn an_upper_side_has_a_dual_of_at_least_zero_and_an_upper_bound_such_a_reduced_cost() {
        // max 3x + 2y, x + y ≤ 4, x + 3y ≤ 7, 0 ≤ x ≤ 3, y ≥ 0: (3, 1), the second row loose.
        let mut model = LpModel::new();
        let x = model.add_col(3.0, 0.0, 3.0, &[]);
        let y = model.add_col(2.0, 0.0, INF, &[]);
        model.add_row(-INF, 4.0, &[(x, 1.0), (y, 1.0)]);
        model.add_row(-INF, 7.0, &[(x, 1.0), (y, 3.0)]);
        for simplex in [Simplex::Dual, Simplex::Primal, Simplex::Choose] {
            model.clear_basis();
            let solution = optimum(&mut model, simplex);
            assert!(close(solution.objective, 11.0));
            assert!(close(solution.bound.value(), 11.0));
            assert_close(&solution.cols, &[3.0, 1.0]);
            assert_close(&solution.rows, &[4.0, 6.0]);
            assert_close(&solution.duals, &[2.0, 0.0]);
            assert_close(&solution.reduced_costs, &[1.0, 0.0]);
        }
    }

    #[test]
    fn a_lower_side_has_a_dual_of_at_most_zero_and_a_lower_bound_such_a_reduced_cost() {
        // max −2x − 3y, x + y ≥ 4, x, y ≥ 1: (3, 1). One unit more on the row costs 2; y would cost 1 more than x.
        let mut model = LpModel::new();
        let x = model.add_col(-2.0, 1.0, INF, &[]);
        let y = model.add_col(-3.0, 1.0, INF, &[]);
        model.add_row(4.0, INF, &[(x, 1.0), (y, 1.0)]);
        for simplex in [Simplex::Dual, Simplex::Primal] {
            model.clear_basis();
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
            assert_eq!(model.solve(&NEVER, simplex), Ok(LpOutcome::Infeasible));
            model.set_row_bounds(row, -1.0, INF);
            assert_eq!(model.solve(&NEVER, simplex), Ok(LpOutcome::Unbounded));
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
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Ok(LpOutcome::Infeasible));
        model.set_col_bounds(Col(3), 0.0, 1.0);
        model.set_row_bounds(Row(2), 1.0, 0.0);
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Ok(LpOutcome::Infeasible));
        let mut again = dense(20, 20, 1);
        optimum(&mut again, Simplex::Dual);
        model.set_row_bounds(Row(2), -INF, 1e30);
        model.delete_rows(&[Row(2)]);
        again.delete_rows(&[Row(2)]);
        assert!(model.iterations() < before.iterations);
        let (one, other) = (optimum(&mut model, Simplex::Dual), optimum(&mut again, Simplex::Dual));
        assert!(close(one.objective, other.objective));
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
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Ok(LpOutcome::Unbounded));
    }

    #[test]
    fn without_columns_all_activities_are_zero() {
        let mut model = LpModel::new();
        assert!(close(optimum(&mut model, Simplex::Dual).objective, 0.0));
        let row = model.add_row(-1.0, 1.0, &[]);
        assert_close(&optimum(&mut model, Simplex::Dual).rows, &[0.0]);
        model.set_row_bounds(row, 1.0, 2.0);
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Ok(LpOutcome::Infeasible));
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
    fn a_coefficient_can_change_before_there_is_a_basis() {
        let mut model = LpModel::new();
        let cols: Vec<Col> = (0..200).map(|_| model.add_col(1.0, 0.0, 1.0, &[])).collect();
        let row = model.add_row(-INF, 1.0, &[]);
        for &col in &cols {
            model.set_coefficient(row, col, 2.0);
        }
        assert!(close(optimum(&mut model, Simplex::Dual).objective, 0.5));
        model.clear_basis();
        model.set_coefficient(row, cols[199], 0.0);
        assert!(close(optimum(&mut model, Simplex::Dual).objective, 1.5));
    }

    #[test]
    fn rows_and_columns_in_one_call() {
        // Columns x, y over rows x + 2y ≤ 4, 3x ≤ 6; then a row x − y ≥ −1 and one without entries.
        let mut model = LpModel::new();
        let rows = model.add_rows(&[-INF, -INF], &[4.0, 6.0], Sparse::default());
        let entries = Sparse { starts: &[0, 2, 3], index: &[0, 1, 0], values: &[1.0, 3.0, 2.0] };
        let cols = model.add_cols(&[1.0, 1.0], &[0.0, 0.0], &[INF, INF], entries);
        assert_eq!((rows, cols), (Row(0), Col(0)));
        assert_close(&optimum(&mut model, Simplex::Dual).cols, &[2.0, 1.0]);
        let entries = Sparse { starts: &[0, 2, 2], index: &[1, 0], values: &[-1.0, 1.0] };
        assert_eq!(model.add_rows(&[1.5, 0.0], &[INF, 0.0], entries), Row(2));
        assert_close(&optimum(&mut model, Simplex::Dual).cols, &[2.0, 0.5]);
        assert_eq!(model.add_rows(&[], &[], Sparse::default()), Row(4));
        assert_eq!(model.add_cols(&[], &[], &[], Sparse::default()), Col(2));
        assert_eq!((model.cols(), model.rows()), (2, 4));
    }
}

mod integers {
    use super::*;

    /// max Σ values·x, Σ weights·x ≤ capacity, x binary.
    fn knapsack(items: &[(f64, f64)], capacity: f64) -> LpModel {
        let mut model = LpModel::new();
        let row = model.add_row(-INF, capacity, &[]);
        for &(value, weight) in items {
            let col = model.add_col(value, 0.0, 1.0, &[(row, weight)]);
            model.set_integer(col, true);
        }
        model
    }

    #[test]
    fn a_knapsack_and_its_relaxation() {
        // By weight: 10/5, 40/4, 30/6, 50/3 into 10: items 2 and 4 give 90; the relaxation adds half of item 3.
        let mut model = knapsack(&[(10.0, 5.0), (40.0, 4.0), (30.0, 6.0), (50.0, 3.0)], 10.0);
        let solution = optimum(&mut model, Simplex::Dual);
        assert!(close(solution.objective, 90.0));
        assert!((solution.bound.value() - 90.0).abs() <= 2e-6);
        assert_close(&solution.cols, &[0.0, 1.0, 0.0, 1.0]);
        assert!(solution.duals.is_empty() && solution.reduced_costs.is_empty());
        assert_eq!(model.basis(), None);
        model.set_start(&[1.0, 1.0, 0.0, 0.0]);
        assert!(close(optimum(&mut model, Simplex::Dual).objective, 90.0));
        for j in 0..4 {
            model.set_integer(Col(j), false);
        }
        let solution = optimum(&mut model, Simplex::Dual);
        assert!(close(solution.objective, 105.0));
        assert_close(&solution.duals, &[5.0]);
        assert!(model.basis().is_some());
    }

    /// Four strongly correlated capacity rows over 60 binaries: minutes for branch and bound.
    fn hard() -> LpModel {
        let mut noise = Noise(5);
        let mut model = LpModel::new();
        let weights: Vec<Vec<f64>> = (0..4)
            .map(|_| (0..60).map(|_| noise.between(100.0, 1000.0).round()).collect())
            .collect();
        let rows: Vec<Row> = weights
            .iter()
            .map(|row| model.add_row(-INF, (row.iter().sum::<f64>() / 2.0).floor(), &[]))
            .collect();
        for j in 0..60 {
            let value = weights.iter().map(|row| row[j]).sum::<f64>() / 4.0;
            let entries: Vec<_> = rows.iter().zip(&weights).map(|(&r, w)| (r, w[j])).collect();
            let col = model.add_col(value + noise.between(0.0, 50.0).round(), 0.0, 1.0, &entries);
            model.set_integer(col, true);
        }
        model
    }

    #[test]
    fn the_time_limit_ends_each_solve_of_one_model() {
        let mut model = hard();
        let limits = Limits { time: Some(Duration::from_millis(300)), ..NEVER };
        for _ in 0..3 {
            let clock = Instant::now();
            let outcome = model.solve(&limits, Simplex::Dual).expect("a linear program");
            let taken = clock.elapsed();
            let LpOutcome::Limit(stopped) = outcome else { panic!("{outcome:?}") };
            assert_eq!(stopped.limit, LimitKind::Time);
            // Not at once either: the clock starts anew for each solve.
            let range = Duration::from_millis(250)..Duration::from_millis(1500);
            assert!(range.contains(&taken), "{taken:?}");
            let bound = stopped.bound.expect("a bound of the relaxation").value();
            let incumbent = stopped.incumbent.expect("a knapsack has one at once");
            assert!(incumbent.objective <= bound + 1e-6);
            assert!(incumbent.cols.iter().all(|x| (x - x.round()).abs() < 1e-6));
        }
    }

    #[test]
    fn a_node_limit_and_a_gap_end_it_too() {
        let mut model = hard();
        let limits = Limits { nodes: Some(1), ..NEVER };
        let outcome = model.solve(&limits, Simplex::Dual).expect("a linear program");
        assert!(
            matches!(&outcome, LpOutcome::Limit(stopped) if stopped.limit == LimitKind::Nodes),
            "{outcome:?}"
        );
        let limits = Limits { mip_gap: Some(0.05), ..NEVER };
        let outcome = model.solve(&limits, Simplex::Dual).expect("a linear program");
        let solution = outcome.optimal().expect("within five percent");
        let (objective, bound) = (solution.objective, solution.bound.value());
        assert!(objective < bound && bound <= objective * 1.06, "{objective} {bound}");
    }

    #[test]
    fn presolve_of_highs_1_14_does_not_lose_the_optimum() {
        // max −2z + y, y − z ≤ 3, z binary, 0 ≤ y ≤ 3.5: y = 3 at z = 0; with presolve 1.5 at z = 1 was "optimal".
        let mut model = LpModel::new();
        let z = model.add_col(-2.0, 0.0, 1.0, &[]);
        let y = model.add_col(1.0, 0.0, 3.5, &[]);
        model.set_integer(z, true);
        model.add_row(-INF, 3.0, &[(z, -1.0), (y, 1.0)]);
        let solution = optimum(&mut model, Simplex::Dual);
        assert_close(&solution.cols, &[0.0, 3.0]);
    }

    #[test]
    fn infeasible_integers() {
        // 0.2 ≤ x ≤ 0.8; and x + y = 1.5.
        let mut model = LpModel::new();
        let x = model.add_col(1.0, 0.2, 0.8, &[]);
        model.set_integer(x, true);
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Ok(LpOutcome::Infeasible));
        model.set_col_bounds(x, 0.0, 1.0);
        let y = model.add_col(1.0, 0.0, 1.0, &[]);
        model.set_integer(y, true);
        model.add_row(1.5, 1.5, &[(x, 1.0), (y, 1.0)]);
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Ok(LpOutcome::Infeasible));
        model.set_integer(y, false);
        assert!(close(optimum(&mut model, Simplex::Dual).objective, 1.5));
    }
}

mod misuse {
    use super::*;

    #[track_caller]
    fn fault(edit: impl FnOnce(&mut LpModel)) -> LpError {
        let mut model = dense(2, 2, 1);
        edit(&mut model);
        let error = model.solve(&NEVER, Simplex::Dual).expect_err("a fault");
        assert_eq!(model.fault(), Some(&error));
        assert_eq!(model.basis(), None);
        // Later edits change nothing, and ids go on.
        let (cols, rows) = (model.cols(), model.rows());
        assert_eq!(model.add_col(1.0, 0.0, 1.0, &[]), Col(cols));
        assert_eq!(model.add_row(0.0, 1.0, &[]), Row(rows));
        model.delete_cols(&[Col(0)]);
        assert_eq!(model.solve(&NEVER, Simplex::Dual), Err(error.clone()));
        model.clear();
        model.add_col(1.0, 0.0, 1.0, &[]);
        assert!(close(optimum(&mut model, Simplex::Dual).objective, 1.0));
        error
    }

    #[test]
    fn what_is_not_a_number_never_reaches_the_solver() {
        let nan = f64::NAN;
        let what = |error| match error {
            LpError::NotANumber { what, .. } => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(fault(|m| _ = m.add_col(nan, 0.0, 1.0, &[]))), "cost");
        assert_eq!(what(fault(|m| _ = m.add_col(0.0, nan, 1.0, &[]))), "lower bound");
        assert_eq!(what(fault(|m| _ = m.add_col(0.0, 0.0, nan, &[]))), "upper bound");
        assert_eq!(what(fault(|m| _ = m.add_col(0.0, 0.0, 1.0, &[(Row(0), nan)]))), "coefficient");
        assert_eq!(what(fault(|m| _ = m.add_row(nan, 1.0, &[]))), "lower bound");
        assert_eq!(what(fault(|m| _ = m.add_row(0.0, 1.0, &[(Col(1), nan)]))), "coefficient");
        assert_eq!(what(fault(|m| m.set_cost(Col(0), nan))), "cost");
        assert_eq!(what(fault(|m| m.set_costs(&[0.0, nan]))), "cost");
        assert_eq!(what(fault(|m| m.set_col_bounds(Col(0), 0.0, nan))), "upper bound");
        assert_eq!(what(fault(|m| m.set_row_bounds(Row(0), nan, 0.0))), "lower bound");
        assert_eq!(what(fault(|m| m.set_coefficient(Row(0), Col(0), nan))), "coefficient");
        assert_eq!(what(fault(|m| m.set_start(&[0.0, nan]))), "start");
    }

    #[test]
    fn infinity_has_its_places() {
        let out = |error| matches!(error, LpError::OutOfRange { .. });
        assert!(out(fault(|m| _ = m.add_col(INF, 0.0, 1.0, &[]))));
        assert!(out(fault(|m| _ = m.add_col(0.0, INF, INF, &[]))));
        assert!(out(fault(|m| m.set_row_bounds(Row(0), -INF, -INF))));
        assert!(out(fault(|m| _ = m.add_row(0.0, 1.0, &[(Col(0), INF)]))));
        assert!(out(fault(|m| m.set_coefficient(Row(0), Col(0), 1e15))));
    }

    #[test]
    fn rows_and_columns_must_exist_and_stand_once() {
        assert_eq!(fault(|m| m.set_cost(Col(2), 0.0)), LpError::NoSuchCol { col: 2, cols: 2 });
        assert_eq!(fault(|m| m.delete_rows(&[Row(2)])), LpError::NoSuchRow { row: 2, rows: 2 });
        assert_eq!(fault(|m| m.delete_cols(&[Col(9)])), LpError::NoSuchCol { col: 9, cols: 2 });
        assert_eq!(
            fault(|m| m.set_coefficient(Row(2), Col(0), 1.0)),
            LpError::NoSuchRow { row: 2, rows: 2 }
        );
        assert_eq!(
            fault(|m| _ = m.add_row(0.0, 1.0, &[(Col(5), 1.0)])),
            LpError::NoSuchCol { col: 5, cols: 2 }
        );
        assert_eq!(
            fault(|m| _ = m.add_col(0.0, 0.0, 1.0, &[(Row(1), 1.0), (Row(1), 2.0)])),
            LpError::Repeated { position: 1, index: 1 }
        );
    }

    #[test]
    fn slices_must_fit() {
        let length = |error| matches!(error, LpError::Length { .. });
        let none = Sparse::default();
        assert!(length(fault(|m| _ = m.add_cols(&[0.0, 0.0], &[0.0], &[1.0, 1.0], none))));
        assert!(length(fault(|m| _ = m.add_rows(&[0.0], &[1.0, 1.0], none))));
        assert!(length(fault(|m| m.set_costs(&[0.0]))));
        assert!(length(fault(|m| m.set_start(&[0.0; 3]))));
        for (starts, index) in
            [(&[0, 1][..], &[0][..]), (&[0, 2, 1], &[0]), (&[1, 1, 1], &[0]), (&[], &[0])]
        {
            let entries = Sparse { starts, index, values: &[1.0] };
            assert!(length(fault(|m| _ = m.add_rows(&[0.0; 2], &[1.0; 2], entries))));
        }
        let entries = Sparse { starts: &[0, 1], index: &[0], values: &[] };
        assert!(length(fault(|m| _ = m.add_rows(&[0.0], &[1.0], entries))));
    }

    #[test]
    fn a_basis_of_another_size_is_an_error_and_no_fault() {
        let mut model = dense(3, 3, 1);
        let best = optimum(&mut model, Simplex::Dual).objective;
        let mut basis = model.basis().expect("a basis");
        basis.rows.push(BasisStatus::Basic);
        assert!(matches!(model.set_basis(&basis), Err(LpError::Length { .. })));
        let solution = optimum(&mut model, Simplex::Dual);
        assert_eq!(solution.iterations, 0);
        assert!(close(solution.objective, best));
    }

    #[test]
    fn limits_must_be_numbers() {
        let mut model = dense(3, 3, 1);
        let limits = Limits { mip_gap: Some(f64::NAN), ..NEVER };
        assert!(matches!(model.solve(&limits, Simplex::Dual), Err(LpError::NotANumber { .. })));
        assert_eq!(model.fault(), None);
    }
}

mod warm {
    use super::*;

    #[test]
    fn after_new_rows_the_dual_simplex_needs_fewer_iterations() {
        let mut noise = Noise(17);
        let mut model = dense(60, 60, 3);
        let before = optimum(&mut model, Simplex::Dual);
        assert!(before.iterations > 20, "{}", before.iterations);
        // Three cuts through the optimum.
        for _ in 0..3 {
            let row = dense_row(60, &mut noise);
            let at: f64 = row.iter().map(|&(col, a)| a * before.cols[col.0]).sum();
            model.add_row(-INF, at - 0.05, &row);
        }
        let warm = optimum(&mut model, Simplex::Dual);
        model.clear_basis();
        let cold = optimum(&mut model, Simplex::Dual);
        assert!(close(warm.objective, cold.objective));
        assert!(warm.objective < before.objective);
        assert!(
            0 < warm.iterations && 2 * warm.iterations < cold.iterations,
            "{} warm, {} cold",
            warm.iterations,
            cold.iterations
        );
    }

    #[test]
    fn after_new_columns_the_primal_simplex_needs_fewer_iterations() {
        let mut noise = Noise(23);
        let mut model = dense(60, 60, 3);
        let before = optimum(&mut model, Simplex::Primal);
        for _ in 0..3 {
            let entries: Vec<_> = (0..60).map(|i| (Row(i), noise.between(-0.2, 0.2))).collect();
            model.add_col(1.0, 0.0, 1.0, &entries);
        }
        let warm = optimum(&mut model, Simplex::Primal);
        model.clear_basis();
        let cold = optimum(&mut model, Simplex::Primal);
        assert!(close(warm.objective, cold.objective));
        assert!(warm.objective > before.objective);
        assert!(
            0 < warm.iterations && 2 * warm.iterations < cold.iterations,
            "{} warm, {} cold",
            warm.iterations,
            cold.iterations
        );
    }

    #[test]
    fn a_basis_can_be_put_back() {
        let mut model = dense(40, 40, 7);
        let first = optimum(&mut model, Simplex::Dual);
        let basis = model.basis().expect("a basis after a solve");
        assert_eq!(basis.rows.len() + basis.cols.len(), 80);
        model.set_costs(&[1.0; 40]);
        optimum(&mut model, Simplex::Primal);
        model.set_costs(&{
            let mut noise = Noise(7);
            (0..40).map(|_| noise.between(-0.2, 1.0)).collect::<Vec<_>>()
        });
        model.set_basis(&basis).expect("the model's own");
        let again = optimum(&mut model, Simplex::Dual);
        assert_eq!(again.iterations, 0);
        assert!(close(again.objective, first.objective));
        // Into another model, too.
        let mut other = dense(40, 40, 7);
        other.set_basis(&basis).expect("the same size");
        assert_eq!(optimum(&mut other, Simplex::Dual).iterations, 0);
        other.clear_basis();
        assert_eq!(other.basis(), None);
    }

    #[test]
    fn deleting_loose_rows_keeps_the_basis() {
        let mut model = dense(40, 40, 9);
        let first = optimum(&mut model, Simplex::Dual);
        let basis = model.basis().expect("a basis after a solve");
        let loose: Vec<Row> =
            (0..40).map(Row).filter(|r| basis.rows[r.0] == BasisStatus::Basic).collect();
        assert!(!loose.is_empty());
        model.delete_rows(&loose);
        let again = optimum(&mut model, Simplex::Dual);
        assert_eq!(again.iterations, 0);
        assert!(close(again.objective, first.objective));
    }

    #[test]
    fn an_iteration_limit_is_a_limit_and_the_next_solve_goes_on() {
        let mut model = dense(60, 60, 3);
        let whole = optimum(&mut model, Simplex::Dual);
        let limits = Limits { iterations: Some(5), ..NEVER };
        for simplex in [Simplex::Dual, Simplex::Primal] {
            model.clear_basis();
            let outcome = model.solve(&limits, simplex).expect("a linear program");
            let LpOutcome::Limit(stopped) = outcome else { panic!("{outcome:?}") };
            assert_eq!((stopped.limit, stopped.iterations), (LimitKind::Iterations, 5));
            assert_eq!(model.iterations(), 5);
            if let Some(incumbent) = stopped.incumbent {
                assert!(incumbent.objective <= whole.objective + 1e-6);
            }
            if let Some(bound) = stopped.bound {
                assert!(bound.value() >= whole.objective - 1e-6);
            }
            assert!(close(optimum(&mut model, simplex).objective, whole.objective));
        }
    }

    #[test]
    fn no_time_is_a_limit_too() {
        let mut model = dense(60, 60, 3);
        let limits = Limits { time: Some(Duration::ZERO), ..NEVER };
        let outcome = model.solve(&limits, Simplex::Dual).expect("a linear program");
        assert!(
            matches!(&outcome, LpOutcome::Limit(stopped) if stopped.limit == LimitKind::Time),
            "{outcome:?}"
        );
        optimum(&mut model, Simplex::Dual);
    }
}

#[test]
fn threads_do_not_change_the_results() {
    fn work(seed: u64) -> Vec<LpSolution> {
        let mut noise = Noise(seed);
        let mut model = dense(30, 40, seed);
        let mut solutions = vec![optimum(&mut model, Simplex::Dual)];
        for _ in 0..5 {
            let row = dense_row(40, &mut noise);
            let last = &solutions[solutions.len() - 1].cols;
            let at: f64 = row.iter().map(|&(col, a)| a * last[col.0]).sum();
            model.add_row(-INF, at - 0.02, &row);
            solutions.push(optimum(&mut model, Simplex::Dual));
        }
        solutions
    }
    let alone: Vec<_> = (0..40).map(work).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|t| scope.spawn(move || (0..10).map(|k| work(10 * t + k)).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn a_model_may_move_between_threads() {
    let mut model = dense(30, 40, 2);
    let here = optimum(&mut model, Simplex::Dual);
    let (mut model, there) = std::thread::spawn(move || {
        let again = optimum(&mut model, Simplex::Dual);
        model.set_cost(Col(0), 5.0);
        optimum(&mut model, Simplex::Primal);
        (model, again)
    })
    .join()
    .expect("no panic");
    assert_eq!((there.objective, there.iterations), (here.objective, 0));
    model.set_cost(Col(0), 4.0);
    optimum(&mut model, Simplex::Primal);
}

/// A program kept beside the model, to build it anew.
#[derive(Clone, Debug, Default)]
struct Plain {
    costs: Vec<f64>,
    cols: Vec<(f64, f64)>,
    rows: Vec<(f64, f64)>,
    /// By row, then column.
    matrix: Vec<Vec<f64>>,
}

impl Plain {
    fn build(&self) -> LpModel {
        let mut model = LpModel::new();
        for (&cost, &(lower, upper)) in self.costs.iter().zip(&self.cols) {
            model.add_col(cost, lower, upper, &[]);
        }
        for (row, &(lower, upper)) in self.matrix.iter().zip(&self.rows) {
            model.add_row(lower, upper, &entries(row, Col));
        }
        model
    }

    /// Strong duality and the signs of an optimum, from the numbers alone.
    fn check(&self, solution: &LpSolution) {
        let at_bound = |multiplier: f64, (lower, upper): (f64, f64)| {
            let bound = if multiplier > 0.0 { upper } else { lower };
            if multiplier.abs() < 1e-7 { 0.0 } else { multiplier * bound }
        };
        let mut dual_objective = 0.0;
        for (i, &sides) in self.rows.iter().enumerate() {
            let activity: f64 = self.matrix[i].iter().zip(&solution.cols).map(|(a, x)| a * x).sum();
            assert!(close(activity, solution.rows[i]));
            assert!(activity >= sides.0 - 1e-6 && activity <= sides.1 + 1e-6);
            dual_objective += at_bound(solution.duals[i], sides);
        }
        for (j, &bounds) in self.cols.iter().enumerate() {
            let priced: f64 = self.matrix.iter().zip(&solution.duals).map(|(a, y)| a[j] * y).sum();
            assert!(close(self.costs[j] - priced, solution.reduced_costs[j]));
            dual_objective += at_bound(solution.reduced_costs[j], bounds);
        }
        let gap = (dual_objective - solution.objective).abs();
        assert!(gap <= 1e-6 * solution.objective.abs().max(1.0), "{dual_objective} {solution:?}");
    }
}

fn entries<Id>(values: &[f64], id: impl Fn(usize) -> Id) -> Vec<(Id, f64)> {
    let nonzero = values.iter().enumerate().filter(|(_, v)| **v != 0.0);
    nonzero.map(|(k, &v)| (id(k), v)).collect()
}

/// One edit; indices are taken modulo what there is.
#[derive(Clone, Debug)]
enum Edit {
    AddCol(f64, (f64, f64), Vec<f64>),
    AddRow((f64, f64), Vec<f64>),
    AddRows(Vec<((f64, f64), Vec<f64>)>),
    Cost(usize, f64),
    Costs(Vec<f64>),
    ColBounds(usize, (f64, f64)),
    RowBounds(usize, (f64, f64)),
    Coefficient(usize, usize, f64),
    DeleteRows(Vec<usize>),
    DeleteCols(Vec<usize>),
    Solve(Simplex),
    PutBasisBack,
    ClearBasis,
}

const MOST: usize = 20;

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 3 => (-3i32..=3).prop_map(f64::from), 3 => -3.0..3.0]
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(value(), MOST)
}

/// Mostly around zero, where many rows can agree; sometimes one-sided, fixed, free or crossed.
fn bounds() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        30 => (0.0..5.0f64, 0.0..5.0).prop_map(|(below, above)| (-below, above)),
        8 => value().prop_map(|upper| (-INF, upper + 2.0)),
        4 => value().prop_map(|lower| (lower - 2.0, INF)),
        2 => (value(), 0.0..4.0).prop_map(|(lower, width)| (lower, lower + width)),
        1 => value().prop_map(|both| (both, both)),
        1 => Just((-INF, INF)),
        1 => Just((1.0, 0.0)),
    ]
}

fn simplex() -> impl Strategy<Value = Simplex> {
    prop_oneof![Just(Simplex::Dual), Just(Simplex::Primal), Just(Simplex::Choose)]
}

fn edit() -> impl Strategy<Value = Edit> {
    let some = || proptest::collection::vec(0..MOST, 0..4);
    prop_oneof![
        3 => (value(), bounds(), values()).prop_map(|(c, b, v)| Edit::AddCol(c, b, v)),
        3 => (bounds(), values()).prop_map(|(b, v)| Edit::AddRow(b, v)),
        1 => proptest::collection::vec((bounds(), values()), 0..4).prop_map(Edit::AddRows),
        1 => (0..MOST, value()).prop_map(|(j, c)| Edit::Cost(j, c)),
        1 => values().prop_map(Edit::Costs),
        2 => (0..MOST, bounds()).prop_map(|(j, b)| Edit::ColBounds(j, b)),
        2 => (0..MOST, bounds()).prop_map(|(i, b)| Edit::RowBounds(i, b)),
        2 => (0..MOST, 0..MOST, value()).prop_map(|(i, j, v)| Edit::Coefficient(i, j, v)),
        1 => some().prop_map(Edit::DeleteRows),
        1 => some().prop_map(Edit::DeleteCols),
        4 => simplex().prop_map(Edit::Solve),
        1 => Just(Edit::PutBasisBack),
        1 => Just(Edit::ClearBasis),
    ]
}

/// A program with a few rows and columns, to begin with.
fn plain() -> impl Strategy<Value = Plain> {
    (0..12usize, 0..12usize).prop_flat_map(|(rows, cols)| {
        (
            proptest::collection::vec(value(), cols),
            proptest::collection::vec(bounds(), cols),
            proptest::collection::vec(bounds(), rows),
            proptest::collection::vec(proptest::collection::vec(value(), cols), rows),
        )
            .prop_map(|(costs, cols, rows, matrix)| Plain { costs, cols, rows, matrix })
    })
}

fn apply(edit: &Edit, plain: &mut Plain, model: &mut LpModel) {
    let (cols, rows) = (plain.cols.len(), plain.rows.len());
    let add_row = |plain: &mut Plain, sides: (f64, f64), values: &[f64]| {
        plain.rows.push(sides);
        plain.matrix.push(values[..cols].to_vec());
    };
    match edit {
        Edit::AddCol(cost, bounds, values) if cols < MOST && rows <= MOST => {
            model.add_col(*cost, bounds.0, bounds.1, &entries(&values[..rows], Row));
            plain.costs.push(*cost);
            plain.cols.push(*bounds);
            plain.matrix.iter_mut().zip(values).for_each(|(row, &v)| row.push(v));
        }
        Edit::AddRow(sides, values) if rows < MOST => {
            model.add_row(sides.0, sides.1, &entries(&values[..cols], Col));
            add_row(plain, *sides, values);
        }
        Edit::AddRows(new) if rows + new.len() <= MOST => {
            let (mut starts, mut index, mut coefficients) = (vec![0], vec![], vec![]);
            let (mut lowers, mut uppers) = (vec![], vec![]);
            for (sides, values) in new {
                for (j, v) in entries(&values[..cols], |j| j) {
                    index.push(j);
                    coefficients.push(v);
                }
                starts.push(index.len());
                lowers.push(sides.0);
                uppers.push(sides.1);
                add_row(plain, *sides, values);
            }
            let sparse = Sparse { starts: &starts, index: &index, values: &coefficients };
            model.add_rows(&lowers, &uppers, sparse);
        }
        &Edit::Cost(col, cost) if cols > 0 => {
            model.set_cost(Col(col % cols), cost);
            plain.costs[col % cols] = cost;
        }
        Edit::Costs(costs) => {
            model.set_costs(&costs[..cols]);
            plain.costs.copy_from_slice(&costs[..cols]);
        }
        &Edit::ColBounds(col, bounds) if cols > 0 => {
            model.set_col_bounds(Col(col % cols), bounds.0, bounds.1);
            plain.cols[col % cols] = bounds;
        }
        &Edit::RowBounds(row, sides) if rows > 0 => {
            model.set_row_bounds(Row(row % rows), sides.0, sides.1);
            plain.rows[row % rows] = sides;
        }
        &Edit::Coefficient(row, col, value) if rows > 0 && cols > 0 => {
            model.set_coefficient(Row(row % rows), Col(col % cols), value);
            plain.matrix[row % rows][col % cols] = value;
        }
        Edit::DeleteRows(doomed) if rows > 0 => {
            let doomed: Vec<usize> = doomed.iter().map(|k| k % rows).collect();
            model.delete_rows(&doomed.iter().map(|&k| Row(k)).collect::<Vec<_>>());
            let mut k = 0..;
            plain.rows.retain(|_| !doomed.contains(&k.next().expect("endless")));
            let mut k = 0..;
            plain.matrix.retain(|_| !doomed.contains(&k.next().expect("endless")));
        }
        Edit::DeleteCols(doomed) if cols > 0 => {
            let doomed: Vec<usize> = doomed.iter().map(|k| k % cols).collect();
            model.delete_cols(&doomed.iter().map(|&k| Col(k)).collect::<Vec<_>>());
            for items in plain.matrix.iter_mut().chain([&mut plain.costs]) {
                let mut k = 0..;
                items.retain(|_| !doomed.contains(&k.next().expect("endless")));
            }
            let mut k = 0..;
            plain.cols.retain(|_| !doomed.contains(&k.next().expect("endless")));
        }
        &Edit::Solve(simplex) => agree(plain, model, simplex),
        Edit::PutBasisBack => {
            if let Some(basis) = model.basis() {
                assert_eq!((basis.cols.len(), basis.rows.len()), (cols, rows));
                model.set_basis(&basis).expect("the model's own");
            }
        }
        Edit::ClearBasis => model.clear_basis(),
        _ => {}
    }
    assert_eq!((model.cols(), model.rows()), (plain.cols.len(), plain.rows.len()));
}

/// The edited model ends like one built anew.
fn agree(plain: &Plain, edited: &mut LpModel, simplex: Simplex) {
    let edited = edited.solve(&NEVER, simplex).expect("a linear program");
    let fresh = plain.build().solve(&NEVER, Simplex::Dual).expect("a linear program");
    match (&edited, &fresh) {
        (LpOutcome::Optimal(one), LpOutcome::Optimal(other)) => {
            assert!(close(one.objective, other.objective), "{edited:?} instead of {fresh:?}");
            plain.check(one);
            plain.check(other);
        }
        (LpOutcome::Infeasible, LpOutcome::Infeasible)
        | (LpOutcome::Unbounded, LpOutcome::Unbounded) => {}
        _ => panic!("{edited:?} instead of {fresh:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn an_edited_model_ends_like_one_built_anew(
        plain in plain(),
        edits in proptest::collection::vec(edit(), 0..30),
        simplex in simplex(),
    ) {
        let mut plain = plain;
        let mut model = plain.build();
        for edit in &edits {
            apply(edit, &mut plain, &mut model);
        }
        prop_assert_eq!(model.fault(), None);
        agree(&plain, &mut model, simplex);
    }

    #[test]
    fn branch_and_bound_finds_the_best_of_all_fixings(plain in plain(), binaries in 1..5usize) {
        let mut plain = plain;
        // Finite bounds, so that there is an optimum if there is a point.
        for bounds in &mut plain.cols {
            *bounds = (bounds.0.max(-9.0), bounds.1.min(9.0));
        }
        let binaries = binaries.min(plain.cols.len());
        plain.cols[..binaries].fill((0.0, 1.0));
        let mut fixed = plain.build();
        let mut best: Option<f64> = None;
        for choice in 0..1 << binaries {
            for j in 0..binaries {
                let value = f64::from(choice >> j & 1);
                fixed.set_col_bounds(Col(j), value, value);
            }
            match fixed.solve(&NEVER, Simplex::Dual).expect("a linear program") {
                LpOutcome::Optimal(solution) => {
                    best = Some(best.map_or(solution.objective, |b| b.max(solution.objective)));
                }
                outcome => prop_assert_eq!(outcome, LpOutcome::Infeasible),
            }
        }
        let mut model = plain.build();
        for j in 0..binaries {
            model.set_integer(Col(j), true);
        }
        match (model.solve(&NEVER, Simplex::Dual).expect("a linear program"), best) {
            (LpOutcome::Optimal(solution), Some(best)) => {
                let gap = (solution.objective - best).abs();
                prop_assert!(gap <= 1e-5 * best.abs().max(1.0), "{} {best}", solution.objective);
                prop_assert!(solution.bound.value() >= best - 1e-5 * best.abs().max(1.0));
            }
            (outcome, best) => prop_assert!(outcome == LpOutcome::Infeasible && best.is_none(), "{outcome:?} {best:?}"),
        }
    }
}

/// The same random LPs through the safe bindings, `highs`, which share none of our code on the way to the solver.
#[test]
fn the_safe_bindings_find_the_same_optima() {
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
            let entries: Vec<_> =
                columns.iter().copied().zip(row.iter().map(|(_, value)| *value)).collect();
            problem.add_row(..=noise.between(0.5, 2.0), entries);
        }
        let mut model = problem.optimise(Sense::Maximise);
        model.make_quiet();
        let solved = model.solve();
        assert_eq!(solved.status(), HighsModelStatus::Optimal);
        let values = solved.get_solution();
        let theirs: f64 = values.columns().iter().zip(&costs).map(|(x, cost)| x * cost).sum();
        assert!(close(ours, theirs), "seed {seed}: {ours} and {theirs}");
    }
}

/// HiGHS itself crashes.
#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    let written = dense(2, 3, 0).write("/no/such/place/net.lp".as_ref(), 0.0);
    assert!(matches!(written, Err(LpError::Unwritable(_))), "{written:?}");
}

/// A knapsack of coprime weights that branch and bound does not see through at the root.
fn hard_knapsack() -> (LpModel, Vec<f64>) {
    let (mut model, mut costs) = (LpModel::new(), Vec::new());
    let mut noise = Noise(7);
    let cols: Vec<(Col, f64)> = (0..40)
        .map(|_| {
            let weight = noise.between(100.0, 200.0).floor();
            costs.push(weight + noise.between(0.0, 9.0));
            let col = model.add_col(costs[costs.len() - 1], 0.0, 1.0, &[]);
            model.set_integer(col, true);
            (col, weight)
        })
        .collect();
    for row in 0..5 {
        let shifted = cols.iter().map(|&(col, weight)| (col, weight + ((col.0 * row) % 7) as f64));
        let entries: Vec<(Col, f64)> = shifted.collect();
        model.add_row(-INF, 2500.5, &entries);
    }
    (model, costs)
}

#[test]
fn who_looks_on_hears_of_better_points_and_may_end_branch_and_bound() {
    let (mut model, costs) = hard_knapsack();
    let mut values = Vec::new();
    let mut better = |cols: &[f64]| {
        assert_eq!(cols.len(), costs.len());
        values.push(costs.iter().zip(cols).map(|(c, x)| c * x).sum::<f64>());
    };
    let limits = Limits { nodes: Some(500), ..NEVER };
    let mut watch = Watch { better: &mut better, stop: &|| false };
    let outcome = model.solve_watched(&limits, Simplex::Choose, Some(&mut watch));
    let best = match outcome.expect("a program") {
        LpOutcome::Optimal(solution) => solution.objective,
        LpOutcome::Limit(stopped) => stopped.incumbent.expect("a point").objective,
        other => panic!("{other:?}"),
    };
    assert!(values.windows(2).all(|pair| pair[0] < pair[1] + 1e-9), "{values:?}");
    assert!(values.last().is_some_and(|&last| close(last, best)), "{values:?} {best}");

    let (mut model, _) = hard_knapsack();
    let mut watch = Watch { better: &mut |_| (), stop: &|| true };
    let outcome = model.solve_watched(&NEVER, Simplex::Choose, Some(&mut watch));
    match outcome.expect("a program") {
        LpOutcome::Limit(stopped) => assert_eq!(stopped.limit, LimitKind::Interrupt),
        other => panic!("{other:?}"),
    }
    // Nobody looks on any more.
    let limits = Limits { nodes: Some(1), ..NEVER };
    assert!(model.solve(&limits, Simplex::Choose).is_ok());
}

#[test]
fn gathered_rows_are_rows() {
    let mut model = LpModel::new();
    let (x, y) = (model.add_col(1.0, 0.0, 9.0, &[]), model.add_col(1.0, 0.0, 9.0, &[]));
    let mut rows = NewRows::default();
    rows.push(-INF, 4.0, [(x, 1.0), (y, 2.0)]);
    rows.push(-INF, 6.0, [(x, 3.0)]);
    assert_eq!(model.add_gathered(&rows), Row(0));
    assert_eq!(model.rows(), 2);
    assert_close(&optimum(&mut model, Simplex::Choose).cols, &[2.0, 1.0]);
}
