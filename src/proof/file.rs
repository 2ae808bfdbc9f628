//! What a file of a proof holds.

use serde::{Deserialize, Serialize};

use super::evidence::Certificate;
use super::side::ProofSide;
use super::statement::Statement;
use crate::bounds::Part;

/// The version of the file format.
pub const SCHEMA: &str = "rw-adv-proof/1";

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
    /// Parts that cover the set.
    pub leaves: Vec<Leaf>,
}

/// One part of the set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leaf {
    /// The splits that lead to it, in order.
    pub sides: Vec<ProofSide>,
    /// No point of the part has a larger value.
    pub bound: f64,
    /// Why.
    #[serde(flatten)]
    pub certificate: Certificate,
}

impl Leaf {
    /// The leaf of a part with a bound, and why that holds.
    pub fn new(part: &Part, bound: f64, certificate: Certificate) -> Self {
        let sides = part.sides().into_iter().map(ProofSide::from).collect();
        // An empty part has no bound, and files no infinities.
        Self { sides, bound: bound.max(f64::MIN), certificate }
    }
}
