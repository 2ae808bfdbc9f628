//! What keeps layers from being a network.

/// Why layers do not make a network.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum NetworkError {
    /// There is no layer before the one that gives the logits.
    #[error("the network has no hidden layer")]
    NoHidden,
    /// The last layer gives the logits, and has a ReLU.
    #[error("the last layer has a ReLU")]
    ReluAtEnd,
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
        /// Number of its inputs.
        takes: usize,
        /// Number of outputs of the layer before it.
        given: usize,
    },
    /// The bias has not one entry per output.
    #[error("layer {layer} has {rows} outputs but a bias of length {bias}")]
    Bias {
        /// Index of the layer, base 0.
        layer: usize,
        /// Number of its outputs.
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
