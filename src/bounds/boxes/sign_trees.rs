//! Bounds of functions by trees over the signs of neurons, with the neurons' intervals held: many cheap nodes.
//!
//! A leaf demands signs in its function only, so a node costs no more than a few evaluations of it. The leaves of a function together are
//! all of its part, whatever their number, so that the largest of their bounds is a bound of the function.

use super::descent::{DescentOptions, FirstSlopes, SlopeDescent};
use super::evidence::{BoundEvidence, FunctionBound, LineEvidence, SignTreeNode};
use super::network::PaddedNetwork;
use super::part::BoxPart;
use super::push_back::Functions;
use super::rounded_slopes::RoundedSlopes;
use super::sign_scores::cost;
use super::state::Boxes;
use crate::bounds::part::Sign;
use crate::network::NeuronId;

/// How far trees are grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TreeEffort {
    /// Leaves split, for each function.
    pub splits: usize,
    /// Leaves split at once, in all.
    pub at_once: usize,
    /// Evaluations of each new leaf.
    pub evaluations: usize,
    /// The first step of slopes.
    pub step: f64,
}

/// What functions are of.
#[derive(Clone, Copy)]
pub(super) struct TreeGround<'g> {
    pub network: &'g PaddedNetwork,
    pub boxes: &'g Boxes,
    pub parts: &'g [BoxPart],
    /// Functions are of the outputs of the hidden layer before this one.
    pub layer: usize,
    /// Whether bounds are made so that they can be proven, and come with evidence.
    pub proves: bool,
}

/// A leaf of a function's tree.
struct SignLeaf {
    function: usize,
    value: f64,
    signs: Vec<Sign>,
    multipliers: Vec<(NeuronId, f64)>,
    /// Layer after layer.
    slopes: Vec<f32>,
    /// The neuron to split it by. `None` if it cannot be split.
    split: Option<NeuronId>,
    /// Its place in the record of its function's tree, if that is kept.
    place: usize,
}

/// Splits leaves of functions' trees until all values are at most `enough`, the effort is spent, or `is_spent` says so. `descent` has just
/// improved the functions, and evaluated them as a proof will if they are to be proven. The bound of each.
pub(super) fn bound_by_signs(
    ground: TreeGround,
    functions: &Functions,
    descent: &mut SlopeDescent,
    (enough, effort): (f64, TreeEffort),
    is_spent: &impl Fn() -> bool,
) -> Vec<FunctionBound> {
    let mut trees = SignTrees::new(functions.len(), enough);
    for k in 0..functions.len() {
        let place = trees.record(ground, descent, (k, k), &[]);
        let root = SignLeaf::of_descent(ground, descent, (k, k), Vec::new(), descent.best[k]);
        trees.open[k].push(SignLeaf { place, ..root });
    }
    let mut chosen = Functions::default();
    while !is_spent() {
        let leaves = trees.take(effort);
        if leaves.is_empty() {
            break;
        }
        for block in leaves.chunks(effort.at_once) {
            let parents: Vec<&SignLeaf> = block.iter().flat_map(|leaf| [leaf, leaf]).collect();
            let signs = |(k, leaf): (usize, &&SignLeaf)| {
                let new = leaf.split.map(|neuron| Sign { neuron, on: k % 2 == 0 });
                leaf.signs.iter().copied().chain(new).collect()
            };
            let first = FirstOfLeaves {
                signs: parents.iter().enumerate().map(signs).collect(),
                parents: &parents,
                ground,
                nodes: &functions.nodes,
            };
            chosen.clear();
            parents.iter().for_each(|leaf| chosen.push_copy(functions, leaf.function));
            let options = DescentOptions {
                evaluations: effort.evaluations,
                step: effort.step,
                cuts: ground.layer < ground.network.hidden(),
            };
            let TreeGround { network, boxes, parts, layer, proves } = ground;
            let is_enough = |best: &[f64]| best.iter().all(|value| *value <= enough) || is_spent();
            descent.run(network, boxes, (parts, &chosen, layer), &first, options, is_enough);
            let signs = first.signs;
            if proves {
                let own = signs.clone();
                let rounded = RoundedSlopes::of_descent(descent, network, parts, layer, own);
                let once = DescentOptions { evaluations: 1, ..options };
                descent.run(network, boxes, (parts, &chosen, layer), &rounded, once, |_| false);
            }
            for (k, (parent, signs)) in parents.iter().zip(signs).enumerate() {
                // What is better in the parent is not in the leaf's own lines.
                let inherited = if proves { f64::INFINITY } else { parent.value };
                let (value, of) = (descent.best[k].min(inherited), (k, parent.function));
                let place = trees.record(ground, descent, of, &signs);
                if k % 2 == 0 {
                    trees.record_split(parent, place);
                }
                let leaf = SignLeaf::of_descent(ground, descent, of, signs, value);
                trees.add(SignLeaf { place, ..leaf });
            }
        }
    }
    trees.finish()
}

