//! Why the bound of a leaf holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::{BoundedPart, Multipliers, NeuronDuals, ReluLine};

/// Why a bound holds, while a tree grows.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The first so many sides are enough for the bound; it was made for the part that they lead to.
    pub needs: usize,
    /// Where the neurons were bounded anew. Sides behind that part keep its lines.
    pub bounded: Arc<BoundedPart>,
    /// What the bound is made of.
    pub evidence: Evidence,
}

/// The line of one neuron: its index, the slope below, the share of the envelope above, and how much of that goes on as the neuron itself.
pub type LineEntry = (usize, f64, f64, f64);

/// What a bound is made of. Lists have an entry per hidden layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The lines of unstable neurons.
    Lines(Vec<Vec<LineEntry>>),
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

/// Lines as files hold them.
pub fn line_entries(lines: &[Vec<ReluLine>]) -> Vec<Vec<LineEntry>> {
    let entry = |line: &ReluLine| (line.index, line.below, line.envelope, line.theta);
    lines.iter().map(|lines| lines.iter().map(entry).collect()).collect()
}

/// Lines from a file.
pub fn relu_lines(entries: &[Vec<LineEntry>]) -> Vec<Vec<ReluLine>> {
    let line =
        |&(index, below, envelope, theta): &LineEntry| ReluLine { index, below, envelope, theta };
    entries.iter().map(|entries| entries.iter().map(line).collect()).collect()
}

impl Evidence {
    /// Of lines.
    pub fn lines(lines: &[Vec<ReluLine>]) -> Self {
        Self::Lines(line_entries(lines))
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
