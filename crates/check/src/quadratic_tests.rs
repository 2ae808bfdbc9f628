//! What quadratic relaxations say of a network holds at every point of its box; what is no relaxation is refused.

use std::sync::Arc;

use crate::affine::{Arithmetic, Matrix, Step, Uncertain};
use crate::boxes::{BoxPart, BoxProblem, BoxRegion, Whole};
use crate::cells::{LayerOperation, LayerPlan, Plan};
use crate::exact::Exact;
use crate::network::Network;
use crate::number::Number;
use crate::property::{Bound, Quadratic, SignNode};
use crate::region::Failure;

/// Numbers between −1 and 1, the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    }

    fn list(&mut self, many: usize, scale: f64) -> Vec<f64> {
        (0..many).map(|_| f64::from((scale * self.next()) as f32)).collect()
    }
}

/// A network of dense layers over a box, its weights and biases beside it.
struct Ground {
    widths: Vec<usize>,
    weights: Vec<(Vec<f64>, Vec<f64>)>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    numbers: Numbers,
}

impl Ground {
    fn new(widths: &[usize], radius: f64, seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let mut layer = |pair: &[usize]| {
            let scale = 1.5 / (pair[0] as f64).sqrt();
            (numbers.list(pair[0] * pair[1], scale), numbers.list(pair[1], 0.2))
        };
        let weights = widths.windows(2).map(&mut layer).collect();
        let centre = numbers.list(widths[0], 1.0);
        let lower = centre.iter().map(|x| x - radius).collect();
        let mut upper: Vec<f64> = centre.iter().map(|x| x + radius).collect();
        // An input that is fixed.
        upper[0] = centre[0] - radius;
        Self { widths: widths.to_vec(), weights, lower, upper, numbers }
    }

    fn problem<N: Number>(&self, arithmetic: Arithmetic) -> BoxProblem<'static, N> {
        let layer = |(k, (weights, biases)): (usize, &(Vec<f64>, Vec<f64>))| {
            let (inputs, outputs) = (self.widths[k], self.widths[k + 1]);
            let numbers = |list: &[f64]| list.iter().copied().map(Uncertain::exact).collect();
            let steps = [
                Step::Matrix(Matrix::dense(numbers(weights), inputs)),
                Step::Shift(numbers(biases)),
            ];
            let begins = [0..inputs, inputs..inputs + outputs];
            let operation = |(step, from): (Step<Uncertain>, std::ops::Range<usize>)| {
                LayerOperation { step: Arc::new(step), from: from.collect(), exact: false }
            };
            let operations = steps.into_iter().zip(begins).map(operation).collect();
            LayerPlan {
                inputs,
                operations,
                relu: vec![k + 1 < self.weights.len(); outputs],
                loses: false,
            }
        };
        let layers = self.weights.iter().enumerate().map(layer).collect();
        let plan = Plan { inputs: self.widths[0], layers };
        let network = Network::new(&plan, arithmetic).expect("a network");
        let slopes = self.widths[1..self.widths.len() - 1].iter().map(|&width| vec![None; width]);
        let whole = vec![Whole { slopes: slopes.collect(), is_sloped: false, bounds: &[] }];
        BoxProblem { network, whole }
    }

    fn region<N: Number>(&self, problem: &BoxProblem<N>) -> BoxRegion<N> {
        let (lower, upper) = (self.lower.clone(), self.upper.clone());
        let part = BoxPart { lower, upper, signs: Vec::new(), cuts: Vec::new() };
        BoxRegion::new(problem, &part, None, problem.whole.last()).expect("it has points")
    }

    /// The pre-activations of all layers at a point of the box, with sums rounded to f32 if asked for.
    fn sample(&mut self, in_f32: bool) -> Vec<Vec<f64>> {
        let is_corner = self.numbers.next() > 0.0;
        let sides = self.lower.iter().zip(&self.upper);
        let mut values: Vec<f64> = sides
            .map(|(lower, upper)| {
                let share = 0.5 + 0.5 * self.numbers.next();
                let x = lower + if is_corner { share.round() } else { share } * (upper - lower);
                if in_f32 { f64::from(x as f32).clamp(*lower, *upper) } else { x }
            })
            .collect();
        let round = |x: f64| if in_f32 { f64::from(x as f32) } else { x };
        let mut all = Vec::new();
        for (weights, biases) in &self.weights {
            let rows = weights.chunks(values.len()).zip(biases);
            let sum = |(row, bias): (&[f64], &f64)| {
                let products = row.iter().zip(&values).map(|(w, x)| round(w * x));
                round(products.fold(0.0, |sum, product| round(sum + product)) + bias)
            };
            let g: Vec<f64> = rows.map(sum).collect();
            values = g.iter().map(|g| g.max(0.0)).collect();
            all.push(g);
        }
        all
    }

    /// Some neurons of the layers before one, and any multipliers with squares that may be large enough.
    fn quadratic(&mut self, layer: usize) -> Quadratic {
        let mut listed =
            |k: usize| (0..self.widths[k + 1]).filter(|_| self.numbers.next() > -0.7).collect();
        let neurons: Vec<Vec<usize>> = (0..layer).map(&mut listed).collect();
        let many = neurons.iter().map(Vec::len).sum();
        let squares = 1.5 + 1.4 * self.numbers.next();
        let mut list = |many: usize, least: f64, scale: f64| {
            self.numbers.list(many, scale).into_iter().map(|x| x.abs() + least).collect()
        };
        Quadratic {
            neurons,
            inputs: list(self.widths[0], squares, 1.0),
            ranges: list(many, squares, 1.0),
            products: list(many, 0.0, 4.0),
            signs: list(many, 0.0, 0.5),
            passes: list(many, 0.0, 0.5),
            lines: list(many, 0.0, 0.5),
        }
    }
}

