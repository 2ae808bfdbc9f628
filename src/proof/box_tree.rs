//! A tree over the parts of a box, as files hold it: why no point of the box has a property.

use serde::{Deserialize, Serialize};

use crate::bounds::{
    BoundEvidence, BoxEvidence, HalvesEvidence, LineEvidence, NeuronDigits, NeuronEvidence,
    QuadraticEvidence, RowCombination, SignTreeNode, SlopeDigits, SplitSide, WholeEvidence,
};

/// Slopes are digits of this alphabet.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A tree of splits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BoxTreeProof {
    /// How lower layers are relaxed in the bounds of neurons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<NeuronSlopesEntry>,
    /// How the neurons of the whole box are bounded again, one time after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<WholeEntry>,
    /// All nodes: each before its two sides, the first side with all of its nodes before the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<BoxTreeNode>,
    /// Two halves of the network, instead of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Box<BottleneckProof>>,
}

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

/// How the neurons of the whole box are bounded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeEntry {
    /// How lower layers are relaxed in the bounds of neurons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<NeuronSlopesEntry>,
    /// Better bounds of some neurons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<NeuronBoundEntry>,
}

/// How a neuron is bounded from one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NeuronBoundEntry {
    /// Hidden layer and place in it.
    pub neuron: (usize, usize),
    /// Whether it is about its largest value, or its least.
    pub above: bool,
    /// How.
    #[serde(flatten)]
    pub by: BoundEntry,
}

/// How a function is bounded: by a tree or a quadratic relaxation if there is one, otherwise by lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BoundEntry {
    /// Slopes of the hidden layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<String>,
    /// Multipliers of the signs that lead to the part, or to the leaf of a tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<f64>,
    /// A tree over the signs of neurons: each node before its two sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<SignTreeEntry>,
    /// A quadratic relaxation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quadratic: Option<QuadraticEntry>,
}

/// A node of a tree over the signs of neurons.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SignTreeEntry {
    /// Split by a neuron: where it is on, then where it is off. None: a leaf, with what its lines are made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neuron: Option<(usize, usize)>,
    /// Slopes of the hidden layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<String>,
    /// Multipliers of the part's signs, then of those that lead to the leaf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<f64>,
}

/// Multipliers of what holds for inputs and neurons.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QuadraticEntry {
    /// For each hidden layer the neurons that the lists behind `inputs` are of, one after the other.
    pub neurons: Vec<Vec<usize>>,
    /// Of `(x − lower)·(upper − x)`.
    pub inputs: Vec<f64>,
    /// Of `v·(upper − v)`.
    pub ranges: Vec<f64>,
    /// Of `v·(z − v)`.
    pub products: Vec<f64>,
    /// Of `v`.
    pub signs: Vec<f64>,
    /// Of `v − z`.
    pub passes: Vec<f64>,
    /// Of the line above, less `v`.
    pub lines: Vec<f64>,
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
    /// How.
    #[serde(flatten)]
    pub by: BoundEntry,
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

    /// The whole tree. `whole` says how the neurons of the whole box were bounded, and `conjunctions` which one each question is.
    pub fn finish(self, whole: &[WholeEvidence], conjunctions: &[usize]) -> BoxTreeProof {
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
        let mut times = whole.iter().map(WholeEntry::new);
        let slopes = times.next().map(|first| first.slopes).unwrap_or_default();
        BoxTreeProof { slopes, again: times.collect(), nodes, bottleneck: None }
    }
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

impl WholeEntry {
    fn new(WholeEvidence { slopes, bounds }: &WholeEvidence) -> Self {
        let bound = |NeuronEvidence { neuron, above, by }: &NeuronEvidence| NeuronBoundEntry {
            neuron: (neuron.layer, neuron.index),
            above: *above,
            by: BoundEntry::new(by),
        };
        let slopes = slopes.iter().map(NeuronSlopesEntry::new).collect();
        Self { slopes, bounds: bounds.iter().map(bound).collect() }
    }
}

impl BoundEntry {
    fn new(by: &BoundEvidence) -> Self {
        match by {
            BoundEvidence::Lines(LineEvidence { slopes, multipliers }) => Self {
                slopes: slopes.as_ref().map(text).unwrap_or_default(),
                signs: multipliers.clone(),
                ..Self::default()
            },
            BoundEvidence::Signs(nodes) => {
                Self { tree: nodes.iter().map(SignTreeEntry::new).collect(), ..Self::default() }
            }
            BoundEvidence::Quadratic(of) => {
                Self { quadratic: Some(QuadraticEntry::new(of)), ..Self::default() }
            }
        }
    }
}

impl SignTreeEntry {
    fn new(node: &SignTreeNode) -> Self {
        match node {
            SignTreeNode::Split(neuron) => {
                Self { neuron: Some((neuron.layer, neuron.index)), ..Self::default() }
            }
            SignTreeNode::Leaf(LineEvidence { slopes, multipliers }) => Self {
                neuron: None,
                slopes: slopes.as_ref().map(text).unwrap_or_default(),
                signs: multipliers.clone(),
            },
        }
    }
}

impl QuadraticEntry {
    fn new(of: &QuadraticEvidence) -> Self {
        let layers = of.neurons.iter().map(|neuron| neuron.layer + 1).max().unwrap_or(0);
        let mut neurons = vec![Vec::new(); layers];
        of.neurons.iter().for_each(|neuron| neurons[neuron.layer].push(neuron.index));
        Self {
            neurons,
            inputs: of.inputs.clone(),
            ranges: of.ranges.clone(),
            products: of.products.clone(),
            signs: of.signs.clone(),
            passes: of.passes.clone(),
            lines: of.lines.clone(),
        }
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
        let RowCombination { question, rows, by } = of;
        let rows = if rows[..] == [(0, 1.0)] { Vec::new() } else { rows.clone() };
        Self { of: conjunctions[*question], rows, by: BoundEntry::new(by) }
    }
}
