//! Random networks are PyTorch's own: every bit of every parameter, by checksum. `scripts/check_torch.py` writes the
//! table, or compares it with the PyTorch at hand.

use rw_adv::network::Network;
use rw_adv::network::torch::linear_stack;
use sha2::{Digest, Sha256};

/// Widths, seed and SHA-256 in each line.
const TABLE: &str = include_str!("torch_networks.txt");

/// In the order in which they are drawn: a layer's weights by rows, then its bias.
fn parameters(network: &Network) -> impl Iterator<Item = f64> {
    network.layers().iter().map(|layer| layer.affine()).flat_map(|map| {
        let weights = (0..map.outputs()).flat_map(|i| map.row(i).map(|(_, weight)| weight));
        weights.chain(map.bias().iter().copied())
    })
}

fn checksum(network: &Network) -> String {
    let bytes: Vec<u8> = parameters(network)
        .flat_map(|parameter| {
            let single = parameter as f32;
            assert_eq!(f64::from(single), parameter, "PyTorch draws f32");
            single.to_le_bytes()
        })
        .collect();
    hex::encode(Sha256::digest(bytes))
}

#[test]
fn every_network_is_the_one_that_pytorch_draws() {
    let mut wrong = Vec::new();
    let mut networks = 0;
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let [widths, seed, expected] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not widths, seed and checksum: {line}");
        };
        let widths: Vec<usize> =
            widths.split(',').map(|width| width.parse().expect("a width")).collect();
        let network = linear_stack(&widths, seed.parse().expect("a seed")).expect("a network");
        if checksum(&network) != expected {
            wrong.push(line);
        }
        networks += 1;
    }
    assert!(networks >= 90, "the table has shrunk to {networks}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
