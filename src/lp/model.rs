//! One live linear program: rows and columns come, change and go, and each solve starts from the basis of the last.
//!
//! Edits return nothing to check. What is not a linear program (a NaN, an index that does not exist, slices of different
//! lengths) never reaches the solver: the model remembers the first such fault, takes no more edits, and every solve
//! reports it until [`LpModel::clear`].

use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::highs::{Highs, HighsOptions, INFINITE, LARGEST_COEFFICIENT, Status, Strategy};
use super::outcome::{ClaimedBound, LimitKind, LpError, LpOutcome, LpSolution, Stopped};

/// Ten times the solver's own feasibility tolerance: an "optimal" point further outside its bounds is no answer.
const FEASIBLE: f64 = 1e-6;
/// Relative: an objective that differs this much from `c·x` is no answer.
const SAME_OBJECTIVE: f64 = 1e-6;
/// The solver's feasibility tolerance: bounds that cross by more are infeasible.
const CROSSING: f64 = 1e-7;

/// A column: base 0, in order of adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Col(pub usize);

/// A row: base 0, in order of adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub usize);

/// The entries of several rows (their columns) or several columns (their rows), one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sparse<'a> {
    /// The entries of item `k` are `starts[k]..starts[k + 1]`: one more start than items. All three slices empty stand
    /// for items without entries.
    pub starts: &'a [usize],
    /// The column of each entry of a row, or the row of each entry of a column.
    pub index: &'a [usize],
    /// The coefficient of each entry.
    pub values: &'a [f64],
}

/// Rows gathered for [`LpModel::add_gathered`].
#[derive(Clone, Debug)]
pub struct NewRows {
    lowers: Vec<f64>,
    uppers: Vec<f64>,
    starts: Vec<usize>,
    index: Vec<usize>,
    values: Vec<f64>,
}

impl Default for NewRows {
    fn default() -> Self {
        let (lowers, uppers) = (Vec::new(), Vec::new());
        Self { lowers, uppers, starts: vec![0], index: Vec::new(), values: Vec::new() }
    }
}

impl NewRows {
    /// One more row.
    pub fn push(&mut self, lower: f64, upper: f64, entries: impl IntoIterator<Item = (Col, f64)>) {
        for (col, value) in entries {
            self.index.push(col.0);
            self.values.push(value);
        }
        self.starts.push(self.index.len());
        self.lowers.push(lower);
        self.uppers.push(upper);
    }
}

/// When to stop a solve early. The default is never.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Wall-clock time of one solve.
    pub time: Option<Duration>,
    /// Simplex iterations of one solve; without effect if there are integer columns.
    pub iterations: Option<usize>,
    /// Nodes of branch and bound.
    pub nodes: Option<usize>,
    /// Branch and bound may call a point optimal when its bound is within this part of the objective. The default is 0,
    /// which still leaves the solver's absolute 1e-6.
    pub mip_gap: Option<f64>,
}

/// Who looks on while branch and bound works.
pub struct Watch<'w> {
    /// Hears of every better point, one value per column.
    pub better: &'w mut dyn FnMut(&[f64]),
    /// Asked every now and then whether to stop.
    pub stop: &'w dyn Fn() -> bool,
}

/// Which simplex. After new rows or changed bounds the last basis suits the dual one, after new columns or changed
/// costs the primal one. Without effect if there are integer columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simplex {
    /// Keeps the reduced costs right and works on the bounds.
    Dual,
    /// Keeps the point inside its bounds and works on the objective.
    Primal,
    /// The solver decides by the basis at hand.
    Choose,
}

/// Where a column or row stands in a basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasisStatus {
    /// At its lower bound.
    Lower,
    /// In the basis, usually between its bounds. There are as many of these as rows.
    Basic,
    /// At its upper bound.
    Upper,
    /// Without bounds and at zero.
    Free,
}

