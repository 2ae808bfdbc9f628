//! Tiny problems, drawn at random in plain numbers, and the same in the types of the crate.

use std::collections::HashSet;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::encode::{Vertices, interior_point};
use rw_adv::network::{Activation, ActivationPattern, AffineMap, Layer, Network, NeuronId, Trace};
use rw_adv::problem::{Candidate, Objective, Problem};
use rw_adv::sets::{Constraint, Domain, InputSet, Norm, PixelRange};

/// A tiny in plain numbers, and the same one in the types of the crate.
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
        let activation = |layer, index| match tiny.identities.contains(&NeuronId { layer, index }) {
            true => Activation::Identity,
            false => Activation::Relu,
        };
        let layer = |(l, of): (usize, &Layer)| {
            let activations: Vec<_> = (0..of.outputs()).map(|i| activation(l, i)).collect();
            Layer::mixed(of.affine().clone(), &activations)
        };
        let hidden = tiny.network.hidden().iter().enumerate().map(layer);
        let layers = hidden.chain([tiny.network.output().clone()]);
        tiny.network = Arc::new(Network::from_layers(layers.collect()).expect("as before"));
        tiny
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
        let constraint = |(weights, lower, upper): &(Vec<f64>, f64, f64)| {
            let terms: Vec<(usize, f64)> = weights.iter().copied().enumerate().collect();
            Constraint::new(&terms, *lower, *upper)
        };
        let domain = Domain {
            lower: tiny.lower.clone(),
            upper: tiny.upper.clone(),
            constraints: tiny.constraints.iter().map(constraint).collect(),
        };
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
