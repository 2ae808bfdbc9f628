//! The only file that says HiGHS: one object of its C interface, made safe. Numbers go through as they are; what they
//! mean, and whether they are numbers at all, is settled in `model.rs`.
//!
//! Traps of HiGHS 1.14 that are closed here:
//! - `Highs_getBasis` and `Highs_getSolution` write as many values as their last run had columns and rows, deleted ones
//!   included: the buffers below are as long as the model has ever been;
//! - `Highs_changeCoeff` reads the basis even when there is none, and `Highs_setBasis` without rows writes to one that
//!   is not there: `basis_kept` guards both;
//! - `time_limit` counts from the creation of the object: the clocks are zeroed before each run;
//! - a refused `Highs_addCols` or `Highs_addRows` leaves half of what was added: the caller checks everything before.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::time::Duration;

use highs_sys::HighsInt;

use super::model::{Basis, BasisStatus, Sparse, Watch};
use super::outcome::LpError;

/// The version of the HiGHS that is linked in, such as `1.14.0`.
pub fn version() -> String {
    // SAFETY: these take nothing and return constants.
    let (major, minor, patch) = unsafe {
        (
            highs_sys::Highs_versionMajor(),
            highs_sys::Highs_versionMinor(),
            highs_sys::Highs_versionPatch(),
        )
    };
    format!("{major}.{minor}.{patch}")
}

/// Absolute values of costs and bounds from here on are infinite to HiGHS.
pub(super) const INFINITE: f64 = 1e20;
/// Absolute values of coefficients from here on are refused by HiGHS.
pub(super) const LARGEST_COEFFICIENT: f64 = 1e15;

/// What a run is told beforehand; HiGHS's own numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HighsOptions {
    pub time_limit: f64,
    pub iteration_limit: usize,
    pub node_limit: usize,
    pub mip_gap: f64,
    pub strategy: Strategy,
}

/// HiGHS's `simplex_strategy`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Strategy {
    Choose = 0,
    Dual = 1,
    Primal = 4,
}

/// How a run ended, in HiGHS's words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Status {
    Optimal,
    Infeasible,
    Unbounded,
    UnboundedOrInfeasible,
    TimeLimit,
    IterationLimit,
    NodeLimit,
    Interrupt,
    /// Any other model status; also one of the first three contradicted by the status of the run itself.
    Other {
        model: HighsInt,
        run: HighsInt,
    },
}

/// What stands behind a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub objective: f64,
    pub cols: Vec<f64>,
    pub reduced_costs: Vec<f64>,
    pub rows: Vec<f64>,
    pub duals: Vec<f64>,
    pub primal_feasible: bool,
    pub dual_feasible: bool,
}

/// One HiGHS object: maximising, quiet, one thread.
pub(super) struct Highs {
    raw: NonNull<c_void>,
    cols: usize,
    rows: usize,
    /// The most columns and rows since the object was made: what HiGHS may write into a buffer.
    most: (usize, usize),
    /// HiGHS holds a basis of the model's present size.
    basis_kept: bool,
    settings: Option<HighsOptions>,
    starts: Vec<HighsInt>,
    index: Vec<HighsInt>,
}

// SAFETY: the object owns its data and refers to no thread. HiGHS keeps its scheduler per thread and makes it anew at the
// start of a run and nothing of it is left in the object afterwards; `&Highs` offers only reads.
unsafe impl Send for Highs {}

impl Drop for Highs {
    fn drop(&mut self) {
        // SAFETY: made by Highs_create, destroyed once.
        unsafe { highs_sys::Highs_destroy(self.raw.as_ptr()) }
    }
}

/// A warning (a bound above another, a coefficient below 1e-9) is no refusal.
fn accepted(status: HighsInt, call: &'static str) -> Result<(), LpError> {
    if status == highs_sys::STATUS_ERROR { Err(LpError::Refused { call }) } else { Ok(()) }
}

fn int(size: usize) -> HighsInt {
    HighsInt::try_from(size).expect("a model of fewer than 2^31 rows, columns and entries")
}