/// A vertex to start from: the place of each column and row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// By column.
    pub cols: Vec<BasisStatus>,
    /// By row.
    pub rows: Vec<BasisStatus>,
}

#[derive(Clone, Copy)]
struct RangeBounds {
    lower: f64,
    upper: f64,
}

impl RangeBounds {
    fn new(lower: f64, upper: f64) -> Self {
        RangeBounds { lower, upper }
    }

    fn crossed(self) -> bool {
        self.lower - self.upper > CROSSING
    }

    /// Whether `value` keeps the bounds to [`FEASIBLE`], relative where they are large; false for NaN.
    fn hold(self, value: f64) -> bool {
        let slack = |bound: f64| FEASIBLE * bound.abs().max(1.0);
        let above = self.lower == f64::NEG_INFINITY || value >= self.lower - slack(self.lower);
        let below = self.upper == f64::INFINITY || value <= self.upper + slack(self.upper);
        above && below && !value.is_nan()
    }
}

/// One live linear program `max c·x` under `lower ≤ A·x ≤ upper` and `lower ≤ x ≤ upper`, solved in one thread.
///
/// Sides without a bound are `±f64::INFINITY`; from 1e20 on any bound counts as infinite. A lower bound above its upper
/// one is allowed and means infeasible. Coefficients of 1e-9 and less count as zero.
///
/// It may move between threads, and many of them may solve at the same time: results do not depend on it.
pub struct LpModel {
    highs: Highs,
    costs: Vec<f64>,
    cols: Vec<RangeBounds>,
    rows: Vec<RangeBounds>,
    integer: Vec<bool>,
    start: Option<Vec<f64>>,
    fault: Option<LpError>,
    iterations: usize,
    index: Vec<usize>,
    values: Vec<f64>,
    marks: Marks,
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
            .field("integer", &self.integer.iter().filter(|&&i| i).count())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl LpModel {
    /// A program without rows and columns.
    pub fn new() -> Self {
        LpModel {
            highs: Highs::new(),
            costs: Vec::new(),
            cols: Vec::new(),
            rows: Vec::new(),
            integer: Vec::new(),
            start: None,
            fault: None,
            iterations: 0,
            index: Vec::new(),
            values: Vec::new(),
            marks: Marks::default(),
        }
    }

    /// Takes out all rows and columns, and any fault; cheaper than a new model.
    pub fn clear(&mut self) {
        self.costs.clear();
        self.cols.clear();
        self.rows.clear();
        self.integer.clear();
        self.start = None;
        self.iterations = 0;
        self.fault = self.highs.clear().err();
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.cols.len()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The fault that every solve will report, if an edit was none.
    pub fn fault(&self) -> Option<&LpError> {
        self.fault.as_ref()
    }

    /// Simplex iterations of the last solve, whatever its outcome.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Adds a column with its coefficients in the rows there are. It enters a kept basis at one of its bounds.
    pub fn add_col(&mut self, cost: f64, lower: f64, upper: f64, entries: &[(Row, f64)]) -> Col {
        self.load(entries.iter().map(|&(row, value)| (row.0, value)));
        let (index, values) = (std::mem::take(&mut self.index), std::mem::take(&mut self.values));
        let sparse = Sparse { starts: &[0, entries.len()], index: &index, values: &values };
        let col = self.add_cols(&[cost], &[lower], &[upper], sparse);
        (self.index, self.values) = (index, values);
        col
    }

    /// Adds a column for each cost, in one call, and returns the first of them; the others follow it.
    pub fn add_cols(
        &mut self,
        costs: &[f64],
        lowers: &[f64],
        uppers: &[f64],
        entries: Sparse<'_>,
    ) -> Col {
        let first = Col(self.cols());
        self.edit(|model| {
            same_length("lower bounds", lowers.len(), costs.len())?;
            same_length("upper bounds", uppers.len(), costs.len())?;
            check_finite("cost", costs, INFINITE)?;
            check_bounds(lowers, uppers)?;
            let rows = model.rows();
            let missing = |row| LpError::NoSuchRow { row, rows };
            model.marks.check(costs.len(), entries, rows, missing)?;
            if costs.is_empty() {
                return Ok(());
            }
            model.highs.add_cols(costs, lowers, uppers, entries)
        });
        let bounds =
            lowers.iter().zip(uppers).map(|(&lower, &upper)| RangeBounds::new(lower, upper));
        self.costs.extend(costs);
        self.cols.extend(bounds);
        self.integer.resize(self.cols.len(), false);
        first
    }

    /// Adds a row over the columns there are. It enters a kept basis as a basic row, ready for [`Simplex::Dual`].
    pub fn add_row(&mut self, lower: f64, upper: f64, entries: &[(Col, f64)]) -> Row {
        self.load(entries.iter().map(|&(col, value)| (col.0, value)));
        let (index, values) = (std::mem::take(&mut self.index), std::mem::take(&mut self.values));
        let sparse = Sparse { starts: &[0, entries.len()], index: &index, values: &values };
        let row = self.add_rows(&[lower], &[upper], sparse);
        (self.index, self.values) = (index, values);
        row
    }

    /// Adds a row for each lower side, in one call, and returns the first of them; the others follow it.
    pub fn add_rows(&mut self, lowers: &[f64], uppers: &[f64], entries: Sparse<'_>) -> Row {
        let first = Row(self.rows());
        self.edit(|model| {
            same_length("upper sides", uppers.len(), lowers.len())?;
            check_bounds(lowers, uppers)?;
            let cols = model.cols();
            let missing = |col| LpError::NoSuchCol { col, cols };
            model.marks.check(lowers.len(), entries, cols, missing)?;
            if lowers.is_empty() {
                return Ok(());
            }
            model.highs.add_rows(lowers, uppers, entries)
        });
        let bounds =
            lowers.iter().zip(uppers).map(|(&lower, &upper)| RangeBounds::new(lower, upper));
        self.rows.extend(bounds);
        first
    }

    /// Adds what was gathered, in one call, and returns the first row: the solver copies its whole matrix in every call.
    pub fn add_gathered(&mut self, rows: &NewRows) -> Row {
        let NewRows { lowers, uppers, starts, index, values } = rows;
        self.add_rows(lowers, uppers, Sparse { starts, index, values })
    }

    /// Changes one cost.
    pub fn set_cost(&mut self, col: Col, cost: f64) {
        self.edit(|model| {
            model.has_col(col)?;
            check_finite("cost", &[cost], INFINITE)?;
            model.costs[col.0] = cost;
            model.highs.set_cost(col.0, cost)
        });
    }

    /// Changes all costs, in one call: one for each column.
    pub fn set_costs(&mut self, costs: &[f64]) {
        self.edit(|model| {
            same_length("costs", costs.len(), model.cols())?;
            check_finite("cost", costs, INFINITE)?;
            model.costs.copy_from_slice(costs);
            model.highs.set_costs(costs)
        });
    }

    /// Changes the bounds of a column.
    pub fn set_col_bounds(&mut self, col: Col, lower: f64, upper: f64) {
        self.edit(|model| {
            model.has_col(col)?;
            check_bounds(&[lower], &[upper])?;
            model.cols[col.0] = RangeBounds::new(lower, upper);
            model.highs.set_col_bounds(col.0, lower, upper)
        });
    }

    /// Changes the two sides of a row. Both infinite switches it off; its coefficients stay.
    pub fn set_row_bounds(&mut self, row: Row, lower: f64, upper: f64) {
        self.edit(|model| {
            model.has_row(row)?;
            check_bounds(&[lower], &[upper])?;
            model.rows[row.0] = RangeBounds::new(lower, upper);
            model.highs.set_row_bounds(row.0, lower, upper)
        });
    }

    /// Changes one coefficient, zero or not before.
    pub fn set_coefficient(&mut self, row: Row, col: Col, value: f64) {
        self.edit(|model| {
            model.has_row(row)?;
            model.has_col(col)?;
            check_finite("coefficient", &[value], LARGEST_COEFFICIENT)?;
            let slack = || slack_basis(&model.cols, model.rows.len());
            model.highs.set_coefficient(row.0, col.0, value, slack)
        });
    }

    /// Deletes rows. The ids above them move down to close the gaps: ids handed out before are then other rows. The basis
    /// is kept where only basic (slack) rows went.
    pub fn delete_rows(&mut self, rows: &[Row]) {
        self.edit(|model| {
            let mut doomed = vec![false; model.rows()];
            for &row in rows {
                model.has_row(row)?;
                doomed[row.0] = true;
            }
            if rows.is_empty() {
                return Ok(());
            }
            keep(&mut model.rows, &doomed);
            model.highs.delete_rows(&doomed)
        });
    }

    /// Deletes columns. The ids above them move down to close the gaps: ids handed out before are then other columns. The
    /// basis is kept where only nonbasic columns went.
    pub fn delete_cols(&mut self, cols: &[Col]) {
        self.edit(|model| {
            let mut doomed = vec![false; model.cols()];
            for &col in cols {
                model.has_col(col)?;
                doomed[col.0] = true;
            }
            if cols.is_empty() {
                return Ok(());
            }
            keep(&mut model.cols, &doomed);
            keep(&mut model.costs, &doomed);
            keep(&mut model.integer, &doomed);
            model.highs.delete_cols(&doomed)
        });
    }

    /// Whether a column takes whole numbers only. While any does, a solve is branch and bound: without
    /// basis and duals, and without presolve, so send it a model that is tight already.
    pub fn set_integer(&mut self, col: Col, integer: bool) {
        self.edit(|model| {
            model.has_col(col)?;
            if model.integer[col.0] == integer {
                return Ok(());
            }
            model.integer[col.0] = integer;
            model.highs.set_integer(col.0, integer)
        });
    }

    /// A point for the next solve by branch and bound to start from, one value per column. The solver repairs or drops a
    /// point that is not feasible; without effect if there are no integer columns, or others by then.
    pub fn set_start(&mut self, cols: &[f64]) {
        self.edit(|model| {
            same_length("start", cols.len(), model.cols())?;
            check_finite("start", cols, INFINITE)?;
            model.start = Some(cols.to_vec());
            Ok(())
        });
    }

    /// Names a column; names matter to [`LpModel::write`] only. All columns are named, each differently, or none.
    pub fn set_col_name(&mut self, col: Col, name: &str) {
        self.edit(|model| {
            model.has_col(col)?;
            model.highs.set_col_name(col.0, name)
        });
    }

    /// Writes the model to a file for other solvers: MPS where its name ends in `.mps`, the LP format where in `.lp`. `offset` is
    /// added to the objective.
    ///
    /// # Errors
    ///
    /// If an edit was at fault, or the file cannot be written.
    pub fn write(&mut self, path: &Path, offset: f64) -> Result<(), LpError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        // Where the solver cannot open the file, it crashes.
        File::create(path).map_err(|error| LpError::Unwritable(error.to_string()))?;
        let refused = LpError::Refused { call: "a path that is no text" };
        let path = path.to_str().and_then(|path| CString::new(path).ok()).ok_or(refused)?;
        self.highs.write(&path, offset)
    }

    /// The basis that the next solve would start from.
    pub fn basis(&self) -> Option<Basis> {
        if self.fault.is_some() { None } else { self.highs.basis() }
    }

    /// Starts the next solve from this basis. The solver repairs one that is singular or has too many or too few basic
    /// places.
    ///
    /// # Errors
    ///
    /// If its size is not the model's, or the solver refuses it; the basis from before is then still in place.
    pub fn set_basis(&mut self, basis: &Basis) -> Result<(), LpError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        same_length("columns of the basis", basis.cols.len(), self.cols())?;
        same_length("rows of the basis", basis.rows.len(), self.rows())?;
        self.highs.set_basis(basis)
    }

