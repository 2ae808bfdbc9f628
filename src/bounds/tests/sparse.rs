//! Layers that are stored sparse have the bounds of the same layers stored dense, and they hold.

use std::sync::Arc;

use crate::bounds::{
    Arithmetic, BoundOptions, BoxBounds, BoxQuestions, BoxScratch, LinearBounds, SplitBy,
    UpperRelaxation,
};
use crate::budget::Budget;
use crate::encode::RegionLp;
use crate::network::random::{point, sparse_network};
use crate::network::{ActivationPattern, Network, Trace};
use crate::problem::{Objective, Problem};
use crate::sets::{InputSet, Norm, PixelRange, PixelSplit};

const INPUTS: usize = 300;
const OBJECTIVE: [f64; 3] = [1.0, -1.0, 0.5];

fn image() -> Vec<f64> {
    // Multiples of 1/256, so that parts are told without rounding; some pixels are black.
    let grey = |v: &f64| (v.max(0.0) * 256.0).round() / 256.0;
    point(INPUTS, 9).iter().map(grey).collect()
}

fn ball(delta: f64) -> InputSet {
    InputSet::ball(Norm::L1, &image(), delta, PixelRange::UNIT)
}

fn bounds(network: &Network, delta: f64, arithmetic: Arithmetic) -> LinearBounds {
    let (network, above) = (Arc::new(network.clone()), UpperRelaxation::Envelopes);
    LinearBounds::splittable(&network, &ball(delta), above, arithmetic, &Budget::unlimited())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 * (1.0 + b.abs())
}

fn bound(linear: &LinearBounds, steps: usize) -> f64 {
    let effort = BoundOptions { steps, ..BoundOptions::default() };
    linear.prove(&OBJECTIVE, &effort, &Budget::unlimited()).bound.value()
}

fn assert_same_intervals(sparse: &LinearBounds, dense: &LinearBounds) {
    for layer in 0..dense.neurons().hidden() {
        let pairs = sparse.neurons().layer(layer).iter().zip(dense.neurons().layer(layer));
        for (a, b) in pairs {
            assert!(close(a.lower, b.lower) && close(a.upper, b.upper), "{layer}: {a:?} {b:?}");
        }
    }
}

#[test]
fn intervals_and_bounds_are_those_of_dense_layers() {
    for (seed, delta) in [(1, 0.5), (2, 4.0)] {
        let [sparse, dense] = sparse_network(INPUTS, seed);
        for arithmetic in [Arithmetic::Exact, Arithmetic::F32] {
            let [sparse, dense] = [&sparse, &dense].map(|n| bounds(n, delta, arithmetic));
            assert!(dense.neurons().unstable().count() > 100);
            assert_same_intervals(&sparse, &dense);
            let (a, b) = (bound(&sparse, 0), bound(&dense, 0));
            assert!(close(a, b), "{a} {b}");
            // Steps follow one another: rounding may lead them elsewhere, but not far.
            let (a, b) = (bound(&sparse, 20), bound(&dense, 20));
            assert!((a - b).abs() < 1e-3 * (1.0 + b.abs()), "{a} {b}");
        }
    }
}

#[test]
fn bounds_of_parts_and_after_cuts_are_those_of_dense_layers() {
    let maps = sparse_network(INPUTS, 3);
    let [sparse, dense] = maps.each_ref().map(|n| bounds(n, 2.0, Arithmetic::Exact));
    let up = sparse.set().range(5).1 > sparse.set().centre()[5];
    let split = PixelSplit { pixel: 5, up, amount: 0.125 };
    let halves = [&sparse, &dense].map(|linear| {
        let halves = linear.whole().split(split).expect("the pixel moves");
        halves.map(|part| bound(&linear.within(&part), 0))
    });
    assert!(close(halves[0][0], halves[1][0]) && close(halves[0][1], halves[1][1]), "{halves:?}");
    let cut = [&sparse, &dense].map(|linear| {
        let effort = BoundOptions { steps: 0, ..BoundOptions::default() };
        let proof = linear.prove(&OBJECTIVE, &effort, &Budget::unlimited());
        let goal = proof.bound.value() - 0.2 * proof.gain();
        linear.cut(&proof, goal).ok()
    });
    let [Some(sparse), Some(dense)] = cut else { panic!("something is above the goal") };
    assert_same_intervals(&sparse, &dense);
}

#[test]
fn what_the_network_does_is_inside() {
    let [network, _] = sparse_network(INPUTS, 4);
    let linear = bounds(&network, 3.0, Arithmetic::Exact);
    let (set, most) = (ball(3.0), bound(&linear, 10));
    let mut trace = Trace::new(&network);
    for seed in 0..200 {
        let direction = point(INPUTS, 1000 + seed);
        let far: Vec<f64> =
            image().iter().zip(&direction).map(|(x, d)| x + 4.0 * d * d * d).collect();
        let x = set.project(&far);
        network.forward(&x, &mut trace);
        let value: f64 = trace.logits().iter().zip(OBJECTIVE).map(|(y, o)| y * o).sum();
        assert!(value <= most);
        for layer in 0..linear.neurons().hidden() {
            let pairs = trace.pre_activations(layer).iter().zip(linear.neurons().layer(layer));
            assert!(pairs.into_iter().all(|(g, i)| i.lower <= *g && *g <= i.upper));
        }
    }
}

#[test]
fn boxes_and_regions_are_those_of_dense_layers() {
    let networks = sparse_network(INPUTS, 5).map(Arc::new);
    let objective = Objective::new(OBJECTIVE.to_vec());
    let values = networks.each_ref().map(|network| {
        let set = InputSet::ball(Norm::Linf, &image(), 0.05, PixelRange::UNIT);
        let questions = BoxQuestions::objective(&objective);
        let how = (Arithmetic::F32, SplitBy::Signs);
        let mut scratch = BoxScratch::default();
        let never = f64::NEG_INFINITY;
        let (_, root) = BoxBounds::new(network, &set, questions, how, never, &mut scratch);
        let problem = Problem::new(network, ball(2.0), objective.clone());
        let mut trace = Trace::new(network);
        network.forward(&image(), &mut trace);
        let pattern = ActivationPattern::at(&trace);
        let mut region = RegionLp::new(&problem);
        let optimum = region.solve(&pattern, &image(), &[], &Budget::unlimited());
        (root.bound.value(), optimum.expect("the image's own region").value)
    });
    let [(a_box, a_region), (b_box, b_region)] = values;
    assert!((a_box - b_box).abs() < 1e-3 * (1.0 + b_box.abs()), "{a_box} {b_box}");
    assert!((a_region - b_region).abs() < 1e-6 * (1.0 + b_region.abs()), "{a_region} {b_region}");
}
