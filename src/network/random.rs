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

/// A network of sparse layers, and the same one stored dense: two layers in which each neuron sees three neighbours in every channel
/// below, a dense one, and three outputs.
pub(crate) fn sparse_network(inputs: usize, seed: u64) -> [Network; 2] {
    let local = |channels_below: usize, channels: usize, seed: u64| {
        let (below, width) = (inputs * channels_below, inputs * channels);
        let drawn = point(9 * below * channels, seed);
        let weight = |i: usize, j: usize| {
            let (at, from) = (i % inputs, j % inputs);
            if at.abs_diff(from) > 1 { 0.0 } else { drawn[(i * 31 + j * 7) % drawn.len()] }
        };
        AffineMap::from_fn(width, below, weight, point(width, seed ^ 1))
    };
    let last = network(&[2 * inputs, 12, 3], seed ^ 2);
    let maps = [local(1, 2, seed), local(2, 2, seed ^ 3)].into_iter();
    let maps: Vec<AffineMap> =
        maps.chain(last.layers().iter().map(|layer| layer.affine().clone())).collect();
    assert!(maps[0].is_sparse() && maps[1].is_sparse());
    let dense = maps.iter().map(AffineMap::stored_dense).collect();
    [maps, dense].map(|maps| Network::new(maps).expect("widths chain"))
}

/// One to three hidden layers of up to 70 neurons (more than a pattern's word), and a point.
pub(crate) fn network_and_point() -> impl Strategy<Value = (Network, Vec<f64>)> {
    (prop::collection::vec(1usize..70, 3..6), any::<u64>(), any::<u64>())
        .prop_map(|(widths, a, b)| (network(&widths, a), point(widths[0], b)))
}
