//! Branch and bound on the whole problem.

use super::incumbent::Incumbent;
use super::{Ended, Method, SearchOptions, SearchStop, search};
use crate::bounds::NeuronBounds;
use crate::encode::{RegionError, Relaxation, Work};
use crate::network::Trace;
use crate::query::Query;
use std::ops::ControlFlow;

/// Asks the MILP solver; `warm` searches for a first incumbent in a tenth of the time.
pub(super) fn branch_and_bound<'q>(
    query: &'q Query<'_>,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    options: &SearchOptions,
    warm: bool,
    incumbent: &mut Incumbent,
) -> Ended {
    let budget = incumbent.budget;
    let mut work = Work::default();
    if warm {
        let options = SearchOptions { method: Method::Rw, ..*options };
        let first = search(query, bounds, &options, &budget.tenth(), |better| {
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
        return Ended { stop, starts: 1, finished: 0, work, claimed_bound: None };
    }
    let start = warm.then(|| incumbent.best.point.clone());
    let mut trace = Trace::new(query.network);
    let relaxation = Relaxation::for_milp(query, bounds());
    let answer = relaxation.solve_milp(start.as_deref(), budget, |point| {
        incumbent.offer(query.evaluate(point.to_vec(), &mut trace));
        incumbent.stop().is_some()
    });
    let (finished, claimed_bound) = match answer {
        Ok(answer) => {
            work = work + answer.work;
            if let Some(point) = answer.point {
                incumbent.offer(query.evaluate(point, &mut trace));
            }
            (answer.finished, answer.claimed_bound)
        }
        Err(error) => {
            if !matches!(error, RegionError::Budget) {
                log::warn!("branch and bound: {error}");
            }
            (false, None)
        }
    };
    let ended = if finished { SearchStop::Claimed } else { SearchStop::Trouble };
    let stop = incumbent.stop().unwrap_or(ended);
    Ended { stop, starts: 1, finished: usize::from(finished), work, claimed_bound }
}
