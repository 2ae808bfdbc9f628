//! The cheapest search: one climb.

use super::ascent::ascend_from;
use super::integers::IntegerSearch;
use super::result::{SearchResult, SearchStop};
use crate::budget::Budget;
use crate::encode::LpWork;
use crate::problem::Problem;

/// The first climb alone, from the set's centre: a few milliseconds, and often the optimum. Its end is rounded where whole numbers have to be.
pub fn ascend(problem: &Problem, budget: &Budget) -> SearchResult {
    let mut trace = problem.trace();
    let centre = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
    let begin = (budget.elapsed(), centre.margin);
    let mut best = ascend_from(problem, centre.clone(), &mut trace, budget);
    if let Some(mut integers) = IntegerSearch::new(problem) {
        let rounded = integers.best_near(&best.point, budget);
        best = rounded.filter(|rounded| rounded.margin > centre.margin).unwrap_or(centre);
    }
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