    /// Forgets the basis: the next solve starts cold.
    pub fn clear_basis(&mut self) {
        self.edit(|model| model.highs.forget());
    }

    /// Solves from the basis at hand, or cold if there is none.
    ///
    /// Bounds that cross are found before the solver is asked, so the basis outlives them. Where the solver does not know
    /// what to say it is asked again cold, by dual and by primal simplex, within the same limits.
    ///
    /// # Errors
    ///
    /// If an edit was at fault, or a limit is not a number.
    pub fn solve(&mut self, limits: &Limits, simplex: Simplex) -> Result<LpOutcome, LpError> {
        self.solve_watched(limits, simplex, None)
    }

    /// [`LpModel::solve`] with somebody looking on.
    ///
    /// # Errors
    ///
    /// As [`LpModel::solve`].
    pub fn solve_watched(
        &mut self,
        limits: &Limits,
        simplex: Simplex,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<LpOutcome, LpError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.iterations = 0;
        let start = self.start.take();
        if self.cols.iter().chain(&self.rows).any(|bounds| bounds.crossed()) {
            return Ok(LpOutcome::Infeasible);
        }
        if self.cols.is_empty() {
            return Ok(self.solve_without_cols());
        }
        let milp = self.integer.contains(&true);
        let mut limits = *limits;
        self.highs.set(&settings(&limits, simplex, milp)?)?;
        if milp {
            // What an earlier solve left would be taken for a start.
            match start.filter(|start| start.len() == self.cols()) {
                Some(start) => self.highs.set_start(&start)?,
                None => self.highs.forget()?,
            }
        }
        let mut status = self.highs.run(watch);
        self.iterations = self.highs.iterations();
        for simplex in [Simplex::Dual, Simplex::Primal] {
            if milp || !matches!(status, Status::Other { .. }) {
                break;
            }
            // What stops one way rarely stops the others: a warm or primal simplex may circle around a pivot it dislikes,
            // the dual one may not know what to say of an unbounded program.
            limits.time = limits.time.map(|time| time.saturating_sub(self.highs.run_time()));
            limits.iterations =
                limits.iterations.map(|n| n.saturating_sub(self.highs.iterations()));
            self.highs.forget()?;
            self.highs.set(&settings(&limits, simplex, milp)?)?;
            status = self.highs.run(None);
            self.iterations += self.highs.iterations();
        }
        Ok(match status {
            Status::Optimal => match self.solution(milp) {
                Ok(solution) => LpOutcome::Optimal(solution),
                Err(why) => LpOutcome::Trouble(why),
            },
            Status::Infeasible => LpOutcome::Infeasible,
            Status::Unbounded => LpOutcome::Unbounded,
            Status::UnboundedOrInfeasible => LpOutcome::InfeasibleOrUnbounded,
            Status::TimeLimit => LpOutcome::Limit(self.stopped(LimitKind::Time, milp)),
            Status::IterationLimit => LpOutcome::Limit(self.stopped(LimitKind::Iterations, milp)),
            Status::NodeLimit => LpOutcome::Limit(self.stopped(LimitKind::Nodes, milp)),
            Status::Interrupt => LpOutcome::Limit(self.stopped(LimitKind::Interrupt, milp)),
            Status::Other { model, run } => LpOutcome::Trouble(format!(
                "the solver ended with model status {model} and run status {run}"
            )),
        })
    }

