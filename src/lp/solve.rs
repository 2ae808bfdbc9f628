//! Solves of a model: a run of the solver, cold runs where that one does not know, and a check of every answer.

use std::time::Duration;

use super::apart::run_apart;
use super::highs::RunStatus;
use super::model::LpModel;
use super::outcome::{ClaimedBound, LpError, LpOutcome, LpProgress, LpSolution};
use super::request::{Callbacks, Simplex};

impl LpModel {
    /// Solves from the basis at hand, or cold if there is none. `None` is no time limit.
    ///
    /// Bounds that cross are found before the solver is asked, so the basis survives them. If the solver does not know the
    /// answer, it is asked again cold, by dual and by primal simplex, within the same time.
    ///
    /// # Errors
    ///
    /// If an edit was at fault.
    pub fn solve(
        &mut self,
        time_limit: Option<Duration>,
        simplex: Simplex,
    ) -> Result<LpOutcome, LpError> {
        self.solve_with_callbacks(time_limit, simplex, None)
    }

    /// [`LpModel::solve`], with callbacks while it works.
    ///
    /// # Errors
    ///
    /// As [`LpModel::solve`].
    pub fn solve_with_callbacks(
        &mut self,
        time_limit: Option<Duration>,
        simplex: Simplex,
        callbacks: Option<&mut Callbacks<'_>>,
    ) -> Result<LpOutcome, LpError> {
        self.without_fault()?;
        self.iterations = 0;
        let start = self.start.take();
        if self.program.is_crossed() {
            return Ok(LpOutcome::Infeasible);
        }
        if self.program.cols.is_empty() {
            return Ok(self.program.solve_without_cols());
        }
        let status = if self.program.is_milp() {
            let Some(status) = self.run_milp(time_limit, start, callbacks)? else {
                return Ok(LpOutcome::Limit(LpProgress { incumbent: None, bound: None }));
            };
            status
        } else {
            self.run_lp(time_limit, simplex, callbacks)?
        };
        Ok(match status {
            RunStatus::Optimal => match self.solution() {
                Ok(solution) => LpOutcome::Optimal(solution),
                Err(why) => LpOutcome::Trouble(why),
            },
            RunStatus::Infeasible => LpOutcome::Infeasible,
            RunStatus::Unbounded => LpOutcome::Unbounded,
            RunStatus::UnboundedOrInfeasible => LpOutcome::InfeasibleOrUnbounded,
            RunStatus::Limit => LpOutcome::Limit(self.progress()),
            RunStatus::Unknown { model, call } => LpOutcome::Trouble(format!(
                "the solver ended with model status {model} and run status {call}"
            )),
        })
    }

    /// Runs branch and bound. `None` if the caller gave up: then the model is of no use any more.
    fn run_milp(
        &mut self,
        time_limit: Option<Duration>,
        start: Option<Vec<f64>>,
        callbacks: Option<&mut Callbacks<'_>>,
    ) -> Result<Option<RunStatus>, LpError> {
        self.highs.set_run_options(seconds(time_limit), Simplex::Dual, None)?;
        // Branch and bound would take what an earlier solve left for a start.
        match start.filter(|start| start.len() == self.cols()) {
            Some(start) => self.highs.set_start(&start)?,
            None => self.highs.clear_solver()?,
        }
        let status = match callbacks {
            Some(callbacks) if callbacks.gives_up.is_some() => {
                run_apart(&mut self.highs, callbacks)
            }
            callbacks => Some(self.highs.run(callbacks)),
        };
        match status {
            Some(_) => self.iterations = self.highs.iterations(),
            // The rows and columns went with the solver.
            None => self.fault = Some(LpError::GivenUp),
        }
        Ok(status)
    }

    fn run_lp(
        &mut self,
        mut time_limit: Option<Duration>,
        simplex: Simplex,
        mut callbacks: Option<&mut Callbacks<'_>>,
    ) -> Result<RunStatus, LpError> {
        let limit = self.iteration_limit;
        self.highs.set_run_options(seconds(time_limit), simplex, limit)?;
        let mut status = self.highs.run(callbacks.as_deref_mut());
        self.iterations = self.highs.iterations();
        // What stops one simplex rarely stops the others: a warm or primal one may circle around a pivot it dislikes, the
        // dual one may not know what to say of an unbounded program.
        for simplex in [Simplex::Dual, Simplex::Primal] {
            if !matches!(status, RunStatus::Unknown { .. }) {
                break;
            }
            time_limit = time_limit.map(|time| time.saturating_sub(self.highs.run_time()));
            self.highs.clear_solver()?;
            let limit = limit.map(|limit| limit.saturating_sub(self.iterations));
            self.highs.set_run_options(seconds(time_limit), simplex, limit)?;
            status = self.highs.run(callbacks.as_deref_mut());
            self.iterations += self.highs.iterations();
        }
        Ok(status)
    }

    /// The point of the last run, if it passes [`Program::check`](super::program::Program::check).
    fn solution(&self) -> Result<LpSolution, String> {
        let values = self.highs.values();
        let objective = self.program.check(&values)?;
        let bound = if self.program.is_milp() {
            self.highs.mip_bound().unwrap_or(f64::INFINITY)
        } else {
            objective
        };
        Ok(LpSolution {
            objective,
            cols: values.cols,
            reduced_costs: values.reduced_costs,
            duals: values.duals,
            iterations: self.iterations,
            bound: ClaimedBound::new(bound),
        })
    }

    fn progress(&self) -> LpProgress {
        let values = self.highs.values();
        let bound = if self.program.is_milp() {
            self.highs.mip_bound().filter(|bound| bound.is_finite())
        } else {
            values.dual_feasible.then_some(values.objective)
        };
        let incumbent = if values.primal_feasible { self.solution().ok() } else { None };
        LpProgress {
            incumbent: incumbent.map(|solution| LpSolution {
                bound: ClaimedBound::new(bound.unwrap_or(f64::INFINITY)),
                ..solution
            }),
            bound: bound.map(ClaimedBound::new),
        }
    }
}

/// As the solver takes it.
fn seconds(time_limit: Option<Duration>) -> f64 {
    time_limit.map_or(f64::INFINITY, |time| time.as_secs_f64())
}
