//! Branch and bound: trees prove optima, their proofs hold, and no forged proof does.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rw_adv::bounds::{Arithmetic, BoundOptions, LinearBounds, UpperRelaxation};
use rw_adv::branch::{
    BranchOptions, BranchResult, BranchStop, ProvenBound, TreeEvent, Until, branch_and_bound,
};
use rw_adv::budget::Budget;
use rw_adv::proof::{CheckedClaim, Claim, ProofError, ProofSide, check};

use crate::cases::{CARRIED, CUT, INPUTS, MIXED, SAME, SolvedProblem, TINY, WIDE};
use crate::problem::{TinyProblem, start_at};

pub const OPTIMUM: BranchOptions =
    BranchOptions { nodes: 1500, until: Until::Gap(1e-4), keep: true, few: 120, parallel: false };

/// Branch and bound on a tiny problem, from its centre, with everything kept that proves it.
fn tree(tiny: &TinyProblem, options: &BranchOptions) -> (BranchResult, f64) {
    let (problem, unlimited) = (tiny.problem(), Budget::unlimited());
    let (network, set) = (&problem.network, &problem.set);
    let exact = Arithmetic::Exact;
    let linear =
        LinearBounds::splittable(network, set, UpperRelaxation::Envelopes, exact, &unlimited);
    let linear = Arc::new(linear);
    let proof = linear.prove(problem.weights(), &BoundOptions::default(), &unlimited);
    let root = ProvenBound::of_whole(&linear, &proof, true);
    let start = start_at(&problem, set.centre());
    let go_on = |_: TreeEvent| ControlFlow::Continue(());
    let tree = branch_and_bound(&problem, &linear, root, start, options, &unlimited, go_on);
    (tree, proof.bound.value())
}

/// What is true of every tree, finished or not. Whether it is.
pub fn is_sound(
    name: &str,
    SolvedProblem { tiny, best }: &SolvedProblem,
    options: &BranchOptions,
) -> bool {
    let Until::Gap(gap) = options.until else { panic!("for optima") };
    let (mut tree, root) = tree(tiny, options);
    let context = format!("{name} seed {}: {} of {}", tiny.seed, tree.bound.value(), best.value);
    assert!(tree.bound.value() >= best.value - SAME, "{context}");
    assert!(tree.bound.value() <= root, "{context}");
    assert!(tree.best.margin <= best.value + SAME, "{context}");
    assert!(tiny.set.contains(&tree.best.point, 1e-9), "{context}");
    let falls = tree.trace.windows(2).all(|pair| pair[1].1 < pair[0].1);
    assert!(falls, "{context}: {:?}", tree.trace);
    let closed = tree.bound.value() - tree.best.margin <= gap + 1e-12;
    assert_eq!(tree.stop == BranchStop::Proven, closed, "{context}");
    let claim = tree.claim().expect("leaves were kept");
    let checked = checked(tiny, &claim).unwrap_or_else(|fault| panic!("{context}: {fault}"));
    assert!((checked.bound - claim.bound).abs() <= 1e-9, "{context}: {checked:?}");
    assert_eq!(checked.leaves, claim.leaves.len(), "{context}");
    closed
}

fn checked(tiny: &TinyProblem, claim: &Claim) -> Result<CheckedClaim, ProofError> {
    let problem = tiny.problem();
    check(&problem.network, &problem.set, problem.weights(), Arithmetic::Exact, claim)
}

#[test]
fn trees_prove_every_optimum_by_the_neurons_signs() {
    // Over boxes cut by constraints one gap of 1,000 stays; why was not found out. Bounds there hold for points that break
    // constraints by what is tolerated.
    for (size, cases, of_thousand) in [
        ("tiny", &TINY, 0),
        ("wide", &WIDE, 0),
        ("cut", &CUT, 5),
        ("mixed", &MIXED, 0),
        ("carried", &CARRIED, 0),
        ("with inputs", &INPUTS, 0),
    ] {
        let unproven = cases.par_iter().filter(|solved| !is_sound(size, solved, &OPTIMUM)).count();
        let most = of_thousand * cases.len() / 1000;
        assert!(unproven <= most, "{size}: {unproven} not proven, of {}", cases.len());
    }
}

