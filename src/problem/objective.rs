//! What is maximised.

use crate::network::Label;

/// A linear function of the outputs, `weights · y + constant`.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// One weight for each output.
    pub weights: Vec<f64>,
    /// What is added.
    pub constant: f64,
}

impl Objective {
    /// `weights · y`.
    pub fn new(weights: Vec<f64>) -> Self {
        Self { weights, constant: 0.0 }
    }

    /// `y_target − y_predicted`, for a network with so many outputs: positive where `predicted` has lost.
    ///
    /// # Panics
    /// When there is no such output.
    pub fn margin(outputs: usize, predicted: Label, target: Label) -> Self {
        let mut weights = vec![0.0; outputs];
        weights[target.0] += 1.0;
        weights[predicted.0] -= 1.0;
        Self::new(weights)
    }

    /// The value at these outputs, the constant left out: what search and bounds work with.
    pub fn weigh(&self, outputs: &[f64]) -> f64 {
        // What does not count may be infinite.
        let terms = outputs.iter().zip(&self.weights).filter(|(_, w)| **w != 0.0);
        terms.map(|(y, w)| y * w).sum()
    }

    /// The value at these outputs.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        self.weigh(outputs) + self.constant
    }
}