    /// Without columns every activity is 0.
    fn solve_without_cols(&self) -> LpOutcome {
        if self.rows.iter().any(|row| row.lower > CROSSING || row.upper < -CROSSING) {
            return LpOutcome::Infeasible;
        }
        LpOutcome::Optimal(LpSolution {
            objective: 0.0,
            cols: Vec::new(),
            reduced_costs: Vec::new(),
            rows: vec![0.0; self.rows()],
            duals: vec![0.0; self.rows()],
            iterations: 0,
            bound: ClaimedBound::new(0.0),
        })
    }

    /// The point of the last run, if it keeps the bounds and has the objective it claims. That the activities are those
    /// of the point is left to the caller, who knows the rows' meaning.
    fn solution(&self, milp: bool) -> Result<LpSolution, String> {
        let point = self.highs.point();
        if point.cols.len() != self.cols() {
            return Err("the solver has no point to show".into());
        }
        if !milp && point.duals.len() != self.rows() {
            return Err("the solver has no duals to show".into());
        }
        let outside = |bounds: &[RangeBounds], values: &[f64]| {
            bounds.iter().zip(values).position(|(bounds, &value)| !bounds.hold(value))
        };
        if let Some(col) = outside(&self.cols, &point.cols) {
            return Err(format!("column {col} of the solver's point is outside its bounds"));
        }
        if let Some(row) = outside(&self.rows, &point.rows) {
            return Err(format!("row {row} of the solver's point is outside its bounds"));
        }
        let product: f64 = self.costs.iter().zip(&point.cols).map(|(c, x)| c * x).sum();
        let size: f64 = self.costs.iter().zip(&point.cols).map(|(c, x)| (c * x).abs()).sum();
        let same = (product - point.objective).abs() <= SAME_OBJECTIVE * size.max(1.0);
        if !same {
            return Err(format!(
                "the solver's objective {} is not c·x = {product}",
                point.objective
            ));
        }
        let bound = if milp { self.highs.mip_bound().unwrap_or(f64::INFINITY) } else { product };
        Ok(LpSolution {
            objective: product,
            cols: point.cols,
            reduced_costs: point.reduced_costs,
            rows: point.rows,
            duals: point.duals,
            iterations: self.iterations,
            bound: ClaimedBound::new(bound),
        })
    }

