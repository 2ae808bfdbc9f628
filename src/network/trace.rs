//! What one forward pass saw.

use super::chain::Network;
use super::layer::Layer;

/// The pre-activations `g` of every layer and the outputs `h` of every hidden layer: buffers that passes reuse.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) pre: Vec<Vec<f64>>,
    pub(super) post: Vec<Vec<f64>>,
    /// The neurons of every hidden layer that have no ReLU.
    identities: Vec<Vec<usize>>,
}

impl Trace {
    /// Buffers of the right sizes, all zero.
    pub fn new(network: &Network) -> Self {
        let zeros = |layers: &[Layer]| layers.iter().map(|l| vec![0.0; l.outputs()]).collect();
        Self {
            pre: zeros(network.layers()),
            post: zeros(network.hidden()),
            identities: network.hidden().iter().map(|l| l.identities().to_vec()).collect(),
        }
    }

    /// The pre-activations of a layer, base 0; those of the last layer are the logits.
    pub fn pre_activations(&self, layer: usize) -> &[f64] {
        &self.pre[layer]
    }

    /// The outputs of a hidden layer, base 0.
    pub fn activations(&self, layer: usize) -> &[f64] {
        &self.post[layer]
    }

    /// The network's outputs.
    pub fn logits(&self) -> &[f64] {
        self.pre.last().expect("a network has at least two layers")
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.post.len()
    }

    /// The neurons of a hidden layer that have no ReLU, ascending.
    pub fn identities(&self, layer: usize) -> &[usize] {
        &self.identities[layer]
    }
}
