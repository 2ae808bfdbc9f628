//! Where the next walk begins.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::query::Query;

/// How likely a neuron is drawn in the state that helps the objective.
const OPTIMISM: f64 = 0.9;

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// A random pattern, biased towards what helps; the point is the best one if that pattern held everywhere.
    Pattern,
    /// The vertex that a random direction points at.
    Vertex,
}

/// The kinds, with what they have brought so far: the next start is drawn by success.
#[derive(Clone, Debug)]
pub struct Starts {
    kinds: [(StartKind, Score); 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    tries: f64,
    gains: f64,
}

impl Starts {
    /// Nothing tried yet.
    pub fn new() -> Self {
        Self {
            kinds: [(StartKind::Pattern, Score::default()), (StartKind::Vertex, Score::default())],
        }
    }

    /// Draws a kind, likelier the more often it has gained.
    pub fn draw(&self, rng: &mut ChaCha8Rng) -> StartKind {
        let weight = |score: &Score| (score.gains + 1.0) / (score.tries + 2.0);
        let total: f64 = self.kinds.iter().map(|(_, score)| weight(score)).sum();
        let mut ticket = rng.random_range(0.0..total);
        for (kind, score) in &self.kinds {
            ticket -= weight(score);
            if ticket < 0.0 {
                return *kind;
            }
        }
        StartKind::Pattern
    }

    /// Remembers what a start of this kind brought.
    pub fn learn(&mut self, kind: StartKind, gained: bool) {
        for (_, score) in self.kinds.iter_mut().filter(|(k, _)| *k == kind) {
            score.tries += 1.0;
            score.gains += f64::from(u8::from(gained));
        }
    }
}

/// A point to climb from.
pub fn start_point(query: &Query, kind: StartKind, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let direction = match kind {
        StartKind::Pattern => pattern_direction(query, rng),
        StartKind::Vertex => {
            (0..query.network.inputs()).map(|_| rng.random_range(-1.0..1.0)).collect()
        }
    };
    query.set.maximise(&direction).point
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
