//! Proofs as files, one for each image and target.

use std::fs;
use std::path::{Path, PathBuf};

use super::results::ReportError;
use crate::input::Sample;
use crate::network::Label;
use crate::proof::{ProofFile, SCHEMA};
use crate::verify::{Answer, Attack};

/// Where proofs go.
#[derive(Debug)]
pub struct ProofFiles {
    root: PathBuf,
    model_sha256: String,
}

impl ProofFiles {
    /// Makes the directory, for proofs about a model.
    ///
    /// # Errors
    /// When it holds files already, or cannot be made.
    pub fn create(root: &Path, model_sha256: &str) -> Result<Self, ReportError> {
        let unwritable = |source| ReportError::Unwritable { path: root.to_owned(), source };
        fs::create_dir_all(root).map_err(unwritable)?;
        if fs::read_dir(root).map_err(unwritable)?.next().is_some() {
            return Err(ReportError::Taken(root.to_owned()));
        }
        Ok(Self { root: root.to_owned(), model_sha256: model_sha256.to_owned() })
    }

    /// Stores what proves an answer's bounds, whole or not at all. Without bounds there is nothing to store.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(
        &self,
        sample: &Sample,
        (predicted, target): (Label, Label),
        attack: &Attack,
        answer: &Answer,
    ) -> Result<(), ReportError> {
        // What overflowed is no bound.
        let claims = answer.claims.iter().filter(|claim| claim.bound.is_finite());
        let claims: Vec<_> = claims.cloned().collect();
        if claims.is_empty() {
            return Ok(());
        }
        let proof = ProofFile {
            schema: SCHEMA.into(),
            model_sha256: self.model_sha256.clone(),
            image: sample.index,
            original: sample.pixels.clone(),
            predicted: predicted.0,
            target: target.0,
            norm: attack.norm.name().into(),
            delta: attack.delta,
            claims,
        };
        let path = self.root.join(format!("{}_c{predicted}_w{target}.json", sample.index));
        let partial = path.with_extension("partial");
        let text = serde_json::to_vec(&proof).map_err(std::io::Error::from);
        let written = text
            .and_then(|text| fs::write(&partial, text))
            .and_then(|()| fs::rename(&partial, &path));
        written.map_err(|source| {
            // Where there is nothing to remove, nothing is left to do.
            let _ = fs::remove_file(&partial);
            ReportError::Unwritable { path, source }
        })
    }
}
