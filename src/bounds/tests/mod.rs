//! Nothing that can be computed at a point of the set lies outside what was proven.

mod cover;
mod cuts;
mod sparse;

use proptest::prelude::*;

use super::*;
use crate::budget::Budget;
use crate::encode::{Vertices, interior_point};
use crate::network::random::{self, point};
use crate::network::{AffineMap, Network, NeuronId, Trace};
use crate::problem::{Objective, Problem};
use crate::search::ascend_from;
use crate::sets::{Constraint, Domain, InputSet, MoveSet, Norm, PixelRange, PixelSplit};
use std::sync::Arc;

fn network(widths: &[usize], seed: u64) -> Arc<Network> {
    Arc::new(random::network(widths, seed))
}

/// The set of a random case: an L1 ball cut by the box, an L∞ ball, a box, a box with constraints, or an L1 ball alone.
fn set(kind: u8, inputs: usize, delta: f64, seed: u64) -> InputSet {
    let centre: Vec<f64> = point(inputs, seed ^ 1).iter().map(|v| v.abs()).collect();
    match kind {
        0 | 1 => InputSet::ball(Norm::L1, &centre, delta, PixelRange::UNIT),
        2 => InputSet::ball(Norm::Linf, &centre, delta.min(0.5), PixelRange::UNIT),
        3 => InputSet::new_box(&vec![0.0; inputs], &vec![1.0; inputs]),
        4 => constrained(&centre, seed),
        _ => InputSet::whole_l1_ball(&centre, delta),
    }
}

/// The unit box cut by up to three constraints, half-spaces, strips and equations, that a point of it keeps.
fn constrained(inside: &[f64], seed: u64) -> InputSet {
    let constraint = |k: u64| {
        let weights = point(inside.len(), seed ^ (100 + k));
        let terms: Vec<(usize, f64)> = weights.into_iter().enumerate().collect();
        let at: f64 = terms.iter().map(|&(i, w)| w * inside[i]).sum();
        let (lower, upper) =
            [(f64::NEG_INFINITY, 0.1), (-0.1, 0.2), (0.0, 0.0)][(seed ^ k) as usize % 3];
        Constraint::new(&terms, at + lower, at + upper)
    };
    let constraints = (0..1 + seed % 3).map(constraint).collect();
    let domain = Domain { constraints, ..Domain::new_box(inside.len(), 0.0, 1.0) };
    let centre = interior_point(&domain, &Budget::unlimited()).expect("there is a point inside");
    InputSet::of_domain(&domain, centre)
}

/// Weak duality and the LP meet: a multiplier that is not the best would leave a gap.
#[test]
fn the_bound_over_one_constraint_is_the_optimum() {
    for seed in 0..300 {
        let inputs = 1 + (seed % 9) as usize;
        let scale = [1.0, 1e-3, 1e4][(seed / 3 % 3) as usize];
        // Weights of like size, so that no multiplier magnifies the LP solver's tolerance.
        let like = |v: f64| (0.25 + 0.75 * v.abs()).copysign(v);
        let weights = point(inputs, seed ^ 100).into_iter().map(like);
        let terms: Vec<(usize, f64)> = weights.enumerate().collect();
        let inside = point(inputs, seed ^ 1);
        let at: f64 = terms.iter().map(|&(i, w)| w * scale * inside[i]).sum();
        let (lower, upper) =
            [(f64::NEG_INFINITY, 0.1), (-0.1, 0.2), (0.0, 0.0)][(seed % 3) as usize];
        let constraint = Constraint::new(&terms, at + scale * lower, at + scale * upper);
        let plain = Domain::new_box(inputs, -scale, scale);
        let domain = Domain { constraints: vec![constraint], ..plain };
        let centre = interior_point(&domain, &Budget::unlimited()).expect("a point is inside");
        let set = InputSet::of_domain(&domain, centre);
        let moves = MoveSet::new(&set);
        let mut vertices = Vertices::new(&set, Budget::unlimited());
        for k in 0..10 {
            let w = point(inputs, seed ^ (200 + k));
            let optimum = vertices.maximise(&w).expect("solved").value;
            let slopes: Vec<f64> = set.moves().iter().map(|m| m.sign * w[m.pixel]).collect();
            let at_centre: f64 = w.iter().zip(set.centre()).map(|(w, c)| w * c).sum();
            let bound = at_centre + moves.support(&slopes, |_, _| ());
            let close = 4e-6 + 1e-9 * scale;
            assert!((bound - optimum).abs() <= close, "seed {seed}: {optimum} {bound}");
        }
    }
}

