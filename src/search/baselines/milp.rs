//! The MILP solver's branch and bound on the whole problem.

use crate::encode::{EncodeError, LpWork, Milp};
use crate::search::incumbent::Incumbent;
use crate::search::method::Method;
use crate::search::options::SearchOptions;
use crate::search::result::{SearchEvent, SearchStop};
use crate::search::rw::relax_and_walk;
use crate::search::task::{MethodResult, SearchTask};

/// Calls the MILP solver, on [`Method::Milp`]'s wish after a search for a first incumbent.
pub(in crate::search) fn milp(task: &SearchTask, incumbent: &mut Incumbent) -> MethodResult {
    let (problem, budget) = (task.problem, incumbent.budget);
    let warm = task.options.method == Method::Milp { warm: true };
    let mut work = if warm { find_incumbent(task, incumbent) } else { LpWork::default() };
    if let Some(stop) = incumbent.stop() {
        return MethodResult { stop, starts: 1, finished: 0, work, claimed_bound: None };
    }
    let start = warm.then(|| incumbent.best.point.clone());
    let mut trace = problem.trace();
    let solved = Milp::new(problem, task.bounds()).solve(start.as_deref(), budget, |point| {
        incumbent.offer_in_callback(problem.evaluate(point.to_vec(), &mut trace));
        incumbent.control_flow()
    });
    let (finished, claimed_bound) = match solved {
        Ok(solution) => {
            work = work + solution.work;
            if let Some(point) = solution.point {
                incumbent.offer(problem.evaluate(point, &mut trace));
            }
            (solution.finished, solution.claimed_bound)
        }
        Err(error) => {
            if !matches!(error, EncodeError::Budget) {
                log::warn!("branch and bound: {error}");
            }
            (false, None)
        }
    };
    let ended = if finished { SearchStop::Claimed } else { SearchStop::Trouble };
    let stop = incumbent.stop().unwrap_or(ended);
    MethodResult { stop, starts: 1, finished: usize::from(finished), work, claimed_bound }
}

/// Relax-and-Walk in a tenth of the time. What it cost.
fn find_incumbent(task: &SearchTask, incumbent: &mut Incumbent) -> LpWork {
    let options = SearchOptions { method: Method::Rw, ..task.options };
    let tenth = incumbent.budget.tenth();
    let mut offer = |event: SearchEvent| {
        if let SearchEvent::Better(better) = event {
            incumbent.offer(better.clone());
        }
        incumbent.control_flow()
    };
    let mut first = Incumbent::new(task.problem, &options, &tenth, &mut offer);
    relax_and_walk(&task.with_options(options), &mut first).work
}