    fn stopped(&self, limit: LimitKind, milp: bool) -> Stopped {
        let point = self.highs.point();
        let bound = if milp {
            self.highs.mip_bound().filter(|bound| bound.is_finite())
        } else {
            point.dual_feasible.then_some(point.objective)
        };
        let incumbent = if point.primal_feasible { self.solution(milp).ok() } else { None };
        Stopped {
            limit,
            incumbent: incumbent.map(|solution| LpSolution {
                bound: ClaimedBound::new(bound.unwrap_or(f64::INFINITY)),
                ..solution
            }),
            bound: bound.map(ClaimedBound::new),
            duals: point.duals,
            iterations: self.iterations,
        }
    }

    /// An edit, unless an earlier one was at fault.
    fn edit(&mut self, edit: impl FnOnce(&mut Self) -> Result<(), LpError>) {
        if self.fault.is_none() {
            self.fault = edit(self).err();
        }
    }

    fn load(&mut self, entries: impl Iterator<Item = (usize, f64)>) {
        self.index.clear();
        self.values.clear();
        for (index, value) in entries {
            self.index.push(index);
            self.values.push(value);
        }
    }

    fn has_col(&self, col: Col) -> Result<(), LpError> {
        let cols = self.cols();
        if col.0 < cols { Ok(()) } else { Err(LpError::NoSuchCol { col: col.0, cols }) }
    }

