//! Pre-activations, logits and gradients.
//!
//! A pass reads each weight at most once, so it runs at the speed of memory; the buffers live in a
//! [`Trace`] and are reused. Products are single-threaded: parallelism belongs to the search.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use pulp::Arch;

use super::{ActivationPattern, Dense, Network, NeuronId};

/// What one forward pass saw: the pre-activations `g` of every layer and the outputs `h` of
/// every hidden layer.
#[derive(Clone, Debug)]
pub struct Trace {
    pre: Vec<Vec<f64>>,
    post: Vec<Vec<f64>>,
}

impl Trace {
    /// Buffers of the right sizes, all zero.
    pub fn new(network: &Network) -> Self {
        let zeros = |layers: &[Dense]| layers.iter().map(|l| vec![0.0; l.outputs()]).collect();
        Self { pre: zeros(network.layers()), post: zeros(network.hidden()) }
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
        self.run(x, trace, |_, g, h| {
            for (h, g) in h.iter_mut().zip(g) {
                *h = g.max(0.0);
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

    /// One pass with any activation: `activate(layer, g, h)` fills `h`.
    fn run(&self, x: &[f64], trace: &mut Trace, activate: impl Fn(usize, &[f64], &mut [f64])) {
        for (layer, dense) in self.hidden().iter().enumerate() {
            let (done, rest) = trace.post.split_at_mut(layer);
            let input = done.last().map_or(x, Vec::as_slice);
            dense.apply(input, &mut trace.pre[layer]);
            activate(layer, &trace.pre[layer], &mut rest[0]);
        }
        let last = self.hidden().len();
        self.output().apply(&trace.post[last - 1], &mut trace.pre[last]);
    }

    /// The gradient of `objective · y` with respect to the input, on the region of `pattern`;
    /// for a margin, `objective` is +1 at the target and −1 at the predicted label.
    ///
    /// ```
    /// use faer::mat;
    /// use rw_adv::network::{ActivationPattern, Dense, Network, Trace};
    ///
    /// let hidden = Dense { weights: mat![[2.0], [-3.0]], bias: vec![0.0, 0.0] };
    /// let output = Dense { weights: mat![[1.0, 1.0]], bias: vec![0.0] };
    /// let network = Network::new(vec![hidden, output])?;
    /// let mut trace = Trace::new(&network);
    /// network.forward(&[0.5], &mut trace); // only the first neuron is on
    /// let pattern = ActivationPattern::at(&trace);
    /// assert_eq!(network.gradient(&[1.0], &pattern), [2.0]);
    /// # Ok::<(), rw_adv::network::NetworkError>(())
    /// ```
    ///
    /// # Panics
    /// When `objective` has not [`Network::outputs`] entries or the pattern is of another network.
    pub fn gradient(&self, objective: &[f64], pattern: &ActivationPattern) -> Vec<f64> {
        self.gradient_with(objective, &[], pattern)
    }

    /// `out = Wᵀ v` with the weights of a layer.
    ///
    /// # Panics
    /// When the lengths are not those of the layer.
    pub fn apply_transposed(&self, layer: usize, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        add_product(self.transposed(layer), v, out);
    }

    /// The gradient of `objective · y + Σ weight · g(neuron)`: logits and pre-activations together, in one pass.
    ///
    /// # Panics
    /// As [`Network::gradient`]; and when a neuron is not of this network.
    pub fn gradient_with(
        &self,
        objective: &[f64],
        neurons: &[(NeuronId, f64)],
        pattern: &ActivationPattern,
    ) -> Vec<f64> {
        let mut upstream = objective.to_vec();
        for (layer, dense) in self.layers().iter().enumerate().rev() {
            let mut below = vec![0.0; dense.inputs()];
            self.apply_transposed(layer, &upstream, &mut below);
            if layer > 0 {
                for (index, slope) in below.iter_mut().enumerate() {
                    if !pattern.get(layer - 1, index) {
                        *slope = 0.0;
                    }
                }
                for (neuron, weight) in
                    neurons.iter().filter(|(neuron, _)| neuron.layer == layer - 1)
                {
                    below[neuron.index] += weight;
                }
            }
            upstream = below;
        }
        upstream
    }

    /// The slopes of some neurons' pre-activations with respect to some pixels, on the region of `pattern`: one
    /// column per neuron, one row per pixel. Costs little when both are few.
    ///
    /// # Panics
    /// When a neuron or pixel is not of this network.
    pub fn slopes(
        &self,
        neurons: &[NeuronId],
        pixels: &[usize],
        pattern: &ActivationPattern,
    ) -> Mat<f64> {
        let mut slopes = Mat::zeros(pixels.len(), neurons.len());
        let first = &self.layers()[0].weights;
        let some_columns = Mat::from_fn(first.nrows(), pixels.len(), |i, j| first[(i, pixels[j])]);
        for layer in 0..self.hidden().len() {
            let places: Vec<usize> =
                (0..neurons.len()).filter(|&k| neurons[k].layer == layer).collect();
            if places.is_empty() {
                continue;
            }
            if layer == 0 {
                for &k in &places {
                    for j in 0..pixels.len() {
                        slopes[(j, k)] = some_columns[(neurons[k].index, j)];
                    }
                }
                continue;
            }
            // From the neurons back to the first layer's outputs, then only to the chosen pixels.
            let masked = |below: usize, j: usize, slope: f64| {
                if pattern.get(below, j) { slope } else { 0.0 }
            };
            let mut back = Mat::from_fn(self.layers()[layer].inputs(), places.len(), |j, k| {
                masked(layer - 1, j, self.row(layer, neurons[places[k]].index)[j])
            });
            for between in (1..layer).rev() {
                let dense = &self.layers()[between];
                let mut below = Mat::zeros(dense.inputs(), places.len());
                let weights = self.transposed(between);
                matmul(below.as_mut(), Accum::Replace, weights, back.as_ref(), 1.0, Par::Seq);
                back = Mat::from_fn(below.nrows(), below.ncols(), |j, k| {
                    masked(between - 1, j, below[(j, k)])
                });
            }
            let mut part = Mat::zeros(pixels.len(), places.len());
            matmul(
                part.as_mut(),
                Accum::Replace,
                some_columns.transpose(),
                back.as_ref(),
                1.0,
                Par::Seq,
            );
            for (column, &k) in places.iter().enumerate() {
                slopes.col_as_slice_mut(k).copy_from_slice(part.col_as_slice(column));
            }
        }
        slopes
    }
}

impl Dense {
    /// `out = W h + b`.
    ///
    /// # Panics
    /// When the lengths are not those of the layer.
    pub fn apply(&self, h: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.bias);
        add_product(self.weights.as_ref(), h, out);
    }
}

/// `out += m v`. Images are mostly black and ReLUs mostly off, so `v` is mostly zeros, and only the columns of the others are
/// read.
///
/// # Panics
/// When the columns of `m` do not lie together, or lengths differ.
pub(crate) fn add_product(m: MatRef<'_, f64>, v: &[f64], out: &mut [f64]) {
    assert_eq!((m.nrows(), m.ncols()), (out.len(), v.len()), "the product's shape");
    let column = |j: usize| m.col(j).try_as_col_major().expect("columns lie together").as_slice();
    let mut some = (0..v.len()).filter(|&j| v[j] != 0.0);
    // Compiled for the machine at hand; four columns at a time, so that `out` is read and written less often.
    Arch::new().dispatch(|| {
        while let Some(j) = some.next() {
            let [k, l, m] = [some.next(), some.next(), some.next()];
            let [(k, w_k), (l, w_l), (m, w_m)] =
                [k, l, m].map(|column| column.map_or((j, 0.0), |column| (column, v[column])));
            let (a, b, c, d) = (column(j), column(k), column(l), column(m));
            let w_j = v[j];
            for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *out += (w_j * a + w_k * b) + (w_l * c + w_m * d);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::random::{network_and_point, point};
    use super::*;
    use proptest::prelude::*;

    /// The textbook loop, as an oracle.
    fn naive(network: &Network, x: &[f64]) -> Vec<f64> {
        let mut h = x.to_vec();
        for (layer, dense) in network.layers().iter().enumerate() {
            h = (0..dense.outputs())
                .map(|i| {
                    let sum: f64 = (0..dense.inputs()).map(|j| dense.weights[(i, j)] * h[j]).sum();
                    let g = sum + dense.bias[i];
                    if layer + 1 < network.layers().len() { g.max(0.0) } else { g }
                })
                .collect();
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

        #[test]
        fn a_held_pattern_makes_the_network_affine_with_the_gradient_as_slope(
            (network, x) in network_and_point(),
            seed in any::<u64>(),
        ) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let objective = point(network.outputs(), seed);
            let gradient = network.gradient(&objective, &pattern);
            let far = point(network.inputs(), seed.wrapping_add(1));
            network.forward_held(&far, &pattern, &mut trace);
            let value = |y: &[f64]| -> f64 { y.iter().zip(&objective).map(|(y, o)| y * o).sum() };
            let step: f64 = gradient.iter().zip(far.iter().zip(&x)).map(|(d, (a, b))| d * (a - b)).sum();
            let expected = value(&network.logits(&x)) + step;
            let found = value(trace.logits());
            prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
        }

        #[test]
        fn the_gradient_is_what_finite_differences_give((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            // A kink closer than the step would make the difference quotient meaningless.
            let step = 1e-6;
            let near_kink = (0..trace.hidden())
                .any(|l| trace.pre_activations(l).iter().any(|g| g.abs() < 1e-4));
            prop_assume!(!near_kink);
            let objective = point(network.outputs(), 7);
            let value = |x: &[f64]| -> f64 {
                network.logits(x).iter().zip(&objective).map(|(y, o)| y * o).sum()
            };
            for (i, slope) in network.gradient(&objective, &pattern).iter().enumerate() {
                let (mut up, mut down) = (x.clone(), x.clone());
                up[i] += step;
                down[i] -= step;
                let quotient = (value(&up) - value(&down)) / (2.0 * step);
                prop_assert!((slope - quotient).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} {quotient}");
            }
        }

        #[test]
        fn slopes_of_neurons_are_their_gradients((network, x) in network_and_point()) {
            let mut trace = Trace::new(&network);
            network.forward(&x, &mut trace);
            let pattern = ActivationPattern::at(&trace);
            let of_layer = |layer: usize| NeuronId { layer, index: network.layers()[layer].outputs() / 2 };
            let neurons: Vec<NeuronId> = (0..trace.hidden()).map(of_layer).collect();
            let pixels: Vec<usize> = (0..network.inputs()).step_by(3).collect();
            let slopes = network.slopes(&neurons, &pixels, &pattern);
            let nothing = vec![0.0; network.outputs()];
            for (k, &neuron) in neurons.iter().enumerate() {
                let gradient = network.gradient_with(&nothing, &[(neuron, 1.0)], &pattern);
                for (j, &pixel) in pixels.iter().enumerate() {
                    prop_assert!((slopes[(j, k)] - gradient[pixel]).abs() < 1e-9 * (1.0 + gradient[pixel].abs()));
                }
            }
        }
    }
}
