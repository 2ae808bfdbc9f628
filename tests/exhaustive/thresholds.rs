//! Networks worked out by hand: just under and just over a known threshold.

use std::sync::Arc;

use rw_adv::judge::{Judge, Judgement, Replay, ReplayFailure};
use rw_adv::network::{AffineMap, Label, Network};
use rw_adv::problem::{Problem, Property};
use rw_adv::search::SearchOptions;
use rw_adv::sets::{InputSet, Norm, PixelRange};

use crate::search::searched;

/// A file that computes what the network does.
struct NetworkReplay(Arc<Network>);

impl Replay for NetworkReplay {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        let x: Vec<f64> = x.iter().copied().map(f64::from).collect();
        Ok(self.0.logits(&x).into_iter().map(|y| y as f32).collect())
    }
}

/// Searches and judges as a run does; label 0 is predicted, label 1 is the target.
fn judged(network: &Arc<Network>, original: &[f32], norm: Norm, delta: f64) -> (f64, Judgement) {
    let set = InputSet::ball(norm, original, delta, PixelRange::UNIT);
    let problem = Problem::margin(network, set, Label(0), Label(1));
    let found = searched(&problem, &SearchOptions::default()).best;
    let judge = Judge::new(Arc::clone(network), Arc::new(NetworkReplay(Arc::clone(network))));
    let property = Property::positive(problem.question.clone());
    let judgement = judge.judge(&problem.set, &property, &found.point);
    (found.margin, judgement.expect("a sound problem"))
}

/// `y_1 = relu(x_0 − x_1)` against `y_0 = 0.75`, at a point where the ReLU's input is exactly 0.
fn ramp() -> Arc<Network> {
    let hidden = AffineMap::from_rows(&[[1.0, -1.0]], vec![0.0]);
    let output = AffineMap::from_rows(&[[0.0], [1.0]], vec![0.75, 0.0]);
    Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"))
}

#[test]
fn just_under_the_threshold_nothing_is_found_and_just_over_it_is() {
    let network = ramp();
    // Up and down together: an L1 budget is gained once, an L∞ radius twice.
    for (norm, threshold) in [(Norm::L1, 0.75), (Norm::Linf, 0.375)] {
        let slope = 0.75 / threshold;
        for (step, fools) in
            [(-1e-3, false), (-1e-6, false), (0.0, false), (1e-5, true), (1e-3, true)]
        {
            let (margin, judged) = judged(&network, &[0.5, 0.5], norm, threshold + step);
            assert!((margin - slope * step).abs() < 1e-9, "{norm} {step}: {margin}");
            assert_eq!(judged.witness().is_some(), fools, "{norm} {step}");
            let distance = judged.point().distance();
            assert!(distance < threshold + step, "{norm} {step}: {distance}");
        }
    }
    // The box [0.5, 0.5 + r]².
    for step in [-1e-3, -1e-9, 1e-9, 1e-3] {
        let side = 0.5 + 0.75 + step;
        let set = InputSet::new_box(&[0.5, 0.5], &[side, side]);
        let problem = Problem::margin(&network, set, Label(0), Label(1));
        let margin = searched(&problem, &SearchOptions::default()).best.margin;
        assert!((margin - step).abs() < 1e-12, "{step}: {margin}");
    }
}

/// Two hats on a line, a low one near by and a high one far away, in between a plateau:
/// heights 0.1 at x = 0.3 and 0.3 at x = 0.9, both 0.1 and 0.3 wide at the foot on either side; x̂ = 0.5.
#[test]
fn a_nearer_lower_hill_does_not_hide_the_higher_one() {
    let hidden = AffineMap::from_rows(&[[1.0]; 6], vec![-0.2, -0.3, -0.4, -0.6, -0.9, -1.2]);
    let heights = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 1.0, 1.0, -2.0, 1.0]];
    // The far hill is higher than 0.2 from x = 0.8 on.
    let output = AffineMap::from_rows(&heights, vec![0.2, 0.0]);
    let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
    for norm in [Norm::L1, Norm::Linf] {
        for (delta, best) in
            [(0.05, -0.2), (0.2, -0.1), (0.299, -1e-3), (0.301, 1e-3), (0.4, 0.1), (0.5, 0.1)]
        {
            let (margin, judged) = judged(&network, &[0.5], norm, delta);
            assert!((margin - best).abs() < 1e-9, "{norm} {delta}: {margin}");
            assert_eq!(judged.witness().is_some(), best > 0.0, "{norm} {delta}");
        }
    }
}

/// `y_1 = relu(1 − relu(x_0) − relu(x_1))` against 0.4: two layers, the way leads down both pixels.
#[test]
fn a_threshold_behind_two_layers_is_found_from_both_sides() {
    let first = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 1.0]], vec![0.0, 0.0]);
    let second = AffineMap::from_rows(&[[-1.0, -1.0]], vec![1.0]);
    let output = AffineMap::from_rows(&[[0.0], [1.0]], vec![0.4, 0.0]);
    let network = Arc::new(Network::new(vec![first, second, output]).expect("shapes fit"));
    // At (0.75, 0.5) the sum is 1.25; it must fall below 0.6. At first nothing happens: the second layer is off.
    for (norm, threshold) in [(Norm::L1, 0.65), (Norm::Linf, 0.325)] {
        for step in [-1e-3, -1e-5, 1e-5, 1e-3] {
            let (margin, judged) = judged(&network, &[0.75, 0.5], norm, threshold + step);
            let best = 0.65 / threshold * step;
            assert!((margin - best).abs() < 1e-9, "{norm} {step}: {margin}");
            assert_eq!(judged.witness().is_some(), step > 0.0, "{norm} {step}");
        }
    }
}

/// All weights zero: every neuron is at a tie everywhere, no direction is better than another.
#[test]
fn a_network_of_zeros_has_a_flat_answer() {
    let zeros = |outputs: usize, inputs: usize| {
        AffineMap::from_rows(&vec![vec![0.0; inputs]; outputs], vec![0.0; outputs])
    };
    let network =
        Arc::new(Network::new(vec![zeros(3, 2), zeros(2, 3), zeros(2, 2)]).expect("shapes fit"));
    for norm in [Norm::L1, Norm::Linf] {
        let (margin, judged) = judged(&network, &[0.5, 0.0], norm, 0.5);
        assert_eq!(margin, 0.0);
        assert!(judged.witness().is_none());
    }
}
