//! Points with whole numbers where they have to be: a point is rounded, the other inputs are improved with these held, and the whole numbers
//! are moved one at a time, until nothing helps.
//!
//! Methods know nothing of whole numbers. They search the box as if every input were continuous, and whatever they come to is rounded here
//! before it counts.

use std::collections::{HashMap, HashSet};

use super::ascent::ascend_from;
use crate::budget::Budget;
use crate::encode::{EncodeError, LpWork, RegionLp, nearest_integral, rounded_integral};
use crate::network::{ActivationPattern, Trace};
use crate::problem::{Candidate, Problem};
use crate::sets::Constraint;
use crate::tolerance;
use crate::walk::{WayOut, walk};

/// Rounds of moving whole numbers and improving the other inputs.
const MOST_ROUNDS: usize = 20;

/// Pairs of whole numbers tried in one round: where constraints tie them together, one alone cannot move.
const MOST_PAIRS: usize = 4000;

/// The neighbours that are improved before they count, where there are other inputs.
const IMPROVED_NEIGHBOURS: usize = 3;

/// A move of a whole number counts if it gains more than this, relative to the value or to 1: less is rounding.
const GAIN: f64 = 1e-12;

/// The whole numbers of a point.
type Assignment = Vec<i64>;

/// Finds points with whole numbers near others, and remembers where it has been.
pub struct IntegerSearch<'p> {
    problem: &'p Problem,
    trace: Trace,
    /// The patterns whose regions were solved, for each assignment.
    walked: HashMap<Assignment, HashSet<ActivationPattern>>,
    /// Assignments whose neighbours were looked at.
    settled: HashSet<Assignment>,
    work: LpWork,
}

impl<'p> IntegerSearch<'p> {
    /// `None` if no input of the problem has to be a whole number.
    pub fn new(problem: &'p Problem) -> Option<Self> {
        if problem.set.domain().integers.is_empty() {
            return None;
        }
        let (trace, walked, settled) = (problem.trace(), HashMap::new(), HashSet::new());
        Some(Self { problem, trace, walked, settled, work: LpWork::default() })
    }

    /// What the LPs have cost.
    pub fn work(&self) -> LpWork {
        self.work
    }

    /// A good point near another. `None` if that leads where this has been before, or none is found in time.
    pub fn best_near(&mut self, point: &[f64], budget: &Budget) -> Option<Candidate> {
        let domain = self.problem.set.domain();
        let rounded = match nearest_integral(domain, point, budget) {
            Ok(rounded) => rounded,
            Err(EncodeError::Budget) => return None,
            Err(error) => {
                log::debug!("rounding: {error}");
                return None;
            }
        };
        let is_known = self.settled.contains(&self.assignment(&rounded));
        if is_known && !self.has_other_inputs() {
            return None;
        }
        let mut best = self.problem.evaluate(rounded, &mut self.trace);
        best = self.improve_others(best, budget);
        for _ in 0..MOST_ROUNDS {
            if budget.is_spent() || !self.settled.insert(self.assignment(&best.point)) {
                break;
            }
            let before = best.margin;
            best = self.move_integers(best, budget);
            if !gains(best.margin, before) {
                break;
            }
            best = self.improve_others(best, budget);
        }
        Some(best)
    }

    /// The point rounded, and no more: for callbacks of a solver, which cannot be called from there once more.
    pub fn rounded(&mut self, point: &[f64]) -> Option<Candidate> {
        let rounded = rounded_integral(self.problem.set.domain(), point)?;
        Some(self.problem.evaluate(rounded, &mut self.trace))
    }

    fn assignment(&self, point: &[f64]) -> Assignment {
        self.problem.set.domain().integers.iter().map(|&i| point[i] as i64).collect()
    }

    /// Whether some input need not be a whole number.
    fn has_other_inputs(&self) -> bool {
        let set = &self.problem.set;
        (0..set.dimension()).any(|i| {
            let (lower, upper) = set.range(i);
            lower < upper && !set.is_integer(i)
        })
    }

    /// Climbs and walks with the whole numbers held.
    fn improve_others(&mut self, from: Candidate, budget: &Budget) -> Candidate {
        if !self.has_other_inputs() || budget.is_spent() {
            return from;
        }
        let set = self.problem.set.with_integers_of(&from.point);
        let fixed = Problem { set, ..self.problem.clone() };
        let climbed = ascend_from(&fixed, from.clone(), &mut self.trace, budget);
        let mut region = RegionLp::new(&fixed);
        let seen = self.walked.entry(self.assignment(&from.point)).or_default();
        let end = walk(&mut region, climbed.clone(), seen, WayOut::Flip, budget).end;
        self.work = self.work + region.work();
        let better = if end.margin > climbed.margin { end } else { climbed };
        // Whoever works on the part may have left it by a rounding.
        let inside = self.problem.set.domain().is_integral(&better.point);
        if inside && better.margin > from.margin { better } else { from }
    }

