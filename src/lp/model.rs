//! One live linear program: rows and columns are added and changed, and each solve starts from the basis of the last.
//!
//! Edits return no error. What is not a linear program (a NaN, an index that does not exist, slices of different lengths)
//! never reaches the solver: the model remembers the first such fault, ignores later edits, and every solve reports the
//! fault until [`LpModel::clear`].

use std::fmt;
use std::fs;
use std::path::Path;

use super::basis::Basis;
use super::check::{self, EntryCheck};
use super::entries::{Col, NewCols, NewRows, Row};
use super::highs::Highs;
use super::outcome::LpError;
use super::program::{LpBounds, Program};
use super::write::ProgramFile;

/// One live linear program `max c·x` under `lower ≤ A·x ≤ upper` and `lower ≤ x ≤ upper`, solved in one thread.
///
/// Sides without a bound are `±f64::INFINITY`; from 1e20 on any bound counts as infinite. A lower bound above its upper
/// one is allowed and means infeasible. Coefficients of 1e-9 and less count as zero.
///
/// It may move between threads, and many threads may solve at the same time: results do not depend on it.
pub struct LpModel {
    pub(super) highs: Highs,
    pub(super) program: Program,
    pub(super) start: Option<Vec<f64>>,
    pub(super) fault: Option<LpError>,
    pub(super) iterations: usize,
    pub(super) iteration_limit: Option<usize>,
    entry_check: EntryCheck,
}

impl Default for LpModel {
    fn default() -> Self {
        LpModel::new()
    }
}

