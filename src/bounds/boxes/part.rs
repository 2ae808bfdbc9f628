//! Parts of a box: by the values of inputs, and by the signs of neurons.

use std::sync::Arc;

use super::cuts::{GoalCut, MOST_CUTS};
use super::stored_slopes::RowSlopes;
use crate::bounds::part::{InputSplit, Part, Sign, SplitSide};
use crate::sets::Half;

/// A part of a box, and what is known of its neurons. Only [bounds](super::BoxBounds) make one from nothing.
#[derive(Clone, Debug)]
pub struct BoxPart {
    pub(super) part: Part,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    /// The signs that lead to it.
    pub(super) signs: Vec<Sign>,
    /// Intervals of all neurons of what it is a part of, as [`PaddedNetwork::offset`](super::network::PaddedNetwork::offset) has them.
    pub(super) neurons: Option<Arc<[f64]>>,
    /// Layers below this one have the same intervals as what it is a part of.
    pub(super) fresh_from: usize,
    /// Slopes that its rows begin with.
    pub(super) slopes: Option<Arc<RowSlopes>>,
    /// What points have in common that count. None: they are not known, or too many questions are open.
    pub(super) cuts: Arc<[GoalCut]>,
    /// A bound for each question.
    pub(super) values: Arc<[f64]>,
}

impl BoxPart {
    /// Which part it is.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The least value of each input.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The largest value of each input.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The signs that lead to it.
    pub fn signs(&self) -> &[Sign] {
        &self.signs
    }

    /// No point of it has a larger value: one bound for each question.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The parts in which an input is at least, and at most, this. `None` if that leaves one of them as it is.
    pub fn bisect(&self, InputSplit { input, at }: InputSplit) -> Option<[Self; 2]> {
        let (lower, upper) = (*self.lower.get(input)?, *self.upper.get(input)?);
        if !(lower < at && at < upper) {
            return None;
        }
        let half = |half: Half| {
            let side = SplitSide::Input(InputSplit { input, at }, half);
            let mut part = Self { part: self.part.side(side), fresh_from: 0, ..self.clone() };
            match half {
                Half::AtLeast => part.lower[input] = at,
                Half::AtMost => part.upper[input] = at,
            }
            part
        };
        Some([half(Half::AtLeast), half(Half::AtMost)])
    }

    /// The part in which a neuron has this sign.
    pub fn signed(&self, sign: Sign) -> Self {
        let (part, fresh_from) = (self.part.side(SplitSide::Neuron(sign)), sign.neuron.layer + 1);
        let mut part = Self { part, fresh_from, ..self.clone() };
        part.signs.push(sign);
        part
    }

    /// About how many numbers it holds.
    pub(super) fn numbers(&self) -> usize {
        let of_cut = |cut: &GoalCut| cut.slopes.len();
        self.lower.len()
            + self.upper.len()
            + self.values.len()
            + self.neurons.as_ref().map_or(0, |neurons| neurons.len())
            + self.slopes.as_ref().map_or(0, |slopes| slopes.numbers())
            + self.cuts.iter().map(of_cut).sum::<usize>()
    }

    /// Takes over what its own parts begin with. Many cuts are not worth their time.
    pub(super) fn keep(&mut self, slopes: RowSlopes, cuts: Vec<GoalCut>) {
        self.slopes = Some(Arc::new(slopes));
        self.cuts = if cuts.len() <= MOST_CUTS { cuts.into() } else { Arc::new([]) };
    }
}
