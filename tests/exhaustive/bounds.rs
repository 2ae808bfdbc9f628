//! Bounds: optimum ≤ relaxation ≤ CROWN and interval bounds.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::bounds::{
    Arithmetic, BoundOptions, LinearBounds, UpperRelaxation, interval_arithmetic,
};
use rw_adv::budget::Budget;
use rw_adv::encode::Relaxation;
use rw_adv::network::NeuronId;

use crate::cases::{SAME, SolvedProblem, for_each};
use crate::problem::dot;

#[test]
fn the_optimum_is_below_the_relaxation_and_that_below_crown() {
    for_each(|SolvedProblem { tiny, best }, problem, bounds| {
        let seed = tiny.seed;
        let relaxed = Relaxation::new(problem, bounds.neurons()).solve(&Budget::unlimited());
        let relaxed = relaxed.expect("solved").expect("the set is not empty");
        let effort = BoundOptions { steps: 0, ..BoundOptions::default() };
        let backward = bounds.certify(problem.weights(), &effort, &Budget::unlimited()).value();
        let claimed = relaxed.claimed_bound;
        assert!(best.value <= claimed + SAME, "seed {seed}: {} {claimed}", best.value);
        assert!(claimed <= backward + SAME, "seed {seed}: {claimed} {backward}");
        assert!(tiny.set.contains(&relaxed.point, 1e-9), "seed {seed}");
        assert!(relaxed.z.iter().all(|z| (0.0..=1.0).contains(z)), "seed {seed}");
    });
}

/// No optimum exceeds a certificate, and a certificate of f32 runs is never below that of the function.
#[test]
fn the_optimum_is_below_every_certified_bound() {
    let tight = AtomicUsize::new(0);
    for_each(|SolvedProblem { tiny, best }, problem, _| {
        for above in [UpperRelaxation::Chords, UpperRelaxation::Envelopes] {
            let mut values = Vec::new();
            for arithmetic in [Arithmetic::Exact, Arithmetic::F32] {
                let bounds = LinearBounds::new(
                    &problem.network,
                    &problem.set,
                    above,
                    arithmetic,
                    &Budget::unlimited(),
                );
                for steps in [0, 15] {
                    let effort = BoundOptions { steps, ..BoundOptions::default() };
                    let bound = bounds.certify(problem.weights(), &effort, &Budget::unlimited());
                    let seed = tiny.seed;
                    // The oracle's LP is right to about 1e-9; the certificate needs no tolerance of its own.
                    assert!(best.value <= bound.value() + 1e-8, "seed {seed} {above:?} {steps}");
                    values.push(bound.value());
                }
            }
            assert!(values[1] <= values[0] && values[3] <= values[2], "steps never hurt");
            if values[1] < best.value + 1e-6 {
                tight.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    // A bound that is never attained would not notice being a little too low.
    assert!(tight.load(Ordering::Relaxed) > 1000, "{tight:?} bounds are attained");
}

/// With interval arithmetic's neuron bounds the relaxation is looser, but still within the interval of the objective.
#[test]
fn the_relaxation_is_below_the_interval_of_the_objective() {
    for_each(|SolvedProblem { tiny, best }, problem, _| {
        let seed = tiny.seed;
        let bounds = interval_arithmetic(&problem.network, &problem.set);
        let layer = bounds.hidden() - 1;
        let output = &tiny.layers[tiny.layers.len() - 1];
        let limit: f64 = dot(&tiny.objective, &output.iter().map(|o| o.1).collect::<Vec<_>>())
            + (bounds.layer(layer).iter().enumerate())
                .map(|(j, g)| {
                    let w: f64 = tiny.objective.iter().zip(output).map(|(o, y)| o * y.0[j]).sum();
                    let end = |g: f64| if tiny.passes(layer, j, g) { w * g } else { 0.0 };
                    end(g.lower).max(end(g.upper))
                })
                .sum::<f64>();
        let relaxed = Relaxation::new(problem, &bounds).solve(&Budget::unlimited());
        let claimed = relaxed.expect("solved").expect("the set is not empty").claimed_bound;
        assert!(best.value <= limit + SAME, "seed {seed}: {} {limit}", best.value);
        assert!(best.value <= claimed + SAME, "seed {seed}: {} {claimed}", best.value);
        assert!(claimed <= limit + SAME, "seed {seed}: {claimed} {limit}");
    });
}

#[test]
fn a_relaxation_fixed_to_the_best_pattern_still_holds_the_optimum() {
    for_each(|SolvedProblem { tiny, best }, problem, bounds| {
        let seed = tiny.seed;
        let mut relaxation = Relaxation::new(problem, bounds.neurons());
        let neurons: Vec<NeuronId> = relaxation.neurons().collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let solve = |relaxation: &mut Relaxation| {
            let solved = relaxation.solve(&Budget::unlimited()).expect("solved");
            solved.unwrap_or_else(|| panic!("seed {seed}: infeasible")).claimed_bound
        };
        let root = solve(&mut relaxation);
        let mut before = root;
        let mut order: Vec<usize> = (0..neurons.len()).collect();
        order.sort_by_key(|_| rng.random_range(0..u64::MAX));
        for place in order {
            let NeuronId { layer, index } = neurons[place];
            relaxation.fix(neurons[place], Some(best.states[layer][index]));
            let claimed = solve(&mut relaxation);
            assert!(claimed >= best.value - SAME, "seed {seed}: {claimed} {best:?}");
            assert!(claimed <= before + SAME, "seed {seed}: {claimed} {before}");
            before = claimed;
        }
        // Nothing is left to relax.
        assert!((before - best.value).abs() < SAME, "seed {seed}: {before} {best:?}");
        for neuron in neurons {
            relaxation.fix(neuron, None);
        }
        let again = solve(&mut relaxation);
        assert!((again - root).abs() < SAME, "seed {seed}: {again} {root}");
    });
}
