//! Where the next local search begins.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::long_walks::has_long_walks;
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

/// The share of the search's work so far that relaxations may take, all of them together, on top of the first [`FREE_RELAXATION`] operations.
/// One that would take more is broken off and goes on later. On 2×500 at Δ = 5 relaxations took a third of the work and gained nothing that
/// cheaper starts did not find; on 2×50 they are small and pay.
const RELAXED_SHARE: f64 = 0.1;
const FREE_RELAXATION: f64 = 60_000.0;

/// What a start costs whatever it is, in operations: so little (a millisecond) is never worth saving.
const START_COST: f64 = 2000.0;

/// Products with the network in one climb, about: by Frank-Wolfe, and by signed steps in a box.
const CLIMB_PASSES: usize = 15;
const BOX_CLIMB_PASSES: usize = 200;

/// Kinds of starts, whether they are climbed from or walked from as they are, and in how many of those that come to new regions there is one
/// gain. Fixed, and not learnt from other problems, so that an answer does not depend on what was solved before. Measured without the first
/// start over 50 images of 2×500 and 100 of 2×50, Δ = 5.
const STARTS_PER_GAIN: [(StartKind, bool, f64); 7] = [
    (StartKind::Nearby, true, 10.0),
    (StartKind::Random, true, 10.0),
    (StartKind::Pattern, true, 10.0),
    (StartKind::Nearby, false, 50.0),
    (StartKind::Random, false, 200.0),
    (StartKind::Pattern, false, 200.0),
    (StartKind::Relaxed, false, 40.0),
];

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartKind {
    /// The set's centre. The first start climbs from it; the second walks from it, but not in a box or a large network, where such walks are
    /// long.
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

/// All kinds of starts. The next kind is drawn by the gains per work that it promises.
pub(super) struct Starts<'s, 'p> {
    task: &'s SearchTask<'s, 'p>,
    problem: &'p Problem,
    method: Method,
    /// Made when first needed.
    relaxed: Option<RelaxedStarts<'p>>,
    rng: ChaCha8Rng,
    trace: Trace,
    made: usize,
    scores: Vec<StartScore>,
    /// The kind of the last start, and whether it is climbed from.
    last: (StartKind, bool),
    /// What all starts and what followed them have cost, in [operations](LpWork::operations).
    spent: f64,
    /// The part of it that LPs took.
    of_lps: f64,
    /// Starts in a row without gain.
    idle: usize,
}

/// What starts of one kind have gained, and what they and what followed them have cost, in [operations](LpWork::operations). Begins with what
/// is assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StartScore {
    kind: StartKind,
    climb: bool,
    /// Gains, and starts that came to new regions, with those that are assumed.
    gains: f64,
    new: f64,
    /// Starts that were made: climbs end in few places, and soon most of them come to nothing new.
    made: f64,
    made_new: f64,
    /// The costs of one start that was assumed and of those that were made.
    costs: f64,
}

impl StartScore {
    fn new((kind, climb, starts): (StartKind, bool, f64)) -> Self {
        Self { kind, climb, gains: 1.0, new: starts, made: 0.0, made_new: 0.0, costs: 0.0 }
    }

    fn mean_cost(&self) -> f64 {
        self.costs / (1.0 + self.made)
    }

    /// Gains to be expected for one operation.
    fn gains_per_cost(&self) -> f64 {
        let novelty = (1.0 + self.made_new) / (1.0 + self.made);
        novelty * self.gains / self.new / (START_COST + self.mean_cost())
    }

    fn learn(&mut self, gained: bool, is_new: bool, cost: f64) {
        let count = |yes: bool| f64::from(u8::from(yes));
        self.gains += count(gained);
        self.new += count(is_new);
        self.made += 1.0;
        self.made_new += count(is_new);
        self.costs += cost;
    }

    /// Assumes a cost by what the first search from the centre has cost, with or without a climb.
    fn assume(&mut self, centre_climbed: bool, cost: f64) {
        self.costs = match (centre_climbed, self.climb, self.kind) {
            (_, _, StartKind::Relaxed) | (false, true, _) | (false, _, StartKind::Nearby) => return,
            (true, true, _) | (false, false, _) => cost,
            // Near the incumbent walks are short.
            (true, false, StartKind::Nearby) => 2.0 * cost,
            // Until the centre is walked from as it is; in a box it is not.
            (true, false, _) => 10.0 * cost,
        };
    }
}

