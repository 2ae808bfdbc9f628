//! Nothing that can be computed at a point of a part lies outside what was proven for the part.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::bounds::linear::Arithmetic;
use crate::bounds::part::{InputSplit, Sign};
use crate::budget::Budget;
use crate::network::random::{network, point};
use crate::network::{Network, NeuronId, Trace};
use crate::problem::{Conjunction, Objective, PropertyRow};
use crate::sets::InputSet;

/// A cutoff that nothing is below.
const NEVER: f64 = f64::NEG_INFINITY;

fn random_box(inputs: usize, seed: u64) -> InputSet {
    let (a, b) = (point(inputs, seed ^ 11), point(inputs, seed ^ 12));
    let lower: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.min(*b)).collect();
    let upper: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
    InputSet::new_box(&lower, &upper)
}

/// Conjunctions of one to three rows.
fn random_questions(outputs: usize, seed: u64) -> BoxQuestions {
    let row = |k: u64| {
        let weights = point(outputs, seed ^ (50 + k));
        let slack = if (seed ^ k).is_multiple_of(3) { 1e-9 } else { 0.0 };
        let objective = Objective { weights, constant: k as f64 / 16.0 - 0.1 };
        PropertyRow { slack, ..PropertyRow::new(objective, false) }
    };
    let all =
        |q: u64| Conjunction { all_of: (0..1 + (seed ^ q) % 3).map(|k| row(4 * q + k)).collect() };
    let conjunctions: Vec<Conjunction> = (0..1 + seed % 3).map(all).collect();
    BoxQuestions::conjunctions(conjunctions.iter())
}

fn samples(part: &BoxPart, count: u64, seed: u64) -> Vec<Vec<f64>> {
    let sample = |k: u64| {
        let shares = point(part.lower.len(), seed ^ (1000 + k));
        // Corners, too.
        let share =
            |v: f64| if k.is_multiple_of(3) { f64::from(u8::from(v > 0.0)) } else { v.abs() };
        let inside = part.lower.iter().zip(&part.upper).zip(shares);
        inside.map(|((l, u), v)| (l + share(v) * (u - l)).clamp(*l, *u)).collect()
    };
    (0..count).map(sample).collect()
}

fn has_signs(part: &BoxPart, trace: &Trace) -> bool {
    part.signs.iter().all(|Sign { neuron, on }| {
        let g = trace.pre_activations(neuron.layer)[neuron.index];
        if *on { g >= 0.0 } else { g <= 0.0 }
    })
}

/// Checks all that is known of a part at random points of it: intervals hold where a value is not below the cutoff. How many there were.
fn check(
    network: &Network,
    bounds: &BoxBounds,
    bounded: &BoundedBox,
    cutoff: f64,
    seed: u64,
) -> usize {
    let part = &bounded.part;
    let mut trace = Trace::new(network);
    let mut count = 0;
    for x in samples(part, 60, seed) {
        network.forward(&x, &mut trace);
        if !has_signs(part, &trace) {
            continue;
        }
        count += 1;
        let value = bounds.questions().value(trace.logits());
        assert!(value <= bounded.bound.value(), "{value} {}", bounded.bound.value());
        if value < cutoff {
            continue;
        }
        let known = part.neurons.as_ref().expect("a part that is not decided has intervals");
        for layer in 0..network.hidden().len() {
            let of = &known[bounds.padded.offset(layer)..bounds.padded.offset(layer + 1)];
            let width = bounds.padded.layers[layer].padded();
            for (j, g) in trace.pre_activations(layer).iter().enumerate() {
                assert!(of[j] <= *g && *g <= of[width + j], "{layer} {j}: {g}");
            }
        }
    }
    count
}

