//! Where the next walk begins.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::relaxed::RelaxedStarts;
use super::{Method, SearchOptions};
use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::encode::{RegionError, Work};
use crate::query::Query;

/// How likely a neuron is drawn in the state that helps the objective.
const OPTIMISM: f64 = 0.9;

/// The start at which the relaxation is first asked. Cheap starts come before: they often find the optimum.
const FIRST_RELAXED: usize = 5;

/// A relaxation costs as much as dozens of other starts, so it is drawn less often at equal success.
const RELAXED_WEIGHT: f64 = 0.02;

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// The set's centre, climbed from and, as the second start, walked from as it is.
    Centre,
    /// A random pattern, biased towards what helps; the point is the best one if that pattern held everywhere.
    Pattern,
    /// A random point: somewhere on the way to the vertex that a random direction points at.
    Random,
    /// The relaxation's point, or that of one of its restrictions.
    Relaxed,
}

/// All kinds behind one door; the next kind is drawn by what it has brought so far.
pub struct Starts<'q, 'n> {
    query: &'q Query<'n>,
    method: Method,
    relaxed: RelaxedStarts<'q, 'n>,
    rng: ChaCha8Rng,
    made: usize,
    scores: [(StartKind, Score); 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    tries: f64,
    gains: f64,
}

impl<'q, 'n> Starts<'q, 'n> {
    pub fn new(
        query: &'q Query<'n>,
        bounds: &'q NeuronBounds,
        options: &SearchOptions,
        rng: ChaCha8Rng,
    ) -> Self {
        let kinds = [StartKind::Pattern, StartKind::Random, StartKind::Relaxed];
        let scores = kinds.map(|kind| (kind, Score::default()));
        let relaxed = RelaxedStarts::new(query, bounds);
        Self { query, method: options.method, relaxed, rng, made: 0, scores }
    }

    /// Whether to climb before walking. Ascents lead to few ends: the centre's second start and the relaxation's points are
    /// walked from directly, which takes longer and ends elsewhere.
    pub fn climbs(&self, kind: StartKind) -> bool {
        self.method == Method::Rw && kind != StartKind::Relaxed && self.made != 2
    }

    /// Number of starts made.
    pub fn made(&self) -> usize {
        self.made
    }

    /// What the relaxations have cost.
    pub fn work(&self) -> Work {
        self.relaxed.work()
    }

    /// The next start.
    ///
    /// # Errors
    /// When the time is up or the LP solver fails.
    pub fn next(&mut self, budget: &Budget) -> Result<(StartKind, Vec<f64>), RegionError> {
        let kind = self.kind();
        self.made += 1;
        let direction = match kind {
            StartKind::Centre => return Ok((kind, self.query.set.centre().to_vec())),
            StartKind::Relaxed => return Ok((kind, self.relaxed.next(&mut self.rng, budget)?)),
            StartKind::Pattern => pattern_direction(self.query, &mut self.rng),
            StartKind::Random => {
                (0..self.query.network.inputs()).map(|_| self.rng.random_range(-1.0..1.0)).collect()
            }
        };
        let mut point = self.query.set.maximise(&direction).point;
        if kind == StartKind::Random {
            let share = self.rng.random_range(0.0..1.0);
            for (x, centre) in point.iter_mut().zip(self.query.set.centre()) {
                *x = centre + share * (*x - centre);
            }
        }
        Ok((kind, point))
    }

    fn kind(&mut self) -> StartKind {
        match (self.method, self.made) {
            (Method::Paper, _) | (_, FIRST_RELAXED) => StartKind::Relaxed,
            (_, 0 | 1) => StartKind::Centre,
            (_, made) => {
                let open = if made < FIRST_RELAXED { 2 } else { 3 };
                let weight = |(kind, score): &(StartKind, Score)| {
                    let factor = if *kind == StartKind::Relaxed { RELAXED_WEIGHT } else { 1.0 };
                    factor * (score.gains + 1.0) / (score.tries + 2.0)
                };
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

    /// Remembers what a start of this kind brought.
    pub fn learn(&mut self, kind: StartKind, gained: bool) {
        for (_, score) in self.scores.iter_mut().filter(|(k, _)| *k == kind) {
            score.tries += 1.0;
            score.gains += f64::from(u8::from(gained));
        }
    }
}

/// Backward from the objective: at each layer a pattern is drawn, and what arrives at the input is the gradient that
/// the network would have if that pattern held.
fn pattern_direction(query: &Query, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut upstream = query.objective.clone();
    for (layer, dense) in query.network.layers().iter().enumerate().rev() {
        let mut below = vec![0.0; dense.inputs()];
        dense.apply_transposed(&upstream, &mut below);
        if layer > 0 {
            for slope in &mut below {
                let on = rng.random_bool(if *slope > 0.0 { OPTIMISM } else { 1.0 - OPTIMISM });
                if !on {
                    *slope = 0.0;
                }
            }
        }
        upstream = below;
    }
    upstream
}
