//! Open nodes of a tree over boxes.

use std::cmp::Ordering;

use crate::bounds::{
    BoundLimits, BoundedBox, BoxBounds, BoxPart, BoxScratch, InputSplit, OpenLeaf, Sign, SplitBy,
};

/// What the length of an edge counts for in its score.
const EDGE: f64 = 1e-12;

/// A node that is still to be split.
pub(super) struct BoxNode {
    /// Its place in the cover.
    pub leaf: OpenLeaf,
    pub bounded: BoundedBox,
    /// Order of making: of equal bounds the older node goes first.
    pub number: usize,
    /// Its place in the record of the tree, if that is kept.
    pub place: usize,
}

impl BoxNode {
    /// No point of the node's part has a larger value.
    pub fn bound(&self) -> f64 {
        self.bounded.bound.value()
    }

    /// What it is split into: by an input's value where inputs are few, otherwise by a neuron's sign. `None` if it cannot be split.
    pub fn halves(
        &self,
        bounds: &BoxBounds,
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> Option<[BoxPart; 2]> {
        let part = &self.bounded.part;
        if bounds.split_by() == SplitBy::Signs
            && let Some(neuron) = bounds.best_sign(&self.bounded, limits, scratch)
        {
            return Some([true, false].map(|on| part.signed(Sign { neuron, on })));
        }
        self.input_split().and_then(|split| part.bisect(split))
    }

    /// Where to divide it: in the middle of the input that makes its bound loosest. `None` if no input has a middle.
    fn input_split(&self) -> Option<InputSplit> {
        let part = &self.bounded.part;
        let splits = part.lower().iter().zip(part.upper()).enumerate().filter_map(
            |(input, (&lower, &upper))| {
                let at = lower + 0.5 * (upper - lower);
                (lower < at && at < upper).then_some((InputSplit { input, at }, upper - lower))
            },
        );
        let scores = &self.bounded.scores;
        let score = |&(split, width): &(InputSplit, f64)| {
            // Without scores, and among equals, the longest edge.
            scores.get(split.input).copied().unwrap_or(0.0) + EDGE * width
        };
        splits.max_by(|a, b| score(a).total_cmp(&score(b))).map(|(split, _)| split)
    }
}

impl PartialEq for BoxNode {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for BoxNode {}

impl PartialOrd for BoxNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BoxNode {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound().total_cmp(&other.bound()).then(other.number.cmp(&self.number))
    }
}
