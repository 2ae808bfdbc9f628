//! Proofs of any kind.

use std::path::Path;

use serde::Deserialize;

use crate::format::ProofFile;
use crate::onnx::{Model, unpacked};
use crate::property::{PROPERTY_SCHEMA, PropertyProof};
use crate::property_theorem::{PropertyTheorem, check_property, parse_property_proof};
use crate::statement::{check, parse_proof};
use crate::theorem::Theorem;

/// A proof of a bound, or that no input has a property.
#[derive(Clone, Debug)]
pub enum AnyProof {
    /// Of bounds.
    Bound(ProofFile),
    /// About a property.
    Property(PropertyProof),
}

/// What can be expected of theorems.
pub const EXPECTED: [&str; 9] =
    ["delta", "norm", "image", "predicted", "target", "model", "centre", "verdict", "bound"];

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// Reads a proof file, which may be gzipped.
///
/// # Errors
/// When it cannot be read.
pub fn read_any(path: &Path) -> Result<AnyProof, String> {
    let named = |what: String| format!("{}: {what}", path.display());
    let stored = std::fs::read(path).map_err(|e| named(e.to_string()))?;
    let text = unpacked(&stored).map_err(|e| named(e.to_string()))?;
    let schema: Schema =
        serde_json::from_slice(&text).map_err(|e| named(format!("is not a proof: {e}")))?;
    let proof = match schema.schema == PROPERTY_SCHEMA {
        true => parse_property_proof(&text).map(AnyProof::Property),
        false => parse_proof(&text).map(AnyProof::Bound),
    };
    proof.map_err(named)
}

impl AnyProof {
    /// Checks it, and that it shows what is expected: `KEY=VALUE` with one of [`EXPECTED`]. The whole theorem.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, model: &Model, exact: bool, expected: &[String]) -> Result<String, String> {
        match self {
            Self::Bound(proof) => {
                let theorem: Theorem = check(model, proof, exact)?;
                expected.iter().try_for_each(|expected| theorem.expect(expected))?;
                Ok(theorem.to_string())
            }
            Self::Property(proof) => {
                let theorem: PropertyTheorem = check_property(model, proof, exact)?;
                expected.iter().try_for_each(|expected| theorem.expect(expected))?;
                Ok(theorem.to_string())
            }
        }
    }
}
