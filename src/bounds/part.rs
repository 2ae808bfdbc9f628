//! Which part of a set: the splits that lead to it, and the side of each. A part is a name, not a claim: nothing is proven by making one.

use std::sync::Arc;

use crate::network::NeuronId;
use crate::sets::{Half, InputSet, MovePart, PixelSplit};

/// The sign of a neuron: on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The neuron.
    pub neuron: NeuronId,
    /// Whether its pre-activation is at least 0, or at most 0.
    pub on: bool,
}

/// A division of a box by the value of one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputSplit {
    /// The input.
    pub input: usize,
    /// Where it is divided.
    pub at: f64,
}

/// One side of a split. With the [opposite](SplitSide::opposite) side it covers what is split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitSide {
    /// Where a pixel moves by at least, or at most, an amount.
    Pixel(PixelSplit, Half),
    /// Where an input is at least, or at most, a value.
    Input(InputSplit, Half),
    /// Where a neuron is on, or off.
    Neuron(Sign),
}

impl SplitSide {
    /// The other side of the same split.
    pub fn opposite(self) -> Self {
        match self {
            Self::Pixel(split, half) => Self::Pixel(split, half.opposite()),
            Self::Input(split, half) => Self::Input(split, half.opposite()),
            Self::Neuron(Sign { neuron, on }) => Self::Neuron(Sign { neuron, on: !on }),
        }
    }

    /// The sign, if it is a neuron's.
    pub fn sign(self) -> Option<Sign> {
        match self {
            Self::Neuron(sign) => Some(sign),
            Self::Pixel(..) | Self::Input(..) => None,
        }
    }
}

/// A part of a set. Parts of the same whole share the splits that they have in common, so that making one costs little.
#[derive(Clone, Debug)]
pub struct Part(Arc<PartNode>);

#[derive(Debug)]
struct PartNode {
    /// The last side, and what was split. `None` for the whole set.
    last: Option<(SplitSide, Part)>,
    depth: usize,
}

impl Part {
    /// All of a set. Two wholes are never the same.
    pub fn whole() -> Self {
        Self(Arc::new(PartNode { last: None, depth: 0 }))
    }

    /// One side of a split of this part.
    pub fn side(&self, side: SplitSide) -> Self {
        Self(Arc::new(PartNode { last: Some((side, self.clone())), depth: self.depth() + 1 }))
    }

    /// Number of splits that lead to it.
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// The last side that leads to it. `None` for the whole set.
    pub fn last_side(&self) -> Option<SplitSide> {
        self.0.last.as_ref().map(|(side, _)| *side)
    }

    /// The sides that lead to it from the whole set, in order.
    pub fn sides(&self) -> Vec<SplitSide> {
        let mut sides = Vec::with_capacity(self.depth());
        let mut at = self;
        while let Some((side, before)) = &at.0.last {
            sides.push(*side);
            at = before;
        }
        sides.reverse();
        sides
    }

    /// The sides that lead to it from another part, in order. `None` if it is not a part of that.
    pub fn sides_from(&self, other: &Self) -> Option<Vec<SplitSide>> {
        let mut sides = Vec::new();
        let mut at = self;
        while !Arc::ptr_eq(&at.0, &other.0) {
            let (side, before) = at.0.last.as_ref()?;
            sides.push(*side);
            at = before;
        }
        sides.reverse();
        Some(sides)
    }
}

/// A part of the set that some bounds were made for, split by pixels: told in the moves of these bounds, too.
#[derive(Clone, Debug)]
pub struct PixelPart {
    part: Part,
    moves: MovePart,
}

impl PixelPart {
    pub(super) fn new(part: Part, moves: MovePart) -> Self {
        Self { part, moves }
    }

    /// Which part it is.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The same in moves.
    pub(super) fn moves(&self) -> &MovePart {
        &self.moves
    }

    /// Its halves, at least and at most. `None` where the pixel does not move there, or a sum of amounts would be rounded.
    pub fn split(&self, split: PixelSplit) -> Option<[Self; 2]> {
        let [at_least, at_most] = self.moves.split(split)?;
        let half =
            |half, moves| Self { part: self.part.side(SplitSide::Pixel(split, half)), moves };
        Some([half(Half::AtLeast, at_least), half(Half::AtMost, at_most)])
    }
}

/// A set, and which part of another it is.
#[derive(Debug)]
pub(super) struct PartSet {
    pub part: Part,
    pub set: InputSet,
}

impl PartSet {
    /// A part of it as a set. `None` if it is not a part of it, if neurons' signs are among the splits, or if it cannot be told without rounding.
    pub fn set_of(&self, part: &Part) -> Option<InputSet> {
        part.sides_from(&self.part)?.into_iter().try_fold(self.set.clone(), |set, side| {
            let SplitSide::Pixel(split, half) = side else { return None };
            set.half(split, half)
        })
    }
}
