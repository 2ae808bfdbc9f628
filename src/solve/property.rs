//! Properties of several rows: each conjunction is decided on its own.
//!
//! A conjunction is excluded once one of its rows is negative in the whole set. It is attacked by maximising its rows; every better point
//! is judged against the whole conjunction.

use super::answer::{Solution, Stop};
use super::error::SolveError;
use super::pipeline::Pipeline;
use super::solver::Solver;
use crate::budget::Budget;
use crate::judge::{Judgement, Verdict};
use crate::observer::Observer;
use crate::problem::{Conjunction, Property};

/// The answer to a property.
#[derive(Debug)]
pub struct Decision {
    /// Adversarial: a witness has the property. Robust: no input of the set has it.
    pub verdict: Verdict,
    /// The witness, or the best point of the row looked at last.
    pub judgement: Judgement,
    /// For each conjunction, the answers of the rows that were looked at; the last one decided, if it is decided.
    pub rows: Vec<Vec<Solution>>,
}

/// Looks at the centre, then decides conjunction by conjunction, until one has a witness.
pub(super) fn decide(
    solver: &Solver,
    property: &Property,
    seed: u64,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Decision, SolveError> {
    let centre = solver.judge.judge(&solver.set, property, solver.set.centre())?;
    let verdict = if centre.witness().is_some() { Verdict::Adversarial } else { Verdict::Robust };
    let mut decision = Decision { verdict, judgement: centre, rows: Vec::new() };
    for conjunction in &property.any_of {
        if decision.verdict == Verdict::Adversarial {
            break;
        }
        let (verdict, rows) = decide_conjunction(solver, conjunction, seed, budget, observer)?;
        if let Some(row) = rows.last() {
            decision.judgement = row.judgement.clone();
        }
        decision.rows.push(rows);
        if verdict != Verdict::Robust {
            decision.verdict = verdict;
        }
    }
    Ok(decision)
}

/// Looks for a row that is negative everywhere, or a witness.
fn decide_conjunction(
    solver: &Solver,
    conjunction: &Conjunction,
    seed: u64,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<(Verdict, Vec<Solution>), SolveError> {
    let property = Property { any_of: vec![conjunction.clone()], ..Property::default() };
    let mut rows = Vec::new();
    for row in &conjunction.all_of {
        let solution = Pipeline::new(solver, &row.objective, &property, seed, budget, observer)
            .deciding()
            .answer()?;
        let (verdict, stop) = (solution.verdict, solution.stop);
        rows.push(solution);
        match verdict {
            Some(Verdict::Unknown) | None => {}
            Some(decided) => return Ok((decided, rows)),
        }
        if matches!(stop, Stop::Time | Stop::Interrupted) {
            break;
        }
    }
    Ok((Verdict::Unknown, rows))
}
