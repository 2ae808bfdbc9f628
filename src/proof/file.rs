//! What a file of a proof holds.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::part::ProofPart;
use super::side::ProofSide;
use super::statement::Statement;

/// The version of the file format.
pub const SCHEMA: &str = "rw-adv-proof/2";

/// All about one problem.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProofFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// SHA-256 of the model's file.
    pub model_sha256: String,
    /// What it is about.
    #[serde(flatten)]
    pub statement: Statement,
    /// What was proven, each by its own leaves.
    pub claims: Vec<Claim>,
}

/// One bound and its proof.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// Whether it is about the file run in f32, or about the network as a mathematical function.
    pub f32: bool,
    /// No point of the set has a larger value.
    pub bound: f64,
    /// Where neurons were bounded, each part behind those that it takes intervals from. The first one is the whole set.
    pub parts: Vec<ProofPart>,
    /// Parts that cover the set.
    pub leaves: Vec<Leaf>,
}

/// One part of the set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leaf {
    /// The splits that lead to it, in order.
    pub sides: Vec<ProofSide>,
    /// No point of it has a larger value.
    pub bound: f64,
    /// The first so many sides are enough for the bound; it was made for the part that they lead to.
    pub needs: usize,
    /// Where its neurons were bounded: a place in [`Claim::parts`]. Sides behind that part keep its lines.
    pub part: usize,
    /// What the bound is made of.
    #[serde(flatten)]
    pub evidence: Evidence,
}