/// Splits a part at random, down to some depth, and checks everything on the way.
fn descend(
    network: &Network,
    kind: (Arithmetic, SplitBy),
    set: &InputSet,
    cutoff: Option<f64>,
    seed: u64,
) -> usize {
    let questions = random_questions(network.outputs(), seed);
    let mut scratch = BoxScratch::default();
    let (bounds, root) = BoxBounds::new(network, set, questions.clone(), kind, NEVER, &mut scratch);
    // A cutoff that is this much below what samples reach, so that some points are left.
    let values = samples(&root.part, 60, seed).into_iter();
    let most = values.map(|x| questions.value(&network.logits(&x))).fold(f64::MIN, f64::max);
    let cutoff = cutoff.map_or(NEVER, |below| most - below);
    let (bounds, root) = if cutoff == NEVER {
        (bounds, root)
    } else {
        BoxBounds::new(network, set, questions, kind, cutoff, &mut scratch)
    };
    let mut count = check(network, &bounds, &root, cutoff, seed);
    let mut parts = vec![root];
    for depth in 0..4 {
        let mut halves = Vec::new();
        for bounded in &parts {
            let part = &bounded.part;
            if bounded.bound.value() < cutoff {
                continue;
            }
            let neuron = bounds.best_sign(bounded, cutoff, &mut scratch);
            let input = (seed as usize + depth) % part.lower.len();
            let at = 0.5 * (part.lower[input] + part.upper[input]);
            match (neuron, part.bisect(InputSplit { input, at })) {
                (Some(neuron), _) => {
                    halves.extend([true, false].map(|on| part.signed(Sign { neuron, on })));
                }
                (None, Some(both)) => halves.extend(both),
                (None, None) => (),
            }
        }
        parts = bounds.bound(halves, cutoff, &mut scratch);
        for bounded in &parts {
            count += check(network, &bounds, bounded, cutoff, seed ^ depth as u64);
        }
        parts.truncate(6);
    }
    count
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_sample_is_outside_what_was_proven(
        widths in prop::collection::vec(1usize..20, 3..6),
        seed in any::<u64>(),
        in_f32 in any::<bool>(),
        by_signs in any::<bool>(),
        cutoff in prop::option::of(0.001f64..0.5),
    ) {
        let network = network(&widths, seed);
        let arithmetic = if in_f32 { Arithmetic::F32 } else { Arithmetic::Exact };
        let split_by = if by_signs { SplitBy::Signs } else { SplitBy::Inputs };
        let set = random_box(widths[0], seed);
        descend(&network, (arithmetic, split_by), &set, cutoff, seed);
    }
}

#[test]
fn parts_are_not_all_empty() {
    for split_by in [SplitBy::Inputs, SplitBy::Signs] {
        let network = network(&[4, 16, 12, 3], 5);
        let set = InputSet::new_box(&[-1.0; 4], &[1.0; 4]);
        let count = descend(&network, (Arithmetic::F32, split_by), &set, None, 7);
        assert!(count > 200, "{split_by:?}: {count} points were looked at");
    }
}

/// Slopes never make a bound worse than none, and on this network they make it better.
#[test]
fn improved_slopes_lower_the_bound() {
    let network = network(&[6, 20, 20, 20, 2], 3);
    let set = InputSet::new_box(&[-0.3; 6], &[0.3; 6]);
    let value = |split_by| {
        let questions = BoxQuestions::objective(&Objective::new(vec![1.0, -1.0]));
        let kind = (Arithmetic::Exact, split_by);
        let mut scratch = BoxScratch::default();
        BoxBounds::new(&network, &set, questions, kind, NEVER, &mut scratch).1.bound.value()
    };
    assert!(value(SplitBy::Signs) < 0.9 * value(SplitBy::Inputs));
}

#[test]
fn a_sign_that_no_input_gives_leaves_an_empty_part() {
    let network = network(&[2, 8, 2], 1);
    let set = InputSet::new_box(&[0.0; 2], &[1e-3; 2]);
    let questions = BoxQuestions::objective(&Objective::new(vec![1.0, -1.0]));
    let mut scratch = BoxScratch::default();
    let kind = (Arithmetic::F32, SplitBy::Signs);
    let (bounds, root) = BoxBounds::new(&network, &set, questions, kind, NEVER, &mut scratch);
    let mut trace = Trace::new(&network);
    network.forward(&[0.0; 2], &mut trace);
    let on = trace.pre_activations(0)[0] > 0.0;
    let sign = Sign { neuron: NeuronId { layer: 0, index: 0 }, on: !on };
    let sides = bounds.bound(vec![root.part.signed(sign)], NEVER, &mut scratch);
    assert_eq!(sides[0].bound.value(), f64::NEG_INFINITY);
}

#[test]
fn a_box_that_is_a_point_has_the_bound_of_the_point() {
    let network = network(&[3, 10, 10, 2], 9);
    let x = point(3, 4);
    let set = InputSet::new_box(&x, &x);
    for split_by in [SplitBy::Inputs, SplitBy::Signs] {
        let questions = BoxQuestions::objective(&Objective::new(vec![1.0, -1.0]));
        let mut scratch = BoxScratch::default();
        let kind = (Arithmetic::Exact, split_by);
        let (bounds, root) = BoxBounds::new(&network, &set, questions, kind, NEVER, &mut scratch);
        let y = network.logits(&x);
        let off = root.bound.value() - (y[0] - y[1]);
        assert!((0.0..1e-9).contains(&off), "{off}");
        assert!(root.part.bisect(InputSplit { input: 0, at: x[0] }).is_none());
        let values = bounds.values_at(&[&x], &mut scratch);
        assert!((values[0] - (y[0] - y[1])).abs() < 1e-12);
    }
}

