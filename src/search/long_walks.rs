//! Where walks take so long that climbs are compared first.

use crate::network::Network;
use crate::problem::Problem;

/// From so many entries on, region LPs in a box are large and walks there are long.
const LARGE_BOX: usize = 10_000;

/// From so many ReLUs times weights on, walks are long in any set. 784-500-500-10 has 6.5e8, four layers of 500 have 2.3e9, 784-1000-1000-10 has
/// 3.6e9.
const LARGE_NETWORK: f64 = 2e9;

/// Whether walks take long: in a box of a larger network, where region LPs are large, and in large networks, where walks pass through many regions
/// and each takes several passes.
pub(super) fn has_long_walks(problem: &Problem) -> bool {
    let network = &problem.network;
    let is_large_box = problem.set.is_box() && network.relu_count() * network.inputs() >= LARGE_BOX;
    is_large_box || is_large(network)
}

/// Whether the cost of a start has to be kept in proportion to the network.
pub(super) fn is_large(network: &Network) -> bool {
    network.relu_count() as f64 * network.parameters() as f64 >= LARGE_NETWORK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::network;

    #[test]
    fn the_network_of_the_main_job_is_not_large_and_wider_or_deeper_ones_are() {
        assert!(!is_large(&network(&[784, 500, 500, 10], 1)));
        assert!(is_large(&network(&[784, 1000, 1000, 10], 1)));
        assert!(is_large(&network(&[784, 500, 500, 500, 500, 10], 1)));
    }
}
