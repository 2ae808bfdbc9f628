//! Files with operators beside ReLU, from the reader to the verdict: bounds hold for the file's own f32 run, searches stay below
//! them, and branch and bound closes the gap.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rw_adv::bounds::{Arithmetic, BoundOptions, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::network::Trace;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::{Objective, Problem};
use rw_adv::sets::{InputSet, Norm, PixelRange};
use rw_adv::solve::{BranchLimits, SolveOptions, solve};
use serde::Deserialize;

/// Runs of the file at points of each set.
const SAMPLES: usize = 60;

/// A file of the zoo whose layers are not promised: all those with other operators than ReLU.
#[derive(Deserialize)]
struct ZooFile {
    file: String,
    widths: Option<Vec<usize>>,
    output: Option<String>,
    inputs: Vec<Vec<f32>>,
}

fn zoo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo").join(name)
}

fn files() -> Vec<ZooFile> {
    let text = std::fs::read_to_string(zoo("expected.json")).expect("the table is there");
    let files: Vec<ZooFile> = serde_json::from_str(&text).expect("as the script writes it");
    let files: Vec<ZooFile> = files.into_iter().filter(|file| file.widths.is_none()).collect();
    assert!(files.len() >= 90, "only {} files are left", files.len());
    files
}

impl ZooFile {
    fn load(&self) -> OnnxModel {
        let path = zoo("accepted").join(&self.file);
        OnnxModel::load_output(&path, self.output.as_deref()).expect("it loads")
    }

    /// The first input's neighbourhood, and the second's: a box and a ball.
    fn sets(&self) -> [InputSet; 2] {
        let centre = |i: usize| self.inputs[i].iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        [
            InputSet::ball(Norm::Linf, &centre(0), 0.15, PixelRange::UNIT),
            InputSet::ball(Norm::L1, &centre(1), 0.8, PixelRange::UNIT),
        ]
    }
}

/// The first logit minus the last.
fn margin(outputs: usize) -> Vec<f64> {
    let mut weights = vec![0.0; outputs];
    weights[0] = 1.0;
    weights[outputs - 1] -= 1.0;
    weights
}

/// Points of the set in f32.
fn samples(set: &InputSet, rng: &mut ChaCha8Rng) -> Vec<Vec<f32>> {
    let inputs = set.dimension();
    let one = |rng: &mut ChaCha8Rng| {
        let few = if set.budget().is_some() { 4.0 / inputs as f64 } else { 1.0 };
        let moved = (0..inputs).map(|i| {
            let (lower, upper) = set.range(i);
            let to = if rng.random_bool(0.5) { lower } else { upper };
            let share = if rng.random_bool(few) { rng.random_range(0.0..0.9) } else { 0.0 };
            let centre = set.centre()[i];
            (centre + share * (to - centre)) as f32
        });
        moved.collect::<Vec<f32>>()
    };
    let mut found: Vec<Vec<f32>> = Vec::new();
    while found.len() < SAMPLES {
        let x = one(rng);
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        if set.contains(&wide, 0.0) {
            found.push(x);
        }
    }
    found
}

