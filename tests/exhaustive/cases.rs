//! All problems with their optima, each solved once for all tests.

use std::env;
use std::sync::LazyLock;

use rayon::prelude::*;
use rw_adv::bounds::{Arithmetic, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::problem::Problem;

use crate::oracle::Optimum;
use crate::problem::TinyProblem;

/// How far two numbers may differ that are equal but for the solver's tolerances (1e-7).
pub const SAME: f64 = 1e-6;

/// Two to four pixels, one or two layers of two to four neurons.
const TINY_CASES: u64 = 1000;
/// So many pixels that the LPs make their columns on demand; few neurons.
const WIDE_CASES: u64 = 100;
/// Tiny ones, and some wide ones, over a box cut by constraints.
const CUT_CASES: u64 = 250;
/// Tiny ones in which some neurons have no ReLU.
const MIXED_CASES: u64 = 150;
/// Residual blocks, leaky units, the largest of a window, no ReLU at all.
const CARRIED_CASES: u64 = 150;
/// Tiny ones with an input in the objective.
const INPUT_CASES: u64 = 75;

/// Tiny ones in which inputs take whole numbers only.
const INTEGER_CASES: u64 = 600;

/// How many times as many problems to solve: 4 for the long run, which scripts/test does not make.
const FACTOR: &str = "RW_ADV_CASES";

/// A problem and its optimum.
pub struct SolvedProblem {
    pub tiny: TinyProblem,
    pub best: Optimum,
}

pub static TINY: LazyLock<Vec<SolvedProblem>> =
    LazyLock::new(|| solved(TINY_CASES, TinyProblem::tiny));
pub static WIDE: LazyLock<Vec<SolvedProblem>> =
    LazyLock::new(|| solved(WIDE_CASES, TinyProblem::wide));
pub static CUT: LazyLock<Vec<SolvedProblem>> =
    LazyLock::new(|| solved(CUT_CASES, TinyProblem::cut));
pub static MIXED: LazyLock<Vec<SolvedProblem>> =
    LazyLock::new(|| solved(MIXED_CASES, TinyProblem::mixed));
pub static CARRIED: LazyLock<Vec<SolvedProblem>> =
    LazyLock::new(|| solved(CARRIED_CASES, TinyProblem::carried));
pub static INPUTS: LazyLock<Vec<SolvedProblem>> =
    LazyLock::new(|| solved(INPUT_CASES, TinyProblem::with_inputs));

pub static INTEGERS: LazyLock<Vec<SolvedProblem>> = LazyLock::new(|| {
    solved_by(INTEGER_CASES, TinyProblem::with_integers, TinyProblem::best_of_integers)
});

fn solved(cases: u64, make: fn(u64) -> TinyProblem) -> Vec<SolvedProblem> {
    solved_by(cases, make, TinyProblem::best)
}

fn solved_by(
    cases: u64,
    make: fn(u64) -> TinyProblem,
    oracle: fn(&TinyProblem) -> Optimum,
) -> Vec<SolvedProblem> {
    let factor = env::var(FACTOR).map_or(1, |text| text.parse().expect("RW_ADV_CASES is a number"));
    let solve = |seed| {
        let tiny = make(seed);
        let best = oracle(&tiny);
        SolvedProblem { tiny, best }
    };
    (0..factor * cases).into_par_iter().map(solve).collect()
}

/// Every case; `act` gets one of its own problem and CROWN's bounds.
pub fn for_each(act: impl Fn(&SolvedProblem, &Problem, &LinearBounds) + Sync) {
    let lists: [&[SolvedProblem]; 6] = [&TINY, &WIDE, &CUT, &MIXED, &CARRIED, &INPUTS];
    lists.par_iter().flat_map(|list| list.par_iter()).for_each(|case| {
        let problem = case.tiny.problem();
        let bounds = LinearBounds::new(
            &problem.network,
            &problem.set,
            UpperRelaxation::Chords,
            Arithmetic::Exact,
            &Budget::unlimited(),
        );
        act(case, &problem, &bounds);
    });
}
