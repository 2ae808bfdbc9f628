//! Bases and restarts, limits, threads.

use std::time::Duration;

use super::*;

#[test]
fn after_new_rows_the_dual_simplex_needs_fewer_iterations() {
    let mut noise = Noise(17);
    let mut model = dense(60, 60, 3);
    let before = optimum(&mut model, Simplex::Dual);
    assert!(before.iterations > 20, "{}", before.iterations);
    // Three cuts through the optimum.
    let mut fresh = dense(60, 60, 3);
    for _ in 0..3 {
        let row = dense_row(60, &mut noise);
        let at: f64 = row.iter().map(|&(col, a)| a * before.cols[col.0]).sum();
        model.add_row(-INF, at - 0.05, &row);
        fresh.add_row(-INF, at - 0.05, &row);
    }
    let warm = optimum(&mut model, Simplex::Dual);
    let cold = optimum(&mut fresh, Simplex::Dual);
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
    let mut fresh = dense(60, 60, 3);
    for _ in 0..3 {
        let entries: Vec<_> = (0..60).map(|i| (Row(i), noise.between(-0.2, 0.2))).collect();
        model.add_col(1.0, 0.0, 1.0, &entries);
        fresh.add_col(1.0, 0.0, 1.0, &entries);
    }
    let warm = optimum(&mut model, Simplex::Primal);
    let cold = optimum(&mut fresh, Simplex::Primal);
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
}

#[test]
fn no_time_is_a_limit_and_the_next_solve_goes_on() {
    let mut model = dense(60, 60, 3);
    let outcome = model.solve(Some(Duration::ZERO), Simplex::Dual).expect("a linear program");
    assert!(matches!(&outcome, LpOutcome::Limit(_)), "{outcome:?}");
    optimum(&mut model, Simplex::Dual);
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
        model.set_costs(&[5.0; 40]);
        optimum(&mut model, Simplex::Primal);
        (model, again)
    })
    .join()
    .expect("no panic");
    assert_eq!((there.objective, there.iterations), (here.objective, 0));
    model.set_costs(&[4.0; 40]);
    optimum(&mut model, Simplex::Primal);
}

#[test]
fn a_solve_that_ran_out_of_iterations_goes_on_from_there() {
    let mut whole = dense(30, 40, 5);
    let expected = optimum(&mut whole, Simplex::Dual);
    assert!(expected.iterations > 6, "{}", expected.iterations);
    let mut model = dense(30, 40, 5);
    model.limit_iterations(Some(3));
    let mut rounds = 0;
    let found = loop {
        match model.solve(None, Simplex::Dual).expect("a linear program") {
            LpOutcome::Optimal(solution) => break solution,
            LpOutcome::Limit(_) => assert!(model.iterations() <= 3),
            other => panic!("{other:?}"),
        }
        rounds += 1;
        assert!(rounds < 100, "no end");
    };
    assert!(rounds > 1);
    assert!(close(found.objective, expected.objective));
    model.limit_iterations(None);
    assert!(close(optimum(&mut model, Simplex::Dual).objective, expected.objective));
}
