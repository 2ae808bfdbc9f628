//! Random networks and numbers, and how many of them.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::judge::{Judge, Replay, ReplayFailure};
use rw_adv::network::{AffineMap, Network, widened};
use rw_adv::search::SearchOptions;
use rw_adv::solve::{BranchLimits, Goal, SolveOptions};

/// `RW_ADV_CASES` asks for so many times more.
pub fn cases(few: u64) -> u64 {
    few * std::env::var("RW_ADV_CASES").map_or(1, |text| text.parse::<u64>().expect("a number"))
}

/// A file that computes what the network does.
struct Agrees(Arc<Network>);

impl Replay for Agrees {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(self.0.logits(&widened(x)).into_iter().map(|y| y as f32).collect())
    }
}

pub fn judge(network: &Arc<Network>) -> Judge {
    Judge::new(Arc::clone(network), Arc::new(Agrees(Arc::clone(network))))
}

/// Enough for networks this small.
pub fn options() -> SolveOptions {
    SolveOptions {
        goal: Goal::Verdict,
        search: SearchOptions { patience: 5, ..SearchOptions::default() },
        branch: Some(BranchLimits { nodes: 500, gap: 1e-6, parallel: false }),
        ..SolveOptions::default()
    }
}

/// Random numbers, with few digits or with many.
pub struct Numbers {
    pub rng: ChaCha8Rng,
    pub coarse: bool,
}

impl Numbers {
    /// Every other seed has few digits.
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), coarse: seed.is_multiple_of(2) }
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let number = self.rng.random_range(low..=high);
        if self.coarse { (4.0 * number).round() / 4.0 } else { number }
    }

    pub fn size(&mut self, from: usize, to: usize) -> usize {
        self.rng.random_range(from..=to)
    }

    /// A network with at most seven ReLUs.
    pub fn network(&mut self, inputs: usize, outputs: usize) -> Arc<Network> {
        let (hidden, deeper) = (self.size(2, 4), self.size(1, 3));
        let layers = vec![
            self.layer(inputs, hidden),
            self.layer(hidden, deeper),
            self.layer(deeper, outputs),
        ];
        Arc::new(Network::new(layers).expect("shapes fit"))
    }

    fn layer(&mut self, inputs: usize, outputs: usize) -> AffineMap {
        let bias = (0..outputs).map(|_| self.between(-1.0, 1.0)).collect();
        AffineMap::from_fn(outputs, inputs, |_, _| self.between(-1.0, 1.0), bias)
    }
}