fn unit<N: Number>(width: usize, j: usize, sign: f64) -> Vec<N> {
    (0..width).map(|i| N::of(if i == j { sign } else { 0.0 })).collect()
}

#[test]
fn no_sampled_point_exceeds_a_quadratic_bound() {
    let (mut bounded, mut refused) = (0, 0);
    for seed in 0..30 {
        let arithmetic = [Arithmetic::Exact, Arithmetic::F32][seed as usize % 2];
        let in_f32 = arithmetic == Arithmetic::F32;
        let mut ground = Ground::new(&[5, 9, 8, 7, 3], 0.4, seed);
        let problem = ground.problem::<f64>(arithmetic);
        let region = ground.region(&problem);
        let samples: Vec<_> = (0..200).map(|_| ground.sample(in_f32)).collect();
        for (layer, j) in [(0, 1), (1, 2), (2, 0), (2, 5), (3, 0), (3, 2)] {
            let (by, sign) = (ground.quadratic(layer), ground.numbers.next().signum());
            let row = unit(ground.widths[layer + 1], j, sign);
            match region.quadratic_bound(&problem, layer, row, &by) {
                Ok(bound) => {
                    for sample in &samples {
                        assert!(sign * sample[layer][j] <= bound, "{seed} {layer} {j}: {bound}");
                    }
                    bounded += 1;
                }
                Err(Failure::Wrong(why)) => {
                    assert_eq!(why, "a matrix is not positive");
                    refused += 1;
                }
                Err(Failure::Empty) => panic!("{seed}: it is not empty"),
            }
        }
    }
    assert!(bounded > 100 && refused > 0, "{bounded} {refused}");
}

/// With multipliers that are good, the bound is below that of lines. In exact numbers it is about the same, and not above.
#[test]
fn exact_and_rounded_bounds_agree_and_are_low() {
    // z₂ = relu(x₁ + x₂) + relu(x₁ − x₂) for |x| ≤ 1: at most 2. Chords give 0.5 (x₁ + x₂ + 2) + 0.5 (x₁ − x₂ + 2) ≤ 3.
    let weights = vec![
        (vec![1.0, 1.0, 1.0, -1.0], vec![0.0; 2]),
        (vec![1.0; 2], vec![0.0]),
        (vec![1.0], vec![0.0]),
    ];
    let (lower, upper) = (vec![-1.0; 2], vec![1.0; 2]);
    let ground = Ground { widths: vec![2, 2, 1, 1], weights, lower, upper, numbers: Numbers(1) };
    let by = Quadratic {
        neurons: vec![vec![0, 1]],
        inputs: vec![1.0, 0.51],
        products: vec![1.0; 2],
        ..Quadratic::default()
    };
    let problem = ground.problem::<f64>(Arithmetic::Exact);
    let rounded = ground.region(&problem).quadratic_bound(&problem, 1, vec![1.0], &by);
    let problem = ground.problem::<Exact>(Arithmetic::Exact);
    let exact = ground.region(&problem).quadratic_bound(&problem, 1, vec![Exact::of(1.0)], &by);
    let (rounded, exact) = (rounded.expect("a bound"), exact.expect("a bound").nearest());
    assert!(exact <= rounded && rounded - exact < 1e-9, "{exact} {rounded}");
    assert!((2.509..2.511).contains(&exact), "{exact}");
    // A run in f32 may be off by a few roundings of numbers up to 2.
    let problem = ground.problem::<f64>(Arithmetic::F32);
    let in_f32 = ground.region(&problem).quadratic_bound(&problem, 1, vec![1.0], &by);
    let more = in_f32.expect("a bound") - rounded;
    assert!((4e-7..1e-5).contains(&more), "{more}");
}