/// The trees of all functions.
struct SignTrees {
    open: Vec<Vec<SignLeaf>>,
    /// The largest value of each function's leaves that need no split.
    closed: Vec<f64>,
    /// Leaves of each function that were split.
    splits: Vec<usize>,
    enough: f64,
    /// All nodes of each function's tree, if they are kept.
    records: Vec<Vec<RecordedSplit>>,
}

/// A node of a tree, and what its own bound is made of.
struct RecordedSplit {
    value: f64,
    lines: LineEvidence,
    /// What it was split by, and the place of the first of its two sides, which are neighbours.
    split: Option<(NeuronId, usize)>,
}

impl SignTrees {
    fn new(functions: usize, enough: f64) -> Self {
        Self {
            open: (0..functions).map(|_| Vec::new()).collect(),
            closed: vec![f64::NEG_INFINITY; functions],
            splits: vec![0; functions],
            enough,
            records: (0..functions).map(|_| Vec::new()).collect(),
        }
    }

    /// Keeps what a node's bound is made of, if it is to be proven: what a descent has just evaluated as its function `of.0`. Its place.
    fn record(
        &mut self,
        ground: TreeGround,
        descent: &SlopeDescent,
        of: (usize, usize),
        signs: &[Sign],
    ) -> usize {
        let TreeGround { network, boxes, parts, layer, proves } = ground;
        if !proves {
            return 0;
        }
        let of_part = &parts[descent.functions().nodes[of.0]].signs;
        let signs = of_part.iter().chain(signs).copied();
        let lines = LineEvidence::of_descent(descent, (network, boxes, layer), of.0, signs);
        let record = &mut self.records[of.1];
        record.push(RecordedSplit { value: descent.best[of.0], lines, split: None });
        record.len() - 1
    }

    /// Keeps that a node was split, if nodes are kept.
    fn record_split(&mut self, parent: &SignLeaf, first: usize) {
        if let Some(of) = self.records[parent.function].get_mut(parent.place) {
            of.split = parent.split.map(|neuron| (neuron, first));
        }
    }

    /// The tree of a function as far as it is needed for a bound, if it was kept.
    fn evidence(record: Vec<RecordedSplit>, bound: f64) -> Option<BoundEvidence> {
        let mut waiting = if record.is_empty() { return None } else { vec![0] };
        let mut nodes = Vec::new();
        while let Some(place) = waiting.pop() {
            let RecordedSplit { value, lines, split } = &record[place];
            nodes.push(match split {
                Some((neuron, first)) if *value > bound => {
                    waiting.extend([first + 1, *first]);
                    SignTreeNode::Split(*neuron)
                }
                _ => SignTreeNode::Leaf(lines.clone()),
            });
        }
        Some(BoundEvidence::Signs(nodes))
    }

    fn add(&mut self, leaf: SignLeaf) {
        if leaf.value <= self.enough || leaf.split.is_none() {
            let closed = &mut self.closed[leaf.function];
            *closed = closed.max(leaf.value);
        } else {
            self.open[leaf.function].push(leaf);
        }
    }