/// Points of boxes so wide that roundings exceed the tolerance.
#[test]
fn no_point_of_a_wide_box_exceeds_the_bound_over_it() {
    for exponent in 0..=14 {
        let far = 10f64.powi(exponent);
        // `k, 3k, 7k` keeps both equations exactly, whatever the weights' quotients are rounded to.
        let constraints = vec![
            Constraint::new(&[(0, 3.0), (1, -1.0)], 0.0, 0.0),
            Constraint::new(&[(0, 7.0), (2, -1.0)], 0.0, 0.0),
        ];
        let domain = Domain { constraints, ..Domain::new_box(3, -far, far) };
        let k = (far / 7.0).floor().max(far.min(1.0) / 8.0);
        for centre in [[0.0; 3], [k, 3.0 * k, 7.0 * k], [-k, -3.0 * k, -7.0 * k]] {
            let set = InputSet::of_domain(&domain, centre.to_vec());
            let moves = MoveSet::new(&set);
            for seed in 0..20 {
                let w = point(3, seed);
                let slopes: Vec<f64> = set.moves().iter().map(|m| m.sign * w[m.pixel]).collect();
                let bound = moves.support(&slopes, |_, _| ());
                for k in [-k, -k / 2.0, 0.0, k / 4.0, k] {
                    let x = [k, 3.0 * k, 7.0 * k];
                    let moved: f64 = (0..3).map(|i| w[i] * (x[i] - centre[i])).sum();
                    assert!(moved <= bound, "1e{exponent}, {centre:?}: {moved} {bound}");
                }
            }
        }
    }
}

/// The largest value of a few dozen points: random ones, vertices, and where first-order ascent from them ends.
fn best_of_many(problem: &Problem, seed: u64, mut visit: impl FnMut(&Trace)) -> f64 {
    let mut trace = Trace::new(&problem.network);
    let mut vertices = Vertices::new(&problem.set, Budget::unlimited());
    let n = problem.network.inputs();
    let mut best = f64::NEG_INFINITY;
    for k in 0..30 {
        let anywhere: Vec<f64> = point(n, seed.wrapping_add(k)).iter().map(|v| 3.0 * v).collect();
        let x = if k % 2 == 0 {
            problem.set.project(&anywhere)
        } else {
            vertices.maximise(&anywhere).expect("solved").point
        };
        let start = problem.evaluate(x, &mut trace);
        visit(&trace);
        best = best.max(start.margin);
        if k < 6 {
            best = best.max(ascend_from(problem, start, &mut trace, &Budget::unlimited()).margin);
        }
    }
    best
}

/// The four certificates of a problem.
fn certificates(problem: &Problem) -> Vec<(CertifiedBound, NeuronBounds)> {
    let mut all = Vec::new();
    for above in [UpperRelaxation::Chords, UpperRelaxation::Envelopes] {
        for arithmetic in [Arithmetic::Exact, Arithmetic::F32] {
            let bounds = LinearBounds::new(
                &problem.network,
                &problem.set,
                above,
                arithmetic,
                &Budget::unlimited(),
            );
            let effort = BoundOptions { steps: 8, ..BoundOptions::default() };
            let bound = bounds.certify(problem.weights(), &effort, &Budget::unlimited());
            all.push((bound, bounds.neurons().clone()));
        }
    }
    all
}

