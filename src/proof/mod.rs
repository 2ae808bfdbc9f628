//! Proofs that can be checked by somebody else: into which parts the set was divided, and why no point of each part exceeds its bound.
//!
//! A proof holds no numbers that have to be believed: slopes and multipliers are proposals, and [`check`] works out itself what follows
//! from them. It shares no code with the search: only the network, the input set, and the rounding-safe [`bounds`](crate::bounds).

mod check;

use serde::{Deserialize, Serialize};

use crate::bounds::{Multipliers, NeuronDuals, ReluLine, Sign};
use crate::network::NeuronId;
use crate::sets::{Half, Norm, PixelSplit};

pub use check::{CheckedClaim, ProofError, check};

/// The version of the file format.
pub const SCHEMA: &str = "rw-adv-proof/1";

/// All about one image and target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProofFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// SHA-256 of the model's file.
    pub model_sha256: String,
    /// Index of the image in the data.
    pub image: usize,
    /// The image as the model sees it.
    pub original: Vec<f32>,
    /// The label the model gives.
    pub predicted: usize,
    /// The label an adversary should get.
    pub target: usize,
    /// The norm, as on the command line.
    pub norm: String,
    /// The budget.
    pub delta: f64,
    /// What was proven, each by its own leaves.
    pub claims: Vec<Claim>,
}

impl ProofFile {
    /// The norm, if it is one.
    pub fn norm(&self) -> Option<Norm> {
        self.norm.parse().ok()
    }
}

/// One bound and its proof.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// Whether it is about the file run in f32, or about the network as a mathematical function.
    pub f32: bool,
    /// No point of the set has a larger margin.
    pub bound: f64,
    /// Parts that cover the set.
    pub leaves: Vec<Leaf>,
}

/// One part of the set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leaf {
    /// The divisions that lead to it, in order.
    pub sides: Vec<SplitSide>,
    /// No point of the part has a larger margin.
    pub bound: f64,
    /// Why.
    #[serde(flatten)]
    pub certificate: Certificate,
}

/// One side of a division.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitSide {
    /// A pixel's move is made to at least this amount more.
    AtLeast(Share),
    /// A pixel's move is made to at most this amount more.
    AtMost(Share),
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

/// A hidden neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeuronRef {
    /// Hidden layer, base 0.
    pub layer: usize,
    /// Place in it, base 0.
    pub neuron: usize,
}

impl SplitSide {
    /// The side on which a neuron has this sign.
    pub fn of(Sign { neuron: NeuronId { layer, index }, on }: Sign) -> Self {
        let place = NeuronRef { layer, neuron: index };
        if on { Self::On(place) } else { Self::Off(place) }
    }

    /// The sign that it demands, if it is about a neuron.
    pub fn sign(self) -> Option<Sign> {
        let (NeuronRef { layer, neuron: index }, on) = match self {
            Self::On(place) => (place, true),
            Self::Off(place) => (place, false),
            Self::AtLeast(_) | Self::AtMost(_) => return None,
        };
        Some(Sign { neuron: NeuronId { layer, index }, on })
    }

    /// The side on which a pixel moves by at least, or at most, an amount.
    pub fn of_pixel(PixelSplit { pixel, up, amount }: PixelSplit, half: Half) -> Self {
        let share = Share { pixel, up, amount };
        match half {
            Half::AtLeast => Self::AtLeast(share),
            Half::AtMost => Self::AtMost(share),
        }
    }

    /// The split and its half, if it is about a pixel.
    pub fn pixel_split(self) -> Option<(PixelSplit, Half)> {
        let (Share { pixel, up, amount }, half) = match self {
            Self::AtLeast(share) => (share, Half::AtLeast),
            Self::AtMost(share) => (share, Half::AtMost),
            Self::On(_) | Self::Off(_) => return None,
        };
        Some((PixelSplit { pixel, up, amount }, half))
    }

    /// What covers, with this side, what was divided.
    fn other(self) -> Self {
        match self {
            Self::AtLeast(share) => Self::AtMost(share),
            Self::AtMost(share) => Self::AtLeast(share),
            Self::On(place) => Self::Off(place),
            Self::Off(place) => Self::On(place),
        }
    }
}

/// Why a bound holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Certificate {
    /// The first so many sides are enough for the bound; it was made for the part that they lead to.
    pub needs: usize,
    /// After so many of them the neurons were bounded anew. Pixels divided afterwards keep these bounds' lines.
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
