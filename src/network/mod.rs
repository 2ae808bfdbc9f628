//! The function under attack: dense layers with ReLU between them, in `f64`. No file, no solver.
//!
//! Trap: the last layer has no ReLU. Hidden layers are `0 .. depth() - 1`, the last one gives logits.

mod forward;
mod pattern;
pub mod torch;

use std::fmt;

use faer::{Mat, MatRef};

pub use forward::Trace;
pub(crate) use forward::add_product;
pub use pattern::{ActivationPattern, NeuronId};

/// A class of the network: the index of its logit, base 0, in the file's output order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub usize);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why matrices do not make a network.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum NetworkError {
    /// There is no hidden layer, so no ReLU.
    #[error("the network has no ReLU: it is linear, and needs no search")]
    NoRelu,
    /// A layer without inputs or outputs.
    #[error("layer {layer} is empty ({rows} x {columns})")]
    Empty {
        /// Index of the layer, base 0.
        layer: usize,
        /// Number of its outputs.
        rows: usize,
        /// Number of its inputs.
        columns: usize,
    },
    /// Neighbouring layers do not fit.
    #[error("layer {layer} takes {takes} values but is given {given}")]
    Shape {
        /// Index of the layer, base 0.
        layer: usize,
        /// Columns of its matrix.
        takes: usize,
        /// Rows of the matrix before it.
        given: usize,
    },
    /// The bias is not as long as the matrix is high.
    #[error("layer {layer} has {rows} outputs but a bias of length {bias}")]
    Bias {
        /// Index of the layer, base 0.
        layer: usize,
        /// Rows of its matrix.
        rows: usize,
        /// Length of its bias.
        bias: usize,
    },
    /// A NaN or infinite weight or bias.
    #[error("layer {layer} has a weight or bias that is not a finite number")]
    NotFinite {
        /// Index of the layer, base 0.
        layer: usize,
    },
}

/// One affine map `g = W h + b`.
#[derive(Clone)]
pub struct Dense {
    /// `W`, one row per output, stored by columns.
    pub weights: Mat<f64>,
    /// `b`, one entry per output.
    pub bias: Vec<f64>,
}

impl Dense {
    /// Number of values this layer takes.
    pub fn inputs(&self) -> usize {
        self.weights.ncols()
    }

    /// Number of values this layer gives.
    pub fn outputs(&self) -> usize {
        self.weights.nrows()
    }

    fn is_finite(&self) -> bool {
        let columns = 0..self.inputs();
        columns.into_iter().all(|j| self.weights.col_as_slice(j).iter().all(|w| w.is_finite()))
            && self.bias.iter().all(|b| b.is_finite())
    }
}

/// What the rounding errors of a file are proportional to that computes a layer in several steps, neuron by neuron: the numbers
/// before folding may be larger than those that came out.
#[derive(Clone, Debug)]
pub struct LayerRounding {
    /// Magnitudes that went into a row's weights, relative to the weights that came out; at least 1.
    pub amplification: Vec<f64>,
    /// Magnitudes that went into a row's weights, added up.
    pub gain: Vec<f64>,
    /// Magnitudes that went into the bias; at least its own.
    pub offset: Vec<f64>,
    /// Operations one after the other, at most, from the layer's inputs to its outputs.
    pub operations: usize,
}

impl LayerRounding {
    /// Of a layer that the file computes as it is.
    pub fn plain(dense: &Dense) -> Self {
        let gain = |i: usize| dense.weights.row(i).iter().map(|w| w.abs()).sum();
        Self {
            amplification: vec![1.0; dense.outputs()],
            gain: (0..dense.outputs()).map(gain).collect(),
            offset: dense.bias.iter().map(|b| b.abs()).collect(),
            operations: dense.inputs() + 2,
        }
    }
}

impl fmt::Debug for Dense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dense({} -> {})", self.inputs(), self.outputs())
    }
}

/// A dense ReLU network: `y = W_L relu(… relu(W_1 x + b_1) …) + b_L`.
///
/// ```
/// use faer::mat;
/// use rw_adv::network::{Dense, Network};
///
/// // y = (relu(x0 - x1), relu(x1 - x0)) computed by two hidden neurons.
/// let hidden = Dense { weights: mat![[1.0, -1.0], [-1.0, 1.0]], bias: vec![0.0, 0.0] };
/// let output = Dense { weights: mat![[1.0, 0.0], [0.0, 1.0]], bias: vec![0.0, 0.0] };
/// let network = Network::new(vec![hidden, output])?;
/// assert_eq!(network.logits(&[0.75, 0.25]), [0.5, 0.0]);
/// # Ok::<(), rw_adv::network::NetworkError>(())
/// ```
#[derive(Clone)]
pub struct Network {
    layers: Vec<Dense>,
    /// The weights once more, transposed: single rows lie together here.
    transposed: Vec<Mat<f64>>,
    /// What the rounding errors of an f32 run are proportional to, layer by layer, the output's last.
    roundings: Vec<LayerRounding>,
}

