//! The moves of a set as columns of an LP. They are added on demand, because few pixels matter.
//!
//! The rows of the set itself (its budget and its linear constraints, where it has any) are the first rows of the LP.

use crate::lp::{Col, LpModel, LpSolution, NewCols, Row};
use crate::sets::{InputSet, Move};
use crate::tolerance;

/// A move that is a column of an LP.
#[derive(Clone, Copy, Debug)]
pub(super) struct MoveColumn {
    /// Index of the move in [`InputSet::moves`].
    pub index: usize,
    /// The move.
    pub at: Move,
    /// Its column: how far the pixel moves.
    pub col: Col,
}

/// All moves of a set, and which of them are columns of an LP.
pub(super) struct MoveColumns {
    all: Vec<Move>,
    /// In column order.
    columns: Vec<MoveColumn>,
    is_column: Vec<bool>,
    /// The sides of the set's own rows.
    set_sides: Vec<(f64, f64)>,
    /// Whether the first of these rows is the budget, in which every move has the coefficient 1.
    has_budget: bool,
    /// The coefficients of each pixel in the rows of the constraints.
    constraints_from_pixel: Vec<Vec<(Row, f64)>>,
}

/// The duals of the set's own rows.
pub(super) struct SetDuals<'m, 'd> {
    moves: &'m MoveColumns,
    duals: &'d [f64],
}

impl SetDuals<'_, '_> {
    /// The duals of the constraints.
    pub fn of_constraints(&self) -> &[f64] {
        &self.duals[usize::from(self.moves.has_budget)..]
    }

    /// What the set's own rows charge for one unit of a move.
    pub fn price(&self, at: Move) -> f64 {
        self.moves.set_entries(at).map(|(Row(row), entry)| self.duals[row] * entry).sum()
    }
}

impl MoveColumns {
    /// No move is a column yet.
    pub fn new(set: &InputSet) -> Self {
        let all = set.moves();
        let (columns, is_column) = (Vec::new(), vec![false; all.len()]);
        let budget = set.budget().map(|budget| (f64::NEG_INFINITY, budget));
        let mut set_sides: Vec<(f64, f64)> = budget.into_iter().collect();
        let mut constraints_from_pixel = vec![Vec::new(); set.dimension()];
        for constraint in set.constraints() {
            for &(pixel, weight) in constraint.terms() {
                constraints_from_pixel[pixel].push((Row(set_sides.len()), weight));
            }
            let at_centre = constraint.activity(set.centre());
            set_sides.push((constraint.lower() - at_centre, constraint.upper() - at_centre));
        }
        let has_budget = budget.is_some();
        Self { all, columns, is_column, set_sides, has_budget, constraints_from_pixel }
    }

    /// Adds the set's own rows to an LP without rows. No move is a column afterwards.
    pub fn begin(&mut self, lp: &mut LpModel) {
        self.columns.clear();
        self.is_column.fill(false);
        for &(lower, upper) in &self.set_sides {
            lp.add_row(lower, upper, &[]);
        }
    }

    /// Allows every constraint of the set to be missed, at a price per unit: two columns for each.
    pub fn soften_constraints(&self, lp: &mut LpModel, price: f64) {
        for row in usize::from(self.has_budget)..self.set_sides.len() {
            for sign in [1.0, -1.0] {
                lp.add_col(-price, 0.0, f64::INFINITY, &[(Row(row), sign)]);
            }
        }
    }

    /// Makes moves the next columns of the LP. `gradient` is that of the objective; `entries` gives the coefficients of each of them, by its
    /// place among the new ones, in the rows behind the set's own.
    pub fn add<E: IntoIterator<Item = (Row, f64)>>(
        &mut self,
        lp: &mut LpModel,
        indices: &[usize],
        gradient: &[f64],
        entries: impl Fn(usize) -> E,
    ) {
        let first = lp.cols();
        let mut cols = NewCols::default();
        for (k, &index) in indices.iter().enumerate() {
            let at = self.all[index];
            let entries = self.set_entries(at).chain(entries(k));
            cols.push(at.sign * gradient[at.pixel], (0.0, at.cap), entries);
            self.columns.push(MoveColumn { index, at, col: Col(first + k) });
            self.is_column[index] = true;
        }
        lp.add_cols(&cols);
    }

