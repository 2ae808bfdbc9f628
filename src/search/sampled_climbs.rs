//! Many random points of a box with few inputs, and climbs from the best of them: what local search from the corners of a box may miss.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::sampling::sample;
use super::sign_ascent::sign_ascent;
use crate::budget::Budget;
use crate::encode::Vertices;
use crate::problem::{Candidate, Problem};

/// With more inputs, random points are all alike.
const MOST_INPUTS: usize = 64;

/// Multiplications spent on sampling: a tenth of a second or so.
const WORK: usize = 1 << 26;

/// Points drawn at most.
const MOST_SAMPLES: usize = 1 << 13;

/// Climbs from the best of them.
const CLIMBS: usize = 24;

/// The first step of a climb, as a share of the box: a good point is not to be left at once.
const FIRST_STEP: f64 = 0.1;

/// Draws points and climbs from the best; `better` hears of every point that is better than all before, and ends it by returning `Break`. The
/// best point, or none if the set is no box with few inputs.
pub fn climb_from_samples(
    problem: &Problem,
    seed: u64,
    budget: &Budget,
    mut better: impl FnMut(&Candidate) -> ControlFlow<()>,
) -> Option<Candidate> {
    if !problem.set.is_box() || problem.set.dimension() > MOST_INPUTS {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut vertices = Vertices::new(&problem.set, *budget);
    let mut trace = problem.trace();
    let many = (WORK / problem.network.parameters().max(1)).min(MOST_SAMPLES);
    let mut drawn: Vec<Candidate> = Vec::with_capacity(many);
    while drawn.len() < many && !budget.is_spent() {
        let point = sample(&mut vertices, &mut rng).ok()?;
        drawn.push(problem.evaluate(point, &mut trace));
    }
    drawn.sort_by(|a, b| b.margin.total_cmp(&a.margin));
    let mut best = drawn.first()?.clone();
    if better(&best).is_break() {
        return Some(best);
    }
    for start in drawn.into_iter().take(CLIMBS) {
        if budget.is_spent() {
            break;
        }
        let end = sign_ascent(problem, start, FIRST_STEP, &mut trace, budget);
        if end.margin > best.margin {
            best = end;
            if better(&best).is_break() {
                break;
            }
        }
    }
    Some(best)
}
