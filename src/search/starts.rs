//! Where the next walk begins.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::relaxed::RelaxedStarts;
use super::{Method, SearchOptions};
use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::encode::{EncodeError, Vertices, Work};
use crate::network::{Activation, ActivationPattern, AffineMap, Trace};
use crate::problem::{Candidate, Problem};

/// How likely a neuron is drawn in the state that helps the objective.
const OPTIMISM: f64 = 0.9;

/// How likely a neuron changes its state in a start near the best point.
const RESTLESS: f64 = 0.03;

/// The start at which the relaxation is first asked. Cheap starts come before: they often find the optimum.
const FIRST_RELAXED: usize = 5;

/// What a start without any LP costs, in simplex iterations.
const START_COST: f64 = 50.0;

/// What a relaxation costs where a budget lets few pixels move.
const RELAXED_COST: f64 = 5000.0;

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// The set's centre, climbed from and, as the second start, walked from as it is; in a box, where such walks are long, only
    /// climbed from.
    Centre,
    /// A random pattern, biased towards what helps; the point is the best one if that pattern held everywhere.
    Pattern,
    /// A random point: somewhere on the way to the vertex that a random direction points at.
    Random,
    /// On the way from the best point so far to the vertex that its gradient would point at if a few neurons had another
    /// state.
    Nearby,
    /// The relaxation's point, or that of one of its restrictions.
    Relaxed,
}

/// All kinds behind one door; the next kind is drawn by what it has brought for its cost so far.
pub struct Starts<'s, 'q> {
    problem: &'q Problem,
    method: Method,
    bounds: &'s dyn Fn() -> &'q NeuronBounds,
    /// Made when it is first asked: neuron bounds may cost more than a whole search without it.
    relaxed: Option<RelaxedStarts<'q>>,
    rng: ChaCha8Rng,
    trace: Trace,
    made: usize,
    scores: [(StartKind, Score); 4],
}

/// Gains, and what all tries have cost, in simplex iterations: unlike seconds the same in every run.
#[derive(Clone, Copy, Debug)]
struct Score {
    cost: f64,
    gains: f64,
}

impl Score {
    /// Before anything is known: one gain in two tries.
    fn of(kind: StartKind, relaxed_cost: f64) -> Self {
        let cost = if kind == StartKind::Relaxed { relaxed_cost } else { START_COST };
        Self { cost: 2.0 * cost, gains: 1.0 }
    }

    fn gains_per_cost(&self) -> f64 {
        self.gains / self.cost
    }
}

impl<'s, 'q> Starts<'s, 'q> {
    pub fn new(
        problem: &'q Problem,
        bounds: &'s dyn Fn() -> &'q NeuronBounds,
        options: &SearchOptions,
        rng: ChaCha8Rng,
    ) -> Self {
        let kinds = [StartKind::Pattern, StartKind::Random, StartKind::Nearby, StartKind::Relaxed];
        let scores = kinds.map(|kind| (kind, Score::of(kind, relaxed_cost(problem))));
        let trace = Trace::new(&problem.network);
        Self { problem, method: options.method, bounds, relaxed: None, rng, trace, made: 0, scores }
    }

    /// Whether to climb before walking. Ascents lead to few ends: the centre's second start and the relaxation's points are
    /// walked from directly, which takes longer and ends elsewhere.
    pub fn climbs(&self, kind: StartKind) -> bool {
        match self.method {
            Method::Rw => {
                kind != StartKind::Relaxed && (self.made != 2 || self.problem.set.is_box())
            }
            method => method == Method::FrankWolfe,
        }
    }

    /// Number of starts made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// What the relaxations have cost.
    pub fn work(&self) -> Work {
        self.relaxed.as_ref().map_or_else(Work::default, RelaxedStarts::work)
    }

    /// The next start.
    ///
    /// # Errors
    /// When the time is up or the LP solver fails.
    pub fn next(
        &mut self,
        best: &Candidate,
        vertices: &mut Vertices,
        budget: &Budget,
    ) -> Result<(StartKind, Vec<f64>), EncodeError> {
        let kind = self.kind();
        self.made += 1;
        let direction = match kind {
            StartKind::Centre => return Ok((kind, self.problem.set.centre().to_vec())),
            StartKind::Relaxed => {
                let (problem, bounds) = (self.problem, self.bounds);
                let relaxed =
                    self.relaxed.get_or_insert_with(|| RelaxedStarts::new(problem, bounds()));
                return Ok((kind, relaxed.next(&mut self.rng, budget)?));
            }
            StartKind::Pattern => pattern_direction(self.problem, &mut self.rng),
            StartKind::Nearby => self.nearby_direction(&best.point),
            StartKind::Random => {
                return Ok((kind, random_point(vertices, &mut self.rng)?));
            }
        };
        let mut point = vertices.maximise(&direction)?.point;
        if kind == StartKind::Nearby {
            part_of_the_way(&mut point, &best.point, &mut self.rng);
        }
        Ok((kind, point))
    }