#[test]
fn bounds_hold_for_the_function_and_for_the_files_own_run() {
    files().par_iter().for_each(|file| {
        let (model, name) = (file.load(), &file.file);
        let network = &model.network;
        let weights = margin(network.outputs());
        for (number, set) in file.sets().into_iter().enumerate() {
            let bounds = [Arithmetic::Exact, Arithmetic::F32].map(|arithmetic| {
                let above = UpperRelaxation::Envelopes;
                LinearBounds::new(network, &set, above, arithmetic, &Budget::unlimited())
            });
            let certified = bounds.each_ref().map(|bounds| {
                bounds.certify(&weights, &BoundOptions::default(), &Budget::unlimited()).value()
            });
            // What f32 costs is small beside what the slopes of either bound happen to be.
            assert!(certified[1] - certified[0] < 0.1, "{name} {number}: {certified:?}");
            let mut rng = ChaCha8Rng::seed_from_u64(number as u64);
            let mut trace = Trace::new(network);
            for x in samples(&set, &mut rng) {
                let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
                network.forward(&wide, &mut trace);
                for layer in 0..network.hidden().len() {
                    let intervals = bounds[0].neurons().layer(layer).iter();
                    for (g, interval) in trace.pre_activations(layer).iter().zip(intervals) {
                        let inside = interval.lower - 1e-9 <= *g && *g <= interval.upper + 1e-9;
                        assert!(inside, "{name} {number}, layer {layer}: {g} {interval:?}");
                    }
                }
                let value = |y: Vec<f64>| y.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>();
                let ours = value(trace.logits().to_vec());
                let theirs = model.replay.logits(&x).expect("runs");
                let theirs = value(theirs.into_iter().map(f64::from).collect());
                assert!(ours <= certified[0], "{name} {number}: {ours} {certified:?}");
                assert!(theirs <= certified[1], "{name} {number}: {theirs} {certified:?}");
            }
        }
    });
}

/// Over a single point nothing is relaxed: what is left between the two bounds of a logit is what f32 may be off by.
#[test]
fn at_a_point_the_f32_bounds_bracket_the_files_own_run_closely() {
    files().par_iter().for_each(|file| {
        let (model, name) = (file.load(), &file.file);
        let network = &model.network;
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        for _ in 0..5 {
            let x: Vec<f32> = (0..network.inputs()).map(|_| rng.random_range(0.0..1.0)).collect();
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let set = InputSet::new_box(&wide, &wide);
            let above = UpperRelaxation::Chords;
            let bounds =
                LinearBounds::new(network, &set, above, Arithmetic::F32, &Budget::unlimited());
            let theirs = model.replay.logits(&x).expect("runs");
            for (k, y) in theirs.iter().enumerate() {
                let side = |sign: f64| {
                    let mut weights = vec![0.0; network.outputs()];
                    weights[k] = sign;
                    let effort = BoundOptions { steps: 0, ..BoundOptions::default() };
                    sign * bounds.certify(&weights, &effort, &Budget::unlimited()).value()
                };
                let (lower, upper, y) = (side(-1.0), side(1.0), f64::from(*y));
                assert!(lower <= y && y <= upper, "{name}: {y} is not in {lower} to {upper}");
                assert!(upper - lower < 1e-2, "{name}: {lower} to {upper}");
            }
        }
    });
}

#[test]
fn branch_and_bound_closes_the_gap_and_no_sample_is_better() {
    let small = |file: &&ZooFile| file.inputs[0].len() <= 12;
    files().iter().filter(small).collect::<Vec<_>>().par_iter().for_each(|file| {
        let (model, name) = (file.load(), &file.file);
        let weights = margin(model.network.outputs());
        for (number, set) in file.sets().into_iter().enumerate() {
            let problem =
                Problem::new(&model.network, set.clone(), Objective::new(weights.clone()));
            let branch = Some(BranchLimits { nodes: 3000, gap: 1e-4, parallel: false });
            let options = SolveOptions { branch, ..SolveOptions::default() };
            let replay = Arc::clone(&model.replay);
            let answer = solve(&problem, replay, &options, &Budget::unlimited()).expect("answered");
            let (best, bound) = (answer.search.best.margin, answer.bound.expect("bounded").value());
            assert!(best <= bound && bound <= best + 2e-4, "{name} {number}: {best} {bound}");
            let mut rng = ChaCha8Rng::seed_from_u64(7 + number as u64);
            for x in samples(&set, &mut rng) {
                let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
                let logits = model.network.logits(&wide);
                let value: f64 = logits.iter().zip(&weights).map(|(y, w)| y * w).sum();
                assert!(value <= bound, "{name} {number}: {value} {bound}");
            }
        }
    });
}