impl Network {
    /// Chains layers, with a ReLU after each but the last. A run in f32 computes each layer as it is.
    ///
    /// # Errors
    /// When there is no hidden layer, shapes do not fit, or a number is not finite.
    pub fn new(layers: Vec<Dense>) -> Result<Self, NetworkError> {
        let roundings = layers.iter().map(LayerRounding::plain).collect();
        Self::with_roundings(layers, roundings)
    }

    /// The same for a file that computes layers in several steps, with what its rounding errors are proportional to.
    ///
    /// # Errors
    /// As [`Network::new`].
    ///
    /// # Panics
    /// When there is not one rounding record for each layer.
    pub fn with_roundings(
        layers: Vec<Dense>,
        roundings: Vec<LayerRounding>,
    ) -> Result<Self, NetworkError> {
        assert_eq!(layers.len(), roundings.len(), "one rounding record for each layer");
        if layers.len() < 2 {
            return Err(NetworkError::NoRelu);
        }
        for (layer, dense) in layers.iter().enumerate() {
            let (rows, columns) = (dense.outputs(), dense.inputs());
            if rows == 0 || columns == 0 {
                return Err(NetworkError::Empty { layer, rows, columns });
            }
            if dense.bias.len() != rows {
                return Err(NetworkError::Bias { layer, rows, bias: dense.bias.len() });
            }
            if !dense.is_finite() {
                return Err(NetworkError::NotFinite { layer });
            }
        }
        for (before, pair) in layers.windows(2).enumerate() {
            let (given, takes) = (pair[0].outputs(), pair[1].inputs());
            if given != takes {
                return Err(NetworkError::Shape { layer: before + 1, takes, given });
            }
        }
        let transposed = layers.iter().map(|dense| dense.weights.transpose().to_owned()).collect();
        Ok(Self { layers, transposed, roundings })
    }

    /// The affine maps, first to last.
    pub fn layers(&self) -> &[Dense] {
        &self.layers
    }

    /// What the rounding errors of an f32 run are proportional to, layer by layer, the output's last.
    pub fn roundings(&self) -> &[LayerRounding] {
        &self.roundings
    }

    /// The affine maps that are followed by a ReLU.
    pub fn hidden(&self) -> &[Dense] {
        &self.layers[..self.layers.len() - 1]
    }

    /// The affine map that gives the logits.
    pub fn output(&self) -> &Dense {
        self.layers.last().expect("a network has at least two layers")
    }

    /// The weights of one neuron (or logit) of a layer, both base 0.
    pub fn row(&self, layer: usize, index: usize) -> &[f64] {
        self.transposed[layer].col_as_slice(index)
    }

    /// A layer's weights, transposed: one column per output.
    pub fn transposed(&self, layer: usize) -> MatRef<'_, f64> {
        self.transposed[layer].as_ref()
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
        std::iter::once(self.inputs()).chain(self.layers.iter().map(Dense::outputs)).collect()
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|l| l.outputs() * (l.inputs() + 1)).sum()
    }

    /// Number of ReLUs.
    pub fn neurons(&self) -> usize {
        self.hidden().iter().map(Dense::outputs).sum()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({:?})", self.widths())
    }
}

#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    fn dense(weights: Mat<f64>) -> Dense {
        let bias = vec![0.0; weights.nrows()];
        Dense { weights, bias }
    }

    #[test]
    fn one_layer_is_no_network() {
        let linear = vec![dense(mat![[1.0]])];
        assert_eq!(Network::new(linear).map(|_| ()), Err(NetworkError::NoRelu));
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let layers = vec![dense(mat![[1.0], [2.0]]), dense(mat![[1.0]])];
        let error = NetworkError::Shape { layer: 1, takes: 1, given: 2 };
        assert_eq!(Network::new(layers).map(|_| ()), Err(error));
    }

    #[test]
    fn a_nan_weight_an_infinite_bias_and_a_short_bias_are_refused() {
        let good = || dense(mat![[1.0]]);
        let nan = vec![good(), dense(mat![[f64::NAN]])];
        assert_eq!(Network::new(nan).map(|_| ()), Err(NetworkError::NotFinite { layer: 1 }));
        let infinite = Dense { weights: mat![[1.0]], bias: vec![f64::INFINITY] };
        let layers = vec![infinite, good()];
        assert_eq!(Network::new(layers).map(|_| ()), Err(NetworkError::NotFinite { layer: 0 }));
        let short = Dense { weights: mat![[1.0]], bias: vec![] };
        let error = NetworkError::Bias { layer: 0, rows: 1, bias: 0 };
        assert_eq!(Network::new(vec![short, good()]).map(|_| ()), Err(error));
    }

    #[test]
    fn sizes_are_counted() {
        let layers =
            vec![dense(mat![[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]), dense(mat![[1.0, 1.0, 1.0]])];
        let network = Network::new(layers).expect("shapes fit");
        assert_eq!(network.widths(), [2, 3, 1]);
        assert_eq!(network.parameters(), 3 * 3 + 4);
        assert_eq!(network.neurons(), 3);
    }
}
