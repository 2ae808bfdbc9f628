//! What a file of a proof holds.

use serde::{Deserialize, Serialize};

use super::evidence::Certificate;
use super::side::ProofSide;
use crate::bounds::Part;
use crate::sets::Norm;

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
    /// The splits that lead to it, in order.
    pub sides: Vec<ProofSide>,
    /// No point of the part has a larger margin.
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
