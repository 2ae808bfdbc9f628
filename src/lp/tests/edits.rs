//! Random edits: the edited model ends like one built anew.

use proptest::prelude::*;

use super::*;

/// A program kept beside the model, to build it anew.
#[derive(Clone, Debug, Default)]
struct DenseProgram {
    costs: Vec<f64>,
    cols: Vec<(f64, f64)>,
    rows: Vec<(f64, f64)>,
    /// By row, then column.
    matrix: Vec<Vec<f64>>,
}

impl DenseProgram {
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
    Costs(Vec<f64>),
    ColBounds(usize, (f64, f64)),
    RowBounds(usize, (f64, f64)),
    Solve(Simplex),
    PutBasisBack,
    Clear,
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
    prop_oneof![
        3 => (value(), bounds(), values()).prop_map(|(c, b, v)| Edit::AddCol(c, b, v)),
        3 => (bounds(), values()).prop_map(|(b, v)| Edit::AddRow(b, v)),
        1 => proptest::collection::vec((bounds(), values()), 0..4).prop_map(Edit::AddRows),
        1 => values().prop_map(Edit::Costs),
        2 => (0..MOST, bounds()).prop_map(|(j, b)| Edit::ColBounds(j, b)),
        2 => (0..MOST, bounds()).prop_map(|(i, b)| Edit::RowBounds(i, b)),
        4 => simplex().prop_map(Edit::Solve),
        1 => Just(Edit::PutBasisBack),
        1 => Just(Edit::Clear),
    ]
}

/// A program with a few rows and columns, to begin with.
fn program() -> impl Strategy<Value = DenseProgram> {
    (0..12usize, 0..12usize).prop_flat_map(|(rows, cols)| {
        (
            proptest::collection::vec(value(), cols),
            proptest::collection::vec(bounds(), cols),
            proptest::collection::vec(bounds(), rows),
            proptest::collection::vec(proptest::collection::vec(value(), cols), rows),
        )
            .prop_map(|(costs, cols, rows, matrix)| DenseProgram {
                costs,
                cols,
                rows,
                matrix,
            })
    })
}

fn apply(edit: &Edit, program: &mut DenseProgram, model: &mut LpModel) {
    let (cols, rows) = (program.cols.len(), program.rows.len());
    let add_row = |program: &mut DenseProgram, sides: (f64, f64), values: &[f64]| {
        program.rows.push(sides);
        program.matrix.push(values[..cols].to_vec());
    };
    match edit {
        Edit::AddCol(cost, bounds, values) if cols < MOST && rows <= MOST => {
            model.add_col(*cost, bounds.0, bounds.1, &entries(&values[..rows], Row));
            program.costs.push(*cost);
            program.cols.push(*bounds);
            program.matrix.iter_mut().zip(values).for_each(|(row, &v)| row.push(v));
        }
        Edit::AddRow(sides, values) if rows < MOST => {
            model.add_row(sides.0, sides.1, &entries(&values[..cols], Col));
            add_row(program, *sides, values);
        }
        Edit::AddRows(new) if rows + new.len() <= MOST => {
            let mut rows = NewRows::default();
            for (sides, values) in new {
                rows.push(sides.0, sides.1, entries(&values[..cols], Col));
                add_row(program, *sides, values);
            }
            model.add_rows(&rows);
        }
        Edit::Costs(costs) => {
            model.set_costs(&costs[..cols]);
            program.costs.copy_from_slice(&costs[..cols]);
        }
        &Edit::ColBounds(col, bounds) if cols > 0 => {
            model.set_col_bounds(Col(col % cols), bounds.0, bounds.1);
            program.cols[col % cols] = bounds;
        }
        &Edit::RowBounds(row, sides) if rows > 0 => {
            model.set_row_bounds(Row(row % rows), sides.0, sides.1);
            program.rows[row % rows] = sides;
        }
        &Edit::Solve(simplex) => agree(program, model, simplex),
        Edit::PutBasisBack => {
            if let Some(basis) = model.basis() {
                assert_eq!((basis.cols.len(), basis.rows.len()), (cols, rows));
                model.set_basis(&basis).expect("the model's own");
            }
        }
        Edit::Clear => {
            model.clear();
            *program = DenseProgram::default();
        }
        _ => {}
    }
    assert_eq!((model.cols(), model.rows()), (program.cols.len(), program.rows.len()));
}

/// The edited model ends like one built anew.
fn agree(program: &DenseProgram, edited: &mut LpModel, simplex: Simplex) {
    let edited = edited.solve(None, simplex).expect("a linear program");
    let fresh = program.build().solve(None, Simplex::Dual).expect("a linear program");
    match (&edited, &fresh) {
        (LpOutcome::Optimal(one), LpOutcome::Optimal(other)) => {
            assert!(close(one.objective, other.objective), "{edited:?} instead of {fresh:?}");
            program.check(one);
            program.check(other);
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
        program in program(),
        edits in proptest::collection::vec(edit(), 0..30),
        simplex in simplex(),
    ) {
        let mut program = program;
        let mut model = program.build();
        for edit in &edits {
            apply(edit, &mut program, &mut model);
        }
        agree(&program, &mut model, simplex);
    }

    #[test]
    fn branch_and_bound_finds_the_best_of_all_fixings(program in program(), binaries in 1..5usize) {
        let mut program = program;
        // Finite bounds, so that there is an optimum if there is a point.
        for bounds in &mut program.cols {
            *bounds = (bounds.0.max(-9.0), bounds.1.min(9.0));
        }
        let binaries = binaries.min(program.cols.len());
        program.cols[..binaries].fill((0.0, 1.0));
        let mut fixed = program.build();
        let mut best: Option<f64> = None;
        for choice in 0..1 << binaries {
            for j in 0..binaries {
                let value = f64::from(choice >> j & 1);
                fixed.set_col_bounds(Col(j), value, value);
            }
            match fixed.solve(None, Simplex::Dual).expect("a linear program") {
                LpOutcome::Optimal(solution) => {
                    best = Some(best.map_or(solution.objective, |b| b.max(solution.objective)));
                }
                outcome => prop_assert_eq!(outcome, LpOutcome::Infeasible),
            }
        }
        let mut model = program.build();
        for j in 0..binaries {
            model.set_integer(Col(j));
        }
        match (model.solve(None, Simplex::Dual).expect("a linear program"), best) {
            (LpOutcome::Optimal(solution), Some(best)) => {
                let gap = (solution.objective - best).abs();
                prop_assert!(gap <= 1e-5 * best.abs().max(1.0), "{} {best}", solution.objective);
                prop_assert!(solution.bound.value() >= best - 1e-5 * best.abs().max(1.0));
            }
            (outcome, best) => prop_assert!(outcome == LpOutcome::Infeasible && best.is_none(), "{outcome:?} {best:?}"),
        }
    }
}