impl fmt::Debug for LpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LpModel")
            .field("cols", &self.cols())
            .field("rows", &self.rows())
            .field("is_milp", &self.program.is_milp())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl LpModel {
    /// A program without rows and columns.
    pub fn new() -> Self {
        LpModel {
            highs: Highs::new(),
            program: Program::default(),
            start: None,
            fault: None,
            iterations: 0,
            iteration_limit: None,
            entry_check: EntryCheck::default(),
        }
    }

    /// Removes all rows and columns, and any fault; cheaper than a new model.
    pub fn clear(&mut self) {
        self.program.clear();
        self.start = None;
        self.iterations = 0;
        self.fault = self.highs.clear().err();
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.program.cols.len()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.program.rows.len()
    }

    /// Ends later solves after so many simplex iterations, as a time limit would, but always at the same place. Without effect if there are
    /// integer columns.
    pub fn limit_iterations(&mut self, limit: Option<usize>) {
        self.iteration_limit = limit;
    }

    /// Simplex iterations of the last solve, whatever its outcome.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Adds a column with its coefficients in the rows there are. It enters a kept basis at one of its bounds.
    pub fn add_col(&mut self, cost: f64, lower: f64, upper: f64, entries: &[(Row, f64)]) -> Col {
        let mut cols = NewCols::default();
        cols.push(cost, (lower, upper), entries.iter().copied());
        self.add_cols(&cols)
    }

    /// Adds several columns and returns the first; the others follow it. One call is cheaper than many.
    pub fn add_cols(&mut self, cols: &NewCols) -> Col {
        let first = Col(self.cols());
        self.edit(|model| {
            check::finite("cost", &cols.costs)?;
            check::bounds(&cols.lowers, &cols.uppers)?;
            let rows = model.rows();
            let missing = |row| LpError::NoSuchRow { row, rows };
            model.entry_check.check(&cols.entries, rows, missing)?;
            if cols.costs.is_empty() { Ok(()) } else { model.highs.add_cols(cols) }
        });
        self.program.costs.extend(&cols.costs);
        let bounds = cols.lowers.iter().zip(&cols.uppers);
        self.program.cols.extend(bounds.map(|(&lower, &upper)| LpBounds { lower, upper }));
        first
    }

    /// Adds a row over the columns there are. It enters a kept basis as a basic row, ready for
    /// [`Simplex::Dual`](super::Simplex::Dual).
    pub fn add_row(&mut self, lower: f64, upper: f64, entries: &[(Col, f64)]) -> Row {
        let mut rows = NewRows::default();
        rows.push(lower, upper, entries.iter().copied());
        self.add_rows(&rows)
    }

    /// Adds several rows and returns the first; the others follow it. One call is cheaper than many: the solver copies its
    /// whole matrix in each.
    pub fn add_rows(&mut self, rows: &NewRows) -> Row {
        let first = Row(self.rows());
        self.edit(|model| {
            check::bounds(&rows.lowers, &rows.uppers)?;
            let cols = model.cols();
            let missing = |col| LpError::NoSuchCol { col, cols };
            model.entry_check.check(&rows.entries, cols, missing)?;
            if rows.lowers.is_empty() { Ok(()) } else { model.highs.add_rows(rows) }
        });
        let sides = rows.lowers.iter().zip(&rows.uppers);
        self.program.rows.extend(sides.map(|(&lower, &upper)| LpBounds { lower, upper }));
        first
    }

    /// Changes all costs: one for each column.
    pub fn set_costs(&mut self, costs: &[f64]) {
        self.edit(|model| {
            check::same_length("costs", costs.len(), model.cols())?;
            check::finite("cost", costs)?;
            model.program.costs.copy_from_slice(costs);
            model.highs.set_costs(costs)
        });
    }

    /// Changes the bounds of a column.
    pub fn set_col_bounds(&mut self, col: Col, lower: f64, upper: f64) {
        self.edit(|model| {
            model.has_col(col)?;
            check::bounds(&[lower], &[upper])?;
            model.program.cols[col.0] = LpBounds { lower, upper };
            model.highs.set_col_bounds(col.0, lower, upper)
        });
    }

    /// Changes the two sides of a row. Both infinite switch it off; its coefficients stay.
    pub fn set_row_bounds(&mut self, row: Row, lower: f64, upper: f64) {
        self.edit(|model| {
            let rows = model.rows();
            if row.0 >= rows {
                return Err(LpError::NoSuchRow { row: row.0, rows });
            }
            check::bounds(&[lower], &[upper])?;
            model.program.rows[row.0] = LpBounds { lower, upper };
            model.highs.set_row_bounds(row.0, lower, upper)
        });
    }

    /// From now on the column takes whole numbers only. Every solve is then branch and bound: without basis and duals, and
    /// without presolve, so the model should be tight already.
    pub fn set_integer(&mut self, col: Col) {
        self.edit(|model| {
            model.has_col(col)?;
            model.program.integers.insert(col.0);
            model.highs.set_integer(col.0)
        });
    }

    /// A point for the next solve by branch and bound to start from, one value per column. The solver repairs or drops a
    /// point that is not feasible. Without effect if there are no integer columns, or other columns by then.
    pub fn set_start(&mut self, cols: &[f64]) {
        self.edit(|model| {
            check::same_length("start", cols.len(), model.cols())?;
            check::finite("start", cols)?;
            model.start = Some(cols.to_vec());
            Ok(())
        });
    }

    /// Writes the model to a file for other solvers: in MPS if its name ends in `.mps`, else in the LP format. `names` has one name for each
    /// column, all different, none of them [`CONSTANT_COLUMN`](super::CONSTANT_COLUMN): that is a column more, fixed at 1, whose cost is `constant`.
    ///
    /// # Errors
    ///
    /// If an edit was at fault, or the file cannot be written.
    pub fn write(&self, path: &Path, names: &[String], constant: f64) -> Result<(), LpError> {
        self.without_fault()?;
        check::same_length("names", names.len(), self.cols())?;
        check::finite("constant", &[constant])?;
        let rows = self.highs.rows()?;
        let file = ProgramFile::new(&self.program, &rows, names, constant);
        let is_mps = path.extension().is_some_and(|end| end == "mps");
        let text = if is_mps { file.mps() } else { file.lp() };
        fs::write(path, text).map_err(|error| LpError::Unwritable(error.to_string()))
    }

    /// The basis that the next solve would start from.
    pub fn basis(&self) -> Option<Basis> {
        if self.fault.is_some() { None } else { self.highs.basis() }
    }

    /// Starts the next solve from this basis. The solver repairs one that is singular or has too many or too few basic
    /// columns and rows.
    ///
    /// # Errors
    ///
    /// If its size is not the model's, or the solver refuses it; the previous basis is then still in place.
    pub fn set_basis(&mut self, basis: &Basis) -> Result<(), LpError> {
        self.without_fault()?;
        check::same_length("columns of the basis", basis.cols.len(), self.cols())?;
        check::same_length("rows of the basis", basis.rows.len(), self.rows())?;
        self.highs.set_basis(basis)
    }

    pub(super) fn without_fault(&self) -> Result<(), LpError> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// An edit, unless an earlier one was at fault.
    fn edit(&mut self, edit: impl FnOnce(&mut Self) -> Result<(), LpError>) {
        if self.fault.is_none() {
            self.fault = edit(self).err();
        }
    }

    fn has_col(&self, col: Col) -> Result<(), LpError> {
        let cols = self.cols();
        if col.0 < cols { Ok(()) } else { Err(LpError::NoSuchCol { col: col.0, cols }) }
    }
}
