//! Proofs that no input has a property, as files hold them.

use serde::{Deserialize, Serialize};

use super::box_tree::BoxTreeProof;
use crate::problem::{Objective, Property, PropertyRow};
use crate::sets::Domain;

/// The version of the format of proofs about properties.
pub const PROPERTY_SCHEMA: &str = "rw-adv-property-proof/1";

/// All about one property.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PropertyProofFile {
    /// [`PROPERTY_SCHEMA`].
    pub schema: String,
    /// SHA-256 of the model's file.
    pub model_sha256: String,
    /// The name of the property's file.
    pub property: String,
    /// Its SHA-256.
    pub property_sha256: String,
    /// What no input has.
    pub cases: Vec<CaseStatement>,
    /// Whether it is about the file run in f32, too.
    pub f32: bool,
    /// Why: one tree for each case.
    pub trees: Vec<BoxTreeProof>,
}

/// A box, and conditions on the outputs there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseStatement {
    /// The least value of each input.
    pub lower: Vec<f64>,
    /// The largest value of each input.
    pub upper: Vec<f64>,
    /// Any of these holds, in each of which all rows do.
    pub any_of: Vec<Vec<RowStatement>>,
}

/// `Σ weight · y + constant ≥ 0`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowStatement {
    /// Outputs and their weights.
    pub terms: Vec<(usize, f64)>,
    /// What is added.
    pub constant: f64,
    /// Whether the sum has to be positive.
    pub strict: bool,
}

impl CaseStatement {
    /// What a proof says about a case: that no input of the box, open sides included, has the property, with every constant as large as it may
    /// be meant. `None` if the set is no box.
    pub fn new(domain: &Domain, property: &Property) -> Option<Self> {
        let row = |PropertyRow { objective, strict, slack }: &PropertyRow| {
            let Objective { weights, constant } = objective;
            let terms = weights.iter().copied().enumerate().filter(|(_, weight)| *weight != 0.0);
            let constant = if *slack > 0.0 { (constant + slack).next_up() } else { *constant };
            RowStatement { terms: terms.collect(), constant, strict: *strict }
        };
        let any_of = property.any_of.iter().map(|all| all.all_of.iter().map(row).collect());
        let (lower, upper) = (domain.lower.clone(), domain.upper.clone());
        let is_box = domain.constraints.is_empty();
        is_box.then(|| Self { lower, upper, any_of: any_of.collect() })
    }
}
