//! What a proof that holds says, in full: nobody should have to guess what was shown.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::format::{DomainStatement, ImageStatement, Norm, ProofFile, Statement};
use crate::set::CONSTRAINT_TOLERANCE;
use crate::statement::CheckedClaim;

/// What was shown: its [`Display`](fmt::Display) is the whole theorem.
#[derive(Clone, Debug)]
pub struct Theorem<'p> {
    statement: &'p Statement,
    model_sha256: &'p str,
    /// The claims, all of which hold.
    pub claims: Vec<CheckedClaim>,
}

impl<'p> Theorem<'p> {
    /// What can be expected of a theorem.
    pub const KEYS: [&'static str; 9] =
        ["delta", "norm", "image", "predicted", "target", "model", "centre", "verdict", "bound"];

    pub(crate) fn new(proof: &'p ProofFile, claims: Vec<CheckedClaim>) -> Self {
        Self { statement: &proof.statement, model_sha256: &proof.model_sha256, claims }
    }

    /// Whether no input of the set that f32 holds gets the target's label instead of the predicted one in an f32 run.
    pub fn is_robust(&self) -> bool {
        let robust = |claim: &CheckedClaim| claim.f32 && claim.bound < 0.0;
        matches!(self.statement, Statement::Image(_)) && self.claims.iter().any(robust)
    }

    /// A claim's bound with the objective's constant.
    fn with_constant(&self, bound: f64) -> f64 {
        match self.statement {
            Statement::Domain(domain) if domain.constant != 0.0 => {
                (bound + domain.constant).next_up()
            }
            _ => bound,
        }
    }

    /// SHA-256 of the centre's values as little-endian bytes: f32 of an image, f64 of a domain.
    fn centre_sha256(&self) -> String {
        let bytes: Vec<u8> = match self.statement {
            Statement::Image(image) => {
                image.original.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
            Statement::Domain(domain) => {
                domain.centre.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
        };
        hex::encode(Sha256::digest(bytes))
    }

    /// One of [`Theorem::KEYS`]; `None` where the theorem has none.
    fn get(&self, key: &str) -> Option<String> {
        let bounds = self.claims.iter().map(|claim| self.with_constant(claim.claimed));
        match (key, self.statement) {
            ("model", _) => Some(self.model_sha256.to_owned()),
            ("centre", _) => Some(self.centre_sha256()),
            ("verdict", _) => Some(if self.is_robust() { "robust" } else { "bound" }.to_owned()),
            ("bound", _) => bounds.reduce(f64::min).map(|bound| bound.to_string()),
            ("delta", Statement::Image(image)) => Some(image.delta.to_string()),
            ("norm", Statement::Image(image)) => Some(norm(image).to_owned()),
            ("image", Statement::Image(image)) => Some(image.image.to_string()),
            ("predicted", Statement::Image(image)) => Some(image.predicted.to_string()),
            ("target", Statement::Image(image)) => Some(image.target.to_string()),
            _ => None,
        }
    }

    /// Whether the theorem is what was expected: `KEY=VALUE` with one of [`Theorem::KEYS`]. The bound may be lower than expected.
    ///
    /// # Errors
    /// When it is not, or there is no such key.
    pub fn expect(&self, expected: &str) -> Result<(), String> {
        let (key, value) = expected.split_once('=').unwrap_or((expected, ""));
        let Some(found) = self.get(key) else {
            return Err(format!("it has no {key}, {value} is expected"));
        };
        let holds = match (key, found.parse::<f64>(), value.parse::<f64>()) {
            ("delta", Ok(found), Ok(value)) => found == value,
            ("bound", Ok(found), Ok(value)) => found <= value,
            _ => found.eq_ignore_ascii_case(value),
        };
        if holds { Ok(()) } else { Err(format!("{key} is {found}, {value} is expected")) }
    }

    fn write_image(&self, f: &mut fmt::Formatter<'_>, image: &ImageStatement) -> fmt::Result {
        let ImageStatement { image: number, original, predicted, target, delta, .. } = image;
        let (norm, inputs) = (norm(image), original.len());
        let verdict = if self.is_robust() { "robust" } else { "bound" };
        writeln!(
            f,
            "{verdict} within {norm} distance {delta} of image {number}, {predicted} -> {target}"
        )?;
        writeln!(f, "  model      SHA-256 {}", self.model_sha256)?;
        write!(f, "  centre     {inputs} values, SHA-256 {}; ", self.centre_sha256())?;
        writeln!(f, "that it is image {number} is for --data to tell")?;
        writeln!(
            f,
            "  set        all x with {norm} distance of at most {delta} from the centre, and 0 <= x <= 1"
        )?;
        write!(
            f,
            "  objective  y{target} - y{predicted}; no logit is certainly above y{predicted} at the centre"
        )
    }

    fn write_domain(&self, f: &mut fmt::Formatter<'_>, domain: &DomainStatement) -> fmt::Result {
        let DomainStatement { centre, lower, upper, constraints, integers, .. } = domain;
        let (inputs, many) = (centre.len(), constraints.len());
        writeln!(f, "objective over {inputs} inputs and {many} constraints")?;
        writeln!(f, "  model      SHA-256 {}", self.model_sha256)?;
        let sides: Vec<u8> = lower.iter().chain(upper).flat_map(|x| x.to_le_bytes()).collect();
        let sides = hex::encode(Sha256::digest(sides));
        writeln!(f, "  set        {inputs} inputs within bounds, which have SHA-256 {sides}")?;
        if !integers.is_empty() {
            let names: Vec<String> = integers.iter().map(|input| format!("x{input}")).collect();
            writeln!(f, "             and whole numbers for {}", names.join(", "))?;
        }
        for constraint in constraints {
            let side = |side: Option<f64>| side.map_or("-".into(), |side| side.to_string());
            let (least, most) = (side(constraint.lower), side(constraint.upper));
            let terms = sum("x", constraint.terms.iter().copied());
            writeln!(
                f,
                "             and {terms} from {least} to {most}, up to {CONSTRAINT_TOLERANCE:e}"
            )?;
        }
        let outputs = domain.weights.len().saturating_sub(domain.inputs.len());
        let (weights, more) = domain.weights.split_at(outputs);
        let mut terms = vec![sum("y", weights.iter().copied().enumerate())];
        terms.push(sum("x", domain.inputs.iter().copied().zip(more.iter().copied())));
        terms.retain(|terms| !terms.is_empty());
        write!(f, "  objective  {} + {}", terms.join(" + "), domain.constant)
    }
}

fn norm(image: &ImageStatement) -> &'static str {
    if image.norm == Norm::L1 { "l1" } else { "linf" }
}

/// `2*x0 + -1*x3`.
fn sum(name: &str, terms: impl Iterator<Item = (usize, f64)>) -> String {
    let terms = terms.filter(|(_, weight)| *weight != 0.0);
    let terms: Vec<String> = terms.map(|(i, weight)| format!("{weight}*{name}{i}")).collect();
    terms.join(" + ")
}

impl fmt::Display for Theorem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statement {
            Statement::Image(image) => self.write_image(f, image)?,
            Statement::Domain(domain) => self.write_domain(f, domain)?,
        }
        for CheckedClaim { f32, claimed, leaves, .. } in &self.claims {
            let bound = self.with_constant(*claimed);
            // Rounded up: what is printed was shown.
            let shown = (bound * 1e6).ceil() / 1e6;
            let name = if *f32 { "float32, in any order of summation" } else { "exact arithmetic" };
            write!(
                f,
                "\n  shown      at most {shown:.6} in {name} (exactly {bound}), by {leaves} leaves"
            )?;
        }
        Ok(())
    }
}
