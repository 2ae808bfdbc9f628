//! What one forward pass saw.

use std::sync::Arc;

use super::affine::AffineMap;
use super::chain::Network;
use super::layer::Layer;

/// The pre-activations `g` of every layer and the outputs `h` of every hidden layer: buffers that passes reuse.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The point that passes are expected to be near to.
    reference: Option<Arc<ReferencePoint>>,
    /// Buffer for the difference from that point.
    pub(super) change: Vec<f64>,
    pub(super) pre: Vec<Vec<f64>>,
    pub(super) post: Vec<Vec<f64>>,
    /// The neurons of every hidden layer that have no ReLU.
    identities: Vec<Vec<usize>>,
}

/// A point and what the first layer makes of it.
#[derive(Debug)]
struct ReferencePoint {
    point: Vec<f64>,
    first: Vec<f64>,
}

impl Trace {
    /// Buffers of the right sizes, all zero.
    pub fn new(network: &Network) -> Self {
        let zeros = |layers: &[Layer]| layers.iter().map(|l| vec![0.0; l.outputs()]).collect();
        Self {
            reference: None,
            change: Vec::new(),
            pre: zeros(network.layers()),
            post: zeros(network.hidden()),
            identities: network.hidden().iter().map(|l| l.identities().to_vec()).collect(),
        }
    }

    /// The same, for passes at points that differ from `point` in few inputs: there the first layer only adds what these inputs change. The
    /// pre-activations agree with those of other traces up to rounding.
    ///
    /// # Panics
    /// When `point` has not [`Network::inputs`] entries.
    pub fn near(network: &Network, point: &[f64]) -> Self {
        let mut first = vec![0.0; network.affine(0).outputs()];
        network.affine(0).apply(point, &mut first);
        let reference = Arc::new(ReferencePoint { point: point.to_vec(), first });
        Self { reference: Some(reference), ..Self::new(network) }
    }

    /// Runs the first layer on `x`, from the reference point if that is nearer than zero.
    pub(super) fn run_first(&mut self, map: &AffineMap, x: &[f64]) {
        let Self { reference, change, pre, .. } = self;
        let Some(ReferencePoint { point, first }) = reference.as_deref() else {
            return map.apply(x, &mut pre[0]);
        };
        change.clear();
        change.extend(x.iter().zip(point).map(|(x, from)| x - from));
        let entries = |v: &[f64]| v.iter().filter(|v| **v != 0.0).count();
        if entries(change) < entries(x) {
            map.apply_from(first, change, &mut pre[0]);
        } else {
            map.apply(x, &mut pre[0]);
        }
    }

    /// Moves all pre-activations by a share of the way to those of another trace: what a pass with the same pattern gives at the point between.
    ///
    /// # Panics
    /// When the other trace is of another network.
    pub fn interpolate(&mut self, to: &Self, share: f64) {
        for (here, to) in self.pre.iter_mut().flatten().zip(to.pre.iter().flatten()) {
            *here += share * (to - *here);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::network::ActivationPattern;
    use crate::network::random::{network_and_point, point};

    proptest! {
        /// Whatever the reference point is, and however many inputs differ from it.
        #[test]
        fn passes_near_a_point_give_the_same_numbers((network, x) in network_and_point(), seed in any::<u64>(), changed in 0usize..9) {
            let far = point(network.inputs(), seed);
            let mut reference = x.clone();
            for (k, value) in reference.iter_mut().enumerate().take(changed) {
                *value = if k % 2 == 0 { far[k] } else { 0.0 };
            }
            let (mut plain, mut near) = (Trace::new(&network), Trace::near(&network, &reference));
            network.forward(&x, &mut plain);
            network.forward(&x, &mut near);
            let pattern = ActivationPattern::at(&plain);
            let (mut held_plain, mut held_near) = (plain.clone(), near.clone());
            network.forward_held(&far, &pattern, &mut held_plain);
            network.forward_held(&far, &pattern, &mut held_near);
            for (plain, near) in [(plain, near), (held_plain, held_near)] {
                for layer in 0..network.layers().len() {
                    let pairs = plain.pre_activations(layer).iter().zip(near.pre_activations(layer));
                    for (a, b) in pairs {
                        prop_assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()), "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn at_the_reference_point_itself_nothing_is_multiplied() {
        let network = crate::network::random::network(&[6, 4, 2], 3);
        let x = point(6, 4);
        let (mut plain, mut near) = (Trace::new(&network), Trace::near(&network, &x));
        network.forward(&x, &mut plain);
        network.forward(&x, &mut near);
        assert_eq!(plain.logits(), near.logits());
    }
}
