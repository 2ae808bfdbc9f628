//! Splits as files hold them.

use serde::{Deserialize, Serialize};

use crate::bounds::{InputSplit, Sign, SplitSide};
use crate::network::NeuronId;
use crate::sets::{Half, PixelSplit};

/// One side of a split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofSide {
    /// A pixel's move is made to at least this amount more.
    AtLeast(Share),
    /// A pixel's move is made to at most this amount more.
    AtMost(Share),
    /// An input is at least this value.
    Above(InputCut),
    /// An input is at most this value.
    Below(InputCut),
    /// A neuron's pre-activation is at least 0.
    On(NeuronRef),
    /// A neuron's pre-activation is at most 0.
    Off(NeuronRef),
}

/// How far a pixel moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The pixel.
    pub pixel: usize,
    /// Upwards or downwards.
    pub up: bool,
    /// By how much.
    pub amount: f64,
}

/// The value of an input at which a box is divided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputCut {
    /// The input.
    pub input: usize,
    /// The value.
    pub at: f64,
}

/// A hidden neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeuronRef {
    /// Hidden layer, base 0.
    pub layer: usize,
    /// Place in it, base 0.
    pub neuron: usize,
}

impl From<SplitSide> for ProofSide {
    fn from(side: SplitSide) -> Self {
        match side {
            SplitSide::Pixel(PixelSplit { pixel, up, amount }, half) => {
                let share = Share { pixel, up, amount };
                match half {
                    Half::AtLeast => Self::AtLeast(share),
                    Half::AtMost => Self::AtMost(share),
                }
            }
            SplitSide::Input(InputSplit { input, at }, half) => {
                let cut = InputCut { input, at };
                match half {
                    Half::AtLeast => Self::Above(cut),
                    Half::AtMost => Self::Below(cut),
                }
            }
            SplitSide::Neuron(Sign { neuron: NeuronId { layer, index }, on }) => {
                let neuron = NeuronRef { layer, neuron: index };
                if on { Self::On(neuron) } else { Self::Off(neuron) }
            }
        }
    }
}

impl From<ProofSide> for SplitSide {
    fn from(side: ProofSide) -> Self {
        let pixel =
            |Share { pixel, up, amount }, half| Self::Pixel(PixelSplit { pixel, up, amount }, half);
        let input = |InputCut { input, at }, half| Self::Input(InputSplit { input, at }, half);
        let neuron = |NeuronRef { layer, neuron: index }, on| {
            Self::Neuron(Sign { neuron: NeuronId { layer, index }, on })
        };
        match side {
            ProofSide::AtLeast(share) => pixel(share, Half::AtLeast),
            ProofSide::AtMost(share) => pixel(share, Half::AtMost),
            ProofSide::Above(cut) => input(cut, Half::AtLeast),
            ProofSide::Below(cut) => input(cut, Half::AtMost),
            ProofSide::On(place) => neuron(place, true),
            ProofSide::Off(place) => neuron(place, false),
        }
    }
}