impl Highs {
    pub fn new() -> Self {
        // SAFETY: takes nothing.
        let raw = unsafe { highs_sys::Highs_create() };
        let mut highs = Highs {
            raw: NonNull::new(raw).expect("Highs_create returns an object"),
            cols: 0,
            rows: 0,
            most: (0, 0),
            basis_kept: false,
            settings: None,
            starts: Vec::new(),
            index: Vec::new(),
        };
        // The heuristic called feasibility jump knows no time limit: on dense rows it takes minutes.
        let jump = c"mip_heuristic_run_feasibility_jump";
        let off = [c"output_flag", c"log_to_console", jump].map(|name| {
            // SAFETY: a live object and a C string.
            unsafe { highs_sys::Highs_setBoolOptionValue(highs.raw.as_ptr(), name.as_ptr(), 0) }
        });
        assert_eq!(off, [highs_sys::STATUS_OK; 3], "HiGHS knows its options");
        highs.set_int(c"threads", 1).expect("HiGHS knows its options");
        highs.set_string(c"solver", c"simplex").expect("HiGHS knows its options");
        // It would cost the basis of an LP. With integer columns it is wrong in 1.14.0: a row of integer and continuous
        // columns that occur nowhere else may lose the optimum (HiGHS issues 2957, 3043, 3094; repaired in 1.15).
        highs.set_string(c"presolve", c"off").expect("HiGHS knows its options");
        highs.maximise();
        highs
    }

    fn maximise(&mut self) {
        // SAFETY: a live object.
        let status = unsafe {
            highs_sys::Highs_changeObjectiveSense(
                self.raw.as_ptr(),
                highs_sys::OBJECTIVE_SENSE_MAXIMIZE,
            )
        };
        assert_eq!(status, highs_sys::STATUS_OK, "HiGHS maximises");
    }

    fn set_int(&mut self, name: &'static CStr, value: HighsInt) -> Result<(), LpError> {
        // SAFETY: a live object and a C string.
        let status =
            unsafe { highs_sys::Highs_setIntOptionValue(self.raw.as_ptr(), name.as_ptr(), value) };
        accepted(status, name.to_str().unwrap_or("an option"))
    }

    fn set_double(&mut self, name: &'static CStr, value: f64) -> Result<(), LpError> {
        // SAFETY: a live object and a C string.
        let status = unsafe {
            highs_sys::Highs_setDoubleOptionValue(self.raw.as_ptr(), name.as_ptr(), value)
        };
        accepted(status, name.to_str().unwrap_or("an option"))
    }

    fn set_string(&mut self, name: &'static CStr, value: &CStr) -> Result<(), LpError> {
        // SAFETY: a live object and two C strings, which HiGHS copies.
        let status = unsafe {
            highs_sys::Highs_setStringOptionValue(self.raw.as_ptr(), name.as_ptr(), value.as_ptr())
        };
        accepted(status, name.to_str().unwrap_or("an option"))
    }

    /// Only what changed since the last run is sent.
    pub fn set(&mut self, settings: &HighsOptions) -> Result<(), LpError> {
        let old = self.settings.take();
        let old = old.as_ref();
        let limit = |n: usize| HighsInt::try_from(n).unwrap_or(HighsInt::MAX);
        if old.is_none_or(|o| o.time_limit != settings.time_limit) {
            self.set_double(c"time_limit", settings.time_limit)?;
        }
        if old.is_none_or(|o| o.iteration_limit != settings.iteration_limit) {
            self.set_int(c"simplex_iteration_limit", limit(settings.iteration_limit))?;
        }
        if old.is_none_or(|o| o.node_limit != settings.node_limit) {
            self.set_int(c"mip_max_nodes", limit(settings.node_limit))?;
        }
        if old.is_none_or(|o| o.mip_gap != settings.mip_gap) {
            self.set_double(c"mip_rel_gap", settings.mip_gap)?;
        }
        if old.is_none_or(|o| o.strategy != settings.strategy) {
            self.set_int(c"simplex_strategy", settings.strategy as HighsInt)?;
        }
        self.settings = Some(settings.clone());
        Ok(())
    }

    /// Reads the sizes back after rows or columns came or went.
    fn resized(&mut self) {
        // SAFETY: a live object.
        let (cols, rows) = unsafe {
            (
                highs_sys::Highs_getNumCol(self.raw.as_ptr()),
                highs_sys::Highs_getNumRow(self.raw.as_ptr()),
            )
        };
        self.cols = usize::try_from(cols).expect("a count");
        self.rows = usize::try_from(rows).expect("a count");
        self.most = (self.most.0.max(self.cols), self.most.1.max(self.rows));
    }

