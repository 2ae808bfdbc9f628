//! Bounds of parts that guides, `θ` and cuts were used for.

use proptest::prelude::*;

use super::super::*;
use super::{best_of_many, cases, network, point, set};
use crate::budget::Budget;
use crate::network::Trace;
use crate::problem::{Objective, Problem};
use crate::sets::{Half, InputSet, PixelSplit};

/// A random part: what is split, how far (in 256ths of what is left), and whether the side is the one with at least so much.
type Divisions = Vec<(prop::sample::Index, u32, bool)>;

/// A part of the bounds' set, and the same as a set.
fn random_part(linear: &LinearBounds, set: &InputSet, divisions: &Divisions) -> (Part, InputSet) {
    let (mut part, mut set) = (linear.part().clone(), set.clone());
    for (index, share, at_least) in divisions {
        let moves = set.moves();
        let m = moves[index.index(moves.len())];
        let room = m.cap.min(set.budget().unwrap_or(m.cap));
        let amount = (f64::from(*share) / 256.0 * room * 1024.0).round() / 1024.0;
        let split = PixelSplit { pixel: m.pixel, up: m.sign > 0.0, amount };
        if amount <= 0.0 || amount >= room {
            continue;
        }
        let Some([more, less]) = set.split(split) else { continue };
        let (half, side) = if *at_least { (Half::AtLeast, more) } else { (Half::AtMost, less) };
        (part, set) = (part.side(SplitSide::Pixel(split, half)), side);
    }
    (part, set)
}

/// Any lines for all neurons, out of range now and then.
fn random_lines(linear: &LinearBounds, seed: u64) -> Vec<Vec<ReluLine>> {
    let of_layer = |layer: usize| {
        let numbers = point(3 * linear.neurons().layer(layer).len(), seed ^ layer as u64);
        let share = |v: f64| ((1.2 * v.abs()) * 8.0).round() / 8.0;
        let line = |(index, v): (usize, &[f64])| {
            let (below, envelope, theta) = (share(v[0]), share(v[1]), share(v[2]));
            ReluLine { index, below, envelope, theta }
        };
        numbers.chunks(3).enumerate().map(line).collect()
    };
    (0..linear.neurons().hidden()).map(of_layer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_point_above_the_goal_leaves_the_intervals_of_a_cut(
        widths in prop::collection::vec(1usize..14, 3..6),
        kind in 0u8..6,
        delta in prop_oneof![0.05f64..4.0, 1e-6f64..1e-3, 10.0f64..100.0],
        divisions in prop::collection::vec((any::<prop::sample::Index>(), 1u32..255, any::<bool>()), 0..5),
        goals in prop::collection::vec(0.0f64..1.2, 1..3),
        seed in any::<u64>(),
    ) {
        let network = network(&widths, seed);
        let objective = point(network.outputs(), seed ^ 2);
        let set = set(kind, widths[0], delta, seed);
        let unlimited = Budget::unlimited();
        let whole = LinearBounds::splittable(&network, &set, UpperRelaxation::Envelopes, Arithmetic::Exact, &unlimited);
        let (part, part_set) = if kind < 3 { random_part(&whole, &set, &divisions) } else { (whole.part().clone(), set) };
        let problem = Problem::new(&network, part_set, Objective::new(objective));
        let guide_point = problem.set.project(&point(widths[0], seed ^ 6));
        let start = PartStart {
            known: whole.bounded_part(),
            guide: GuideSource::Point(&guide_point),
            only_for: Some(problem.weights()),
        };
        let mut linear = whole.of_part(&part, &start, &unlimited).expect("exactly split");
        let options = BoundOptions { steps: 5, ..BoundOptions::default() };
        let mut bounds = vec![linear.bound_from_lines(problem.weights(), &random_lines(&linear, seed))];
        let mut proof = linear.prove(problem.weights(), &options, &unlimited);
        bounds.push(proof.bound.clone());
        let (centre, mut cut_goal) = (problem.evaluate(problem.set.centre().to_vec(), &mut Trace::new(&network)).margin, f64::NEG_INFINITY);
        for share in goals {
            // From the value at the centre up to a little more than the bound.
            let goal = centre + share * (proof.bound.value() - centre);
            cut_goal = f64::max(cut_goal, goal);
            match linear.cut(&proof, goal) {
                Err(empty) => {
                    bounds.push(empty.bound(problem.weights()));
                    break;
                }
                Ok(cut) => {
                    prop_assert_eq!(cut.goal(), Some(cut_goal));
                    proof = cut.prove(problem.weights(), &options, &unlimited);
                    bounds.push(proof.bound.clone());
                    bounds.push(cut.bound_from_lines(problem.weights(), &random_lines(&cut, seed ^ 7)));
                    linear = cut;
                }
            }
        }
        let mut outside = None;
        let best = best_of_many(&problem, seed, |trace| {
            if problem.value(trace) < linear.goal().unwrap_or(f64::NEG_INFINITY) {
                return;
            }
            for layer in 0..trace.hidden() {
                let intervals = linear.neurons().layer(layer);
                for (g, interval) in trace.pre_activations(layer).iter().zip(intervals) {
                    if *g < interval.lower - 1e-12 || *g > interval.upper + 1e-12 {
                        outside = Some((layer, *g, *interval));
                    }
                }
            }
        });
        prop_assert!(outside.is_none(), "{outside:?}");
        for bound in bounds {
            prop_assert!(best <= bound.value() + 1e-12, "{best} {bound:?}");
        }
    }
}
