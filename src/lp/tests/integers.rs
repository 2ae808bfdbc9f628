//! Branch and bound.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn a_knapsack_and_its_relaxation() {
    // By weight: 10/5, 40/4, 30/6, 50/3 into 10: items 2 and 4 give 90; the relaxation adds half of item 3.
    let mut model = LpModel::new();
    let row = model.add_row(-INF, 10.0, &[]);
    let items = [(10.0, 5.0), (40.0, 4.0), (30.0, 6.0), (50.0, 3.0)];
    let cols = items.map(|(value, weight)| model.add_col(value, 0.0, 1.0, &[(row, weight)]));
    let relaxed = optimum(&mut model, Simplex::Dual);
    assert!(close(relaxed.objective, 105.0));
    assert_close(&relaxed.duals, &[5.0]);
    assert!(model.basis().is_some());
    for col in cols {
        model.set_integer(col);
    }
    for start in [None, Some([1.0, 1.0, 0.0, 0.0])] {
        if let Some(start) = start {
            model.set_start(&start);
        }
        let solution = optimum(&mut model, Simplex::Dual);
        assert!(close(solution.objective, 90.0));
        assert!((solution.bound.value() - 90.0).abs() <= 2e-6);
        assert_close(&solution.cols, &[0.0, 1.0, 0.0, 1.0]);
        assert!(solution.duals.is_empty() && solution.reduced_costs.is_empty());
        assert_eq!(model.basis(), None);
    }
}

/// Four strongly correlated capacity rows over 60 binaries: minutes for branch and bound. Returns the costs, too.
fn hard() -> (LpModel, Vec<f64>) {
    let mut noise = Noise(5);
    let mut model = LpModel::new();
    let weights: Vec<Vec<f64>> =
        (0..4).map(|_| (0..60).map(|_| noise.between(100.0, 1000.0).round()).collect()).collect();
    let rows: Vec<Row> = weights
        .iter()
        .map(|row| model.add_row(-INF, (row.iter().sum::<f64>() / 2.0).floor(), &[]))
        .collect();
    let mut costs = Vec::new();
    for j in 0..60 {
        let value = weights.iter().map(|row| row[j]).sum::<f64>() / 4.0;
        let entries: Vec<_> = rows.iter().zip(&weights).map(|(&r, w)| (r, w[j])).collect();
        costs.push(value + noise.between(0.0, 50.0).round());
        let col = model.add_col(costs[j], 0.0, 1.0, &entries);
        model.set_integer(col);
    }
    (model, costs)
}