    pub fn clear(&mut self) -> Result<(), LpError> {
        // SAFETY: a live object.
        let status = unsafe { highs_sys::Highs_clearModel(self.raw.as_ptr()) };
        self.basis_kept = false;
        self.resized();
        // The direction belongs to the model that was cleared.
        self.maximise();
        accepted(status, "clear")
    }

    /// The entries in HiGHS's integers. No starts at all means no entries.
    fn load(&mut self, count: usize, entries: Sparse<'_>) {
        assert_eq!(entries.index.len(), entries.values.len(), "an index for each value");
        self.starts.clear();
        if entries.starts.is_empty() {
            self.starts.resize(count, 0);
        } else {
            self.starts.extend(entries.starts[..count].iter().map(|&s| int(s)));
        }
        self.index.clear();
        self.index.extend(entries.index.iter().map(|&i| int(i)));
    }

    pub fn add_cols(
        &mut self,
        costs: &[f64],
        lowers: &[f64],
        uppers: &[f64],
        entries: Sparse<'_>,
    ) -> Result<(), LpError> {
        let count = costs.len();
        assert!(lowers.len() == count && uppers.len() == count, "two bounds for each cost");
        self.load(count, entries);
        // SAFETY: each pointer has the length that is handed over with it: `count`, or the number of entries.
        let status = unsafe {
            highs_sys::Highs_addCols(
                self.raw.as_ptr(),
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
        self.resized();
        accepted(status, "add columns")
    }

    pub fn add_rows(
        &mut self,
        lowers: &[f64],
        uppers: &[f64],
        entries: Sparse<'_>,
    ) -> Result<(), LpError> {
        let count = lowers.len();
        assert_eq!(uppers.len(), count, "an upper for each lower side");
        self.load(count, entries);
        // SAFETY: each pointer has the length that is handed over with it: `count`, or the number of entries.
        let status = unsafe {
            highs_sys::Highs_addRows(
                self.raw.as_ptr(),
                int(count),
                lowers.as_ptr(),
                uppers.as_ptr(),
                int(self.index.len()),
                self.starts.as_ptr(),
                self.index.as_ptr(),
                entries.values.as_ptr(),
            )
        };
        self.resized();
        accepted(status, "add rows")
    }

    pub fn set_cost(&mut self, col: usize, cost: f64) -> Result<(), LpError> {
        // SAFETY: a live object; HiGHS checks the column.
        let status = unsafe { highs_sys::Highs_changeColCost(self.raw.as_ptr(), int(col), cost) };
        accepted(status, "change a cost")
    }

    pub fn set_costs(&mut self, costs: &[f64]) -> Result<(), LpError> {
        assert_eq!(costs.len(), self.cols, "a cost for each column");
        if costs.is_empty() {
            return Ok(());
        }
        // SAFETY: the range is all columns and the slice has one cost for each.
        let status = unsafe {
            highs_sys::Highs_changeColsCostByRange(
                self.raw.as_ptr(),
                0,
                int(costs.len() - 1),
                costs.as_ptr(),
            )
        };
        accepted(status, "change costs")
    }

    pub fn set_col_bounds(&mut self, col: usize, lower: f64, upper: f64) -> Result<(), LpError> {
        // SAFETY: a live object; HiGHS checks the column.
        let status =
            unsafe { highs_sys::Highs_changeColBounds(self.raw.as_ptr(), int(col), lower, upper) };
        accepted(status, "change a column's bounds")
    }

    pub fn set_row_bounds(&mut self, row: usize, lower: f64, upper: f64) -> Result<(), LpError> {
        // SAFETY: a live object; HiGHS checks the row.
        let status =
            unsafe { highs_sys::Highs_changeRowBounds(self.raw.as_ptr(), int(row), lower, upper) };
        accepted(status, "change a row's bounds")
    }

    /// `slack` is a basis to fall back on: HiGHS reads the column's place in the basis, so there must be one.
    pub fn set_coefficient(
        &mut self,
        row: usize,
        col: usize,
        value: f64,
        slack: impl FnOnce() -> Basis,
    ) -> Result<(), LpError> {
        assert!(row < self.rows && col < self.cols, "a coefficient inside the matrix");
        if !self.basis_kept {
            self.set_basis(&slack())?;
        }
        // SAFETY: a live object, row and column exist, and the basis covers the column.
        let status =
            unsafe { highs_sys::Highs_changeCoeff(self.raw.as_ptr(), int(row), int(col), value) };
        accepted(status, "change a coefficient")
    }

    pub fn delete_rows(&mut self, doomed: &[bool]) -> Result<(), LpError> {
        assert_eq!(doomed.len(), self.rows, "a mark for each row");
        let mut mask: Vec<HighsInt> = doomed.iter().map(|&d| d.into()).collect();
        // SAFETY: a live object; HiGHS reads and writes one mark per row.
        let status =
            unsafe { highs_sys::Highs_deleteRowsByMask(self.raw.as_ptr(), mask.as_mut_ptr()) };
        self.resized();
        accepted(status, "delete rows")
    }

    pub fn delete_cols(&mut self, doomed: &[bool]) -> Result<(), LpError> {
        assert_eq!(doomed.len(), self.cols, "a mark for each column");
        let mut mask: Vec<HighsInt> = doomed.iter().map(|&d| d.into()).collect();
        // SAFETY: a live object; HiGHS reads and writes one mark per column.
        let status =
            unsafe { highs_sys::Highs_deleteColsByMask(self.raw.as_ptr(), mask.as_mut_ptr()) };
        self.resized();
        accepted(status, "delete columns")
    }

    pub fn set_integer(&mut self, col: usize, integer: bool) -> Result<(), LpError> {
        let kind =
            if integer { highs_sys::VAR_TYPE_INTEGER } else { highs_sys::VAR_TYPE_CONTINUOUS };
        // SAFETY: a live object; HiGHS checks the column.
        let status =
            unsafe { highs_sys::Highs_changeColIntegrality(self.raw.as_ptr(), int(col), kind) };
        accepted(status, "make a column integer")
    }

    pub fn set_start(&mut self, cols: &[f64]) -> Result<(), LpError> {
        assert_eq!(cols.len(), self.cols, "a value for each column");
        self.basis_kept = false;
        // SAFETY: one value per column; null stands for "none" in the other three.
        let status = unsafe {
            highs_sys::Highs_setSolution(
                self.raw.as_ptr(),
                cols.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        accepted(status, "a start")
    }

    /// Names a column, for [`Highs::write`].
    pub fn set_col_name(&mut self, col: usize, name: &str) -> Result<(), LpError> {
        let name =
            CString::new(name).map_err(|_| LpError::Refused { call: "a name with a zero" })?;
        // SAFETY: a live object and a C string, which HiGHS copies; HiGHS checks the column.
        let status =
            unsafe { highs_sys::Highs_passColName(self.raw.as_ptr(), int(col), name.as_ptr()) };
        accepted(status, "a column's name")
    }

    /// Writes the model, with `offset` added to its objective, in the format that the file's ending names.
    pub fn write(&mut self, path: &CStr, offset: f64) -> Result<(), LpError> {
        // SAFETY: a live object and a C string.
        let status = unsafe {
            highs_sys::Highs_changeObjectiveOffset(self.raw.as_ptr(), offset);
            let status = highs_sys::Highs_writeModel(self.raw.as_ptr(), path.as_ptr());
            highs_sys::Highs_changeObjectiveOffset(self.raw.as_ptr(), 0.0);
            status
        };
        accepted(status, "write the model")
    }

    /// Forgets the basis and all else that the last run left.
    pub fn forget(&mut self) -> Result<(), LpError> {
        self.basis_kept = false;
        // SAFETY: a live object.
        accepted(unsafe { highs_sys::Highs_clearSolver(self.raw.as_ptr()) }, "clear the solver")
    }

    pub fn basis(&self) -> Option<Basis> {
        if !self.basis_kept {
            return None;
        }
        let mut cols = vec![-1; self.most.0];
        let mut rows = vec![-1; self.most.1];
        // SAFETY: the buffers are as long as the model ever was, and HiGHS's basis is no longer.
        let status = unsafe {
            highs_sys::Highs_getBasis(self.raw.as_ptr(), cols.as_mut_ptr(), rows.as_mut_ptr())
        };
        accepted(status, "read the basis").ok()?;
        let basis = Basis {
            cols: cols[..self.cols].iter().map(|&s| place(s)).collect::<Option<_>>()?,
            rows: rows[..self.rows].iter().map(|&s| place(s)).collect::<Option<_>>()?,
        };
        // After a tight row or a basic column was deleted HiGHS keeps the rest as a hint; it is no basis.
        let basic =
            basis.cols.iter().chain(&basis.rows).filter(|&&p| p == BasisStatus::Basic).count();
        (basic == self.rows).then_some(basis)
    }

    pub fn set_basis(&mut self, basis: &Basis) -> Result<(), LpError> {
        assert!(
            basis.cols.len() == self.cols && basis.rows.len() == self.rows,
            "a place for each column and row"
        );
        if self.rows == 0 {
            return self.forget();
        }
        let cols: Vec<HighsInt> = basis.cols.iter().map(|&p| code(p)).collect();
        let rows: Vec<HighsInt> = basis.rows.iter().map(|&p| code(p)).collect();
        // SAFETY: one status per column and row.
        let status =
            unsafe { highs_sys::Highs_setBasis(self.raw.as_ptr(), cols.as_ptr(), rows.as_ptr()) };
        // A refused basis leaves the one before in place.
        accepted(status, "this basis")?;
        self.basis_kept = true;
        Ok(())
    }

    /// Solves; `watch` hears of the better points of branch and bound, and may end it.
    pub fn run(&mut self, watch: Option<&mut Watch<'_>>) -> Status {
        let watched = watch.is_some();
        if let Some(watch) = watch {
            let data: *mut Watch<'_> = watch;
            // SAFETY: a live object. HiGHS calls back only during the run below, on this thread, while `watch` is borrowed;
            // afterwards all kinds are stopped, so that the pointer is never followed again. A panic in there aborts.
            let accepted = unsafe {
                highs_sys::Highs_setCallback(self.raw.as_ptr(), Some(call_back), data.cast())
                    == highs_sys::STATUS_OK
                    && CALLBACKS.iter().all(|&kind| {
                        highs_sys::Highs_startCallback(self.raw.as_ptr(), kind)
                            == highs_sys::STATUS_OK
                    })
            };
            if !accepted {
                log::warn!("HiGHS takes no callbacks: branch and bound ends only at its limits");
            }
        }
        // SAFETY: a live object.
        let (run, model) = unsafe {
            highs_sys::Highs_zeroAllClocks(self.raw.as_ptr());
            let run = highs_sys::Highs_run(self.raw.as_ptr());
            (run, highs_sys::Highs_getModelStatus(self.raw.as_ptr()))
        };
        if watched {
            // SAFETY: a live object.
            unsafe {
                for kind in CALLBACKS {
                    highs_sys::Highs_stopCallback(self.raw.as_ptr(), kind);
                }
                highs_sys::Highs_setCallback(self.raw.as_ptr(), None, std::ptr::null_mut());
            }
        }
        self.basis_kept = self.int_info(c"basis_validity") == Some(1);
        let failed = run != highs_sys::STATUS_OK && run != highs_sys::STATUS_WARNING;
        match model {
            highs_sys::MODEL_STATUS_OPTIMAL if !failed => Status::Optimal,
            highs_sys::MODEL_STATUS_INFEASIBLE if !failed => Status::Infeasible,
            highs_sys::MODEL_STATUS_UNBOUNDED if !failed => Status::Unbounded,
            // HiGHS reports this one as an error, too.
            highs_sys::MODEL_STATUS_UNBOUNDED_OR_INFEASIBLE => Status::UnboundedOrInfeasible,
            highs_sys::MODEL_STATUS_REACHED_TIME_LIMIT if !failed => Status::TimeLimit,
            highs_sys::MODEL_STATUS_REACHED_ITERATION_LIMIT if !failed => Status::IterationLimit,
            highs_sys::MODEL_STATUS_REACHED_SOLUTION_LIMIT if !failed => Status::NodeLimit,
            highs_sys::MODEL_STATUS_REACHED_INTERRUPT if !failed => Status::Interrupt,
            _ => Status::Other { model, run },
        }
    }

    fn int_info(&self, name: &CStr) -> Option<HighsInt> {
        let mut value: HighsInt = 0;
        // SAFETY: a live object, a C string and a place for one integer.
        let status = unsafe {
            highs_sys::Highs_getIntInfoValue(self.raw.as_ptr(), name.as_ptr(), &mut value)
        };
        (status == highs_sys::STATUS_OK).then_some(value)
    }

    fn double_info(&self, name: &CStr) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: a live object, a C string and a place for one double.
        let status = unsafe {
            highs_sys::Highs_getDoubleInfoValue(self.raw.as_ptr(), name.as_ptr(), &mut value)
        };
        (status == highs_sys::STATUS_OK).then_some(value)
    }

    /// The time of the last run.
    pub fn run_time(&self) -> Duration {
        // SAFETY: a live object.
        let seconds = unsafe { highs_sys::Highs_getRunTime(self.raw.as_ptr()) };
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Simplex iterations of the last run.
    pub fn iterations(&self) -> usize {
        let count = self.int_info(c"simplex_iteration_count").unwrap_or(0);
        usize::try_from(count).unwrap_or(0)
    }

    /// What branch and bound says no point can exceed.
    pub fn mip_bound(&self) -> Option<f64> {
        self.double_info(c"mip_dual_bound")
    }

    /// What the last run left; vectors that it has not are empty.
    pub fn point(&self) -> Point {
        let primal = self.int_info(c"primal_solution_status").unwrap_or(0);
        let dual = self.int_info(c"dual_solution_status").unwrap_or(0);
        let mut cols = vec![0.0; self.most.0];
        let mut reduced_costs = vec![0.0; self.most.0];
        let mut rows = vec![0.0; self.most.1];
        let mut duals = vec![0.0; self.most.1];
        // SAFETY: the buffers are as long as the model ever was, and HiGHS's solution is no longer.
        unsafe {
            highs_sys::Highs_getSolution(
                self.raw.as_ptr(),
                cols.as_mut_ptr(),
                reduced_costs.as_mut_ptr(),
                rows.as_mut_ptr(),
                duals.as_mut_ptr(),
            );
        }
        let (has_primal, has_dual) =
            (primal != highs_sys::SOLUTION_STATUS_NONE, dual != highs_sys::SOLUTION_STATUS_NONE);
        cols.truncate(if has_primal { self.cols } else { 0 });
        rows.truncate(if has_primal { self.rows } else { 0 });
        reduced_costs.truncate(if has_dual { self.cols } else { 0 });
        duals.truncate(if has_dual { self.rows } else { 0 });
        Point {
            objective: self.double_info(c"objective_function_value").unwrap_or(f64::NAN),
            cols,
            reduced_costs,
            rows,
            duals,
            primal_feasible: primal == highs_sys::SOLUTION_STATUS_FEASIBLE,
            dual_feasible: dual == highs_sys::SOLUTION_STATUS_FEASIBLE,
        }
    }
}

const CALLBACKS: [HighsInt; 3] = [
    highs_sys::kHighsCallbackSimplexInterrupt,
    highs_sys::kHighsCallbackMipImprovingSolution,
    highs_sys::kHighsCallbackMipInterrupt,
];

/// What HiGHS calls during a watched run.
unsafe extern "C" fn call_back(
    kind: c_int,
    _message: *const c_char,
    out: *const highs_sys::HighsCallbackDataOut,
    answer: *mut highs_sys::HighsCallbackDataIn,
    data: *mut c_void,
) {
    // SAFETY: `data` is the watch that `run` borrows for as long as HiGHS may call; `out` and `answer` are null or live
    // during the call, and a solution is as long as HiGHS says.
    unsafe {
        let watch = &mut *data.cast::<Watch<'_>>();
        if kind == highs_sys::kHighsCallbackMipImprovingSolution {
            if let Some(out) = out.as_ref().filter(|out| !out.mip_solution.is_null()) {
                let many = usize::try_from(out.mip_solution_size).unwrap_or(0);
                (watch.better)(std::slice::from_raw_parts(out.mip_solution, many));
            }
        } else if let Some(answer) = answer.as_mut() {
            answer.user_interrupt = c_int::from((watch.stop)());
        }
    }
}

fn place(status: HighsInt) -> Option<BasisStatus> {
    match status {
        highs_sys::kHighsBasisStatusLower => Some(BasisStatus::Lower),
        highs_sys::kHighsBasisStatusBasic => Some(BasisStatus::Basic),
        highs_sys::kHighsBasisStatusUpper => Some(BasisStatus::Upper),
        highs_sys::kHighsBasisStatusZero => Some(BasisStatus::Free),
        _ => None,
    }
}

fn code(place: BasisStatus) -> HighsInt {
    match place {
        BasisStatus::Lower => highs_sys::kHighsBasisStatusLower,
        BasisStatus::Basic => highs_sys::kHighsBasisStatusBasic,
        BasisStatus::Upper => highs_sys::kHighsBasisStatusUpper,
        BasisStatus::Free => highs_sys::kHighsBasisStatusZero,
    }
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
