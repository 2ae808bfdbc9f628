//! The only file that says HiGHS: one model of the crate `highs`, with the calls that the crate lacks. Numbers pass
//! through unchanged; `model.rs` has checked them before.
//!
//! The crate creates and frees the object, keeps it quiet, and sets the direction, the options and the start of branch
//! and bound. Raw functions, reached through `as_mut_ptr`, do the rest:
//! - `addRows`, `addCols`: the crate adds rows and columns one by one, and HiGHS copies its whole matrix for each row;
//! - `changeColBounds`: the crate takes only rows and columns that it has added itself;
//! - `changeColsCostByRange`, `changeRowBounds`, `changeColIntegrality`, `getBasis`, `setBasis`, `clearModel`,
//!   `clearSolver`, `getNumNz`, `getRowsByRange`, `setCallback`, `startCallback`,
//!   `stopCallback`, `zeroAllClocks`, `getRunTime`, `version*`: the crate has none of these;
//! - `run`: the crate's `try_solve` consumes the model and frees it when HiGHS reports an error. We then still want to
//!   ask what is known and to try again cold. It also logs a warning for each limit reached;
//! - `getModelStatus`, `getIntInfoValue`, `getDoubleInfoValue`, `getSolution`: the crate offers them only on what
//!   `try_solve` returns, panics on a status that it does not know, and has buffers that HiGHS may overrun (below).
//!
//! Traps of HiGHS 1.14 that are closed here:
//! - `getBasis` and `getSolution` write as many values as their last run had columns and rows, even after `clearModel`:
//!   the buffers are as long as the model has ever been;
//! - `setBasis` without rows writes to a basis that does not exist: it is not called then;
//! - `time_limit` counts from the creation of the object: the clocks are zeroed before each run;
//! - a refused `addCols` or `addRows` leaves half of what was added: the caller checks everything before.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::num::NonZeroU32;
use std::time::Duration;

use highs::{ColProblem, HighsOptionValue, Model, Sense};
use highs_sys::{self as raw, HighsInt};

use super::basis::{Basis, BasisStatus};
use super::entries::{Entries, NewCols, NewRows};
use super::outcome::LpError;
use super::request::{Callbacks, Simplex};

/// The version of the HiGHS that is linked in, such as `1.14.0`.
pub fn version() -> String {
    // SAFETY: these take nothing and return constants.
    let (major, minor, patch) = unsafe {
        (raw::Highs_versionMajor(), raw::Highs_versionMinor(), raw::Highs_versionPatch())
    };
    format!("{major}.{minor}.{patch}")
}

/// Absolute values of costs and bounds from here on are infinite to HiGHS.
pub(super) const INFINITE: f64 = 1e20;
/// HiGHS refuses coefficients of this absolute value or more.
pub(super) const LARGEST_COEFFICIENT: f64 = 1e15;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RunStatus {
    Optimal,
    Infeasible,
    Unbounded,
    UnboundedOrInfeasible,
    /// The time is up, the iterations are used up, or a callback asked to stop.
    Limit,
    /// Any other model status, or one above that the status of the call contradicts.
    Unknown {
        model: HighsInt,
        call: HighsInt,
    },
}

/// What a run leaves behind; vectors that it does not have are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct RunValues {
    pub objective: f64,
    pub cols: Vec<f64>,
    pub reduced_costs: Vec<f64>,
    pub rows: Vec<f64>,
    pub duals: Vec<f64>,
    pub primal_feasible: bool,
    pub dual_feasible: bool,
}

/// One HiGHS object: it maximises, is quiet and uses one thread.
pub(super) struct Highs {
    model: Model,
    /// The most columns and rows since the object was made: as many values HiGHS may write into a buffer.
    most: (usize, usize),
    /// HiGHS holds a basis of the model's present size.
    has_basis: bool,
    starts: Vec<HighsInt>,
    index: Vec<HighsInt>,
}

// SAFETY: the object owns its data and belongs to no thread: HiGHS keeps its scheduler per thread and makes it anew at
// the start of a run. `&Highs` offers only reads.
unsafe impl Send for Highs {}

/// A warning (a bound above another, a coefficient below 1e-9) is not a refusal.
fn accepted(status: HighsInt, call: &'static str) -> Result<(), LpError> {
    if status == raw::STATUS_ERROR { Err(LpError::Refused { call }) } else { Ok(()) }
}

fn int(size: usize) -> HighsInt {
    HighsInt::try_from(size).expect("a model of fewer than 2^31 rows, columns and entries")
}

