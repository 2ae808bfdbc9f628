//! The kinds of work that a result directory may hold.

use serde::{Deserialize, Serialize};

/// What a result directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contents {
    /// One record per image and target.
    Attacks,
    /// One record per image.
    Radii,
    /// One record.
    Maximum,
    /// One record per network and property file.
    Instances,
}

impl Contents {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Attacks, Self::Radii, Self::Maximum, Self::Instances];

    /// The name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attacks => "attacks",
            Self::Radii => "radii",
            Self::Maximum => "maximum",
            Self::Instances => "instances",
        }
    }

    /// Where the records go.
    pub fn file(self) -> &'static str {
        match self {
            Self::Attacks => "results.jsonl",
            Self::Radii => "radii.jsonl",
            Self::Maximum => "result.json",
            Self::Instances => "verify.jsonl",
        }
    }

    /// Whether each target of an image has a record of its own.
    pub fn is_by_target(self) -> bool {
        self == Self::Attacks
    }

    /// Whether witnesses are stored beside the records.
    pub fn has_witnesses(self) -> bool {
        matches!(self, Self::Attacks | Self::Radii)
    }

    /// Whether the report shows points of the images, which are drawn beside the records.
    pub fn has_sketches(self) -> bool {
        matches!(self, Self::Attacks | Self::Radii)
    }

    /// Whether `summary.json` sums up the records. One record needs none.
    pub fn has_summary(self) -> bool {
        self != Self::Maximum
    }
}
