//! A network that is told in two halves, as files hold it: why no point of the box has a property.

use serde::{Deserialize, Serialize};

use super::box_tree::{BoxTreeProof, BoxTreeRecord, WholeEntry};
use crate::bounds::{HalvesEvidence, WholeEvidence};

/// The halves of a network at a hidden layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BottleneckProof {
    /// The hidden layer.
    pub layer: usize,
    /// Its neurons that can be on.
    pub neurons: Vec<usize>,
    /// The least value of each.
    pub lower: Vec<f64>,
    /// The largest value of each.
    pub upper: Vec<f64>,
    /// Leaves of the tail's tree in which conjunctions are open have values with `Σ weight · value ≤ most`. None: there are no such leaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// The largest sum there.
    #[serde(default)]
    pub most: f64,
    /// The property of the layers behind, over the values of these neurons.
    pub tail: BoxTreeProof,
    /// Why no input leads to such values, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<BoxTreeProof>,
}

impl BottleneckProof {
    /// The proof that no point of the box has a property. `whole` says how the neurons of the whole box were bounded.
    pub fn into_tree(self, whole: &[WholeEvidence]) -> BoxTreeProof {
        let mut tree = BoxTreeRecord::default().finish(whole, &[]);
        // Nothing is said of the layers behind.
        tree.slopes.retain(|entry| entry.neuron.0 <= self.layer);
        for WholeEntry { slopes, bounds } in &mut tree.again {
            slopes.retain(|entry| entry.neuron.0 <= self.layer);
            bounds.retain(|entry| entry.neuron.0 <= self.layer);
        }
        BoxTreeProof { bottleneck: Some(Box::new(self)), ..tree }
    }

    /// The halves, with their trees.
    pub fn new(halves: HalvesEvidence, tail: BoxTreeProof, head: Option<BoxTreeProof>) -> Self {
        let HalvesEvidence { layer, neurons, lower, upper, weights, most } = halves;
        Self { layer, neurons, lower, upper, weights, most, tail, head }
    }
}
