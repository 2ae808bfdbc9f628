//! Blocks of linear functions, one per column: of a layer's outputs, and of the moves.

use std::sync::Arc;

use faer::Mat;

use super::slopes::SlopeColumns;
use crate::network::AffineMap;

/// Linear functions of a layer's outputs.
pub(super) struct LayerFunctions {
    /// The hidden layers up to that one.
    pub layers: usize,
    pub coefficients: Mat<f64>,
    pub constants: Vec<f64>,
    /// The magnitudes added up so far: what rounding errors are proportional to.
    pub magnitudes: Vec<f64>,
}

/// Linear functions of the moves that lie above the rows they came from, rounding included.
pub(super) struct MoveFunctions {
    pub slopes: Mat<f64>,
    /// The slope that each function has in all moves but those that it depends on in a way of its own.
    pub rests: Vec<f64>,
    pub constants: Vec<f64>,
}

/// Functions and their largest values over the set.
pub(super) struct BoundedFunctions {
    pub functions: MoveFunctions,
    pub largest: Vec<f64>,
}

impl BoundedFunctions {
    /// Takes the other functions where their largest value is lower.
    pub fn improve(&mut self, other: &Self) {
        for (row, &value) in other.largest.iter().enumerate() {
            if value < self.largest[row] {
                self.largest[row] = value;
                self.functions.constants[row] = other.functions.constants[row];
                self.functions.rests[row] = other.functions.rests[row];
                let slopes = other.functions.slopes.col_as_slice(row);
                self.functions.slopes.col_as_slice_mut(row).copy_from_slice(slopes);
            }
        }
    }
}

/// Linear functions of the moves that bounds of parts are made from.
#[derive(Clone)]
pub(super) struct StoredFunctions {
    pub slopes: Arc<SlopeColumns>,
    pub constants: Vec<f64>,
    /// The largest magnitude of a slope, by function.
    pub steepest: Vec<f64>,
}

impl From<MoveFunctions> for StoredFunctions {
    fn from(MoveFunctions { slopes, rests, constants }: MoveFunctions) -> Self {
        let slopes = SlopeColumns::new(slopes, &rests);
        Self { steepest: slopes.steepest(), slopes: Arc::new(slopes), constants }
    }
}

/// Linear functions of the moves above and below some neurons of a layer.
#[derive(Clone, Default)]
pub(super) struct LayerLines {
    neurons: Vec<usize>,
    /// Above the neurons, and above their negatives.
    blocks: Vec<[StoredFunctions; 2]>,
}

/// The functions of one neuron: blocks, and the column in them.
pub(super) struct NeuronLines<'l> {
    pub neuron: usize,
    pub above: &'l StoredFunctions,
    /// Above the neuron's negative.
    pub below: &'l StoredFunctions,
    pub column: usize,
}

impl LayerLines {
    /// Adds a function above and a function below each of these neurons.
    pub fn push(&mut self, neurons: &[usize], above: MoveFunctions, below: MoveFunctions) {
        self.neurons.extend(neurons);
        self.blocks.push([above.into(), below.into()]);
    }

    /// How many numbers the slopes take.
    pub fn numbers(&self) -> usize {
        let of_block = |of: &StoredFunctions| -> usize {
            (0..of.constants.len()).map(|column| of.slopes.numbers(column)).sum()
        };
        self.blocks.iter().flatten().map(of_block).sum()
    }

    /// The functions of each neuron.
    pub fn iter(&self) -> impl Iterator<Item = NeuronLines<'_>> {
        let columns = self.blocks.iter().flat_map(|[above, below]| {
            (0..above.constants.len()).map(move |column| (above, below, column))
        });
        let of_neuron =
            |(&neuron, (above, below, column))| NeuronLines { neuron, above, below, column };
        self.neurons.iter().zip(columns).map(of_neuron)
    }
}

/// Functions of a layer's pre-activations as functions of the outputs below it. One alone has mostly zeros.
pub(super) fn pull_back(map: &AffineMap, functions: &Mat<f64>) -> Mat<f64> {
    if functions.ncols() > 1 {
        return map.apply_transposed_to_block(functions.as_ref());
    }
    let mut below = Mat::zeros(map.inputs(), 1);
    map.apply_transposed(functions.col_as_slice(0), below.col_as_slice_mut(0));
    below
}
