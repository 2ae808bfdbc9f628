//! Tiny problems, drawn at random in plain numbers, and the same in the types of the crate.

use std::collections::HashSet;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::encode::{Vertices, interior_point, nearest_integral};
use rw_adv::network::{Activation, ActivationPattern, AffineMap, Layer, Network, NeuronId, Trace};
use rw_adv::problem::{Candidate, Objective, Problem};
use rw_adv::sets::{Constraint, Domain, InputSet, Norm, PixelRange};

/// A tiny in plain numbers, and the same one in the types of the crate.
#[derive(Clone)]
pub struct TinyProblem {
    pub seed: u64,
    /// `layers[l][i]`: the weights of a neuron and its bias.
    pub layers: Vec<Vec<(Vec<f64>, f64)>>,
    /// The hidden neurons without a ReLU.
    pub identities: HashSet<NeuronId>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Centre and radius of an L1 ball.
    pub ball: Option<(Vec<f64>, f64)>,
    /// Weights and the two sides.
    pub constraints: Vec<(Vec<f64>, f64, f64)>,
    pub objective: Vec<f64>,
    pub network: Arc<Network>,
    pub set: InputSet,
}

/// The on and off of every hidden neuron.
pub type States = Vec<Vec<bool>>;

impl TinyProblem {
    pub fn tiny(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut widths = vec![rng.random_range(2..=4)];
        for _ in 0..rng.random_range(1..=2) {
            widths.push(rng.random_range(2..=4));
        }
        widths.push(rng.random_range(2..=3));
        Self::new(seed, &widths, rng)
    }