    /// Moves whole numbers while that helps: one at a time, in pairs if constraints tie them together, and, where that is not enough, to neighbours
    /// whose other inputs are improved first.
    fn move_integers(&mut self, mut best: Candidate, budget: &Budget) -> Candidate {
        let open: Vec<usize> = self.problem.set.open_integers().collect();
        let tied = !self.problem.set.constraints().is_empty();
        loop {
            let before = best.margin;
            for &input in &open {
                for step in [1.0, -1.0] {
                    best = self.follow(best, input, step, budget);
                }
            }
            if tied && !gains(best.margin, before) {
                best = self.move_pairs(best, &open, budget);
            }
            if !gains(best.margin, before) || budget.is_spent() {
                break;
            }
        }
        if self.has_other_inputs() { self.improved_neighbour(best, &open, budget) } else { best }
    }

    /// Moves one whole number, twice as far each time, while that helps.
    fn follow(
        &mut self,
        mut best: Candidate,
        input: usize,
        step: f64,
        budget: &Budget,
    ) -> Candidate {
        let mut step = step;
        while !budget.is_spent() {
            let Some(next) = self.neighbour(&best.point, &[(input, step)]) else { break };
            if !gains(next.margin, best.margin) {
                break;
            }
            best = next;
            step *= 2.0;
        }
        best
    }

    /// The first better point with two whole numbers moved.
    fn move_pairs(&mut self, best: Candidate, open: &[usize], budget: &Budget) -> Candidate {
        let pairs = open.iter().enumerate().flat_map(|(k, &a)| {
            let both = move |b: usize| {
                let steps = [(1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0)];
                steps.map(|(of_a, of_b)| [(a, of_a), (b, of_b)])
            };
            open[k + 1..].iter().flat_map(move |&b| both(b))
        });
        for steps in pairs.take(MOST_PAIRS) {
            if budget.is_spent() {
                break;
            }
            let next = self.neighbour(&best.point, &steps);
            if let Some(next) = next.filter(|next| gains(next.margin, best.margin)) {
                return next;
            }
        }
        best
    }

    /// The best of the most promising neighbours, their other inputs improved, if that is better.
    fn improved_neighbour(
        &mut self,
        best: Candidate,
        open: &[usize],
        budget: &Budget,
    ) -> Candidate {
        let steps = open.iter().flat_map(|&input| [(input, 1.0), (input, -1.0)]);
        let neighbours = steps.filter_map(|step| self.neighbour(&best.point, &[step]));
        let mut neighbours: Vec<Candidate> = neighbours.collect();
        neighbours.sort_by(|a, b| b.margin.total_cmp(&a.margin));
        neighbours.retain(|next| !self.settled.contains(&self.assignment(&next.point)));
        for next in neighbours.into_iter().take(IMPROVED_NEIGHBOURS) {
            let next = self.improve_others(next, budget);
            if gains(next.margin, best.margin) {
                return next;
            }
        }
        best
    }

    /// The point with some whole numbers moved, and the others moved as far as constraints ask for it. `None` if there is none.
    fn neighbour(&mut self, point: &[f64], steps: &[(usize, f64)]) -> Option<Candidate> {
        let set = &self.problem.set;
        let mut moved = point.to_vec();
        for &(input, step) in steps {
            let (lower, upper) = set.range(input);
            moved[input] += step;
            if !(lower..=upper).contains(&moved[input]) {
                return None;
            }
        }
        let allowed = 0.5 * tolerance::CONSTRAINT;
        let constraints = set.constraints();
        if constraints.iter().any(|constraint| constraint.violation(&moved) > allowed) {
            let held = moved.clone();
            let bounds = |input: usize| {
                if set.is_integer(input) { (held[input], held[input]) } else { set.range(input) }
            };
            Constraint::correct_all(constraints, &mut moved, bounds, allowed);
            if constraints.iter().any(|constraint| constraint.violation(&moved) > allowed) {
                return None;
            }
        }
        Some(self.problem.evaluate(moved, &mut self.trace))
    }
}

/// Whether a value is better by more than rounding.
fn gains(after: f64, before: f64) -> bool {
    after > before + GAIN * before.abs().max(1.0)
}