#[test]
fn what_is_no_relaxation_is_refused() {
    let mut ground = Ground::new(&[4, 8, 8, 2], 0.5, 4);
    let problem = ground.problem::<f64>(Arithmetic::F32);
    let region = ground.region(&problem);
    let any = ground.quadratic(1);
    let ranges = vec![20.0; any.ranges.len()];
    let good = Quadratic { inputs: vec![20.0; 4], ranges, ..any };
    let refused = |change: &dyn Fn(&mut Quadratic)| {
        let mut by = good.clone();
        change(&mut by);
        match region.quadratic_bound(&problem, 1, unit(8, 3, 1.0), &by) {
            Err(Failure::Wrong(why)) => why,
            other => format!("{other:?}"),
        }
    };
    assert!(refused(&|_| ()).starts_with("Ok"));
    // Without squares there is nothing that holds the products.
    assert_eq!(
        refused(&|by| by.products.iter_mut().for_each(|g| *g = 100.0)),
        "a matrix is not positive"
    );
    assert_eq!(refused(&|by| by.inputs.fill(0.0)), "a matrix is not positive");
    assert_eq!(refused(&|by| by.inputs.fill(1e-9)), "a matrix is not positive");
    for wrong in [-1e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for list in 0..6 {
            let why = refused(&|by| {
                let Quadratic { inputs, ranges, products, signs, passes, lines, .. } = by;
                [inputs, ranges, products, signs, passes, lines][list][1] = wrong;
            });
            assert_eq!(why, "a weight is negative", "{wrong} in list {list}");
        }
    }
    assert!(refused(&|by| by.lines.push(0.0)).contains("of nothing"));
    assert!(refused(&|by| by.neurons[0][0] = 8).contains("can be listed"));
    assert!(refused(&|by| by.neurons.push(vec![0])).contains("can be listed"));
    assert!(refused(&|by| by.neurons[0].push(good.neurons[0][0])).contains("can be listed"));
    assert!(!refused(&|by| by.ranges[0] = 1e308).starts_with("Ok"));
    assert_eq!(refused(&|by| by.lines[0] = 1e308), "numbers overflow");
}

/// Leaves of a tree over signs cover all signs, and no sampled point exceeds their bound; what is no tree is refused.
#[test]
fn trees_over_signs_bound_functions() {
    for seed in 0..10 {
        let mut ground = Ground::new(&[4, 6, 6, 2], 0.5, seed);
        let problem = ground.problem::<f64>(Arithmetic::F32);
        let region = ground.region(&problem);
        let samples: Vec<_> = (0..200).map(|_| ground.sample(true)).collect();
        let split = |layer, j| SignNode { neuron: Some((layer, j)), ..SignNode::default() };
        let mut leaf = || SignNode {
            slopes: vec![".A/f.z".into(), "0AA/..".into()],
            signs: ground.numbers.list(3, 0.5).iter().map(|x| x.abs()).collect(),
            ..SignNode::default()
        };
        // A neuron may be split again.
        let tree = vec![
            split(0, 1),
            split(1, 2),
            leaf(),
            leaf(),
            split(0, 3),
            leaf(),
            split(0, 1),
            leaf(),
            leaf(),
        ];
        let bound = |tree: Vec<SignNode>| {
            let by = Bound { tree, ..Bound::default() };
            region.function_bound(&problem, &[], (2, unit(2, 0, 1.0)), &by)
        };
        let value = bound(tree.clone()).expect("a bound");
        assert!(samples.iter().all(|sample| sample[2][0] <= value), "{seed}");
        for k in 0..tree.len() {
            let (mut dropped, mut doubled) = (tree.clone(), tree.clone());
            dropped.remove(k);
            doubled.insert(k, tree[k].clone());
            assert!(bound(dropped).is_err() && bound(doubled).is_err(), "{k}");
        }
        for wrong in [-1e-9, f64::NAN, f64::INFINITY] {
            let mut tree = tree.clone();
            tree[2].signs[1] = wrong;
            assert!(bound(tree).is_err());
        }
        for neuron in [(2, 0), (0, 6), (7, 0)] {
            let mut tree = tree.clone();
            tree[0].neuron = Some(neuron);
            assert!(bound(tree).is_err());
        }
    }
}
