//! Where the next local search begins.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::method::Method;
use super::relaxed_starts::RelaxedStarts;
use super::sampling::{draw, pull_back, random_point};
use super::task::SearchTask;
use crate::budget::Budget;
use crate::encode::{EncodeError, LpWork, Vertices};
use crate::network::{Activation, ActivationPattern, AffineMap, Trace};
use crate::problem::{Candidate, Problem};

/// How likely a neuron is drawn in the state that helps the objective.
const OPTIMISM: f64 = 0.9;

/// How likely a neuron is flipped in a start near the incumbent.
const FLIP_NEARBY: f64 = 0.03;

/// The start at which the relaxation is first solved. Cheap starts come before: they often find the optimum.
const FIRST_RELAXED: usize = 5;

/// What a start without any LP costs, in simplex iterations.
const START_COST: f64 = 50.0;

/// What a relaxation costs where a budget lets few pixels move.
const RELAXED_COST: f64 = 5000.0;

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartKind {
    /// The set's centre. The first start climbs from it; the second walks from it, but not in a box, where such walks are long.
    Centre,
    /// The best point if a random pattern held everywhere; the pattern is biased towards what helps the objective.
    Pattern,
    /// A random point: between the centre and the vertex that is furthest in a random direction.
    Random,
    /// Between the incumbent and the vertex in the direction of the gradient that the incumbent would have with a few neurons flipped.
    Nearby,
    /// The relaxation's point, or that of one of its restrictions (Algorithm 2).
    Relaxed,
}

/// A point from which a local search begins.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub kind: StartKind,
    /// The point, inside the set.
    pub point: Vec<f64>,
    /// Whether to climb before walking.
    pub climb: bool,
}

/// All kinds of starts. The next kind is drawn by its gains per cost so far.
pub(super) struct Starts<'s, 'p> {
    task: &'s SearchTask<'s, 'p>,
    problem: &'p Problem,
    method: Method,
    /// Made when first needed.
    relaxed: Option<RelaxedStarts<'p>>,
    rng: ChaCha8Rng,
    trace: Trace,
    made: usize,
    scores: [(StartKind, StartScore); 4],
}

/// The gains of a kind of start, and what all its starts have cost, in simplex iterations: unlike seconds the same in every run.
#[derive(Clone, Copy, Debug)]
struct StartScore {
    cost: f64,
    gains: f64,
}

impl StartScore {
    /// Before anything is known: one gain in two starts.
    fn new(kind: StartKind, relaxed_cost: f64) -> Self {
        let cost = if kind == StartKind::Relaxed { relaxed_cost } else { START_COST };
        Self { cost: 2.0 * cost, gains: 1.0 }
    }

    fn gains_per_cost(&self) -> f64 {
        self.gains / self.cost
    }
}

impl<'s, 'p> Starts<'s, 'p> {
    /// No start is made yet.
    pub fn new(task: &'s SearchTask<'s, 'p>) -> Self {
        let (problem, method) = (task.problem, task.options.method);
        let kinds = [StartKind::Pattern, StartKind::Random, StartKind::Nearby, StartKind::Relaxed];
        let scores = kinds.map(|kind| (kind, StartScore::new(kind, relaxed_cost(problem))));
        let trace = Trace::new(&problem.network);
        Self { task, problem, method, relaxed: None, rng: task.rng(), trace, made: 0, scores }
    }

    /// Number of starts made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// What the relaxations have cost.
    pub fn work(&self) -> LpWork {
        self.relaxed.as_ref().map_or_else(LpWork::default, RelaxedStarts::work)
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
    ) -> Result<Start, EncodeError> {
        let kind = self.next_kind();
        self.made += 1;
        let point = match kind {
            StartKind::Centre => self.problem.set.centre().to_vec(),
            StartKind::Pattern => {
                let direction = pattern_direction(self.problem, &mut self.rng);
                vertices.maximise(&direction)?.point
            }
            StartKind::Random => random_point(vertices, &mut self.rng)?,
            StartKind::Nearby => {
                let direction = self.nearby_direction(&best.point);
                let mut point = vertices.maximise(&direction)?.point;
                pull_back(&mut point, &best.point, &mut self.rng);
                point
            }
            StartKind::Relaxed => {
                let make = || RelaxedStarts::new(self.problem, self.task.bounds());
                self.relaxed.get_or_insert_with(make).next(&mut self.rng, budget)?
            }
        };
        Ok(Start { kind, point, climb: self.climbs_from(kind) })
    }

    fn next_kind(&mut self) -> StartKind {
        match (self.method, self.made) {
            (Method::Paper, _) => StartKind::Relaxed,
            (Method::Rw, FIRST_RELAXED) if relaxed_cost(self.problem) <= RELAXED_COST => {
                StartKind::Relaxed
            }
            (_, 0) => StartKind::Centre,
            (Method::Rw, 1) if !self.problem.set.is_box() => StartKind::Centre,
            (method, made) => {
                let kinds = if method == Method::Rw && made >= FIRST_RELAXED { 4 } else { 3 };
                let scores = self.scores[..kinds].iter();
                let weights: Vec<f64> = scores.map(|(_, score)| score.gains_per_cost()).collect();
                let drawn = draw(&weights, &mut self.rng);
                drawn.map_or(StartKind::Pattern, |k| self.scores[k].0)
            }
        }
    }

    /// Whether the start just made is climbed from. Climbs lead to few ends: the centre's second start and the relaxation's points are walked
    /// from directly, which takes longer and ends elsewhere.
    fn climbs_from(&self, kind: StartKind) -> bool {
        match self.method {
            Method::Rw => {
                kind != StartKind::Relaxed && (self.made != 2 || self.problem.set.is_box())
            }
            method => method == Method::FrankWolfe,
        }
    }

    /// The gradient at `point` with some neurons flipped.
    fn nearby_direction(&mut self, point: &[f64]) -> Vec<f64> {
        let network = &self.problem.network;
        network.forward(point, &mut self.trace);
        let mut pattern = ActivationPattern::at(&self.trace);
        for neuron in network.relus() {
            if self.rng.random_bool(FLIP_NEARBY) {
                pattern.flip(neuron);
            }
        }
        network.gradient(self.problem.weights(), &pattern)
    }

    /// Remembers whether a start of this kind gained, and what it cost, in simplex iterations.
    pub fn learn(&mut self, kind: StartKind, gained: bool, iterations: usize) {
        for (_, score) in self.scores.iter_mut().filter(|(k, _)| *k == kind) {
            score.cost += START_COST + iterations as f64;
            score.gains += f64::from(u8::from(gained));
        }
    }
}

/// The assumed cost of a relaxation before the first one is solved: in a box, where all inputs move and nearly all neurons are unstable, it
/// grows with the network.
fn relaxed_cost(problem: &Problem) -> f64 {
    if problem.set.is_box() {
        (problem.network.relu_count() * problem.network.inputs()) as f64
    } else {
        RELAXED_COST
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
