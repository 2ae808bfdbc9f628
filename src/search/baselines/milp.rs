//! Branch and bound on the whole problem.

use crate::bounds::NeuronBounds;
use crate::encode::{EncodeError, Milp, Work};
use crate::network::Trace;
use crate::problem::Problem;
use crate::search::incumbent::Incumbent;
use crate::search::{Method, MethodResult, SearchOptions, SearchStop, search};
use std::ops::ControlFlow;

/// Asks the MILP solver; `warm` searches for a first incumbent in a tenth of the time.
pub(crate) fn branch_and_bound<'q>(
    problem: &'q Problem,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    options: &SearchOptions,
    warm: bool,
    incumbent: &mut Incumbent,
) -> MethodResult {
    let budget = incumbent.budget;
    let mut work = Work::default();
    if warm {
        let options = SearchOptions { method: Method::Rw, ..*options };
        let first = search(problem, bounds, &options, &budget.tenth(), |better| {
            incumbent.offer(better.clone());
            if incumbent.stop().is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        work = first.work;
    }
    if let Some(stop) = incumbent.stop() {
        return MethodResult { stop, starts: 1, finished: 0, work, claimed_bound: None };
    }
    let start = warm.then(|| incumbent.best.point.clone());
    let mut trace = Trace::new(&problem.network);
    let milp = Milp::new(problem, bounds());
    let answer = milp.solve(start.as_deref(), budget, |point| {
        incumbent.offer(problem.evaluate(point.to_vec(), &mut trace));
        if incumbent.stop().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let (finished, claimed_bound) = match answer {
        Ok(answer) => {
            work = work + answer.work;
            if let Some(point) = answer.point {
                incumbent.offer(problem.evaluate(point, &mut trace));
            }
            (answer.finished, answer.claimed_bound)
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
