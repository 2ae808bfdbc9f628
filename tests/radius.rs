//! Radii of networks so small that the distance to the nearest adversary is known by hand.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::attack::classify;
use rw_adv::budget::Budget;
use rw_adv::data::Sample;
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::radius::{Radii, RadiusOptions, RadiusStop, radii};
use rw_adv::search::SearchOptions;
use rw_adv::sets::Norm;

/// A layer as rows of weights, and biases.
type Layer = (Vec<Vec<f32>>, Vec<f32>);

/// A protobuf field that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut length = bytes.len();
    let mut out = vec![number << 3 | 2];
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

/// A protobuf field that holds a number below 128.
fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

fn tensor(name: &str, dims: &[usize], values: &[f32]) -> Vec<u8> {
    let dims = dims.iter().flat_map(|&d| number(1, u8::try_from(d).expect("tiny")));
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    [dims.collect(), number(2, 1), field(8, name.as_bytes()), field(9, &data)].concat()
}

fn value(name: &str, size: usize) -> Vec<u8> {
    let size = u8::try_from(size).expect("tiny");
    let dims = [field(1, &number(1, 1)), field(1, &number(1, size))].concat();
    let of_floats = field(1, &[number(1, 1), field(2, &dims)].concat());
    [field(1, name.as_bytes()), field(2, &of_floats)].concat()
}

fn node(op: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|name| field(1, name.as_bytes()));
    let name = [field(2, output.as_bytes()), field(3, output.as_bytes())].concat();
    [inputs.collect(), name, field(4, op.as_bytes())].concat()
}

/// The network as an ONNX file: Gemm (weights as columns), Relu, Gemm, ...
fn model(layers: &[Layer]) -> OnnxModel {
    let mut graph = field(2, b"toy");
    let mut last = "x".to_owned();
    for (l, (weights, bias)) in layers.iter().enumerate() {
        let (inputs, outputs) = (weights[0].len(), weights.len());
        let columns: Vec<f32> =
            (0..inputs).flat_map(|i| weights.iter().map(move |row| row[i])).collect();
        let [w, b, y] = ["w", "b", "y"].map(|letter| format!("{letter}{l}"));
        graph.extend(field(5, &tensor(&w, &[inputs, outputs], &columns)));
        graph.extend(field(5, &tensor(&b, &[outputs], bias)));
        graph.extend(field(1, &node("Gemm", &[&last, &w, &b], &y)));
        last = y;
        if l + 1 < layers.len() {
            let relu = format!("r{l}");
            graph.extend(field(1, &node("Relu", &[&last], &relu)));
            last = relu;
        }
    }
    graph.extend(field(11, &value("x", layers[0].0[0].len())));
    graph.extend(field(12, &value(&last, layers[layers.len() - 1].1.len())));
    let file = [number(1, 8), field(7, &graph), field(8, &number(2, 13))].concat();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("toy.onnx");
    fs::write(&path, file).expect("written");
    OnnxModel::load(&path).expect("a sound model")
}

fn sample(pixels: &[f32]) -> Sample {
    Sample { index: 0, pixels: pixels.to_vec(), label: None, name: None }
}

fn options(norm: Norm, inputs: usize) -> RadiusOptions {
    let search = SearchOptions { patience: RadiusOptions::PATIENCE, ..SearchOptions::default() };
    let max_delta = RadiusOptions::covering(norm, inputs);
    RadiusOptions { norm, max_delta, precision: RadiusOptions::PRECISION, search, nodes: 0 }
}

/// Label 0 is predicted, label 1 is the target.
fn radii_of(model: &OnnxModel, pixels: &[f32], options: &RadiusOptions) -> Radii {
    let asked = (Label(0), &[Label(1)][..]);
    radii(model, &sample(pixels), asked, options, &Budget::unlimited(), &()).expect("an answer")
}

/// `y_1 = relu(x_0 − x_1)` against `y_0 = 0.75`: at (0.5, 0.5) it takes 0.75 in L1, 0.375 in L∞.
fn ramp(height: f32) -> OnnxModel {
    model(&[(vec![vec![1.0, -1.0]], vec![0.0]), (vec![vec![0.0], vec![1.0]], vec![height, 0.0])])
}

