//! The network: a chain of layers, checked when it is made.

use std::fmt;

use super::affine::AffineMap;
use super::error::NetworkError;
use super::layer::Layer;
use super::neuron::{Activation, NeuronId};

/// A feed-forward network: `y = W_L σ(… σ(W_1 x + b_1) …) + b_L`, where `σ` is a ReLU or, for single neurons, the identity.
///
/// ```
/// use rw_adv::network::{AffineMap, Network};
///
/// // y = (relu(x0 - x1), relu(x1 - x0)) computed by two hidden neurons.
/// let hidden = AffineMap::from_rows(&[[1.0, -1.0], [-1.0, 1.0]], vec![0.0, 0.0]);
/// let output = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 1.0]], vec![0.0, 0.0]);
/// let network = Network::new(vec![hidden, output])?;
/// assert_eq!(network.logits(&[0.75, 0.25]), [0.5, 0.0]);
/// # Ok::<(), rw_adv::network::NetworkError>(())
/// ```
#[derive(Clone)]
pub struct Network {
    layers: Vec<Layer>,
}

impl Network {
    /// Chains affine maps, with a ReLU after each but the last. A run in f32 computes each map as it is.
    ///
    /// # Errors
    /// When there is no hidden layer, shapes do not fit, or a number is not finite.
    pub fn new(maps: Vec<AffineMap>) -> Result<Self, NetworkError> {
        let last = maps.len().saturating_sub(1);
        let layer = |(i, map)| if i < last { Layer::relu(map) } else { Layer::linear(map) };
        Self::from_layers(maps.into_iter().enumerate().map(layer).collect())
    }

    /// Chains layers, the last without a ReLU.
    ///
    /// # Errors
    /// As [`Network::new`]; and when the last layer has a ReLU.
    ///
    /// ```
    /// use rw_adv::network::{Activation, AffineMap, Layer, Network};
    ///
    /// // y = |x| = 2 relu(x) - x: one neuron carries x past the ReLU.
    /// let hidden = AffineMap::from_rows(&[[1.0], [1.0]], vec![0.0, 0.0]);
    /// let hidden = Layer::mixed(hidden, &[Activation::Relu, Activation::Identity]);
    /// let output = Layer::linear(AffineMap::from_rows(&[[2.0, -1.0]], vec![0.0]));
    /// let network = Network::from_layers(vec![hidden, output])?;
    /// assert_eq!(network.logits(&[-0.75]), [0.75]);
    /// # Ok::<(), rw_adv::network::NetworkError>(())
    /// ```
    pub fn from_layers(layers: Vec<Layer>) -> Result<Self, NetworkError> {
        for (index, layer) in layers.iter().enumerate() {
            check(index, layer.affine())?;
        }
        for (before, pair) in layers.windows(2).enumerate() {
            let (given, takes) = (pair[0].outputs(), pair[1].inputs());
            if given != takes {
                return Err(NetworkError::Shape { layer: before + 1, takes, given });
            }
        }
        let network = Self { layers };
        if network.layers.len() < 2 {
            return Err(NetworkError::NoHidden);
        }
        if network.output().identities().len() < network.outputs() {
            return Err(NetworkError::ReluAtEnd);
        }
        Ok(network)
    }

    /// This network with more layers behind it.
    ///
    /// # Errors
    /// As [`Network::from_layers`].
    pub fn followed_by(&self, layers: Vec<Layer>) -> Result<Self, NetworkError> {
        Self::from_layers(self.layers.iter().cloned().chain(layers).collect())
    }

    /// All layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The layers before the one that gives the logits.
    pub fn hidden(&self) -> &[Layer] {
        self.layers.split_last().map_or(&[], |(_, hidden)| hidden)
    }

    /// The layer that gives the logits.
    pub fn output(&self) -> &Layer {
        self.layers.last().expect("a network has at least two layers")
    }

    /// The affine map of a layer, base 0.
    pub fn affine(&self, layer: usize) -> &AffineMap {
        self.layers[layer].affine()
    }

    /// What a hidden neuron does with its pre-activation.
    pub fn activation(&self, neuron: NeuronId) -> Activation {
        self.layers[neuron.layer].activation(neuron.index)
    }

