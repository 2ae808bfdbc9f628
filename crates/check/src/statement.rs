//! What a proof states, and whether it holds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::affine::Arithmetic;
use crate::check::bound;
use crate::exact::Exact;
use crate::format::{ProofFile, SCHEMA, Statement};
use crate::network::Network;
use crate::onnx::{Model, unpacked};
use crate::set::Set;
use crate::theorem::Theorem;

/// A claim that holds.
#[derive(Clone, Copy, Debug)]
pub struct CheckedClaim {
    /// Whether it is about the file run in f32.
    pub f32: bool,
    /// The bound that was claimed.
    pub claimed: f64,
    /// The bound that was worked out; not larger.
    pub bound: f64,
    /// Leaves of its tree.
    pub leaves: usize,
}

/// Reads a proof file, which may be gzipped.
///
/// # Errors
/// When it cannot be read.
pub fn read_proof(path: &Path) -> Result<ProofFile, String> {
    let named = |what: String| format!("{}: {what}", path.display());
    let stored = std::fs::read(path).map_err(|e| named(e.to_string()))?;
    parse_proof(&unpacked(&stored).map_err(|e| named(e.to_string()))?).map_err(named)
}

/// Reads a proof from the text of its file.
///
/// # Errors
/// When it is not one.
pub fn parse_proof(text: &[u8]) -> Result<ProofFile, String> {
    let proof: ProofFile =
        serde_json::from_slice(text).map_err(|e| format!("is not a proof: {e}"))?;
    let ours = proof.schema == SCHEMA;
    if ours { Ok(proof) } else { Err(format!("is a {:?}, not a {SCHEMA:?}", proof.schema)) }
}

/// Checks all claims of a proof, in f64 that is rounded outward or with exact numbers.
///
/// # Errors
/// The first thing that is wrong.
pub fn check<'p>(model: &Model, proof: &'p ProofFile, exact: bool) -> Result<Theorem<'p>, String> {
    if proof.model_sha256 != model.sha256 {
        return Err("it is about another model".into());
    }
    let set = Set::new(&proof.statement)?;
    let inputs: &[usize] = match &proof.statement {
        Statement::Domain(domain) => &domain.inputs,
        Statement::Image(_) => &[],
    };
    if inputs.iter().any(|&input| input >= set.centre.len()) {
        return Err("its objective is not about the inputs".into());
    }
    let plan = model.plan(inputs)?;
    let network = Network::<f64>::new(&plan, Arithmetic::Exact)?;
    let outputs = *network.widths.last().ok_or("the network has no layer")?;
    if set.centre.len() != network.inputs {
        return Err("its inputs do not fit the model".into());
    }
    let objective = objective(&proof.statement, outputs)?;
    check_label(&network, &set, &proof.statement)?;
    if proof.claims.is_empty() {
        return Err("it claims nothing".into());
    }
    let mut claims = Vec::new();
    for claim in &proof.claims {
        let name = if claim.f32 { "in f32" } else { "in exact arithmetic" };
        let bound = if exact { bound::<Exact> } else { bound::<f64> };
        // There are no infinite exact numbers: what overflows panics.
        let work = AssertUnwindSafe(|| bound(&plan, &set, &objective, claim));
        let bound = catch_unwind(work).unwrap_or_else(|_| Err("numbers overflow".into()));
        let bound = bound.map_err(|what| format!("{name}: {what}"))?;
        if bound > claim.bound || claim.bound.is_nan() {
            return Err(format!("{name}: claims {}, but only {bound} is proven", claim.bound));
        }
        let (f32, claimed, leaves) = (claim.f32, claim.bound, claim.leaves.len());
        claims.push(CheckedClaim { f32, claimed, bound, leaves });
    }
    Ok(Theorem::new(proof, claims))
}

/// One weight for each output.
fn objective(statement: &Statement, outputs: usize) -> Result<Vec<f64>, String> {
    match statement {
        Statement::Image(image) => {
            if image.predicted.max(image.target) >= outputs || image.predicted == image.target {
                return Err("its labels make no sense".into());
            }
            let weight = |i| f64::from(i == image.target) - f64::from(i == image.predicted);
            Ok((0..outputs).map(weight).collect())
        }
        Statement::Domain(domain) if domain.weights.len() == outputs => Ok(domain.weights.clone()),
        Statement::Domain(_) => Err("its weights do not fit the model's outputs".into()),
    }
}

/// Whether the image has the predicted label: no other logit is certainly larger there.
fn check_label(network: &Network<f64>, set: &Set, statement: &Statement) -> Result<(), String> {
    let Statement::Image(image) = statement else { return Ok(()) };
    let values = network.values(&set.centre)?;
    match values.iter().any(|v| v.lower > values[image.predicted].upper) {
        true => Err(format!("the model does not give the image the label {}", image.predicted)),
        false => Ok(()),
    }
}