#[test]
fn the_time_limit_ends_each_solve_of_one_model() {
    let (mut model, _) = hard();
    let time_limit = Some(Duration::from_millis(300));
    for _ in 0..3 {
        let clock = Instant::now();
        let outcome = model.solve(time_limit, Simplex::Dual).expect("a linear program");
        let taken = clock.elapsed();
        let LpOutcome::Limit(stopped) = outcome else { panic!("{outcome:?}") };
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
fn presolve_of_highs_1_14_does_not_lose_the_optimum() {
    // max −2z + y, y − z ≤ 3, z binary, 0 ≤ y ≤ 3.5: y = 3 at z = 0; with presolve 1.5 at z = 1 was "optimal".
    let mut model = LpModel::new();
    let z = model.add_col(-2.0, 0.0, 1.0, &[]);
    let y = model.add_col(1.0, 0.0, 3.5, &[]);
    model.set_integer(z);
    model.add_row(-INF, 3.0, &[(z, -1.0), (y, 1.0)]);
    let solution = optimum(&mut model, Simplex::Dual);
    assert_close(&solution.cols, &[0.0, 3.0]);
}

#[test]
fn infeasible_integers() {
    // 0.2 ≤ x ≤ 0.8; and x + y = 1.5.
    let mut model = LpModel::new();
    let x = model.add_col(1.0, 0.2, 0.8, &[]);
    model.set_integer(x);
    assert_eq!(model.solve(None, Simplex::Dual), Ok(LpOutcome::Infeasible));
    model.set_col_bounds(x, 0.0, 1.0);
    let y = model.add_col(1.0, 0.0, 1.0, &[]);
    model.set_integer(y);
    model.add_row(1.5, 1.5, &[(x, 1.0), (y, 1.0)]);
    assert_eq!(model.solve(None, Simplex::Dual), Ok(LpOutcome::Infeasible));
}

#[test]
fn callbacks_get_better_points_and_may_stop_branch_and_bound() {
    let (mut model, costs) = hard();
    let mut values = Vec::new();
    let mut on_improvement = |cols: &[f64]| {
        assert_eq!(cols.len(), costs.len());
        values.push(costs.iter().zip(cols).map(|(c, x)| c * x).sum::<f64>());
    };
    let asked = Cell::new(0);
    let should_stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 500
    };
    let mut callbacks = Callbacks {
        on_improvement: &mut on_improvement,
        should_stop: &should_stop,
        gives_up: None,
    };
    let outcome = model.solve_with_callbacks(None, Simplex::Choose, Some(&mut callbacks));
    let outcome = outcome.expect("a program");
    let LpOutcome::Limit(stopped) = outcome else { panic!("{outcome:?}") };
    assert!(asked.get() > 500);
    let best = stopped.incumbent.expect("a point").objective;
    assert!(values.windows(2).all(|pair| pair[0] < pair[1] + 1e-9), "{values:?}");
    assert!(values.last().is_some_and(|&last| close(last, best)), "{values:?} {best}");
    // The next solve calls nobody.
    let asked_before = asked.get();
    let outcome = model.solve(Some(Duration::from_millis(50)), Simplex::Choose);
    assert!(matches!(outcome, Ok(LpOutcome::Limit(_))), "{outcome:?}");
    assert_eq!(asked.get(), asked_before);
}

/// A relaxation that takes the solver a minute: dense rows, and one binary.
fn long_relaxation() -> LpModel {
    let mut noise = Noise(9);
    let mut model = LpModel::new();
    let rows: Vec<Row> = (0..900).map(|_| model.add_row(-INF, 100.0, &[])).collect();
    for _ in 0..1800 {
        let entries: Vec<_> = rows.iter().map(|&row| (row, noise.between(0.1, 1.0))).collect();
        model.add_col(noise.between(0.9, 1.0), 0.0, INF, &entries);
    }
    let binary = model.add_col(0.1, 0.0, 1.0, &[(rows[0], 1.0)]);
    model.set_integer(binary);
    model
}

#[test]
fn a_caller_who_gives_up_does_not_wait_for_the_relaxation() {
    let mut model = long_relaxation();
    let mut on_improvement = |_: &[f64]| ();
    let asked = Cell::new(0);
    let (never, always) = (
        || false,
        || {
            asked.set(asked.get() + 1);
            true
        },
    );
    // The solver is not asked to stop: nothing but giving up ends this soon.
    let mut callbacks = Callbacks {
        on_improvement: &mut on_improvement,
        should_stop: &never,
        gives_up: Some(&always),
    };
    let outcome = model.solve_with_callbacks(None, Simplex::Choose, Some(&mut callbacks));
    let nothing = LpOutcome::Limit(LpProgress { incumbent: None, bound: None });
    assert_eq!(outcome, Ok(nothing));
    assert!(asked.get() > 2, "{}", asked.get());
    assert_eq!(model.solve(None, Simplex::Dual), Err(LpError::GivenUp));
    model.clear();
    let x = model.add_col(1.0, 0.0, 2.0, &[]);
    model.set_integer(x);
    assert!(close(optimum(&mut model, Simplex::Dual).objective, 2.0), "cleared, it is as new");
}

#[test]
fn a_solve_apart_gives_the_same_answer() {
    let (mut model, _) = hard();
    let best = Cell::new(-INF);
    let costs = hard().1;
    let mut on_improvement = |cols: &[f64]| {
        best.set(cols.iter().zip(&costs).map(|(x, cost)| x * cost).sum::<f64>().max(best.get()));
    };
    let (enough, never) = (|| false, || false);
    let mut callbacks = Callbacks {
        on_improvement: &mut on_improvement,
        should_stop: &enough,
        gives_up: Some(&never),
    };
    let limit = Some(Duration::from_millis(500));
    let outcome = model.solve_with_callbacks(limit, Simplex::Choose, Some(&mut callbacks));
    let Ok(LpOutcome::Limit(stopped)) = outcome else { panic!("{outcome:?}") };
    let incumbent = stopped.incumbent.expect("a knapsack has one at once");
    assert!(close(incumbent.objective, best.get()), "{} {}", incumbent.objective, best.get());
    assert_eq!(incumbent.cols.len(), 60);
}