/// Creation and options.
impl Highs {
    pub fn new() -> Self {
        let mut model = Model::new(ColProblem::new());
        // This heuristic ignores the time limit: on dense rows it takes minutes.
        model.set_option("mip_heuristic_run_feasibility_jump", false);
        model.set_threads(NonZeroU32::MIN);
        model.set_option("solver", "simplex");
        // Presolve would cost an LP its basis. With integer columns it is wrong in 1.14.0: a row of integer and continuous
        // columns that occur nowhere else may lose the optimum (HiGHS issues 2957, 3043, 3094; repaired in 1.15).
        model.set_option("presolve", "off");
        // Branch and bound goes on until the bound is reached, up to the absolute gap of 1e-6.
        model.set_option("mip_rel_gap", 0.0);
        model.set_sense(Sense::Maximise);
        Highs { model, most: (0, 0), has_basis: false, starts: Vec::new(), index: Vec::new() }
    }

    fn set_option(
        &mut self,
        name: &'static str,
        value: impl HighsOptionValue,
    ) -> Result<(), LpError> {
        self.model.try_set_option(name, value).map_err(|_| LpError::Refused { call: name })
    }

    /// Sets the time of the next run in seconds, which simplex it uses, and how many iterations that may take.
    pub fn set_run_options(
        &mut self,
        time_limit: f64,
        simplex: Simplex,
        iterations: Option<usize>,
    ) -> Result<(), LpError> {
        let strategy: HighsInt = match simplex {
            Simplex::Choose => 0,
            Simplex::Dual => 1,
            Simplex::Primal => 4,
        };
        let most = HighsInt::MAX;
        let iterations = iterations.map_or(most, |n| HighsInt::try_from(n).unwrap_or(most));
        self.set_option("time_limit", time_limit)?;
        self.set_option("simplex_iteration_limit", iterations)?;
        self.set_option("simplex_strategy", strategy)
    }
}

/// Edits.
impl Highs {
    /// Removes all rows and columns.
    pub fn clear(&mut self) -> Result<(), LpError> {
        self.has_basis = false;
        // SAFETY: a live object.
        let status = unsafe { raw::Highs_clearModel(self.model.as_mut_ptr()) };
        // The direction was part of what is cleared.
        self.model.set_sense(Sense::Maximise);
        accepted(status, "clear")
    }

    /// Puts entries into HiGHS's integers.
    fn load(&mut self, entries: &Entries) {
        self.starts.clear();
        self.starts.extend(entries.starts.iter().map(|&s| int(s)));
        self.index.clear();
        self.index.extend(entries.index.iter().map(|&i| int(i)));
    }

    fn note_size(&mut self) {
        let (cols, rows) = self.most;
        self.most = (cols.max(self.model.num_cols()), rows.max(self.model.num_rows()));
    }

    pub fn add_cols(&mut self, cols: &NewCols) -> Result<(), LpError> {
        let NewCols { costs, lowers, uppers, entries } = cols;
        self.load(entries);
        let count = costs.len();
        let lengths = (lowers.len(), uppers.len(), entries.starts.len());
        assert_eq!(lengths, (count, count, count + 1), "whole columns");
        // SAFETY: each pointer has the length that is handed over with it: `count`, or the number of entries.
        let status = unsafe {
            raw::Highs_addCols(
                self.model.as_mut_ptr(),
                int(count),
                costs.as_ptr(),
                lowers.as_ptr(),
                uppers.as_ptr(),
                int(self.index.len()),
                self.starts.as_ptr(),
                self.index.as_ptr(),
                entries.values.as_ptr(),
            )
        };
        self.note_size();
        accepted(status, "add columns")
    }

    pub fn add_rows(&mut self, rows: &NewRows) -> Result<(), LpError> {
        let NewRows { lowers, uppers, entries } = rows;
        self.load(entries);
        let count = lowers.len();
        assert!(uppers.len() == count && entries.starts.len() == count + 1, "whole rows");
        // SAFETY: each pointer has the length that is handed over with it: `count`, or the number of entries.
        let status = unsafe {
            raw::Highs_addRows(
                self.model.as_mut_ptr(),
                int(count),
                lowers.as_ptr(),
                uppers.as_ptr(),
                int(self.index.len()),
                self.starts.as_ptr(),
                self.index.as_ptr(),
                entries.values.as_ptr(),
            )
        };
        self.note_size();
        accepted(status, "add rows")
    }