#[test]
fn the_radius_of_a_ramp_is_met_from_both_sides() {
    let model = ramp(0.75);
    for (norm, known) in [(Norm::L1, 0.75), (Norm::Linf, 0.375)] {
        for precision in [0.1, 0.01, 1e-4] {
            let options = RadiusOptions { precision, ..options(norm, 2) };
            let radii = radii_of(&model, &[0.5, 0.5], &options);
            let attacked = radii.attacked().expect("there is one");
            assert!(radii.certified < known && known <= attacked, "{norm}: {radii:?}");
            assert!(known - radii.certified <= 1.01 * precision * known, "{norm}: {radii:?}");
            assert!(attacked - known <= 1.01 * precision * known, "{norm}: {radii:?}");
            assert_eq!(radii.stop, RadiusStop::Precision);
        }
    }
}

#[test]
fn a_radius_far_below_the_first_budget_tried_is_found() {
    let model = ramp(0.001);
    let radii = radii_of(&model, &[0.5, 0.5], &options(Norm::L1, 2));
    let attacked = radii.attacked().expect("there is one");
    // The precision is one of a grey level here: 0.01 / 255.
    assert!(radii.certified < 0.001 && 0.001 <= attacked, "{radii:?}");
    assert!(radii.certified > 0.0009 && attacked < 0.0011, "{radii:?}");
}

/// Behind two layers: the sum of (0.75, 0.5) must fall from 1.25 below 0.6, and at first nothing happens.
#[test]
fn the_radius_behind_a_plateau_lies_between_the_two() {
    let model = model(&[
        (vec![vec![1.0, 0.0], vec![0.0, 1.0]], vec![0.0, 0.0]),
        (vec![vec![-1.0, -1.0]], vec![1.0]),
        (vec![vec![0.0], vec![1.0]], vec![0.4, 0.0]),
    ]);
    for (norm, known) in [(Norm::L1, 0.65), (Norm::Linf, 0.325)] {
        let radii = radii_of(&model, &[0.75, 0.5], &options(norm, 2));
        let attacked = radii.attacked().expect("there is one");
        assert!(radii.certified < known + 1e-6 && known - 1e-6 < attacked, "{norm}: {radii:?}");
        assert!(attacked < 1.011 * known, "{norm}: {radii:?}");
        assert!(radii.certified > 0.9 * known, "{norm}: {radii:?}");
    }
}

/// With branching, the lower end comes near the upper one, with a time limit and without.
#[test]
fn branching_closes_the_gap_behind_a_plateau() {
    let model = model(&[
        (vec![vec![1.0, 0.0], vec![0.0, 1.0]], vec![0.0, 0.0]),
        (vec![vec![-1.0, -1.0]], vec![1.0]),
        (vec![vec![0.0], vec![1.0]], vec![0.4, 0.0]),
    ]);
    let options = RadiusOptions { nodes: 1000, ..options(Norm::L1, 2) };
    for limit in [None, Some(Duration::from_secs(20))] {
        let budget = Budget::start(limit, None);
        let asked = (Label(0), &[Label(1)][..]);
        let radii =
            radii(&model, &sample(&[0.75, 0.5]), asked, &options, &budget, &()).expect("an answer");
        let attacked = radii.attacked().expect("there is one");
        assert!(radii.certified < 0.65 + 1e-6 && 0.65 - 1e-6 < attacked, "{radii:?}");
        assert!(attacked - radii.certified <= 0.0101 * attacked, "{radii:?}");
        assert_eq!(radii.stop, RadiusStop::Precision);
    }
}

#[test]
fn where_no_input_is_adversarial_the_whole_box_is_certified() {
    let radii = radii_of(&ramp(1.5), &[0.5, 0.5], &options(Norm::L1, 2));
    assert_eq!((radii.certified, radii.stop), (2.0, RadiusStop::Robust));
    assert!(radii.adversary.is_none());
}

#[test]
fn above_the_largest_budget_nothing_is_looked_for() {
    let options = RadiusOptions { max_delta: 0.5, ..options(Norm::L1, 2) };
    let radii = radii_of(&ramp(0.75), &[0.5, 0.5], &options);
    assert_eq!((radii.certified, radii.stop), (0.5, RadiusStop::Robust));
    let options = RadiusOptions { max_delta: 0.76, ..options };
    let radii = radii_of(&ramp(0.75), &[0.5, 0.5], &options);
    assert!(radii.attacked().is_some_and(|attacked| attacked < 0.76), "{radii:?}");
}