    fn has_row(&self, row: Row) -> Result<(), LpError> {
        let rows = self.rows();
        if row.0 < rows { Ok(()) } else { Err(LpError::NoSuchRow { row: row.0, rows }) }
    }
}

fn settings(limits: &Limits, simplex: Simplex, milp: bool) -> Result<HighsOptions, LpError> {
    let mip_gap = limits.mip_gap.unwrap_or(0.0);
    check_finite("gap", &[mip_gap], f64::INFINITY)?;
    Ok(HighsOptions {
        time_limit: limits.time.map_or(f64::INFINITY, |time| time.as_secs_f64()),
        iteration_limit: limits.iterations.filter(|_| !milp).unwrap_or(usize::MAX),
        node_limit: limits.nodes.unwrap_or(usize::MAX),
        mip_gap,
        strategy: match simplex {
            _ if milp => Strategy::Dual,
            Simplex::Dual => Strategy::Dual,
            Simplex::Primal => Strategy::Primal,
            Simplex::Choose => Strategy::Choose,
        },
    })
}

/// All rows basic, all columns at a bound: where a cold start begins.
fn slack_basis(cols: &[RangeBounds], rows: usize) -> Basis {
    let place = |bounds: &RangeBounds| {
        if bounds.lower > -INFINITE {
            BasisStatus::Lower
        } else if bounds.upper < INFINITE {
            BasisStatus::Upper
        } else {
            BasisStatus::Free
        }
    };
    Basis { cols: cols.iter().map(place).collect(), rows: vec![BasisStatus::Basic; rows] }
}