    /// The leaves to split next: of every function those with the largest values. A function whose bound cannot come down is left alone.
    fn take(&mut self, effort: TreeEffort) -> Vec<SignLeaf> {
        let is_due = |trees: &Self, k: usize| {
            trees.splits[k] < effort.splits
                && trees.open[k].iter().any(|leaf| leaf.value > trees.closed[k])
        };
        let due: Vec<usize> = (0..self.open.len()).filter(|&k| is_due(self, k)).collect();
        let each = (effort.at_once / due.len().max(1)).max(1);
        let mut leaves = Vec::new();
        for k in due {
            let closed = self.closed[k];
            let open = &mut self.open[k];
            open.sort_by(|a, b| a.value.total_cmp(&b.value));
            let count = each.min(effort.splits - self.splits[k]);
            // Many leaves at once only while they are about as bad as the worst.
            let first = open.len().saturating_sub(count);
            let begin = (first..open.len()).find(|&at| open[at].value > closed);
            let taken = open.split_off(begin.unwrap_or(open.len()));
            self.splits[k] += taken.len();
            leaves.extend(taken);
        }
        leaves
    }

    fn finish(self) -> Vec<FunctionBound> {
        let largest = |(open, closed): (&Vec<SignLeaf>, &f64)| {
            open.iter().map(|leaf| leaf.value).fold(*closed, f64::max)
        };
        let values: Vec<f64> = self.open.iter().zip(&self.closed).map(largest).collect();
        let both = values.into_iter().zip(self.records);
        both.map(|(value, record)| FunctionBound { value, by: Self::evidence(record, value) })
            .collect()
    }
}

impl SignLeaf {
    /// A leaf that a descent has just improved, as its function `of.0`.
    fn of_descent(
        ground: TreeGround,
        descent: &SlopeDescent,
        of: (usize, usize),
        signs: Vec<Sign>,
        value: f64,
    ) -> Self {
        let TreeGround { network, layer, .. } = ground;
        let mut slopes = Vec::new();
        for (k, of_layer) in network.layers[..layer].iter().enumerate() {
            let improved = descent.slopes(k, of.0, of_layer.padded());
            slopes.extend(improved.iter().map(|&slope| slope as f32));
        }
        Self {
            function: of.1,
            value,
            multipliers: descent.multipliers(of.0).collect(),
            slopes,
            split: costliest(ground, descent, of.0, &signs),
            signs,
            place: 0,
        }
    }
}

/// The neuron whose relaxation costs a function most.
fn costliest(
    TreeGround { network, boxes, layer, .. }: TreeGround,
    descent: &SlopeDescent,
    function: usize,
    signs: &[Sign],
) -> Option<NeuronId> {
    let node = descent.functions().nodes[function];
    let mut most: Option<(f64, NeuronId)> = None;
    for layer in 0..layer {
        let width = network.layers[layer].padded();
        let coefficients = descent.coefficients(layer, function, width);
        let slopes = descent.slopes(layer, function, width);
        for index in 0..network.layers[layer].width {
            let neuron = NeuronId { layer, index };
            let cost = cost(boxes, (node * width, neuron), coefficients[index], slopes[index]);
            if cost <= most.map_or(0.0, |(most, _)| most) {
                continue;
            }
            let is_free = boxes.is_unstable(network, layer, node, index)
                && signs.iter().all(|sign| sign.neuron != neuron);
            if is_free {
                most = Some((cost, neuron));
            }
        }
    }
    most.map(|(_, neuron)| neuron)
}

/// What new leaves begin with: what those have that they were split from.
struct FirstOfLeaves<'f> {
    parents: &'f [&'f SignLeaf],
    signs: Vec<Vec<Sign>>,
    ground: TreeGround<'f>,
    /// The box of each function.
    nodes: &'f [usize],
}

impl FirstSlopes for FirstOfLeaves<'_> {
    fn slopes(&self, function: usize, layer: usize, _: &[f64], out: &mut [f64]) {
        let below = &self.ground.network.layers[..layer];
        let begin: usize = below.iter().map(|layer| layer.padded()).sum();
        let stored = &self.parents[function].slopes[begin..begin + out.len()];
        out.iter_mut().zip(stored).for_each(|(out, slope)| *out = f64::from(*slope));
    }

    fn multiplier(&self, function: usize, sign: usize) -> Option<f64> {
        let parent = self.parents[function];
        let of_part = &self.ground.parts[self.nodes[parent.function]].signs;
        let sign = of_part.iter().chain(&self.signs[function]).nth(sign)?;
        let stored = parent.multipliers.iter().find(|(neuron, _)| *neuron == sign.neuron);
        stored.map(|(_, value)| *value)
    }

    fn signs(&self, function: usize) -> &[Sign] {
        &self.signs[function]
    }
}
