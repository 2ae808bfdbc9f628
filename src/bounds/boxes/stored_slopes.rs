//! Slopes that were improved once, kept to begin with for parts.

use super::evidence::{NeuronEvidence, WholeEvidence};
use super::network::PaddedNetwork;
use super::slope_digits::{NeuronDigits, SlopeDigits};

/// Slopes of the functions above and below the neurons of a layer, made for the whole box. Parts begin with them: any slopes hold.
#[derive(Default)]
pub(super) struct NeuronSlopes {
    /// For each neuron the place of its upper function; that of its lower one is next.
    places: Vec<Option<usize>>,
    /// Slopes of all layers below, function after function.
    slopes: Vec<f32>,
    /// Where the layers below begin in those of a function, and where the last ends.
    offsets: Vec<usize>,
    /// Slopes as digits, for proofs.
    digits: Vec<(usize, [SlopeDigits; 2])>,
    /// What else bounded neurons, for proofs.
    bounds: Vec<NeuronEvidence>,
}

impl NeuronSlopes {
    /// Without functions yet.
    pub fn new(network: &PaddedNetwork, layer: usize) -> Self {
        let offset = |k: usize| network.layers[..k].iter().map(|below| below.padded()).sum();
        Self {
            places: vec![None; network.layers[layer].width],
            slopes: Vec::new(),
            offsets: (0..=layer).map(offset).collect(),
            digits: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// Keeps what a proof says of a neuron's two functions.
    pub fn keep_digits(&mut self, neuron: usize, digits: [SlopeDigits; 2]) {
        self.digits.push((neuron, digits));
    }

    /// Keeps what bounds a neuron.
    pub fn keep_bound(&mut self, bound: NeuronEvidence) {
        self.bounds.push(bound);
    }

    /// What a proof says of the neurons of all layers.
    pub fn evidence(layers: &[Self]) -> WholeEvidence {
        let digits = layers.iter().enumerate().flat_map(|(layer, of)| of.digits(layer));
        let bounds = layers.iter().flat_map(|of| of.bounds.iter().cloned());
        WholeEvidence { slopes: digits.collect(), bounds: bounds.collect() }
    }

    fn digits(&self, layer: usize) -> impl Iterator<Item = NeuronDigits> + '_ {
        self.digits.iter().map(move |(index, [above, below])| NeuronDigits {
            layer,
            index: *index,
            above: above.clone(),
            below: below.clone(),
        })
    }

    /// Keeps the slopes of the two functions of each of these neurons. `slopes` gives those of a layer of a function.
    pub fn keep<'s>(
        &mut self,
        neurons: impl Iterator<Item = usize>,
        slopes: impl Fn(usize, usize, usize) -> &'s [f64],
    ) {
        for (k, neuron) in neurons.enumerate() {
            self.places[neuron] = Some(self.slopes.len() / self.length());
            for function in [2 * k, 2 * k + 1] {
                for (layer, ends) in self.offsets.windows(2).enumerate() {
                    let of_layer = slopes(layer, function, ends[1] - ends[0]);
                    self.slopes.extend(of_layer.iter().map(|&slope| slope as f32));
                }
            }
        }
    }

    fn length(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0).max(1)
    }

    /// The slopes of a layer in the upper or the lower function of a neuron, if they were kept.
    pub fn get(&self, neuron: usize, lower: bool, layer: usize) -> Option<&[f32]> {
        let begin = (self.places[neuron]? + usize::from(lower)) * self.length();
        Some(&self.slopes[begin + self.offsets[layer]..begin + self.offsets[layer + 1]])
    }
}

/// Slopes and multipliers of the rows of a part, for its own parts to begin with.
#[derive(Clone, Debug, Default)]
pub(super) struct RowSlopes {
    rows: Vec<SlopesOfRow>,
}

#[derive(Clone, Debug)]
pub(super) struct SlopesOfRow {
    row: usize,
    /// Layer after layer.
    pub slopes: Vec<Vec<f32>>,
    /// Those of the part's signs.
    pub multipliers: Vec<f64>,
}

impl RowSlopes {
    /// Keeps those of a row.
    pub fn keep(&mut self, row: usize, slopes: Vec<Vec<f32>>, multipliers: Vec<f64>) {
        self.rows.push(SlopesOfRow { row, slopes, multipliers });
    }

    /// About how many f64 take as much memory.
    pub fn numbers(&self) -> usize {
        let of_row = |of: &SlopesOfRow| {
            of.slopes.iter().map(Vec::len).sum::<usize>() / 2 + of.multipliers.len()
        };
        self.rows.iter().map(of_row).sum()
    }

    /// Those of a row.
    pub fn get(&self, row: usize) -> Option<&SlopesOfRow> {
        self.rows.iter().find(|of| of.row == row)
    }
}
