//! Neurons whose state is demanded: `g ≥ 0` or `g ≤ 0` becomes a row once a solution violates it.

use std::collections::BTreeMap;

use crate::lp::{Col, LpModel};
use crate::network::NeuronId;

/// Neurons that must have the sign of the state in which they are held.
#[derive(Debug, Default)]
pub(in crate::encode) struct DemandedSigns {
    /// The column that holds by how much the sign is missed, if missing it is allowed at a price.
    slack_from_neuron: BTreeMap<NeuronId, Option<Col>>,
}

impl DemandedSigns {
    /// Signs that every solution must have.
    pub fn new(neurons: impl IntoIterator<Item = NeuronId>) -> Self {
        Self { slack_from_neuron: neurons.into_iter().map(|neuron| (neuron, None)).collect() }
    }

    /// Allows every sign to be missed, at a price per unit: a column for each of them.
    pub fn soften(&mut self, lp: &mut LpModel, price: f64) {
        for slack in self.slack_from_neuron.values_mut() {
            *slack = Some(lp.add_col(-price, 0.0, f64::INFINITY, &[]));
        }
    }

    /// Whether no sign is demanded.
    pub fn is_empty(&self) -> bool {
        self.slack_from_neuron.is_empty()
    }

    /// Whether this neuron's sign is demanded.
    pub fn contains(&self, neuron: NeuronId) -> bool {
        self.slack_from_neuron.contains_key(&neuron)
    }

    /// The neurons, layer by layer.
    pub fn neurons(&self) -> impl Iterator<Item = NeuronId> + '_ {
        self.slack_from_neuron.keys().copied()
    }

    /// The column for what is missing of this neuron's sign, if it may be missed.
    pub fn slack_from_neuron(&self, neuron: NeuronId) -> Option<Col> {
        self.slack_from_neuron.get(&neuron).copied().flatten()
    }
}