/// The network with other weights and biases: `number(layer, old)`.
fn with_numbers(network: &Network, number: impl Fn(usize, f64) -> f64) -> Network {
    let maps = (0..network.layers().len()).map(|layer| {
        let map = network.affine(layer);
        let bias = map.bias().iter().map(|&b| number(layer, b)).collect();
        let weight = |i, j| number(layer, map.weight(i, j));
        AffineMap::from_fn(map.outputs(), map.inputs(), weight, bias)
    });
    Network::new(maps.collect()).expect("as before")
}

/// The network in f32, each sum from the back.
fn f32_logits(network: &Network, x: &[f64]) -> Vec<f32> {
    let mut h: Vec<f32> = x.iter().map(|&v| v as f32).collect();
    for layer in 0..network.layers().len() {
        let map = network.affine(layer);
        let sum = |j: usize| {
            let terms = map.row(j).map(|(i, weight)| weight as f32 * h[i]);
            terms.rev().fold(map.bias()[j] as f32, |sum, term| sum + term)
        };
        h = (0..map.outputs()).map(sum).collect();
        if layer + 1 < network.layers().len() {
            h.iter_mut().for_each(|v| *v = v.max(0.0));
        }
    }
    h
}

/// Random cases of a property; `RW_ADV_CASES` asks for so many times more.
pub(super) fn cases() -> u32 {
    1500 * std::env::var("RW_ADV_CASES").map_or(1, |text| text.parse::<u32>().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_point_leaves_the_intervals_or_exceeds_a_certificate(
        widths in prop::collection::vec(1usize..14, 3..6),
        kind in 0u8..6,
        delta in 0.05f64..4.0,
        seed in any::<u64>(),
    ) {
        let network = network(&widths, seed);
        let objective = point(network.outputs(), seed ^ 2);
        let problem = Problem::new(&network, set(kind, widths[0], delta, seed), Objective::new(objective));
        let certificates = certificates(&problem);
        let mut outside = None;
        let best = best_of_many(&problem, seed, |trace| {
            for (_, bounds) in &certificates {
                for layer in 0..trace.hidden() {
                    for (g, interval) in trace.pre_activations(layer).iter().zip(bounds.layer(layer)) {
                        // The forward pass itself rounds.
                        if *g < interval.lower - 1e-12 || *g > interval.upper + 1e-12 {
                            outside = Some((layer, *g, *interval));
                        }
                    }
                }
            }
        });
        prop_assert!(outside.is_none(), "{outside:?}");
        for (bound, _) in certificates {
            prop_assert!(best <= bound.value() + 1e-12, "{best} {bound:?}");
        }
    }

    #[test]
    fn no_point_of_a_part_leaves_the_bounds_that_the_part_inherits(
        widths in prop::collection::vec(1usize..14, 3..6),
        kind in 0u8..3,
        delta in 0.05f64..4.0,
        divisions in prop::collection::vec((any::<prop::sample::Index>(), 1u32..255, any::<bool>()), 1..5),
        seed in any::<u64>(),
    ) {
        let network = network(&widths, seed);
        let objective = point(network.outputs(), seed ^ 2);
        let mut set = set(kind, widths[0], delta, seed);
        let unlimited = Budget::unlimited();
        let linear = LinearBounds::splittable(&network, &set, UpperRelaxation::Envelopes, Arithmetic::Exact, &unlimited);
        let moves = set.moves();
        let mut portion = linear.whole();
        for (index, share, at_least) in divisions {
            let k = index.index(moves.len());
            let amount = f64::from(share) / 256.0 * moves[k].cap.min(delta) / 4.0;
            // As in a tree: only where the new centre is a number.
            let amount = (amount * 1024.0).round() / 1024.0;
            let room = set.moves().iter().any(|m| m.pixel == moves[k].pixel && m.sign == moves[k].sign && m.cap > amount);
            let split = PixelSplit { pixel: moves[k].pixel, up: moves[k].sign > 0.0, amount };
            if !room || set.budget().is_some_and(|budget| budget <= amount) {
                continue;
            }
            let (Some(sets), Some(portions)) = (set.split(split), portion.split(split)) else { continue };
            let half = usize::from(!at_least);
            (set, portion) = (sets[half].clone(), portions[half].clone());
        }
        let part = linear.within(&portion);
        let problem = Problem::new(&network, set, Objective::new(objective));
        let bound = part.prove(problem.weights(), &BoundOptions { steps: 5, ..BoundOptions::default() }, &unlimited).bound;
        let mut outside = None;
        let best = best_of_many(&problem, seed, |trace| {
            for layer in 0..trace.hidden() {
                let intervals = part.neurons().layer(layer);
                for (g, interval) in trace.pre_activations(layer).iter().zip(intervals) {
                    if *g < interval.lower - 1e-12 || *g > interval.upper + 1e-12 {
                        outside = Some((layer, *g, *interval));
                    }
                }
            }
        });
        prop_assert!(outside.is_none(), "{outside:?}");
        prop_assert!(best <= bound.value() + 1e-12, "{best} {bound:?}");
    }

    #[test]
    fn no_point_leaves_the_bounds_of_its_own_signs(
        widths in prop::collection::vec(1usize..14, 3..6),
        kind in 0u8..6,
        delta in 0.05f64..4.0,
        signs in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        seed in any::<u64>(),
    ) {
        let network = network(&widths, seed);
        let objective = point(network.outputs(), seed ^ 2);
        let set = set(kind, widths[0], delta, seed);
        let unlimited = Budget::unlimited();
        let linear = LinearBounds::new(&network, &set, UpperRelaxation::Envelopes, Arithmetic::Exact, &unlimited);
        let problem = Problem::new(&network, set, Objective::new(objective));
        let all: Vec<NeuronId> = (0..linear.neurons().hidden())
            .flat_map(|layer| (0..linear.neurons().layer(layer).len()).map(move |index| NeuronId { layer, index }))
            .collect();
        // Any multipliers will do.
        let neurons: Vec<Vec<NeuronDuals>> = (0..linear.neurons().hidden())
            .map(|layer| {
                let width = linear.neurons().layer(layer).len();
                let (some, others) = (point(width, seed ^ 3), point(width, seed ^ 4));
                let pair = |(m, e): (f64, f64)| NeuronDuals { multiplier: m, envelope: e.max(0.0) };
                some.into_iter().zip(others).map(pair).collect()
            })
            .collect();
        let multipliers = Multipliers { neurons, prices: point(problem.set.constraints().len(), seed ^ 5) };
        let none = vec![vec![NeuronDuals::default(); 14]; linear.neurons().hidden()];
        let none = Multipliers { neurons: none, prices: Vec::new() };
        let mut trace = Trace::new(&network);
        for k in 0..10 {
            let x = problem.set.project(&point(widths[0], seed.wrapping_add(k)));
            let at = problem.evaluate(x, &mut trace);
            let mut part: Option<LinearBounds> = None;
            for index in &signs {
                let neuron = all[index.index(all.len())];
                let on = trace.pre_activations(neuron.layer)[neuron.index] > 0.0;
                let known = part.as_ref().unwrap_or(&linear).signed_part();
                part = linear.signed(&known, Sign { neuron, on }).ok();
                prop_assert!(part.is_some(), "the part of {neuron:?} has a point");
            }
            let part = part.as_ref().unwrap_or(&linear);
            for layer in 0..trace.hidden() {
                for (g, interval) in trace.pre_activations(layer).iter().zip(part.neurons().layer(layer)) {
                    prop_assert!(*g >= interval.lower - 1e-12 && *g <= interval.upper + 1e-12, "{layer} {g} {interval:?}");
                }
            }
            let bounds = [
                part.prove(problem.weights(), &BoundOptions { steps: 3, ..BoundOptions::default() }, &unlimited).bound,
                part.dual_bound(problem.weights(), &multipliers).bound,
                part.dual_bound(problem.weights(), &none).bound,
            ];
            for bound in bounds {
                prop_assert!(at.margin <= bound.value() + 1e-12, "{at:?} {bound:?}");
            }
            // A cut with a goal that the point reaches keeps it.
            let goal = at.margin - 1e-3 * f64::from(k as u32);
            for multipliers in [&multipliers, &none] {
                let cut = part.cut_by_multipliers(problem.weights(), multipliers, goal);
                prop_assert!(cut.is_ok(), "the point {at:?} reaches {goal}");
                let Ok(cut) = cut else { continue };
                prop_assert!(at.margin <= cut.dual_bound(problem.weights(), &none).bound.value() + 1e-12);
                for layer in 0..trace.hidden() {
                    for (g, interval) in trace.pre_activations(layer).iter().zip(cut.neurons().layer(layer)) {
                        prop_assert!(*g >= interval.lower - 1e-12 && *g <= interval.upper + 1e-12, "cut {layer} {g} {interval:?}");
                    }
                }
                // Of another function nothing is known below the goal.
                let other: Vec<f64> = problem.weights().iter().map(|w| w + 1.0).collect();
                prop_assert_eq!(cut.dual_bound(&other, &none).bound.value(), f64::INFINITY);
            }
        }
    }

    #[test]
    fn no_f32_run_exceeds_its_certificate(
        widths in prop::collection::vec(1usize..40, 3..5),
        delta in 0.01f64..1.0,
        seed in any::<u64>(),
    ) {
        // Weights that f32 holds: the file's own numbers.
        let wide = network(&widths, seed);
        let network = Arc::new(with_numbers(&wide, |_, v| f64::from(v as f32)));
        let objective = point(network.outputs(), seed ^ 2);
        let set = set(0, widths[0], delta, seed);
        let problem = Problem::new(&network, set, Objective::new(objective));
                let bounds = LinearBounds::new(&network, &problem.set, UpperRelaxation::Envelopes, Arithmetic::F32, &Budget::unlimited());
        let bound = bounds.certify(problem.weights(), &BoundOptions::default(), &Budget::unlimited());
        for k in 0..20 {
            let mut x = problem.set.project(&point(widths[0], seed.wrapping_add(k)));
            // A point that f32 holds, nearer to the centre than the one drawn.
            for (x, centre) in x.iter_mut().zip(problem.set.centre()) {
                *x = f64::from((centre + 0.999 * (*x - centre)) as f32);
            }
            let logits = f32_logits(&network, &x);
            let value: f64 = logits.iter().zip(problem.weights()).map(|(y, o)| f64::from(*y) * o).sum();
            prop_assert!(value <= bound.value() + 1e-12, "{value} {bound:?}");
        }
    }

    #[test]
    fn a_certificate_holds_at_any_scale(
        widths in prop::collection::vec(1usize..10, 3..6),
        delta in 0.05f64..4.0,
        exponents in prop::collection::vec(-4i32..=4, 5),
        seed in any::<u64>(),
    ) {
        let plain = network(&widths, seed);
        let network = Arc::new(with_numbers(&plain, |layer, v| 10f64.powi(exponents[layer]) * v));
        let objective = point(network.outputs(), seed ^ 2);
        let problem = Problem::new(&network, set(0, widths[0], delta, seed), Objective::new(objective));
        let best = best_of_many(&problem, seed, |_| ());
        for (bound, _) in certificates(&problem) {
            prop_assert!(bound.value().is_finite());
            prop_assert!(best <= bound.value() + 1e-12 * best.abs(), "{best} {bound:?}");
        }
    }
}

/// `y = relu(B + x) − relu(B)` plus nothing: all digits of `x` are lost when `B` is large enough.
#[test]
fn catastrophic_cancellation_loosens_a_certificate_but_never_breaks_it() {
    for exponent in [0, 8, 15, 16, 17, 30, 200, 307] {
        let large = 10f64.powi(exponent);
        let hidden = AffineMap::from_rows(&[[1.0], [0.0]], vec![large, large]);
        let output = AffineMap::from_rows(&[[1.0, -1.0]], vec![0.0]);
        let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
        let set = InputSet::ball(Norm::L1, &[0.25], 0.5, PixelRange::UNIT);
        let problem = Problem::new(&network, set, Objective::new(vec![1.0]));
        for (bound, _) in certificates(&problem) {
            // In exact arithmetic y = x, at most 0.75.
            assert!(bound.value() >= 0.75, "1e{exponent}: {bound:?}");
            if exponent == 0 && !bound.holds_in_f32() {
                assert!(bound.value() < 0.75 + 1e-9, "{bound:?}");
            }
        }
    }
}

/// The largest finite weights: what overflows is unbounded, never robust.
#[test]
fn numbers_that_overflow_prove_nothing() {
    let weight = |i, j| if (i + j) % 2 == 0 { 1e200 } else { -1e200 };
    let map = |n: usize, m: usize| AffineMap::from_fn(m, n, weight, vec![0.0; m]);
    let network =
        Arc::new(Network::new(vec![map(3, 3), map(3, 3), map(3, 2)]).expect("shapes fit"));
    let set = InputSet::ball(Norm::L1, &[0.5; 3], 1.0, PixelRange::UNIT);
    let problem = Problem::new(&network, set, Objective::new(vec![1.0, -1.0]));
    for (bound, _) in certificates(&problem) {
        assert_eq!(bound.value(), f64::INFINITY);
    }
}

/// Slopes that overflow while the budget is so small that nothing else does; an interval wider than f64 holds.
#[test]
fn overflow_does_not_hide_behind_a_small_budget_or_a_wide_interval() {
    let hidden = AffineMap::from_rows(&[[1e200], [1e200]], vec![1e3; 2]);
    let output = AffineMap::from_rows(&[[1e200, -0.5e200]], vec![0.0]);
    let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
    let set = InputSet::ball(Norm::L1, &[0.0], 1e-200, PixelRange::UNIT);
    let problem = Problem::new(&network, set, Objective::new(vec![1.0]));
    for (bound, _) in certificates(&problem) {
        assert_eq!(bound.value(), f64::INFINITY);
    }
    let hidden = AffineMap::from_rows(&[[1.7e308]], vec![-0.85e308]);
    let output = AffineMap::from_rows(&[[1e-300]], vec![0.0]);
    let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
    let set = InputSet::new_box(&[-0.5], &[1.5]);
    let problem = Problem::new(&network, set, Objective::new(vec![1.0]));
    for (bound, _) in certificates(&problem) {
        assert!(bound.value() >= 1.7e308 * 1e-300, "{bound:?}");
    }
}

/// The neuron `relu(p − 1)` within budget 2 and caps of 2: its envelope is `p / 2`.
#[test]
fn an_envelope_by_hand() {
    let hidden = AffineMap::from_rows(&[[1.0]], vec![-1.0]);
    let output = AffineMap::from_rows(&[[1.0]], vec![0.0]);
    let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
    let set = InputSet::new_box(&[0.0], &[2.0]);
    for above in [UpperRelaxation::Chords, UpperRelaxation::Envelopes] {
        let bounds =
            LinearBounds::new(&network, &set, above, Arithmetic::Exact, &Budget::unlimited());
        let bound = bounds.certify(&[1.0], &BoundOptions::default(), &Budget::unlimited());
        assert!((bound.value() - 1.0).abs() < 1e-9, "{bound:?}");
    }
}