    /// Makes every move a column of an LP that has no other rows than the set's own.
    pub fn add_all(&mut self, lp: &mut LpModel, gradient: &[f64]) {
        let all: Vec<usize> = (0..self.all.len()).collect();
        self.add(lp, &all, gradient, |_| []);
    }

    /// The coefficients of a move in the set's own rows.
    fn set_entries(&self, at: Move) -> impl Iterator<Item = (Row, f64)> + '_ {
        let of_budget = self.has_budget.then_some((Row(0), 1.0));
        let of_constraints = self.constraints_from_pixel[at.pixel].iter();
        of_budget.into_iter().chain(of_constraints.map(move |&(row, v)| (row, at.sign * v)))
    }

    /// The number of rows of the set itself.
    pub fn set_rows(&self) -> usize {
        self.set_sides.len()
    }

    /// The duals of the set's own rows.
    pub fn set_duals<'m, 'd>(&'m self, solution: &'d LpSolution) -> SetDuals<'m, 'd> {
        SetDuals { moves: self, duals: &solution.duals[..self.set_sides.len()] }
    }

    /// The moves that are columns, in column order.
    pub fn columns(&self) -> impl Iterator<Item = MoveColumn> + '_ {
        self.columns.iter().copied()
    }

    /// The pixels of the moves that are columns, in column order.
    pub fn column_pixels(&self) -> Vec<usize> {
        self.columns.iter().map(|column| column.at.pixel).collect()
    }

    /// The move with this index.
    pub fn get(&self, index: usize) -> Move {
        self.all[index]
    }

    /// The pixels of these moves.
    pub fn pixels(&self, indices: &[usize]) -> Vec<usize> {
        indices.iter().map(|&index| self.all[index].pixel).collect()
    }

    /// The moves that are not columns and are worth more than `least`, best first, at most `most` of them. `worth` is given a move's index
    /// and the move.
    pub fn best_missing(
        &self,
        least: f64,
        most: usize,
        worth: impl Fn(usize, Move) -> f64,
    ) -> Vec<usize> {
        let missing = (0..self.all.len()).filter(|&index| !self.is_column[index]);
        let mut wanted: Vec<(f64, usize)> =
            missing.map(|index| (worth(index, self.all[index]), index)).collect();
        wanted.retain(|(worth, _)| *worth > least);
        let better = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if wanted.len() > most {
            wanted.select_nth_unstable_by(most, better);
            wanted.truncate(most);
        }
        wanted.sort_unstable_by(better);
        wanted.into_iter().map(|(_, index)| index).collect()
    }

    /// The point at a solution (one value per column of the LP), projected onto the set where the solver's tolerance left it.
    pub fn point(&self, set: &InputSet, cols: &[f64]) -> Vec<f64> {
        let mut point = set.centre().to_vec();
        for MoveColumn { at: Move { pixel, sign, cap, .. }, col, .. } in self.columns() {
            point[pixel] += sign * cols[col.0].clamp(0.0, cap);
        }
        if set.contains(&point, tolerance::INSIDE) { point } else { set.project(&point) }
    }

    /// How far each move that is a column goes on the way from the centre to `x`.
    pub fn amounts(&self, set: &InputSet, x: &[f64]) -> impl Iterator<Item = (Col, f64)> {
        let centre = set.centre();
        self.columns().map(move |MoveColumn { at: Move { pixel, sign, .. }, col, .. }| {
            (col, (sign * (x[pixel] - centre[pixel])).max(0.0))
        })
    }
}
