//! What is not a linear program.

use super::*;

#[track_caller]
fn fault(edit: impl FnOnce(&mut LpModel)) -> LpError {
    let mut model = dense(2, 2, 1);
    edit(&mut model);
    let error = model.solve(None, Simplex::Dual).expect_err("a fault");
    assert_eq!(model.basis(), None);
    // Later edits change nothing, and ids go on.
    let (cols, rows) = (model.cols(), model.rows());
    assert_eq!(model.add_col(1.0, 0.0, 1.0, &[]), Col(cols));
    assert_eq!(model.add_row(0.0, 1.0, &[]), Row(rows));
    model.set_costs(&[]);
    assert_eq!(model.solve(None, Simplex::Dual), Err(error.clone()));
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
    assert_eq!(what(fault(|m| m.set_costs(&[0.0, nan]))), "cost");
    assert_eq!(what(fault(|m| m.set_col_bounds(Col(0), 0.0, nan))), "upper bound");
    assert_eq!(what(fault(|m| m.set_row_bounds(Row(0), nan, 0.0))), "lower bound");
    assert_eq!(what(fault(|m| m.set_start(&[0.0, nan]))), "start");
}

#[test]
fn infinity_has_its_places() {
    let out = |error| matches!(error, LpError::OutOfRange { .. });
    assert!(out(fault(|m| _ = m.add_col(INF, 0.0, 1.0, &[]))));
    assert!(out(fault(|m| _ = m.add_col(0.0, INF, INF, &[]))));
    assert!(out(fault(|m| m.set_row_bounds(Row(0), -INF, -INF))));
    assert!(out(fault(|m| _ = m.add_row(0.0, 1.0, &[(Col(0), INF)]))));
    assert!(out(fault(|m| _ = m.add_col(0.0, 0.0, 1.0, &[(Row(0), 1e15)]))));
}

#[test]
fn rows_and_columns_must_exist_and_stand_once() {
    let (no_col, no_row) =
        (LpError::NoSuchCol { col: 2, cols: 2 }, LpError::NoSuchRow { row: 2, rows: 2 });
    assert_eq!(fault(|m| m.set_col_bounds(Col(2), 0.0, 1.0)), no_col);
    assert_eq!(fault(|m| m.set_integer(Col(2))), no_col);
    assert_eq!(fault(|m| m.set_row_bounds(Row(2), 0.0, 1.0)), no_row);
    assert_eq!(fault(|m| _ = m.add_col(0.0, 0.0, 1.0, &[(Row(2), 1.0)])), no_row);
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
    assert!(length(fault(|m| m.set_costs(&[0.0]))));
    assert!(length(fault(|m| m.set_start(&[0.0; 3]))));
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
