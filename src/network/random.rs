//! Random small networks and points for property tests.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{AffineMap, Network};

/// `n` numbers in (−1, 1).
pub(crate) fn point(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// A network with the given widths, weights and biases in (−1, 1).
pub(crate) fn network(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let maps = widths.windows(2).map(|w| {
        let mut draw = |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
        let (weights, bias): (Vec<f64>, Vec<f64>) = (draw(w[0] * w[1]), draw(w[1]));
        AffineMap::from_fn(w[1], w[0], |i, j| weights[i + j * w[1]], bias)
    });
    Network::new(maps.collect()).expect("widths chain")
}

/// One to three hidden layers of up to 70 neurons (more than a pattern's word), and a point.
pub(crate) fn network_and_point() -> impl Strategy<Value = (Network, Vec<f64>)> {
    (prop::collection::vec(1usize..70, 3..6), any::<u64>(), any::<u64>())
        .prop_map(|(widths, a, b)| (network(&widths, a), point(widths[0], b)))
}