#[test]
fn the_nearest_of_several_targets_counts() {
    // y = (0.75, x_0, x_1 + 0.125): from (0.5, 0.25), label 1 is 0.25 away and label 2 is 0.375.
    let model = model(&[
        (vec![vec![1.0, 0.0], vec![0.0, 1.0]], vec![0.0, 0.0]),
        (vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]], vec![0.75, 0.0, 0.125]),
    ]);
    let image = sample(&[0.5, 0.25]);
    for (targets, label, known) in
        [(&[1, 2][..], 1, 0.25), (&[2, 1], 1, 0.25), (&[2], 2, 0.375), (&[1], 1, 0.25)]
    {
        let targets: Vec<Label> = targets.iter().copied().map(Label).collect();
        let asked = (Label(0), &targets[..]);
        let budget = Budget::unlimited();
        let radii =
            radii(&model, &image, asked, &options(Norm::L1, 2), &budget, &()).expect("answer");
        let adversary = radii.adversary.as_ref().expect("there is one");
        assert_eq!(adversary.target, Label(label));
        assert!(radii.certified < known && known <= adversary.distance(), "{radii:?}");
        assert!(known - radii.certified < 0.011 * known, "{radii:?}");
        assert!(adversary.distance() - known < 0.011 * known, "{radii:?}");
    }
}

#[test]
fn no_time_proves_and_finds_nothing_and_says_so() {
    let model = ramp(0.75);
    let asked = (Label(0), &[Label(1)][..]);
    let stopped = AtomicBool::new(true);
    for (budget, stop) in [
        (Budget::start(Some(Duration::ZERO), None), RadiusStop::Time),
        (Budget::start(None, Some(&stopped)), RadiusStop::Interrupted),
    ] {
        let image = sample(&[0.5, 0.5]);
        let radii =
            radii(&model, &image, asked, &options(Norm::L1, 2), &budget, &()).expect("answer");
        assert_eq!((radii.certified, radii.stop), (0.0, stop));
        assert!(radii.adversary.is_none());
    }
}

/// On random networks: the two are never in the wrong order, the adversary is one, and no sampled input within the
/// certified radius is.
#[test]
fn no_adversary_is_ever_within_the_certified_radius() {
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let widths = [rng.random_range(2..5), rng.random_range(2..6), rng.random_range(2..6), 3];
        let layers: Vec<Layer> = widths
            .windows(2)
            .map(|w| {
                let mut row = |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
                ((0..w[1]).map(|_| row(w[0])).collect(), row(w[1]))
            })
            .collect();
        let model = model(&layers);
        let image = sample(&(0..widths[0]).map(|_| rng.random_range(0.0..1.0)).collect::<Vec<_>>());
        let predicted = classify(&model, &image).expect("a classifier").predicted;
        let targets: Vec<Label> = (0..3).map(Label).filter(|&label| label != predicted).collect();
        let norm = if seed % 2 == 0 { Norm::L1 } else { Norm::Linf };
        let options = options(norm, widths[0]);
        let asked = (predicted, &targets[..]);
        let radii =
            radii(&model, &image, asked, &options, &Budget::unlimited(), &()).expect("answer");
        let Radii { certified, adversary, .. } = &radii;
        let wins = |pixels: &[f32], target: Label| {
            let logits = model.replay.logits(pixels).expect("runs");
            logits[target.0] > logits[predicted.0]
        };
        if let Some(adversary) = adversary {
            assert!(*certified < adversary.distance(), "{seed}: {radii:?}");
            assert!(wins(adversary.witness.point().values(), adversary.target), "{seed}");
        }
        let centre: Vec<f64> = image.pixels.iter().copied().map(f64::from).collect();
        for _ in 0..200 {
            let mut near: Vec<f64> = centre.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let length = norm.distance(&near, &vec![0.0; near.len()]);
            near.iter_mut().zip(&centre).for_each(|(d, x)| {
                *d = (x + *d * 0.999_999 * certified / length).clamp(0.0, 1.0);
            });
            let pixels: Vec<f32> = near.iter().map(|&x| x as f32).collect();
            assert!(targets.iter().all(|&target| !wins(&pixels, target)), "{seed}: {pixels:?}");
        }
    }
}