    pub fn wide(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xffff_0000);
        let widths =
            [rng.random_range(60..=120), rng.random_range(2..=3), rng.random_range(2..=3), 3];
        Self::new(seed, &widths, rng)
    }

    /// A third of the neurons lose their ReLU, but never the first one.
    pub fn mixed(seed: u64) -> Self {
        let mut tiny = Self::tiny(seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x1de7);
        let ids = tiny.network.relus().skip(1).filter(|_| rng.random_bool(1.0 / 3.0));
        tiny.identities = ids.collect();
        tiny.remake();
        tiny
    }

    /// What residual blocks, leaky units, the largest of a window and networks without a ReLU become: layers with values that are carried.
    pub fn carried(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xca44);
        let inputs = rng.random_range(2..=3);
        let mut tiny = Self::new(seed, &[inputs, 2, 2], ChaCha8Rng::seed_from_u64(seed));
        let unit =
            |n: usize, i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect::<Vec<_>>();
        let mut draw = |n: usize| {
            (
                (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<_>>(),
                rng.random_range(-0.5..0.5),
            )
        };
        let layers: Vec<Vec<(Vec<f64>, f64)>>;
        let carried: Vec<(usize, usize)>;
        match seed % 4 {
            // relu(W relu(W x) + x), the input carried over one layer.
            0 => {
                let mut first: Vec<_> = (0..3).map(|_| draw(inputs)).collect();
                first.extend((0..inputs).map(|i| (unit(inputs, i), 0.0)));
                let second = (0..inputs).map(|i| {
                    let (mut row, bias) = draw(3);
                    row.extend(unit(inputs, i));
                    (row, bias)
                });
                let second: Vec<_> = second.collect();
                layers = vec![first, second, (0..2).map(|_| draw(inputs)).collect()];
                carried = (3..3 + inputs).map(|i| (0, i)).collect();
            }
            // αx + (1 − α) relu(x), twice.
            1 => {
                let leaky = |units: Vec<(Vec<f64>, f64)>, slope: f64| -> Vec<(Vec<f64>, f64)> {
                    let spread = |w: &f64| [w * (1.0 - slope), w * slope];
                    let row = |(row, bias): (Vec<f64>, f64)| {
                        (row.iter().flat_map(spread).collect(), bias)
                    };
                    units.into_iter().map(row).collect()
                };
                let both = |units: Vec<(Vec<f64>, f64)>| {
                    units.into_iter().flat_map(|unit| [unit.clone(), unit])
                };
                let first: Vec<_> = (0..2).map(|_| draw(inputs)).collect();
                let second = leaky((0..2).map(|_| draw(2)).collect(), 0.1);
                let last = leaky((0..2).map(|_| draw(2)).collect(), -0.5);
                layers = vec![both(first).collect(), both(second).collect(), last];
                carried = vec![(0, 1), (0, 3), (1, 1), (1, 3)];
            }
            // The largest of four.
            2 => {
                let units: Vec<_> = (0..4).map(|_| draw(inputs)).collect();
                let minus = |a: &(Vec<f64>, f64), b: &(Vec<f64>, f64)| {
                    (a.0.iter().zip(&b.0).map(|(a, b)| a - b).collect(), a.1 - b.1)
                };
                let first = vec![
                    minus(&units[0], &units[1]),
                    units[1].clone(),
                    minus(&units[2], &units[3]),
                    units[3].clone(),
                ];
                let second =
                    vec![(vec![1.0, 1.0, -1.0, -1.0], 0.0), (vec![0.0, 0.0, 1.0, 1.0], 0.0)];
                let last = [1.0, -0.5].map(|w| (vec![w, w], 0.0)).to_vec();
                layers = vec![first, second, last];
                carried = vec![(0, 1), (0, 3), (1, 1)];
            }
            _ => {
                layers = vec![
                    (0..2).map(|_| draw(inputs)).collect(),
                    (0..2).map(|i| (unit(2, i), 0.0)).collect(),
                ];
                carried = vec![(0, 0), (0, 1)];
            }
        }
        tiny.identities =
            carried.into_iter().map(|(layer, index)| NeuronId { layer, index }).collect();
        tiny.layers = layers;
        tiny.remake();
        tiny
    }

    /// An objective with inputs in it, which are carried to the outputs.
    pub fn with_inputs(seed: u64) -> Self {
        let mut tiny = Self::tiny(seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x1297);
        let input = rng.random_range(0..tiny.lower.len());
        tiny.network = Arc::new(tiny.network.with_inputs(&[input]));
        tiny.objective.push(rng.random_range(-1.0..1.0));
        let last = tiny.layers.len() - 1;
        let mut place = input;
        for (l, layer) in tiny.layers.iter_mut().enumerate() {
            let own = layer[0].0.len();
            let wide = if l == 0 { own } else { own + 1 };
            layer.iter_mut().for_each(|(weights, _)| weights.resize(wide, 0.0));
            let mut carried = vec![0.0; wide];
            carried[place] = 1.0;
            place = layer.len();
            layer.push((carried, 0.0));
            if l < last {
                tiny.identities.insert(NeuronId { layer: l, index: place });
            }
        }
        tiny
    }

    /// Makes the network of the layers and identities.
    fn remake(&mut self) {
        let last = self.layers.len() - 1;
        let layer = |(l, neurons): (usize, &Vec<(Vec<f64>, f64)>)| {
            let (rows, bias): (Vec<_>, Vec<_>) = neurons.iter().cloned().unzip();
            let identity =
                |index| l == last || self.identities.contains(&NeuronId { layer: l, index });
            let activation = |i| if identity(i) { Activation::Identity } else { Activation::Relu };
            let activations: Vec<_> = (0..rows.len()).map(activation).collect();
            Layer::mixed(AffineMap::from_rows(&rows, bias), &activations)
        };
        let layers = self.layers.iter().enumerate().map(layer).collect();
        self.network = Arc::new(Network::from_layers(layers).expect("widths chain"));
    }

    /// A box in which some inputs, or all, take whole numbers only; every other one is cut by constraints that a point of it keeps.
    pub fn with_integers(seed: u64) -> Self {
        let mut tiny = Self::tiny(seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x17e6);
        let inputs = tiny.lower.len();
        tiny.ball = None;
        let all = rng.random_bool(0.4);
        // At most two, where the oracle solves an LP for each pattern and each number.
        let integers: Vec<usize> =
            (0..inputs).filter(|&i| all || i < 1 + (seed % 2) as usize).collect();
        for i in 0..inputs {
            if integers.contains(&i) {
                tiny.lower[i] = f64::from(rng.random_range(-2..=1i8));
                tiny.upper[i] = tiny.lower[i] + f64::from(rng.random_range(0..=3u8));
            } else {
                tiny.lower[i] = rng.random_range(-1.0..0.0);
                tiny.upper[i] = rng.random_range(0.0..1.5);
            }
        }
        if seed % 2 == 1 {
            let inside = |i: usize| match integers.contains(&i) {
                true => rng.random_range(tiny.lower[i] as i64..=tiny.upper[i] as i64) as f64,
                false => rng.random_range(tiny.lower[i]..=tiny.upper[i]),
            };
            let inside: Vec<f64> = (0..inputs).map(inside).collect();
            for _ in 0..rng.random_range(1..=2) {
                let weights = (0..inputs).map(|_| f64::from(rng.random_range(-2..=2i8)));
                let mut weights: Vec<f64> = weights.collect();
                weights[rng.random_range(0..inputs)] = 1.0;
                let at = dot(&weights, &inside);
                // Sides on which points lie, and sides between them.
                let room = 0.25 * f64::from(rng.random_range(0..8u8));
                let (lower, upper) = match rng.random_range(0..4) {
                    0 => (f64::NEG_INFINITY, at + room),
                    1 => (at - room, f64::INFINITY),
                    2 => (at - room, at + room),
                    _ => (at, at),
                };
                tiny.constraints.push((weights, lower, upper));
            }
        }
        let domain = tiny.domain().with_integers(&integers).expect("the bounds are whole numbers");
        let unlimited = Budget::unlimited();
        let centre = match domain.constraints.is_empty() {
            true => domain.lower.clone(),
            false => interior_point(&domain, &unlimited)
                .and_then(|inside| nearest_integral(&domain, &inside, &unlimited))
                .expect("a point is inside"),
        };
        tiny.set = InputSet::of_domain(&domain, centre);
        tiny
    }

    fn domain(&self) -> Domain {
        let constraint = |(weights, lower, upper): &(Vec<f64>, f64, f64)| {
            let terms: Vec<(usize, f64)> = weights.iter().copied().enumerate().collect();
            Constraint::new(&terms, *lower, *upper)
        };
        Domain {
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            constraints: self.constraints.iter().map(constraint).collect(),
            integers: Vec::new(),
        }
    }

    /// A box, in place of whatever set was drawn, cut by half-spaces, strips and equations that a point of it keeps.
    pub fn cut(seed: u64) -> Self {
        let mut tiny = if seed % 25 == 24 { Self::wide(seed) } else { Self::tiny(seed) };
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xc017);
        let inputs = tiny.lower.len();
        let inside: Vec<f64> = tiny
            .lower
            .iter()
            .zip(&tiny.upper)
            .map(|(lower, upper)| lower + (upper - lower) * rng.random_range(0.0..=1.0))
            .collect();
        tiny.ball = None;
        for _ in 0..rng.random_range(1..=3) {
            let mut weights: Vec<f64> = (0..inputs)
                .map(|_| match seed % 3 {
                    2 => [-1.0, 0.0, 1.0][rng.random_range(0..3)],
                    _ => rng.random_range(-2.0..2.0),
                })
                .collect();
            weights[rng.random_range(0..inputs)] = 1.0;
            let at = dot(&weights, &inside);
            let (lower, upper) = match rng.random_range(0..4) {
                0 => (f64::NEG_INFINITY, rng.random_range(0.0..0.5)),
                1 => (-rng.random_range(0.0..0.5), f64::INFINITY),
                2 => (-rng.random_range(0.0..0.5), rng.random_range(0.0..0.5)),
                _ => (0.0, 0.0),
            };
            tiny.constraints.push((weights, at + lower, at + upper));
        }
        let domain = tiny.domain();
        let centre = interior_point(&domain, &Budget::unlimited()).expect("a point is inside");
        tiny.set = InputSet::of_domain(&domain, centre);
        tiny
    }

    pub fn new(seed: u64, widths: &[usize], mut rng: ChaCha8Rng) -> Self {
        // Every third network has weights, biases and centres of few values, zero often: ties, neurons that are always 0,
        // equal neurons, flat pieces.
        let coarse = seed % 3 == 2;
        let layers = draw_layers(widths, coarse, &mut rng);
        let inputs = widths[0];
        let centre: Vec<f64> = (0..inputs)
            .map(|_| match rng.random_range(0..4) {
                0 => 0.0,
                1 => 1.0,
                2 => 0.5,
                _ if coarse => 0.5,
                _ => rng.random_range(0.0..1.0),
            })
            .collect();
        let delta = if coarse {
            0.25 * f64::from(rng.random_range(1..9u8))
        } else {
            rng.random_range(0.05..2.5)
        };
        let (lower, upper, ball, set);
        match seed / 3 % 4 {
            0 | 1 => {
                (lower, upper) = (vec![0.0; inputs], vec![1.0; inputs]);
                set = InputSet::ball(Norm::L1, &centre, delta, PixelRange::UNIT);
                ball = Some((centre, delta));
            }
            2 => {
                let radius = delta / 4.0;
                lower = centre.iter().map(|x| (x - radius).max(0.0)).collect();
                upper = centre.iter().map(|x| (x + radius).min(1.0)).collect();
                set = InputSet::ball(Norm::Linf, &centre, radius, PixelRange::UNIT);
                ball = None;
            }
            _ => {
                // Some sides are a single value.
                lower = centre.iter().map(|x| x - 1.0).collect();
                upper = lower.iter().map(|l| l + [0.0, 1.0, 2.0][rng.random_range(0..3)]).collect();
                set = InputSet::new_box(&lower, &upper);
                ball = None;
            }
        }
        let objective = draw_objective(seed, widths[widths.len() - 1], &mut rng);
        let map = |neurons: &Vec<(Vec<f64>, f64)>| {
            let (rows, bias): (Vec<_>, Vec<_>) = neurons.iter().cloned().unzip();
            AffineMap::from_rows(&rows, bias)
        };
        let network =
            Arc::new(Network::new(layers.iter().map(map).collect()).expect("widths chain"));
        let (identities, constraints) = (HashSet::new(), Vec::new());
        Self { seed, layers, identities, lower, upper, ball, constraints, objective, network, set }
    }

    pub fn problem(&self) -> Problem {
        Problem::new(&self.network, self.set.clone(), Objective::new(self.objective.clone()))
    }

    pub fn pattern(&self, states: &States) -> ActivationPattern {
        let mut pattern = ActivationPattern::at(&Trace::new(&self.network));
        for (layer, of_layer) in states.iter().enumerate() {
            for (index, &on) in of_layer.iter().enumerate() {
                pattern.set(NeuronId { layer, index }, on);
            }
        }
        pattern
    }

    /// Points of the set: the centre, vertices, and points in between.
    pub fn samples(&self, count: usize) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(!self.seed);
        let mut vertices = Vertices::new(&self.set, Budget::unlimited());
        let centre = self.set.centre().to_vec();
        let random = (1..count).map(|k| {
            let mut direction = || centre.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (direction(), direction());
            let (a, b) = [a, b].map(|w| vertices.maximise(&w).expect("solved").point).into();
            let share = if k % 3 == 0 { 0.0 } else { rng.random_range(0.0..1.0) };
            a.iter().zip(&b).map(|(a, b)| a + share * (b - a)).collect()
        });
        std::iter::once(centre.clone()).chain(random.collect::<Vec<_>>()).collect()
    }
}