impl<'s, 'p> Starts<'s, 'p> {
    /// No start is made yet.
    pub fn new(task: &'s SearchTask<'s, 'p>) -> Self {
        let (problem, method) = (task.problem, task.options.method);
        let has_long_walks = has_long_walks(problem);
        let wanted = |score: &StartScore| {
            let as_it_is = score.kind == StartKind::Relaxed || !has_long_walks;
            score.climb || (method == Method::Rw && as_it_is)
        };
        let scores = STARTS_PER_GAIN.map(StartScore::new).into_iter().filter(wanted);
        let assumed = |score: StartScore| match score.kind {
            StartKind::Relaxed => StartScore { costs: relaxation_cost(problem), ..score },
            _ => score,
        };
        let scores = scores.map(assumed).collect();
        let (rng, trace) = (task.rng(), problem.trace());
        let last = (StartKind::Centre, true);
        let (made, spent, of_lps, idle) = (0, 0.0, 0.0, 0);
        let relaxed = None;
        Self { task, problem, method, relaxed, rng, trace, made, scores, last, spent, of_lps, idle }
    }

    /// Number of starts made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// The last start, for the log.
    pub fn describe(&self) -> String {
        let (kind, climb) = self.last;
        format!("{} ({kind:?}, {})", self.made, if climb { "climbed from" } else { "as it is" })
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
        self.last = self.next_kind();
        let (kind, climb) = self.last;
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
            StartKind::Relaxed => self.relaxed_point(budget)?,
        };
        Ok(Start { kind, point, climb })
    }

    /// The next relaxation's point. Only the paper's method takes whatever it costs.
    fn relaxed_point(&mut self, budget: &Budget) -> Result<Vec<f64>, EncodeError> {
        let left = self.relaxation_allowance() - self.work().operations as f64;
        let make = || RelaxedStarts::new(self.problem, self.task.bounds());
        let relaxed = self.relaxed.get_or_insert_with(make);
        if self.method == Method::Rw {
            relaxed.allow(left.max(0.0) as usize);
        }
        relaxed.next(&mut self.rng, budget)
    }

    /// The next kind, and whether to climb from it. Climbs lead to few ends: the centre's second start, some others and the relaxation's points
    /// are walked from directly, which takes longer and ends elsewhere.
    fn next_kind(&mut self) -> (StartKind, bool) {
        match (self.method, self.made) {
            (Method::Paper, _) => (StartKind::Relaxed, false),
            (_, 0) => (StartKind::Centre, true),
            (Method::Rw, 1) if !self.problem.set.is_box() && !has_long_walks(self.problem) => {
                (StartKind::Centre, false)
            }
            _ => {
                let (may_relax, all_alike) = (self.may_relax(), self.takes_all_alike());
                let weight = |score: &StartScore| match score.kind {
                    StartKind::Relaxed if !may_relax => 0.0,
                    _ if all_alike => 1.0,
                    _ => score.gains_per_cost(),
                };
                let weights: Vec<f64> = self.scores.iter().map(weight).collect();
                let drawn = draw(&weights, &mut self.rng).map(|k| self.scores[k]);
                drawn.map_or((StartKind::Pattern, true), |score| (score.kind, score.climb))
            }
        }
    }

    /// Whether every kind gets the same chance: where LPs cost next to nothing, once half of the patience is gone. Small networks have optima that
    /// only one kind leads to.
    fn takes_all_alike(&self) -> bool {
        let is_cheap = self.of_lps < START_COST * self.made as f64;
        self.method == Method::Rw && is_cheap && 2 * self.idle >= self.task.options.patience
    }

    /// What relaxations may have cost by now.
    fn relaxation_allowance(&self) -> f64 {
        FREE_RELAXATION + RELAXED_SHARE * self.spent
    }

    /// Whether the next relaxation is likely to end within what is allowed.
    fn may_relax(&self) -> bool {
        let relaxed = self.scores.iter().find(|score| score.kind == StartKind::Relaxed);
        let next = relaxed.map_or(f64::INFINITY, StartScore::mean_cost);
        self.work().operations as f64 + next <= self.relaxation_allowance()
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

    /// Remembers whether the last start gained, and what the search from it has cost in [operations](LpWork::operations), its climb aside.
    pub fn learn(&mut self, gained: bool, operations: usize) {
        let (kind, climb) = self.last;
        let passes = match (climb, self.problem.set.is_box()) {
            (false, _) => 1,
            (true, false) => CLIMB_PASSES,
            (true, true) => BOX_CLIMB_PASSES,
        };
        let cost = (LpWork::passes(&self.problem.network, passes) + operations) as f64;
        self.spent += cost;
        self.of_lps += operations as f64;
        self.idle = if gained { 0 } else { self.idle + 1 };
        if kind == StartKind::Centre {
            self.scores.iter_mut().for_each(|score| score.assume(climb, cost));
        }
        let scores = self.scores.iter_mut();
        for score in scores.filter(|score| (score.kind, score.climb) == (kind, climb)) {
            // Where no LP was solved, nothing new was seen.
            score.learn(gained, operations > 0, cost);
        }
    }
}