fn keep<T>(items: &mut Vec<T>, doomed: &[bool]) {
    let mut doomed = doomed.iter();
    items.retain(|_| !doomed.next().expect("a mark for each item"));
}

fn same_length(what: &'static str, found: usize, expected: usize) -> Result<(), LpError> {
    if found == expected { Ok(()) } else { Err(LpError::Length { what, expected, found }) }
}

fn check_finite(what: &'static str, values: &[f64], limit: f64) -> Result<(), LpError> {
    for (position, &value) in values.iter().enumerate() {
        if value.is_nan() {
            return Err(LpError::NotANumber { what, position });
        }
        if value.abs() >= limit {
            return Err(LpError::OutOfRange { what, position, value });
        }
    }
    Ok(())
}

fn check_bounds(lowers: &[f64], uppers: &[f64]) -> Result<(), LpError> {
    for (position, (&lower, &upper)) in lowers.iter().zip(uppers).enumerate() {
        for (what, value, wrong) in
            [("lower bound", lower, lower >= INFINITE), ("upper bound", upper, upper <= -INFINITE)]
        {
            if value.is_nan() {
                return Err(LpError::NotANumber { what, position });
            }
            if wrong {
                return Err(LpError::OutOfRange { what, position, value });
            }
        }
    }
    Ok(())
}

/// Finds repeated indices: the item that last used each index.
#[derive(Default)]
struct Marks {
    item: u64,
    last_used: Vec<u64>,
}

impl Marks {
    /// Everything that the solver would refuse halfway through an addition.
    fn check(
        &mut self,
        items: usize,
        entries: Sparse<'_>,
        indices: usize,
        missing: impl Fn(usize) -> LpError,
    ) -> Result<(), LpError> {
        let Sparse { starts, index, values } = entries;
        same_length("values", values.len(), index.len())?;
        if starts.is_empty() {
            return same_length("entries without starts", index.len(), 0);
        }
        same_length("starts", starts.len(), items + 1)?;
        same_length("first start", starts[0], 0)?;
        same_length("last start", starts[items], index.len())?;
        check_finite("coefficient", values, LARGEST_COEFFICIENT)?;
        if let Some(k) = (0..items).find(|&k| starts[k] > starts[k + 1]) {
            return Err(LpError::Length {
                what: "next start",
                expected: starts[k],
                found: starts[k + 1],
            });
        }
        self.last_used.resize(self.last_used.len().max(indices), 0);
        for k in 0..items {
            self.item += 1;
            for position in starts[k]..starts[k + 1] {
                let index = index[position];
                if index >= indices {
                    return Err(missing(index));
                }
                if std::mem::replace(&mut self.last_used[index], self.item) == self.item {
                    return Err(LpError::Repeated { position, index });
                }
            }
        }
        Ok(())
    }
}