/// Weights and biases; a few values only where `coarse`.
fn draw_layers(widths: &[usize], coarse: bool, rng: &mut ChaCha8Rng) -> Vec<Vec<(Vec<f64>, f64)>> {
    let number = |rng: &mut ChaCha8Rng, size: f64| {
        if coarse {
            [-size, 0.0, 0.0, size][rng.random_range(0..4)]
        } else {
            rng.random_range(-size..size)
        }
    };
    let neuron = |rng: &mut ChaCha8Rng, inputs: usize| {
        ((0..inputs).map(|_| number(rng, 1.0)).collect(), number(rng, 0.5))
    };
    let layer = |pair: &[usize]| (0..pair[1]).map(|_| neuron(rng, pair[0])).collect();
    widths.windows(2).map(layer).collect()
}

/// A margin, or any weights.
fn draw_objective(seed: u64, outputs: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut objective = vec![0.0; outputs];
    if (seed / 12).is_multiple_of(2) {
        objective[0] = -1.0;
        objective[outputs - 1] = 1.0;
    } else {
        objective.fill_with(|| rng.random_range(-1.0..1.0));
    }
    objective
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn start_at(problem: &Problem, point: &[f64]) -> Candidate {
    problem.evaluate(point.to_vec(), &mut Trace::new(&problem.network))
}
