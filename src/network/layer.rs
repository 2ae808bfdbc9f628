//! A layer: an affine map, and what each neuron does with the value it gets.

use super::affine::AffineMap;
use super::neuron::Activation;

/// An affine map and the activations behind it.
#[derive(Clone, Debug)]
pub struct Layer {
    affine: AffineMap,
    /// The neurons without a ReLU, ascending.
    identities: Vec<usize>,
    rounding: LayerRounding,
    /// `Σ |w|`, one for each output. Kept, because bounds ask for them again for every image and part; not always the `gain` of the rounding, which
    /// is that of the file's own operations.
    weight_sums: Vec<f64>,
}

impl Layer {
    /// A ReLU behind every output.
    pub fn relu(affine: AffineMap) -> Self {
        let rounding = LayerRounding::plain(&affine);
        Self { weight_sums: rounding.gain.clone(), rounding, identities: Vec::new(), affine }
    }

    /// The affine map alone: identities behind all outputs.
    pub fn linear(affine: AffineMap) -> Self {
        Self { identities: (0..affine.outputs()).collect(), ..Self::relu(affine) }
    }

    /// One activation for each output.
    ///
    /// # Panics
    /// When there are more or fewer.
    pub fn mixed(affine: AffineMap, activations: &[Activation]) -> Self {
        assert_eq!(activations.len(), affine.outputs(), "one activation for each output");
        let identity = |i: &usize| activations[*i] == Activation::Identity;
        Self { identities: (0..activations.len()).filter(identity).collect(), ..Self::relu(affine) }
    }

    /// The same for a file that computes the layer in several steps: what its rounding errors are proportional to.
    ///
    /// # Panics
    /// When the record is not as long as the layer is wide.
    pub fn with_rounding(self, rounding: LayerRounding) -> Self {
        assert_eq!(rounding.gain.len(), self.outputs(), "one entry for each output");
        Self { rounding, ..self }
    }

    /// The same for a layer that is in no file: it is not run in f32, so there are no rounding errors.
    pub fn without_rounding(self) -> Self {
        let rounding = LayerRounding { operations: vec![0; self.outputs()], ..self.rounding };
        Self { rounding, ..self }
    }

    /// The affine map.
    pub fn affine(&self) -> &AffineMap {
        &self.affine
    }

    /// What a neuron does with its pre-activation.
    pub fn activation(&self, index: usize) -> Activation {
        match self.identities.binary_search(&index) {
            Ok(_) => Activation::Identity,
            Err(_) => Activation::Relu,
        }
    }

    /// The neurons without a ReLU, ascending.
    pub fn identities(&self) -> &[usize] {
        &self.identities
    }

    /// What the rounding errors of an f32 run are proportional to.
    pub fn rounding(&self) -> &LayerRounding {
        &self.rounding
    }

    /// `Σ |w|` of each output's weights, added up in their order.
    pub fn weight_sums(&self) -> &[f64] {
        &self.weight_sums
    }

    /// Number of values that the layer takes.
    pub fn inputs(&self) -> usize {
        self.affine.inputs()
    }

    /// Number of values that the layer gives.
    pub fn outputs(&self) -> usize {
        self.affine.outputs()
    }
}

/// What the rounding errors of a file are proportional to that computes a layer in several steps, neuron by neuron: the
/// numbers before folding may be larger than those that came out.
#[derive(Clone, Debug)]
pub struct LayerRounding {
    /// Magnitudes that went into a row's weights, relative to the weights that came out; at least 1.
    pub amplification: Vec<f64>,
    /// Magnitudes that went into a row's weights, added up.
    pub gain: Vec<f64>,
    /// Magnitudes that went into the bias; at least its own.
    pub offset: Vec<f64>,
    /// The same as `gain` if every factor below 1 were 1. Times the largest input, or times 1 if that is smaller, no intermediate result is
    /// larger, in whatever order the factors are multiplied; and a number that is lost to underflow is not amplified by more.
    pub reach_gain: Vec<f64>,
    /// The same for the bias.
    pub reach_offset: Vec<f64>,
    /// Operations one after the other, at most, from the layer's inputs to an output. None: nothing is rounded.
    pub operations: Vec<usize>,
}

impl LayerRounding {
    /// Of a layer that the file computes as it is.
    pub fn plain(affine: &AffineMap) -> Self {
        let gain = |i: usize| affine.row(i).map(|(_, weight)| weight.abs()).sum();
        let reach = |i: usize| affine.row(i).map(|(_, weight)| weight.abs().max(1.0)).sum();
        Self {
            amplification: vec![1.0; affine.outputs()],
            gain: (0..affine.outputs()).map(gain).collect(),
            offset: affine.bias().iter().map(|b| b.abs()).collect(),
            reach_gain: (0..affine.outputs()).map(reach).collect(),
            reach_offset: affine.bias().iter().map(|b| b.abs().max(1.0)).collect(),
            operations: vec![affine.inputs() + 2; affine.outputs()],
        }
    }
}