#[allow(clippy::print_stderr, reason = "the share is worth knowing: cargo test -- --nocapture")]
#[test]
fn trees_over_pixels_alone_never_cut_off_the_optimum_and_mostly_prove_it() {
    let options = BranchOptions { few: 0, ..OPTIMUM };
    for (size, cases) in [("tiny", &TINY), ("wide", &WIDE)] {
        let tried = &cases[..cases.len() / 20];
        let unproven = tried.par_iter().filter(|solved| !is_sound(size, solved, &options)).count();
        eprintln!("{size}: {} of {} optima proven", tried.len() - unproven, tried.len());
        // Flat pieces and ridges are divided for ever without a division by neurons.
        assert!(unproven * 5 <= tried.len(), "{size}: {unproven}");
    }
}

/// Proofs with one thing changed.
fn forgeries(claim: &Claim) -> Vec<(&'static str, Claim)> {
    let mut forged = Vec::new();
    let mut forge = |what, change: &dyn Fn(&mut Claim)| {
        let mut claim = claim.clone();
        change(&mut claim);
        forged.push((what, claim));
    };
    let highest = |claim: &Claim| {
        let bound = |k: &usize| claim.leaves[*k].bound;
        (0..claim.leaves.len()).max_by(|a, b| bound(a).total_cmp(&bound(b))).expect("a leaf")
    };
    forge("whole lowered", &|claim| claim.bound -= 1e-6);
    forge("leaf lowered", &|claim| {
        let leaf = highest(claim);
        claim.leaves[leaf].bound -= 1e-6;
    });
    forge("both lowered", &|claim| {
        let leaf = highest(claim);
        claim.leaves[leaf].bound -= 1e-6;
        claim.bound -= 1e-6;
    });
    for k in 0..claim.leaves.len() {
        forge("leaf removed", &|claim| _ = claim.leaves.remove(k));
        for at in 0..claim.leaves[k].sides.len() {
            forge("side dropped", &|claim| _ = claim.leaves[k].sides.remove(at));
            forge("split shifted", &|claim| match &mut claim.leaves[k].sides[at] {
                ProofSide::AtLeast(share) | ProofSide::AtMost(share) => share.amount /= 2.0,
                ProofSide::Above(cut) | ProofSide::Below(cut) => cut.at += 1e-3,
                ProofSide::On(place) | ProofSide::Off(place) => place.neuron += 1,
            });
            forge("side turned", &|claim| {
                let side = &mut claim.leaves[k].sides[at];
                *side = match *side {
                    ProofSide::AtLeast(share) => ProofSide::AtMost(share),
                    ProofSide::AtMost(share) => ProofSide::AtLeast(share),
                    ProofSide::Above(cut) => ProofSide::Below(cut),
                    ProofSide::Below(cut) => ProofSide::Above(cut),
                    ProofSide::On(place) => ProofSide::Off(place),
                    ProofSide::Off(place) => ProofSide::On(place),
                };
            });
        }
    }
    forged
}

#[test]
fn no_forged_proof_is_accepted() {
    for few in [120, 0] {
        let options = BranchOptions { nodes: 60, few, ..OPTIMUM };
        let divided = AtomicUsize::new(0);
        for cases in [&TINY, &WIDE] {
            cases[..cases.len() / 4].par_iter().for_each(|SolvedProblem { tiny, best }| {
                let claim = tree(tiny, &options).0.claim().expect("leaves were kept");
                divided.fetch_add(usize::from(claim.leaves.len() > 1), Ordering::Relaxed);
                for (what, forged) in forgeries(&claim) {
                    if let Ok(checked) = checked(tiny, &forged) {
                        panic!("seed {}: {what}: {checked:?}, optimum {}", tiny.seed, best.value);
                    }
                }
            });
        }
        let divided = divided.into_inner();
        assert!(divided > 30, "{divided} proofs of more than one leaf");
    }
}
