//! A tree over the parts of a box, as files hold it: why no point of the box has a property.

use serde::{Deserialize, Serialize};

use crate::bounds::{BoxEvidence, NeuronDigits, RowCombination, SlopeDigits, SplitSide};

/// Slopes are digits of this alphabet.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A tree of splits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BoxTreeProof {
    /// How lower layers are relaxed in the bounds of neurons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<NeuronSlopesEntry>,
    /// All nodes: each before its two sides, the first side with all of its nodes before the second.
    pub nodes: Vec<BoxTreeNode>,
}

/// How lower layers are relaxed in the bounds of a neuron.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NeuronSlopesEntry {
    /// Hidden layer and place in it.
    pub neuron: (usize, usize),
    /// For its largest value: slopes of the lower layers, the first one first.
    pub above: Vec<String>,
    /// For its least value.
    pub below: Vec<String>,
}

/// A part of the box.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BoxTreeNode {
    /// Split by an input: where it is at least a value, then where it is at most that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<(usize, f64)>,
    /// Split by a neuron: where it is on, then where it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neuron: Option<(usize, usize)>,
    /// Conjunctions that do not hold in the part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<CombinationEntry>,
    /// What cuts for its sides are made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<CombinationEntry>,
}

/// A combination of the rows of a conjunction, and how it is bounded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CombinationEntry {
    /// The conjunction.
    pub of: usize,
    /// Rows and their weights. None: the first row alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<(usize, f64)>,
    /// Slopes of the hidden layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<String>,
    /// Multipliers of the signs that lead to the part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<f64>,
}

/// A tree while it grows: nodes in the order in which they were made.
#[derive(Debug, Default)]
pub struct BoxTreeRecord {
    nodes: Vec<RecordedNode>,
}

#[derive(Debug)]
struct RecordedNode {
    evidence: BoxEvidence,
    /// The first side of the split, and where both sides are.
    split: Option<(SplitSide, [usize; 2])>,
}

impl BoxTreeRecord {
    /// Adds a node. Its place.
    pub fn add(&mut self, evidence: BoxEvidence) -> usize {
        self.nodes.push(RecordedNode { evidence, split: None });
        self.nodes.len() - 1
    }

    /// A node was split, by the split whose first side is given.
    pub fn split(&mut self, node: usize, first: SplitSide, sides: [usize; 2]) {
        self.nodes[node].split = Some((first, sides));
    }

    /// The whole tree. `conjunctions` says which one each question is.
    pub fn finish(self, slopes: &[NeuronDigits], conjunctions: &[usize]) -> BoxTreeProof {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut waiting: Vec<usize> = if self.nodes.is_empty() { Vec::new() } else { vec![0] };
        while let Some(place) = waiting.pop() {
            let RecordedNode { evidence, split } = &self.nodes[place];
            let entry = |of: &RowCombination| CombinationEntry::new(of, conjunctions);
            let mut node = BoxTreeNode {
                refuted: evidence.refuted.iter().map(entry).collect(),
                ..BoxTreeNode::default()
            };
            if let Some((first, [one, other])) = split {
                match first {
                    SplitSide::Input(split, _) => node.input = Some((split.input, split.at)),
                    SplitSide::Neuron(sign) => {
                        node.neuron = Some((sign.neuron.layer, sign.neuron.index));
                    }
                    SplitSide::Pixel(..) => {}
                }
                node.cuts = evidence.cuts.iter().map(entry).collect();
                waiting.extend([*other, *one]);
            }
            nodes.push(node);
        }
        BoxTreeProof { slopes: slopes.iter().map(NeuronSlopesEntry::new).collect(), nodes }
    }
}

fn text(slopes: &SlopeDigits) -> Vec<String> {
    let digit = |digit: Option<u8>| match digit {
        Some(digit) => char::from(ALPHABET[usize::from(digit.min(63))]),
        None => '.',
    };
    let layer = |layer: String| layer.trim_end_matches('.').to_owned();
    slopes.layers().map(|slopes| layer(slopes.map(digit).collect())).collect()
}

impl NeuronSlopesEntry {
    fn new(NeuronDigits { layer, index, above, below }: &NeuronDigits) -> Self {
        Self { neuron: (*layer, *index), above: text(above), below: text(below) }
    }
}

impl CombinationEntry {
    fn new(of: &RowCombination, conjunctions: &[usize]) -> Self {
        let RowCombination { question, rows, slopes, multipliers } = of;
        let rows = if rows[..] == [(0, 1.0)] { Vec::new() } else { rows.clone() };
        let slopes = slopes.as_ref().map(text).unwrap_or_default();
        Self { of: conjunctions[*question], rows, slopes, signs: multipliers.clone() }
    }
}
