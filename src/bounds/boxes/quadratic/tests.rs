//! What squares say of a network holds at every point of its box.

use faer::Mat;
use proptest::prelude::*;

use super::cholesky::{Cholesky, gram, times_upper};
use super::collapse::{CollapsedBox, CollapsedFunction};
use super::improve::{FirstLines, improve};
use super::relaxation::{QuadraticRelaxation, RelaxedPoint, SquareMultipliers};
use crate::bounds::boxes::push_back::Functions;
use crate::bounds::boxes::{BoxBounds, BoxQuestions, BoxScratch, SplitBy};
use crate::bounds::linear::Arithmetic;
use crate::network::random::{network, point};
use crate::network::{Network, Trace};
use crate::problem::Objective;
use crate::sets::InputSet;

/// A network over a box, the functions of its last hidden layer's neurons above and below, and their relaxation.
struct Ground {
    network: Network,
    reach: Vec<(f64, f64)>,
    bounds: BoxBounds,
    collapsed: CollapsedBox,
    relaxation: QuadraticRelaxation,
    functions: Vec<CollapsedFunction>,
    /// Bounds of the same functions by intervals.
    intervals: Vec<f64>,
}

fn ground(widths: &[usize], radius: f64, arithmetic: Arithmetic, seed: u64) -> Ground {
    let network = network(widths, seed);
    let centre = point(widths[0], seed ^ 3);
    let [lower, upper] =
        [-radius, radius].map(|by| centre.iter().map(|c| c + by).collect::<Vec<f64>>());
    let set = InputSet::new_box(&lower, &upper);
    let mut scratch = BoxScratch::default();
    let mut weights = vec![0.0; network.outputs()];
    weights[0] = 1.0;
    let questions = BoxQuestions::objective(&Objective::new(weights));
    let (kind, never) = ((arithmetic, SplitBy::Inputs), f64::NEG_INFINITY);
    let (bounds, root) = BoxBounds::new(&network, &set, questions, kind, never, &mut scratch);
    bounds.bound_neurons(&[root.part], &mut scratch, |_, _| ());
    let (boxes, padded) = (&scratch.boxes, &bounds.padded);
    let last = padded.hidden() - 1;
    let mut collapsed = CollapsedBox::new(padded, boxes, 0);
    (0..last).for_each(|layer| collapsed.push_layer(padded, boxes, layer));
    let mut rows = Functions::default();
    let mut intervals = Vec::new();
    for j in 0..padded.layers[last].width {
        for sign in [1.0, -1.0] {
            rows.push_neuron(padded, boxes, last, (0, j), sign);
        }
        intervals.extend([boxes.layers[last].upper[j], -boxes.layers[last].lower[j]]);
    }
    let reach = (0..widths[0]).map(|i| (boxes.lower[i], boxes.upper[i])).collect();
    let functions = collapsed.functions(padded, &rows);
    let relaxation = QuadraticRelaxation::new(&collapsed);
    Ground { network, reach, bounds, collapsed, relaxation, functions, intervals }
}

/// Points of the box as inputs and neurons of the relaxation, with the values of all functions there.
fn samples(ground: &Ground, count: u64, seed: u64) -> Vec<(RelaxedPoint, Vec<f64>)> {
    let mut trace = Trace::new(&ground.network);
    let sample = |k: u64| {
        let mut inputs = point(ground.reach.len(), seed ^ (77 + k));
        if k.is_multiple_of(2) {
            inputs.iter_mut().for_each(|xi| *xi = xi.signum());
        }
        let x: Vec<f64> = inputs
            .iter()
            .zip(&ground.reach)
            .map(|(xi, (lower, upper))| 0.5 * (lower + upper) + 0.5 * xi * (upper - lower))
            .zip(&ground.reach)
            .map(|(x, (lower, upper))| x.clamp(*lower, *upper))
            .collect();
        ground.network.forward(&x, &mut trace);
        let output = |layer: usize, j: usize| trace.pre_activations(layer)[j].max(0.0);
        let neurons = ground.collapsed.neurons.iter();
        let neurons = neurons.map(|of| output(of.id.layer, of.id.index) / of.half - 1.0).collect();
        let last = ground.network.hidden().len() - 1;
        let values = trace.pre_activations(last).iter().flat_map(|g| [*g, -g]).collect();
        (RelaxedPoint { inputs, neurons, pre_activations: Vec::new() }, values)
    };
    (0..count).map(sample).collect()
}