    pub fn set_costs(&mut self, costs: &[f64]) -> Result<(), LpError> {
        assert_eq!(costs.len(), self.model.num_cols(), "a cost for each column");
        let Some(last) = costs.len().checked_sub(1) else { return Ok(()) };
        let highs = self.model.as_mut_ptr();
        // SAFETY: the range is all columns and the slice has one cost for each.
        let status =
            unsafe { raw::Highs_changeColsCostByRange(highs, 0, int(last), costs.as_ptr()) };
        accepted(status, "change costs")
    }

    pub fn set_col_bounds(&mut self, col: usize, lower: f64, upper: f64) -> Result<(), LpError> {
        let highs = self.model.as_mut_ptr();
        // SAFETY: a live object; HiGHS checks the column.
        let status = unsafe { raw::Highs_changeColBounds(highs, int(col), lower, upper) };
        accepted(status, "change a column's bounds")
    }

    pub fn set_row_bounds(&mut self, row: usize, lower: f64, upper: f64) -> Result<(), LpError> {
        let highs = self.model.as_mut_ptr();
        // SAFETY: a live object; HiGHS checks the row.
        let status = unsafe { raw::Highs_changeRowBounds(highs, int(row), lower, upper) };
        accepted(status, "change a row's bounds")
    }

    pub fn set_integer(&mut self, col: usize) -> Result<(), LpError> {
        let (highs, kind) = (self.model.as_mut_ptr(), raw::VAR_TYPE_INTEGER);
        // SAFETY: a live object; HiGHS checks the column.
        let status = unsafe { raw::Highs_changeColIntegrality(highs, int(col), kind) };
        accepted(status, "make a column integer")
    }

    /// A point for branch and bound to start from.
    pub fn set_start(&mut self, cols: &[f64]) -> Result<(), LpError> {
        self.has_basis = false;
        let set = self.model.try_set_solution(Some(cols), None, None, None);
        set.map_err(|_| LpError::Refused { call: "a start" })
    }

