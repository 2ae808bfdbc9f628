//! Why the bound of a leaf holds.

use serde::{Deserialize, Serialize};

use crate::bounds::{Multipliers, NeuronDuals, ReluLine};

/// Why a bound holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Certificate {
    /// The first so many sides are enough for the bound; it was made for the part that they lead to.
    pub needs: usize,
    /// After so many of them the neurons were bounded anew. Pixels split afterwards keep these bounds' lines.
    pub fresh: usize,
    /// What the bound is made of.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// What a bound is made of. Lists have an entry per hidden layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// For each unstable neuron its index, the slope below and the share of the envelope above.
    Lines(Vec<Vec<(usize, f64, f64)>>),
    /// Multipliers.
    Multipliers {
        /// For neurons that have any: their index, that of the pre-activation and that of the envelope.
        neurons: Vec<Vec<(usize, f64, f64)>>,
        /// Those of constraints on the input.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prices: Vec<f64>,
    },
    /// The part is empty: some neuron's interval is.
    Empty {},
}

impl Evidence {
    /// Of lines.
    pub fn lines(lines: &[Vec<ReluLine>]) -> Self {
        let of_layer = |lines: &Vec<ReluLine>| {
            lines.iter().map(|line| (line.index, line.below, line.envelope)).collect()
        };
        Self::Lines(lines.iter().map(of_layer).collect())
    }

    /// Of multipliers, one pair for each neuron of each layer.
    pub fn multipliers(multipliers: &Multipliers) -> Self {
        let of_layer = |of_layer: &Vec<NeuronDuals>| {
            let some = of_layer.iter().enumerate().filter(|(_, w)| **w != NeuronDuals::default());
            some.map(|(index, w)| (index, w.multiplier, w.envelope)).collect()
        };
        let neurons = multipliers.neurons.iter().map(of_layer).collect();
        Self::Multipliers { neurons, prices: multipliers.prices.clone() }
    }
}
