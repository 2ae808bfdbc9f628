//! First-order ascent: the method that suits the set.

use super::frank_wolfe::{ClimbedPoints, frank_wolfe};
use super::sign_ascent::{WHOLE_BOX, sign_ascent};
use crate::budget::Budget;
use crate::encode::Vertices;
use crate::network::Trace;
use crate::problem::{Candidate, Problem};

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
        problem.network.forward(&start.point, trace);
        let end = frank_wolfe(problem, start.clone(), &mut vertices, &mut climbed, trace, budget);
        end.unwrap_or(start)
    }
}
