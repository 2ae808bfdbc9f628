//! First-order ascent: the method that suits the set.

use super::frank_wolfe::{ClimbedPoints, frank_wolfe};
use super::result::{SearchResult, SearchStop};
use super::sign_ascent::{WHOLE_BOX, sign_ascent};
use crate::budget::Budget;
use crate::encode::{LpWork, Vertices};
use crate::network::Trace;
use crate::problem::{Candidate, Problem};

/// The first climb alone, from the set's centre: a few milliseconds, and often the optimum.
pub fn ascend(problem: &Problem, budget: &Budget) -> SearchResult {
    let mut trace = problem.trace();
    let centre = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
    let begin = (budget.elapsed(), centre.margin);
    let best = ascend_from(problem, centre, &mut trace, budget);
    let time_to_best = budget.elapsed();
    let curve = vec![begin, (time_to_best, best.margin)];
    SearchResult {
        best,
        starts: 1,
        finished: 1,
        points: 1,
        claimed_bound: None,
        work: LpWork::default(),
        time_to_best,
        curve,
        stop: SearchStop::Enough,
    }
}

/// First-order ascent from a point of the set, the one that suits the set.
pub fn ascend_from(
    problem: &Problem,
    start: Candidate,
    trace: &mut Trace,
    budget: &Budget,
) -> Candidate {
    if problem.set.is_box() {
        sign_ascent(problem, start, WHOLE_BOX, trace, budget)
    } else {
        let mut vertices = Vertices::new(&problem.set, *budget);
        let mut climbed = ClimbedPoints::default();
        let end = frank_wolfe(problem, start.clone(), &mut vertices, &mut climbed, trace, budget);
        end.unwrap_or(start)
    }
}
