//! Searches: start ≤ walk ≤ optimum, and how often each method reaches it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rayon::prelude::*;
use rw_adv::bounds::{Arithmetic, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::encode::RegionLp;
use rw_adv::lp::LpModel;
use rw_adv::network::Trace;
use rw_adv::problem::Problem;
use rw_adv::search::{Method, SearchOptions, SearchResult, ascend_from, search};
use rw_adv::walk::{StopReason, WayOut, walk};

use crate::cases::{CARRIED, CUT, INPUTS, MIXED, SAME, SolvedProblem, TINY, WIDE, for_each};
use crate::problem::start_at;

/// A whole search without a limit.
pub fn searched(problem: &Problem, options: &SearchOptions) -> SearchResult {
    let bounds = LinearBounds::new(
        &problem.network,
        &problem.set,
        UpperRelaxation::Envelopes,
        Arithmetic::Exact,
        &Budget::unlimited(),
    );
    search(problem, &|| bounds.neurons(), options, &Budget::unlimited(), |_| {
        ControlFlow::Continue(())
    })
}

/// The oracle against itself: its LP's value is what the network gives at its point, and that point is in the set.
#[test]
fn the_oracle_agrees_with_the_textbook_forward_pass() {
    for_each(|SolvedProblem { tiny, best }, problem, _| {
        let seed = tiny.seed;
        assert!((tiny.value(&best.point) - best.value).abs() < SAME, "seed {seed}");
        assert!(tiny.set.contains(&best.point, SAME), "seed {seed}");
        let ours = start_at(problem, &best.point).margin;
        assert!((ours - best.value).abs() < SAME, "seed {seed}");
    });
}

#[test]
fn no_sampled_point_is_better_than_the_optimum() {
    for_each(|SolvedProblem { tiny, best }, problem, _| {
        for x in tiny.samples(30) {
            let value = start_at(problem, &x).margin;
            assert!((value - tiny.value(&x)).abs() < 1e-9, "seed {}", tiny.seed);
            assert!(value <= best.value + SAME, "seed {}: {value} {best:?}", tiny.seed);
        }
    });
}

/// start ≤ walk ≤ exact ≤ relaxation ≤ CROWN.
#[test]
fn walks_end_between_their_start_and_the_optimum() {
    for_each(|SolvedProblem { tiny, best }, problem, _| {
        let seed = tiny.seed;
        let mut region = RegionLp::new(problem);
        let mut trace = Trace::new(&problem.network);
        for x in tiny.samples(3) {
            let start = start_at(problem, &x);
            let climbed = ascend_from(problem, start.clone(), &mut trace, &Budget::unlimited());
            assert!(climbed.margin >= start.margin, "seed {seed}");
            for from in [start, climbed] {
                for way_out in [WayOut::Flip, WayOut::Epsilon] {
                    let mut seen = HashSet::new();
                    let walked =
                        walk(&mut region, from.clone(), &mut seen, way_out, &Budget::unlimited());
                    let end = &walked.end;
                    let stops = [StopReason::LocalOptimum, StopReason::Revisited];
                    assert!(stops.contains(&walked.stop), "seed {seed} {way_out:?}: {walked:?}");
                    assert!(end.margin >= from.margin, "seed {seed} {way_out:?}");
                    assert!(end.margin <= best.value + SAME, "seed {seed} {way_out:?}");
                    assert!(tiny.set.contains(&end.point, 1e-9), "seed {seed} {way_out:?}");
                    let claimed = tiny.value(&end.point);
                    assert!((claimed - end.margin).abs() < 1e-9, "seed {seed} {way_out:?}");
                }
            }
        }
    });
}

/// The LP with rows and columns on demand finds what the whole LP of the same region finds, and the network agrees.
#[test]
fn a_region_lp_is_the_whole_lp_of_its_region() {
    for_each(|SolvedProblem { tiny, best }, problem, _| {
        let seed = tiny.seed;
        let mut whole = LpModel::new();
        let mut region = RegionLp::new(problem);
        let sampled = tiny.samples(6).into_iter().map(|x| (tiny.states_at(&x), x));
        let optimal = (best.states.clone(), best.point.clone());
        for (states, x) in sampled.chain([optimal]) {
            let pattern = tiny.pattern(&states);
            let small = region.solve(&pattern, &x, &[], &Budget::unlimited());
            let small = small.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let whole = tiny.region(&mut whole, states).expect("x is in the region");
            assert!((small.value - whole.value).abs() < SAME, "seed {seed}: {small:?} {whole:?}");
            let network = tiny.value(&small.point);
            assert!((small.value - network).abs() < SAME, "seed {seed}: {small:?} {network}");
            assert!(tiny.set.contains(&small.point, 1e-9), "seed {seed}");
        }
    });
}

#[test]
#[allow(clippy::print_stderr, reason = "the share is worth knowing: cargo test -- --nocapture")]
fn no_method_exceeds_the_optimum_and_ours_and_branch_and_bound_reach_it() {
    let with = |name: &str| {
        let method = name.parse().expect("a method");
        SearchOptions { method, ..SearchOptions::default() }
    };
    let epsilon = SearchOptions { way_out: WayOut::Epsilon, ..SearchOptions::default() };
    let warm = SearchOptions { method: Method::Milp { warm: true }, ..SearchOptions::default() };
    let methods = Method::NAMES.map(|name| (name, with(name)));
    for (name, options) in methods.into_iter().chain([("epsilon", epsilon), ("warm milp", warm)]) {
        for (size, cases) in [
            ("tiny", &TINY),
            ("wide", &WIDE),
            ("cut", &CUT),
            ("mixed", &MIXED),
            ("carried", &CARRIED),
            ("with inputs", &INPUTS),
        ] {
            if (name, size) == ("apgd", "cut") {
                continue; // has no projection onto constraints
            }
            let missed = |SolvedProblem { tiny, best }: &SolvedProblem| {
                let SearchResult { best: found, claimed_bound, .. } =
                    searched(&tiny.problem(), &options);
                let seed = tiny.seed;
                let above = |bound: f64| bound >= best.value - SAME;
                assert!(claimed_bound.is_none_or(above), "{name}, {size} seed {seed}");
                assert!(found.margin <= best.value + SAME, "{name}, {size} seed {seed}");
                assert!(tiny.set.contains(&found.point, 1e-9), "{name}, {size} seed {seed}");
                assert!(tiny.violation(&found.point) <= 5e-7, "{name}, {size} seed {seed}");
                let at_point = tiny.value(&found.point);
                assert!((at_point - found.margin).abs() < 1e-9, "{name}, {size} seed {seed}");
                (found.margin < best.value - SAME).then_some((seed, found.margin, best.value))
            };
            // The others are held to the sandwich only, or slow: fewer cases will do.
            let tried = if name == "rw" { &cases[..] } else { &cases[..cases.len() / 10] };
            let missed: Vec<_> = tried.par_iter().filter_map(missed).collect();
            let share = 1.0 - missed.len() as f64 / tried.len() as f64;
            eprintln!("{name}: {:.2} % of {} {size} optima reached", 100.0 * share, tried.len());
            if ["rw", "milp", "warm milp"].contains(&name) {
                eprintln!("missed (seed, found, best): {missed:?}");
                assert!(share >= 0.99, "{name}: {share}");
            }
        }
    }
}
