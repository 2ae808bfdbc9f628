//! Inputs that take whole numbers only: what is found and what is proven, against every whole number tried.

use rayon::prelude::*;
use rw_adv::search::{Method, SearchOptions};

use crate::cases::{INTEGERS, SAME, SolvedProblem};
use crate::search::searched;
use crate::trees::{OPTIMUM, is_sound};

/// Methods, and how many of a thousand optima each may miss.
const METHODS: [(Method, usize); 6] = [
    (Method::Rw, 10),
    (Method::Milp { warm: false }, 2),
    (Method::SampleMip, 40),
    (Method::Paper, 300),
    (Method::FrankWolfe, 100),
    (Method::Milp { warm: true }, 2),
];

#[allow(clippy::print_stderr, reason = "the share is worth knowing: cargo test -- --nocapture")]
#[test]
fn every_method_ends_at_whole_numbers_and_never_above_the_optimum() {
    for (method, of_thousand) in METHODS {
        let is_missed = |SolvedProblem { tiny, best }: &&SolvedProblem| {
            let found = searched(&tiny.problem(), &SearchOptions { method, ..Default::default() });
            let context = format!("{} seed {}: {best:?}", method.name(), tiny.seed);
            let point = &found.best.point;
            assert!(tiny.set.domain().is_integral(point), "{context}: {point:?}");
            assert!(tiny.set.contains(point, 1e-9), "{context}: {point:?}");
            assert!((tiny.value(point) - found.best.margin).abs() < 1e-9, "{context}");
            assert!(found.best.margin <= best.value + SAME, "{context}: {:?}", found.best);
            found.best.margin < best.value - SAME
        };
        let missed = INTEGERS.par_iter().filter(is_missed).count();
        eprintln!("{}: {missed} of {} optima missed", method.name(), INTEGERS.len());
        assert!(missed * 1000 <= of_thousand * INTEGERS.len(), "{}: {missed}", method.name());
    }
}

#[allow(clippy::print_stderr, reason = "the share is worth knowing: cargo test -- --nocapture")]
#[test]
fn trees_prove_the_optima_of_whole_numbers() {
    let unproven = INTEGERS.par_iter().filter(|case| !is_sound("integers", case, &OPTIMUM)).count();
    eprintln!("{unproven} of {} optima not proven", INTEGERS.len());
    assert!(unproven * 1000 <= 5 * INTEGERS.len(), "{unproven}");
}