    fn kind(&mut self) -> StartKind {
        match (self.method, self.made) {
            (Method::Paper, _) => StartKind::Relaxed,
            (Method::Rw, FIRST_RELAXED) if relaxed_cost(self.problem) <= RELAXED_COST => {
                StartKind::Relaxed
            }
            (_, 0) => StartKind::Centre,
            (Method::Rw, 1) if !self.problem.set.is_box() => StartKind::Centre,
            (method, made) => {
                let open = if method == Method::Rw && made >= FIRST_RELAXED { 4 } else { 3 };
                let weight = |(_, score): &(StartKind, Score)| score.gains_per_cost();
                let total: f64 = self.scores[..open].iter().map(weight).sum();
                let mut ticket = self.rng.random_range(0.0..total);
                let drawn = self.scores[..open].iter().find(|scored| {
                    ticket -= weight(scored);
                    ticket < 0.0
                });
                drawn.map_or(StartKind::Pattern, |(kind, _)| *kind)
            }
        }
    }

    /// The gradient at `point` with some neurons in another state.
    fn nearby_direction(&mut self, point: &[f64]) -> Vec<f64> {
        self.problem.network.forward(point, &mut self.trace);
        let mut pattern = ActivationPattern::at(&self.trace);
        for neuron in self.problem.network.relus() {
            if self.rng.random_bool(RESTLESS) {
                pattern.flip(neuron);
            }
        }
        self.problem.network.gradient(self.problem.weights(), &pattern)
    }

    /// Remembers what a start of this kind brought and, in simplex iterations, cost.
    pub fn learn(&mut self, kind: StartKind, gained: bool, iterations: usize) {
        for (_, score) in self.scores.iter_mut().filter(|(k, _)| *k == kind) {
            score.cost += START_COST + iterations as f64;
            score.gains += f64::from(u8::from(gained));
        }
    }
}

/// What a relaxation is taken to cost before the first one was solved: in a box, where all inputs move and nearly all
/// neurons are unstable, more the larger the network is.
fn relaxed_cost(problem: &Problem) -> f64 {
    if problem.set.is_box() {
        (problem.network.relu_count() * problem.network.inputs()) as f64
    } else {
        RELAXED_COST
    }
}

/// A random point of the set: somewhere on the way from the centre to the vertex that a random direction points at.
fn random_point(vertices: &mut Vertices, rng: &mut ChaCha8Rng) -> Result<Vec<f64>, EncodeError> {
    let set = vertices.set();
    let direction: Vec<f64> = (0..set.dimension()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut point = vertices.maximise(&direction)?.point;
    part_of_the_way(&mut point, set.centre(), rng);
    Ok(point)
}

/// A point of the set as a sampling method draws it: uniformly from a box; from what is none, as [`random_point`].
pub(super) fn sample(
    vertices: &mut Vertices,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<f64>, EncodeError> {
    let set = vertices.set();
    if set.budget().is_some() || !set.constraints().is_empty() {
        return random_point(vertices, rng);
    }
    let between = |i| {
        let (lower, upper) = set.range(i);
        lower + (upper - lower) * rng.random_range(0.0..1.0)
    };
    Ok((0..set.dimension()).map(between).collect())
}

fn part_of_the_way(point: &mut [f64], from: &[f64], rng: &mut ChaCha8Rng) {
    let share = rng.random_range(0.0..1.0);
    for (x, from) in point.iter_mut().zip(from) {
        *x = from + share * (*x - from);
    }
}

/// Backward from the objective: at each layer a pattern is drawn, and what arrives at the input is the gradient that
/// the network would have if that pattern held.
fn pattern_direction(problem: &Problem, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let back = |map: &AffineMap, upstream: &[f64]| {
        let mut below = vec![0.0; map.inputs()];
        map.apply_transposed(upstream, &mut below);
        below
    };
    let network = &problem.network;
    let mut slopes = back(network.output().affine(), problem.weights());
    for layer in network.hidden().iter().rev() {
        for (index, slope) in slopes.iter_mut().enumerate() {
            let likely = if *slope > 0.0 { OPTIMISM } else { 1.0 - OPTIMISM };
            if layer.activation(index) == Activation::Relu && !rng.random_bool(likely) {
                *slope = 0.0;
            }
        }
        slopes = back(layer.affine(), &slopes);
    }
    slopes
}
