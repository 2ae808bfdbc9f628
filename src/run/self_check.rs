//! `--check-proofs`: what a run is about to call robust or optimal is checked by `crates/check`, which shares no code with us.

use std::path::Path;
use std::sync::Arc;

use rw_adv_check::{Model, check, check_property, parse_proof, parse_property_proof};

use super::error::StoreError;
use super::proof::{image_statement, proof_text};
use crate::attack::Attack;
use crate::data::Sample;
use crate::network::Label;
use crate::problem::Problem;
use crate::proof::{Claim, DomainStatement, Statement};

/// The independent checker, with the model as it read it.
#[derive(Clone)]
pub struct SelfCheck {
    model: Arc<Model>,
}

impl std::fmt::Debug for SelfCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SelfCheck({})", self.model.sha256)
    }
}

/// What an answer claims, and what has to be proven for it.
#[derive(Clone, Copy, Debug)]
pub struct Claimed<'c> {
    /// Its proofs.
    pub claims: &'c [Claim],
    /// The upper bound that it tells, without the objective's constant.
    pub bound: Option<f64>,
    /// Whether it is called robust: that takes a bound below zero for f32.
    pub robust: bool,
}

impl SelfCheck {
    /// Reads the model once more. `sha256` is that of the model that answers are about.
    ///
    /// # Errors
    /// What the checker does not support: also one of several outputs, which makes it another model.
    pub fn open(model: &Path, sha256: &str) -> Result<Self, String> {
        Self::of(Model::read(model)?, model, sha256)
    }

    /// The same for the bytes of a model file that is called `name`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(name: &Path, bytes: &[u8], sha256: &str) -> Result<Self, String> {
        Self::of(Model::from_bytes(name, bytes)?, name, sha256)
    }

    fn of(read: Model, name: &Path, sha256: &str) -> Result<Self, String> {
        if read.sha256 != sha256 {
            return Err(format!(
                "{}: the checker knows no outputs by name, or the file has changed",
                name.display()
            ));
        }
        // Reading leaves open whether operations fit together.
        read.widths().map_err(|problem| format!("{}: {problem}", name.display()))?;
        Ok(Self { model: Arc::new(read) })
    }

    /// Checks what is claimed of an image and target.
    ///
    /// # Errors
    /// When it is not proven.
    pub fn check_attack(
        &self,
        sample: &Sample,
        pair: (Label, Label),
        attack: &Attack,
        claimed: Claimed,
    ) -> Result<(), StoreError> {
        let about = format!("image {}, {} -> {}", sample.index, pair.0.0, pair.1.0);
        self.check(image_statement(sample, pair, attack), claimed, about)
    }

    /// Checks what is claimed of a maximum. These inputs are the last outputs of the problem's network.
    ///
    /// # Errors
    /// When it is not proven.
    pub fn check_maximum(
        &self,
        problem: &Problem,
        inputs: &[usize],
        claimed: Claimed,
    ) -> Result<(), StoreError> {
        let statement = Statement::Domain(DomainStatement::new(problem, inputs));
        self.check(statement, claimed, "the maximum".into())
    }

    /// Checks a proof that no input has a property, as its file would hold it.
    ///
    /// # Errors
    /// When it does not hold.
    pub fn check_property(&self, text: &[u8]) -> Result<(), String> {
        let proof = parse_property_proof(text)?;
        check_property(&self.model, &proof, false).map(|_| ())
    }

    fn check(
        &self,
        statement: Statement,
        claimed: Claimed,
        about: String,
    ) -> Result<(), StoreError> {
        let fail = |problem: String| StoreError::Unproven { about: about.clone(), problem };
        let text = proof_text(&self.model.sha256, statement, claimed.claims);
        let text = text.map_err(|error| fail(error.to_string()))?;
        let Some(text) = text else { return Err(fail("there is no proof".into())) };
        // What is checked is what a file would hold.
        let proof = parse_proof(&text).map_err(fail)?;
        let theorem = check(&self.model, &proof, false).map_err(fail)?;
        if claimed.robust && !theorem.is_robust() {
            return Err(fail("no bound for f32 is below zero".into()));
        }
        let smallest = theorem.claims.iter().map(|claim| claim.claimed).reduce(f64::min);
        match (claimed.bound, smallest) {
            (Some(bound), Some(smallest)) if bound < smallest => {
                Err(fail(format!("{bound} is recorded, but {smallest} is proven")))
            }
            _ => Ok(()),
        }
    }
}