/// Any multipliers, with squares that are large enough now and then.
fn multipliers(relaxation: &QuadraticRelaxation, seed: u64) -> SquareMultipliers {
    let (p, n) = (relaxation.inputs.nrows(), relaxation.len());
    let drawn = |count: usize, by: f64, k: u64| -> Vec<f64> {
        point(count, seed ^ k).iter().map(|v| by * v.abs() + 1e-9).collect()
    };
    SquareMultipliers {
        inputs: drawn(p, 30.0, 1),
        neurons: drawn(n, 30.0, 2),
        products: drawn(n, 1.0, 3),
        signs: drawn(n, 1.0, 4),
        passes: drawn(n, 1.0, 5),
        lines: drawn(n, 1.0, 6),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn collapsed_functions_are_the_networks(
        widths in prop::collection::vec(2usize..14, 4..6),
        seed in any::<u64>(),
    ) {
        let ground = ground(&widths, 0.4, Arithmetic::Exact, seed);
        for (point, values) in samples(&ground, 20, seed) {
            for (function, value) in ground.functions.iter().zip(values) {
                let y = point.inputs.iter().chain(&point.neurons);
                let sum: f64 = function.coefficients.iter().zip(y).map(|(c, y)| c * y).sum();
                prop_assert!((function.constant + sum - value).abs() <= function.error + 1e-9);
            }
        }
    }

    #[test]
    fn any_multipliers_give_a_bound(
        widths in prop::collection::vec(2usize..14, 4..6),
        seed in any::<u64>(),
        in_f32 in any::<bool>(),
    ) {
        let arithmetic = if in_f32 { Arithmetic::F32 } else { Arithmetic::Exact };
        let ground = ground(&widths, 0.4, arithmetic, seed);
        let (n, relaxation) = (ground.relaxation.len(), &ground.relaxation);
        let m = multipliers(relaxation, seed);
        let mut at = RelaxedPoint {
            inputs: point(widths[0], seed ^ 8),
            neurons: point(n, seed ^ 9),
            pre_activations: Vec::new(),
        };
        relaxation.pre_activations(&mut at);
        let samples = samples(&ground, 40, seed);
        for (k, function) in ground.functions.iter().enumerate() {
            let bound = relaxation.certify(ground.bounds.padded.allowance, function, &m, &at);
            for (_, values) in &samples {
                prop_assert!(values[k] <= bound, "{} {bound}", values[k]);
            }
        }
    }

    #[test]
    fn factors_give_the_matrix(n in 1usize..90, seed in any::<u64>()) {
        let a = Mat::from_fn(n + 3, n, |i, j| point(1, seed ^ (1000 * i + j) as u64)[0]);
        let mut matrix = Mat::zeros(n, n);
        gram(&a, &mut matrix);
        (0..n).for_each(|i| matrix[(i, i)] += 0.1);
        let inverse = Cholesky::new(&matrix).expect("it is positive").inverse_of_lower();
        // L⁻¹ M L⁻ᵀ is the identity.
        let full = Mat::from_fn(n, n, |i, j| matrix[(i.max(j), i.min(j))]);
        let upper = inverse.transpose().to_owned();
        let mut right = Mat::zeros(n, n);
        times_upper(&full, &upper, &mut right);
        let product = &inverse * &right;
        for i in 0..n {
            for j in 0..n {
                let expected = if i == j { 1.0 } else { 0.0 };
                prop_assert!((product[(i, j)] - expected).abs() < 1e-7);
            }
        }
        matrix[(n - 1, n - 1)] = -1.0;
        prop_assert!(Cholesky::new(&matrix).is_none());
    }
}

/// Improved multipliers give bounds that hold, and are mostly lower than those by intervals.
#[test]
fn improved_multipliers_give_low_bounds() {
    let (mut lower, mut all) = (0, 0);
    for seed in 0..8 {
        let ground = ground(&[12, 16, 16, 8, 2], 0.15, Arithmetic::F32, seed);
        let relaxation = &ground.relaxation;
        let outputs = vec![(0.5, 0.5); relaxation.len()];
        let samples = samples(&ground, 60, seed);
        for (k, function) in ground.functions.iter().enumerate() {
            let first = FirstLines { outputs: outputs.clone() };
            let Some(found) = improve(relaxation, function, &first, 60, |_| false) else {
                continue;
            };
            let allowance = ground.bounds.padded.allowance;
            let bound = relaxation.certify(allowance, function, &found.multipliers, &found.point);
            for (_, values) in &samples {
                assert!(values[k] <= bound, "{} {bound}", values[k]);
            }
            assert!(
                bound >= found.value - 1e-6 && bound <= found.value + 1e-3 * (1.0 + bound.abs())
            );
            all += 1;
            lower += usize::from(bound < ground.intervals[k]);
        }
    }
    assert!(all == 128 && 2 * lower > all, "{lower} of {all} bounds are lower");
}
