//! Forward passes: the network itself, and the affine map that it is on one region.
//!
//! A pass reads each weight at most once, so it runs at the speed of memory; the buffers live in a
//! [`Trace`] and are reused.

use super::chain::Network;
use super::pattern::ActivationPattern;
use super::trace::Trace;

/// The same numbers in `f64`, as a network takes them.
pub fn widened(x: &[f32]) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}

impl Network {
    /// The logits at `x`. [`Network::forward`] does the same without allocating.
    ///
    /// # Panics
    /// When `x` has not [`Network::inputs`] entries.
    pub fn logits(&self, x: &[f64]) -> Vec<f64> {
        let mut trace = Trace::new(self);
        self.forward(x, &mut trace);
        trace.pre.pop().expect("a network has at least two layers")
    }

    /// Runs the network on `x`.
    ///
    /// # Panics
    /// When `x` has not [`Network::inputs`] entries or `trace` was made for another shape.
    pub fn forward(&self, x: &[f64], trace: &mut Trace) {
        self.run(x, trace, |layer, g, h| {
            for (h, g) in h.iter_mut().zip(g) {
                *h = g.max(0.0);
            }
            for &i in self.layers()[layer].identities() {
                h[i] = g[i];
            }
        });
    }

    /// Runs the affine map that the network is on the region of `pattern`, extended to any `x`:
    /// a neuron passes its pre-activation on where the pattern is on, and 0 where it is off,
    /// whatever the sign. Inside the region this is [`Network::forward`].
    ///
    /// # Panics
    /// As [`Network::forward`]; and when the pattern is of another network.
    pub fn forward_held(&self, x: &[f64], pattern: &ActivationPattern, trace: &mut Trace) {
        self.run(x, trace, |layer, g, h| {
            for (neuron, (h, g)) in h.iter_mut().zip(g).enumerate() {
                *h = if pattern.get(layer, neuron) { *g } else { 0.0 };
            }
        });
    }

    /// Brings a trace of [`Network::forward_held`] up to date, at the same point, after neurons of the hidden layer `first` or of later ones were
    /// switched in the pattern. Only what that changes is multiplied; the numbers are those of a new pass up to rounding.
    ///
    /// # Panics
    /// When the pattern or the trace is of another network.
    pub fn switch_held(&self, first: usize, pattern: &ActivationPattern, trace: &mut Trace) {
        let Trace { pre, post, change, .. } = trace;
        for layer in first..self.hidden().len() {
            let (g, h) = (&pre[layer], &mut post[layer]);
            change.clear();
            change.extend(h.iter_mut().zip(g).enumerate().map(|(neuron, (h, g))| {
                let before = *h;
                *h = if pattern.get(layer, neuron) { *g } else { 0.0 };
                *h - before
            }));
            self.affine(layer + 1).add_product(change, &mut pre[layer + 1]);
        }
    }

    /// One pass with any activation: `activate(layer, g, h)` fills `h`.
    fn run(&self, x: &[f64], trace: &mut Trace, activate: impl Fn(usize, &[f64], &mut [f64])) {
        trace.run_first(self.affine(0), x);
        let Trace { pre, post, .. } = trace;
        let mut input = x;
        for (layer, (g, h)) in pre.iter_mut().zip(post.iter_mut()).enumerate() {
            if layer > 0 {
                self.affine(layer).apply(input, g);
            }
            activate(layer, g, h);
            input = h;
        }
        let last = self.hidden().len();
        self.affine(last).apply(input, &mut pre[last]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::network_and_point;
    use crate::network::{Activation, NeuronId};
    use proptest::prelude::*;

    /// The textbook loop, as an oracle.
    fn naive(network: &Network, x: &[f64]) -> Vec<f64> {
        let mut h = x.to_vec();
        for layer in network.layers() {
            let neuron = |i| {
                let sum: f64 = layer.affine().row(i).map(|(j, weight)| weight * h[j]).sum();
                let g = sum + layer.affine().bias()[i];
                if layer.activation(i) == Activation::Relu { g.max(0.0) } else { g }
            };
            h = (0..layer.outputs()).map(neuron).collect();
        }
        h
    }

    proptest! {
        #[test]
        fn logits_are_those_of_the_textbook_loop((network, x) in network_and_point()) {
            for (fast, slow) in network.logits(&x).iter().zip(naive(&network, &x)) {
                prop_assert!((fast - slow).abs() <= 1e-12 * (1.0 + slow.abs()), "{fast} {slow}");
            }
        }

        #[test]
        fn after_switches_a_trace_is_that_of_a_new_pass(
            (network, x) in network_and_point(),
            switched in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let mut pattern = ActivationPattern::at(&trace);
            let neurons: Vec<NeuronId> = network.relus().collect();
            for switched in switched {
                let neuron = neurons[switched.index(neurons.len())];
                pattern.flip(neuron);
                network.switch_held(neuron.layer, &pattern, &mut trace);
            }
            let mut held = Trace::new(&network);
            network.forward_held(&x, &pattern, &mut held);
            for layer in 0..network.layers().len() {
                let pairs = trace.pre_activations(layer).iter().zip(held.pre_activations(layer));
                for (a, b) in pairs {
                    prop_assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{a} {b}");
                }
            }
        }

        #[test]
        fn at_its_own_point_a_held_pattern_changes_nothing((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let mut held = Trace::new(&network);
            network.forward_held(&x, &pattern, &mut held);
            for layer in 0..network.layers().len() {
                prop_assert_eq!(trace.pre_activations(layer), held.pre_activations(layer));
            }
        }
    }
}
