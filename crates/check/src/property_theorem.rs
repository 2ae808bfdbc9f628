//! What a proof about a property shows, in full, and whether it holds.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sha2::{Digest, Sha256};

use crate::exact::Exact;
use crate::onnx::Model;
use crate::property::{PROPERTY_SCHEMA, PropertyCase, PropertyProof, Row};
use crate::tree::refute;

/// Boxes of so many inputs are printed; of others the SHA-256 is.
const FEW: usize = 8;

/// That no input has a property: its [`Display`](fmt::Display) is the whole theorem.
#[derive(Clone, Debug)]
pub struct PropertyTheorem<'p> {
    proof: &'p PropertyProof,
    left_out: Option<&'static str>,
    /// Leaves of the tree of each case.
    pub leaves: Vec<usize>,
}

/// Reads a proof about a property from the text of its file.
///
/// # Errors
/// When it is not one.
pub fn parse_property_proof(text: &[u8]) -> Result<PropertyProof, String> {
    let proof: PropertyProof =
        serde_json::from_slice(text).map_err(|e| format!("is not a proof: {e}"))?;
    let ours = proof.schema == PROPERTY_SCHEMA;
    if ours {
        Ok(proof)
    } else {
        Err(format!("is a {:?}, not a {PROPERTY_SCHEMA:?}", proof.schema))
    }
}

/// Checks a proof about a property, in f64 that is rounded outward or with exact numbers.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_property<'p>(
    model: &Model,
    proof: &'p PropertyProof,
    exact: bool,
) -> Result<PropertyTheorem<'p>, String> {
    if proof.model_sha256 != model.sha256 {
        return Err("it is about another model".into());
    }
    let mut rows = proof.cases.iter().flat_map(|case| case.any_of.iter().flatten());
    match model.left_out {
        Some(op @ "ArgMax") => {
            return Err(format!("the model ends with {op}: its output is a label"));
        }
        Some(op) if !rows.all(Row::compares_two_outputs) => {
            return Err(format!("the model ends with {op}, which keeps no more than the order"));
        }
        _ => {}
    }
    if proof.cases.len() != proof.trees.len() {
        return Err("it does not have one tree for each case".into());
    }
    let plan = model.plan(&[])?;
    let mut leaves = Vec::new();
    for (number, (case, tree)) in proof.cases.iter().zip(&proof.trees).enumerate() {
        if case.is_empty() {
            leaves.push(0);
            continue;
        }
        let refute = if exact { refute::<Exact> } else { refute::<f64> };
        // There are no infinite exact numbers: what overflows panics.
        let work = AssertUnwindSafe(|| refute(&plan, case, proof.f32, tree));
        let refuted = catch_unwind(work).unwrap_or_else(|_| Err("numbers overflow".into()));
        leaves.push(refuted.map_err(|what| format!("case {number}: {what}"))?);
    }
    Ok(PropertyTheorem { proof, left_out: model.left_out, leaves })
}

impl Row {
    /// Whether it asks for the order of two outputs and nothing else.
    fn compares_two_outputs(&self) -> bool {
        let terms: Vec<_> = self.terms.iter().filter(|(_, weight)| *weight != 0.0).collect();
        self.constant == 0.0 && matches!(terms[..], [(i, a), (j, b)] if i != j && *a == -b)
    }
}

impl PropertyCase {
    /// Whether its box is, which takes no proof.
    pub fn is_empty(&self) -> bool {
        self.lower.iter().zip(&self.upper).any(|(lower, upper)| lower > upper)
    }

    fn bounds_sha256(&self) -> String {
        let sides = self.lower.iter().chain(&self.upper);
        hex::encode(Sha256::digest(sides.flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()))
    }
}

impl PropertyTheorem<'_> {
    /// What can be expected of a theorem about a property.
    pub const KEYS: [&'static str; 2] = ["model", "verdict"];

    /// Whether the theorem is what was expected: `KEY=VALUE` with one of [`PropertyTheorem::KEYS`].
    ///
    /// # Errors
    /// When it is not, or there is no such key.
    pub fn expect(&self, expected: &str) -> Result<(), String> {
        let (key, value) = expected.split_once('=').unwrap_or((expected, ""));
        let found = match key {
            "model" => &self.proof.model_sha256,
            "verdict" if self.proof.cases.is_empty() => "nothing",
            "verdict" => "unsat",
            _ => return Err(format!("it has no {key}, {value} is expected")),
        };
        let holds = found.eq_ignore_ascii_case(value);
        if holds { Ok(()) } else { Err(format!("{key} is {found}, {value} is expected")) }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (output, weight) in &self.terms {
            write!(f, "{weight}*y{output} + ")?;
        }
        write!(f, "{} {} 0", self.constant, if self.strict { ">" } else { ">=" })
    }
}

impl fmt::Display for PropertyTheorem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PropertyProof { model_sha256, property, property_sha256, cases, f32, .. } = self.proof;
        match cases.is_empty() {
            true => writeln!(f, "nothing: there is no case")?,
            false => writeln!(f, "unsat: no input has the property")?,
        }
        writeln!(f, "  model      SHA-256 {model_sha256}")?;
        write!(f, "  property   {property}, SHA-256 {property_sha256}; ")?;
        write!(f, "that it has the cases below is for --property to tell")?;
        if let Some(op) = self.left_out {
            write!(f, "\n  outputs    what the last {op} is applied to")?;
        }
        for (number, (case, leaves)) in cases.iter().zip(&self.leaves).enumerate() {
            let inputs = case.lower.len();
            write!(f, "\n  case {number:<6}{inputs} inputs within bounds")?;
            if inputs <= FEW {
                let sides = case.lower.iter().zip(&case.upper);
                let sides: Vec<String> =
                    sides.map(|(lower, upper)| format!("[{lower}, {upper}]")).collect();
                write!(f, " {}", sides.join(" "))?;
            } else {
                write!(f, ", which have SHA-256 {}", case.bounds_sha256())?;
            }
            for rows in &case.any_of {
                let rows: Vec<String> = rows.iter().map(Row::to_string).collect();
                write!(f, "\n             never {}", rows.join(" and "))?;
            }
            let name = if *f32 {
                "float32, in any order of summation, and in exact arithmetic"
            } else {
                "exact arithmetic"
            };
            match case.is_empty() {
                true => write!(f, "\n  shown      no input is within these bounds")?,
                false => write!(f, "\n  shown      in {name}, by {leaves} leaves")?,
            }
        }
        Ok(())
    }
}