/// A batch gives each part what it gets alone.
#[test]
fn parts_are_bounded_the_same_side_by_side() {
    let network = Arc::new(network(&[4, 20, 20, 3], 2));
    let set = InputSet::new_box(&[-1.0; 4], &[1.0; 4]);
    let mut scratch = BoxScratch::default();
    let kind = (Arithmetic::F32, SplitBy::Inputs);
    let questions = random_questions(3, 4);
    let (bounds, root) = BoxBounds::new(&network, &set, questions, kind, NEVER, &mut scratch);
    let split = |input| root.part.bisect(InputSplit { input, at: 0.1 }).expect("it has a middle");
    let parts: Vec<BoxPart> = (0..4).flat_map(split).collect();
    let together = bounds.bound(parts.clone(), NEVER, &mut scratch);
    for (part, together) in parts.into_iter().zip(together) {
        let alone = bounds.bound(vec![part], NEVER, &mut scratch);
        let (alone, together) = (alone[0].bound.value(), together.bound.value());
        assert!((alone - together).abs() < 1e-9, "{alone} {together}");
    }
}

/// Trees over signs with held intervals, for neurons and for rows: everything still holds at samples, and bounds come down.
#[test]
fn bounds_made_again_hold_and_are_lower() {
    let (mut lower, mut count) = (0, 0);
    for seed in 0..24 {
        let network = network(&[6, 16, 16, 16, 2], seed / 2);
        let set = InputSet::new_box(&[-0.5; 6], &[0.5; 6]);
        let questions = random_questions(2, seed / 2);
        let mut scratch = BoxScratch::default();
        let kind = (Arithmetic::F32, SplitBy::Signs);
        let make = if seed % 2 == 0 { BoxBounds::new } else { BoxBounds::with_evidence };
        let (bounds, root) = make(&network, &set, questions, kind, NEVER, &mut scratch);
        let again = bounds.bounded_again(&root, NEVER.into(), &mut scratch);
        let (bounds, again) = again.expect("parts are made by signs");
        count += check(&network, &bounds, &again, NEVER, seed);
        assert!(again.bound.value() <= root.bound.value());
        lower += usize::from(again.bound.value() < root.bound.value() - 1e-3);
        for neuron in again.candidates.iter().take(3) {
            let sides = [true, false].map(|on| again.part.signed(Sign { neuron: *neuron, on }));
            for side in bounds.bound(sides.to_vec(), NEVER, &mut scratch) {
                count += check(&network, &bounds, &side, NEVER, seed);
            }
        }
    }
    assert!(lower >= 12 && count > 1000, "{lower} bounds were lower, {count} points");
}

/// With its time up from the beginning, a bound takes no longer than one evaluation of each row, and holds.
#[test]
fn bounds_without_time_hold() {
    let network = network(&[6, 40, 40, 40, 2], 3);
    let set = InputSet::new_box(&[-0.5; 6], &[0.5; 6]);
    let budget = Budget::start(Some(Duration::ZERO), None);
    for split_by in [SplitBy::Inputs, SplitBy::Signs] {
        let value = |limits: BoundLimits| {
            let questions = BoxQuestions::objective(&Objective::new(vec![1.0, -1.0]));
            let kind = (Arithmetic::F32, split_by);
            let mut scratch = BoxScratch::default();
            let made = BoxBounds::new(&network, &set, questions, kind, limits, &mut scratch);
            check(&network, &made.0, &made.1, NEVER, 5);
            made.1.bound.value()
        };
        let hurried = BoundLimits { cutoff: NEVER, budget: Some(&budget) };
        // What is not done as a checker does it is no evidence.
        let questions = BoxQuestions::objective(&Objective::new(vec![1.0, -1.0]));
        let (kind, hurried_proof) =
            ((Arithmetic::F32, split_by), BoundLimits { cutoff: 1e6, ..hurried });
        let mut scratch = BoxScratch::default();
        let (_, root) =
            BoxBounds::with_evidence(&network, &set, questions, kind, hurried_proof, &mut scratch);
        assert!(root.bound.value() == f64::INFINITY && root.evidence.refuted.is_empty());
        let hurried = value(hurried);
        assert!(hurried.is_finite() && hurried > value(NEVER.into()), "{split_by:?}");
    }
}