/// The assumed cost of the first relaxation, before it is solved: about half as many iterations as there are neurons, in an LP with a row and a
/// column for most of them, and in a box a column for every input.
fn relaxation_cost(problem: &Problem) -> f64 {
    let neurons = problem.network.relu_count() as f64;
    let moved = if problem.set.is_box() { problem.network.inputs() as f64 } else { 0.0 };
    0.5 * (neurons + moved) * (2.0 * neurons + moved)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bounds::interval_arithmetic;
    use crate::network::random::network;
    use crate::problem::Objective;
    use crate::search::SearchOptions;
    use crate::sets::{InputSet, Norm, PixelRange};

    fn problem(widths: &[usize]) -> Problem {
        let network = Arc::new(network(widths, 3));
        let image = vec![0.5; widths[0]];
        let set = InputSet::ball(Norm::L1, &image, 1.0, PixelRange::UNIT);
        Problem::new(&network, set, Objective::new(vec![1.0, -1.0]))
    }

    /// The kinds of so many starts, each of which costs `operations` and gains nothing, and what relaxations have cost and may cost.
    fn kinds(
        problem: &Problem,
        method: Method,
        many: usize,
        operations: usize,
    ) -> (Vec<StartKind>, usize, f64) {
        let bounds = interval_arithmetic(&problem.network, &problem.set);
        let lazy = || &bounds;
        let task =
            SearchTask::new(problem, &lazy, SearchOptions { method, ..SearchOptions::default() });
        let mut starts = Starts::new(&task);
        let budget = Budget::unlimited();
        let mut vertices = Vertices::new(&problem.set, budget);
        let best = problem.evaluate(problem.set.centre().to_vec(), &mut problem.trace());
        let mut kinds = Vec::new();
        for _ in 0..many {
            let before = starts.work().operations;
            // A relaxation that is broken off is a start, too.
            let _ = starts.next(&best, &mut vertices, &budget);
            kinds.push(starts.last.0);
            starts.learn(false, operations + starts.work().operations - before);
        }
        (kinds, starts.work().operations, starts.relaxation_allowance())
    }

    #[test]
    fn what_gains_is_drawn_more_often_and_what_costs_is_drawn_less() {
        let prior = StartScore::new((StartKind::Random, true, 100.0));
        let (mut gaining, mut idle, mut costly) = (prior, prior, prior);
        let mut known = prior;
        gaining.learn(true, true, 500.0);
        idle.learn(false, true, 500.0);
        known.learn(false, false, 500.0);
        costly.learn(false, true, 50_000.0);
        let rate = |score: StartScore| score.gains_per_cost();
        assert!(rate(gaining) > rate(idle) && rate(idle) > rate(costly));
        // What ends where earlier starts have ended is soon drawn less.
        assert!(rate(idle) > 1.5 * rate(known));
    }

    #[test]
    fn costs_are_assumed_from_the_centre() {
        let score = |kind, climb| StartScore::new((kind, climb, 100.0));
        let mut scores = [
            score(StartKind::Random, true),
            score(StartKind::Nearby, false),
            score(StartKind::Random, false),
            score(StartKind::Relaxed, false),
        ];
        scores.iter_mut().for_each(|score| score.assume(true, 10.0));
        assert_eq!(scores.map(|score| score.mean_cost()), [10.0, 20.0, 100.0, 0.0]);
        scores.iter_mut().for_each(|score| score.assume(false, 70.0));
        assert_eq!(scores.map(|score| score.mean_cost()), [10.0, 20.0, 70.0, 0.0]);
        scores[2].learn(false, true, 30.0);
        assert_eq!(scores[2].mean_cost(), 50.0);
    }

    #[test]
    fn relaxations_of_a_small_network_are_tried_and_keep_to_their_share() {
        let (kinds, relaxed, allowed) = kinds(&problem(&[6, 8, 8, 2]), Method::Rw, 300, 500);
        assert!(kinds.contains(&StartKind::Relaxed));
        assert!(
            kinds[2..].contains(&StartKind::Nearby) && kinds[2..].contains(&StartKind::Pattern)
        );
        assert!((relaxed as f64) < 1.1 * allowed, "{relaxed} {allowed}");
    }

    #[test]
    fn relaxations_of_a_large_network_are_not_begun_until_they_are_a_small_share() {
        let large = problem(&[10, 150, 150, 2]);
        let (few, none, _) = kinds(&large, Method::Rw, 100, 500);
        assert!(!few.contains(&StartKind::Relaxed) && none == 0);
        let (_, relaxed, allowed) = kinds(&large, Method::Rw, 600, 100_000);
        assert!(relaxed > 0 && (relaxed as f64) < 1.1 * allowed, "{relaxed} {allowed}");
    }

    #[test]
    fn the_papers_method_takes_relaxations_whatever_they_cost() {
        let (kinds, relaxed, allowed) = kinds(&problem(&[6, 20, 20, 2]), Method::Paper, 30, 0);
        assert!(kinds.iter().all(|kind| *kind == StartKind::Relaxed));
        assert!(relaxed > 0 && allowed > 0.0);
    }
}