    /// The ReLUs, layer by layer.
    pub fn relus(&self) -> impl Iterator<Item = NeuronId> + '_ {
        let of_layer = |(layer, of): (usize, &Layer)| {
            (0..of.outputs()).map(move |index| NeuronId { layer, index })
        };
        let neurons = self.hidden().iter().enumerate().flat_map(of_layer);
        neurons.filter(|neuron| self.activation(*neuron) == Activation::Relu)
    }

    /// Number of ReLUs.
    pub fn relu_count(&self) -> usize {
        self.hidden().iter().map(|layer| layer.outputs() - layer.identities().len()).sum()
    }

    /// Number of input values.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs()
    }

    /// Number of logits.
    pub fn outputs(&self) -> usize {
        self.output().outputs()
    }

    /// Width of every stage, inputs first and logits last, such as `[784, 500, 500, 10]`.
    pub fn widths(&self) -> Vec<usize> {
        std::iter::once(self.inputs()).chain(self.layers.iter().map(Layer::outputs)).collect()
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| layer.affine().parameters()).sum()
    }
}

/// Is this a map that layer `layer` may have?
fn check(layer: usize, map: &AffineMap) -> Result<(), NetworkError> {
    let (rows, columns) = (map.outputs(), map.inputs());
    if rows == 0 || columns == 0 {
        return Err(NetworkError::Empty { layer, rows, columns });
    }
    if map.bias().len() != rows {
        return Err(NetworkError::Bias { layer, rows, bias: map.bias().len() });
    }
    if !map.is_finite() {
        return Err(NetworkError::NotFinite { layer });
    }
    Ok(())
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({:?})", self.widths())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row for each output, no bias.
    fn map<const N: usize>(rows: &[[f64; N]]) -> AffineMap {
        AffineMap::from_rows(rows, vec![0.0; rows.len()])
    }

    fn refused(maps: Vec<AffineMap>) -> NetworkError {
        Network::new(maps).expect_err("not a network")
    }

    #[test]
    fn one_layer_is_not_a_network() {
        assert_eq!(refused(vec![map(&[[1.0]])]), NetworkError::NoHidden);
        assert_eq!(refused(vec![]), NetworkError::NoHidden);
    }

    #[test]
    fn a_network_may_be_linear_but_has_no_relu_at_its_end() {
        let layers = |hidden: Layer, output: Layer| Network::from_layers(vec![hidden, output]);
        let (linear, relu) = (|| Layer::linear(map(&[[1.0]])), || Layer::relu(map(&[[1.0]])));
        assert!(layers(linear(), linear()).is_ok_and(|network| network.relu_count() == 0));
        assert_eq!(layers(relu(), relu()).expect_err("not a network"), NetworkError::ReluAtEnd);
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let maps = vec![map(&[[1.0], [2.0]]), map(&[[1.0]])];
        assert_eq!(refused(maps), NetworkError::Shape { layer: 1, takes: 1, given: 2 });
    }

    #[test]
    fn a_nan_weight_an_infinite_bias_and_a_short_bias_are_refused() {
        let good = || map(&[[1.0]]);
        let nan = vec![good(), map(&[[f64::NAN]])];
        assert_eq!(refused(nan), NetworkError::NotFinite { layer: 1 });
        let infinite = AffineMap::from_rows(&[[1.0]], vec![f64::INFINITY]);
        assert_eq!(refused(vec![infinite, good()]), NetworkError::NotFinite { layer: 0 });
        let short = AffineMap::from_rows(&[[1.0]], vec![]);
        let error = NetworkError::Bias { layer: 0, rows: 1, bias: 0 };
        assert_eq!(refused(vec![short, good()]), error);
    }

    #[test]
    fn sizes_are_counted() {
        let maps = vec![map(&[[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]), map(&[[1.0, 1.0, 1.0]])];
        let network = Network::new(maps).expect("shapes fit");
        assert_eq!(network.widths(), [2, 3, 1]);
        assert_eq!(network.parameters(), 3 * 3 + 4);
        assert_eq!(network.relu_count(), 3);
        assert_eq!(network.relus().count(), 3);
    }
}