    /// All rows as HiGHS holds them: what it took for zero is gone.
    pub fn rows(&self) -> Result<NewRows, LpError> {
        let (highs, count) = (self.model.as_ptr(), self.model.num_rows());
        if count == 0 {
            return Ok(NewRows::default());
        }
        // SAFETY: a live object.
        let entries = usize::try_from(unsafe { raw::Highs_getNumNz(highs) }).unwrap_or(0);
        let (mut lowers, mut uppers) = (vec![0.0; count], vec![0.0; count]);
        let (mut starts, mut index) = (vec![0; count], vec![0; entries]);
        let mut values = vec![0.0; entries];
        let (mut got, mut nonzeros): (HighsInt, HighsInt) = (0, 0);
        // SAFETY: sides and starts have room for every row, the rest for every entry of the matrix.
        let status = unsafe {
            raw::Highs_getRowsByRange(
                highs,
                0,
                int(count) - 1,
                &mut got,
                lowers.as_mut_ptr(),
                uppers.as_mut_ptr(),
                &mut nonzeros,
                starts.as_mut_ptr(),
                index.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        accepted(status, "read the rows")?;
        let sizes = |from: &[HighsInt]| -> Vec<usize> {
            from.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect()
        };
        starts.push(nonzeros);
        let entries = Entries { starts: sizes(&starts), index: sizes(&index), values };
        Ok(NewRows { lowers, uppers, entries })
    }

    /// Forgets the basis and everything else that the last run left.
    pub fn clear_solver(&mut self) -> Result<(), LpError> {
        self.has_basis = false;
        // SAFETY: a live object.
        let status = unsafe { raw::Highs_clearSolver(self.model.as_mut_ptr()) };
        accepted(status, "clear the solver")
    }

    pub fn basis(&self) -> Option<Basis> {
        if !self.has_basis {
            return None;
        }
        let mut cols = vec![-1; self.most.0];
        let mut rows = vec![-1; self.most.1];
        // SAFETY: the buffers are as long as the model ever was, and HiGHS's basis is not longer.
        let status = unsafe {
            raw::Highs_getBasis(self.model.as_ptr(), cols.as_mut_ptr(), rows.as_mut_ptr())
        };
        accepted(status, "read the basis").ok()?;
        let (cols, rows) = (&cols[..self.model.num_cols()], &rows[..self.model.num_rows()]);
        Some(Basis {
            cols: cols.iter().map(|&code| basis_status(code)).collect::<Option<_>>()?,
            rows: rows.iter().map(|&code| basis_status(code)).collect::<Option<_>>()?,
        })
    }

    pub fn set_basis(&mut self, basis: &Basis) -> Result<(), LpError> {
        assert!(
            basis.cols.len() == self.model.num_cols() && basis.rows.len() == self.model.num_rows(),
            "a status for each column and row"
        );
        if basis.rows.is_empty() {
            return self.clear_solver();
        }
        let cols: Vec<HighsInt> = basis.cols.iter().map(|&status| basis_code(status)).collect();
        let rows: Vec<HighsInt> = basis.rows.iter().map(|&status| basis_code(status)).collect();
        let highs = self.model.as_mut_ptr();
        // SAFETY: one status per column and row.
        let status = unsafe { raw::Highs_setBasis(highs, cols.as_ptr(), rows.as_ptr()) };
        // A refused basis leaves the previous one in place.
        accepted(status, "this basis")?;
        self.has_basis = true;
        Ok(())
    }
}

/// Runs and what they leave.
impl Highs {
    /// Solves, from the basis at hand.
    pub fn run(&mut self, callbacks: Option<&mut Callbacks<'_>>) -> RunStatus {
        let called_back = callbacks.is_some();
        if let Some(callbacks) = callbacks {
            self.start_callbacks(callbacks);
        }
        let highs = self.model.as_mut_ptr();
        // SAFETY: a live object; the callbacks, if any, outlive the run.
        let (call, model) = unsafe {
            raw::Highs_zeroAllClocks(highs);
            (raw::Highs_run(highs), raw::Highs_getModelStatus(highs))
        };
        if called_back {
            self.stop_callbacks();
        }
        self.has_basis = self.int_info(c"basis_validity") == Some(1);
        let failed = call != raw::STATUS_OK && call != raw::STATUS_WARNING;
        match model {
            raw::MODEL_STATUS_OPTIMAL if !failed => RunStatus::Optimal,
            raw::MODEL_STATUS_INFEASIBLE if !failed => RunStatus::Infeasible,
            raw::MODEL_STATUS_UNBOUNDED if !failed => RunStatus::Unbounded,
            // HiGHS reports this one as an error, too.
            raw::MODEL_STATUS_UNBOUNDED_OR_INFEASIBLE => RunStatus::UnboundedOrInfeasible,
            raw::MODEL_STATUS_REACHED_TIME_LIMIT
            | raw::MODEL_STATUS_REACHED_ITERATION_LIMIT
            | raw::MODEL_STATUS_REACHED_INTERRUPT
                if !failed =>
            {
                RunStatus::Limit
            }
            _ => RunStatus::Unknown { model, call },
        }
    }

    /// HiGHS keeps a pointer to `callbacks` until [`Highs::stop_callbacks`].
    fn start_callbacks(&mut self, callbacks: &mut Callbacks<'_>) {
        let data: *mut Callbacks<'_> = callbacks;
        let highs = self.model.as_mut_ptr();
        // SAFETY: a live object. HiGHS calls back only during a run, on this thread; `run` borrows `callbacks` for as long
        // and then stops all kinds, so that the pointer is never followed again. A panic in a callback aborts.
        let started = unsafe {
            raw::Highs_setCallback(highs, Some(call_back), data.cast()) == raw::STATUS_OK
                && CALLBACK_KINDS
                    .iter()
                    .all(|&kind| raw::Highs_startCallback(highs, kind) == raw::STATUS_OK)
        };
        if !started {
            log::warn!("HiGHS takes no callbacks: branch and bound ends only at its time limit");
        }
    }

    fn stop_callbacks(&mut self) {
        let highs = self.model.as_mut_ptr();
        // SAFETY: a live object.
        unsafe {
            for kind in CALLBACK_KINDS {
                raw::Highs_stopCallback(highs, kind);
            }
            raw::Highs_setCallback(highs, None, std::ptr::null_mut());
        }
    }

    fn int_info(&self, name: &CStr) -> Option<HighsInt> {
        let mut value: HighsInt = 0;
        // SAFETY: a live object, a C string and room for one integer.
        let status =
            unsafe { raw::Highs_getIntInfoValue(self.model.as_ptr(), name.as_ptr(), &mut value) };
        (status == raw::STATUS_OK).then_some(value)
    }

    fn double_info(&self, name: &CStr) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: a live object, a C string and room for one double.
        let status = unsafe {
            raw::Highs_getDoubleInfoValue(self.model.as_ptr(), name.as_ptr(), &mut value)
        };
        (status == raw::STATUS_OK).then_some(value)
    }

    /// The time of the last run.
    pub fn run_time(&self) -> Duration {
        // SAFETY: a live object.
        let seconds = unsafe { raw::Highs_getRunTime(self.model.as_ptr()) };
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Simplex iterations of the last run.
    pub fn iterations(&self) -> usize {
        let count = self.int_info(c"simplex_iteration_count").unwrap_or(0);
        usize::try_from(count).unwrap_or(0)
    }

    /// The dual bound of branch and bound.
    pub fn mip_bound(&self) -> Option<f64> {
        self.double_info(c"mip_dual_bound")
    }

    pub fn values(&self) -> RunValues {
        let primal = self.int_info(c"primal_solution_status").unwrap_or(0);
        let dual = self.int_info(c"dual_solution_status").unwrap_or(0);
        let mut cols = vec![0.0; self.most.0];
        let mut reduced_costs = vec![0.0; self.most.0];
        let mut rows = vec![0.0; self.most.1];
        let mut duals = vec![0.0; self.most.1];
        // SAFETY: the buffers are as long as the model ever was, and HiGHS's solution is not longer.
        unsafe {
            raw::Highs_getSolution(
                self.model.as_ptr(),
                cols.as_mut_ptr(),
                reduced_costs.as_mut_ptr(),
                rows.as_mut_ptr(),
                duals.as_mut_ptr(),
            );
        }
        let size = (self.model.num_cols(), self.model.num_rows());
        let has = |status| if status == raw::SOLUTION_STATUS_NONE { (0, 0) } else { size };
        cols.truncate(has(primal).0);
        rows.truncate(has(primal).1);
        reduced_costs.truncate(has(dual).0);
        duals.truncate(has(dual).1);
        RunValues {
            objective: self.double_info(c"objective_function_value").unwrap_or(f64::NAN),
            cols,
            reduced_costs,
            rows,
            duals,
            primal_feasible: primal == raw::SOLUTION_STATUS_FEASIBLE,
            dual_feasible: dual == raw::SOLUTION_STATUS_FEASIBLE,
        }
    }
}

const CALLBACK_KINDS: [HighsInt; 3] = [
    raw::kHighsCallbackSimplexInterrupt,
    raw::kHighsCallbackMipImprovingSolution,
    raw::kHighsCallbackMipInterrupt,
];

/// What HiGHS calls during a run with [`Callbacks`].
unsafe extern "C" fn call_back(
    kind: c_int,
    _message: *const c_char,
    out: *const raw::HighsCallbackDataOut,
    answer: *mut raw::HighsCallbackDataIn,
    data: *mut c_void,
) {
    // SAFETY: `data` is what `run` borrows for as long as HiGHS may call; `out` and `answer` are null or live during the
    // call, and a solution is as long as HiGHS says.
    unsafe {
        let callbacks = &mut *data.cast::<Callbacks<'_>>();
        if kind == raw::kHighsCallbackMipImprovingSolution {
            if let Some(out) = out.as_ref().filter(|out| !out.mip_solution.is_null()) {
                let count = usize::try_from(out.mip_solution_size).unwrap_or(0);
                (callbacks.on_improvement)(std::slice::from_raw_parts(out.mip_solution, count));
            }
        } else if let Some(answer) = answer.as_mut() {
            answer.user_interrupt = c_int::from((callbacks.should_stop)());
        }
    }
}

const BASIS_CODES: [(BasisStatus, HighsInt); 4] = [
    (BasisStatus::Lower, raw::kHighsBasisStatusLower),
    (BasisStatus::Basic, raw::kHighsBasisStatusBasic),
    (BasisStatus::Upper, raw::kHighsBasisStatusUpper),
    (BasisStatus::Free, raw::kHighsBasisStatusZero),
];

fn basis_status(code: HighsInt) -> Option<BasisStatus> {
    BASIS_CODES.iter().find(|pair| pair.1 == code).map(|pair| pair.0)
}

fn basis_code(status: BasisStatus) -> HighsInt {
    BASIS_CODES.iter().find(|pair| pair.0 == status).expect("each status has a code").1
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_linked_highs_is_older_than_1_15() {
        // 1.15.x has reported wrong answers on warm-started LPs.
        let version = super::version();
        let minor: u32 = version.split('.').nth(1).expect("three parts").parse().expect("a number");
        assert!(version.starts_with("1.") && minor < 15, "{version}");
    }
}
