//! Proofs as files, one for each problem.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::error::StoreError;
use super::whole_file::{PARTIAL, remove_partial, replace_through, unique};
use crate::attack::{Answer, Attack};
use crate::data::Sample;
use crate::network::Label;
use crate::problem::Problem;
use crate::proof::{Claim, DomainStatement, ImageStatement, ProofFile, SCHEMA, Statement};
use crate::record::AttackRecord;

/// What was last written to so long ago is not being written.
const OLD: Duration = Duration::from_secs(600);

/// The file of a proof about a maximum.
const MAXIMUM: &str = "maximum.json.gz";

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
    pub fn create(root: &Path, model_sha256: &str) -> Result<Self, StoreError> {
        let files = Self::resume(root, model_sha256, false)?;
        if fs::read_dir(root).map_err(StoreError::unreadable(root))?.next().is_some() {
            return Err(StoreError::Taken(root.to_owned()));
        }
        Ok(files)
    }

    /// The same where an earlier run, or another share of this one, may have left proofs: they stay until they are replaced. What a killed
    /// run left of a file is removed; while other processes may be writing there, only if it is old.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn resume(root: &Path, model_sha256: &str, is_shared: bool) -> Result<Self, StoreError> {
        fs::create_dir_all(root).map_err(StoreError::unwritable(root))?;
        remove_partial(root, if is_shared { OLD } else { Duration::ZERO });
        Ok(Self { root: root.to_owned(), model_sha256: model_sha256.to_owned() })
    }

    /// Warns of finished records that have a bound and no proof: the run that made them was not asked for any.
    pub fn look_for(&self, finished: &[AttackRecord]) {
        let is_missing = |record: &&AttackRecord| {
            let path = self.path(record.image, (record.predicted, record.target));
            record.upper_bound.is_some() && !path.exists()
        };
        let missing = finished.iter().filter(is_missing).count();
        if missing > 0 {
            log::warn!(
                "{}: {missing} records that were finished before have no proof there",
                self.root.display()
            );
        }
    }

    fn path(&self, image: usize, (predicted, target): (usize, usize)) -> PathBuf {
        self.root.join(format!("{image}_c{predicted}_w{target}.json.gz"))
    }

    /// Stores what proves the margin's bounds of an image and target, whole or not at all. Without bounds there is nothing to store.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save_attack(
        &self,
        sample: &Sample,
        (predicted, target): (Label, Label),
        attack: &Attack,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        let statement = image_statement(sample, (predicted, target), attack);
        let path = self.path(sample.index, (predicted.0, target.0));
        self.save(&path, statement, &answer.solution.claims)
    }

    /// Stores what proves the bounds of a maximum, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save_maximum(
        &self,
        problem: &Problem,
        inputs: &[usize],
        claims: &[Claim],
    ) -> Result<(), StoreError> {
        let statement = Statement::Domain(DomainStatement::new(problem, inputs));
        self.save(&self.root.join(MAXIMUM), statement, claims)
    }

    fn save(&self, path: &Path, statement: Statement, claims: &[Claim]) -> Result<(), StoreError> {
        let text = proof_text(&self.model_sha256, statement, claims);
        let text = text.map_err(StoreError::unwritable(path))?;
        let Some(text) = text else { return Ok(()) };
        // A share may be worked on twice at a time.
        let partial = path.with_extension(format!("{}.{PARTIAL}", unique()));
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        let packed = packed.write_all(&text).and_then(|()| packed.finish());
        replace_through(path, &partial, &packed.map_err(StoreError::unwritable(path))?)
    }
}

/// What a proof of the margin's bounds of an image and target is about.
pub(super) fn image_statement(
    sample: &Sample,
    (predicted, target): (Label, Label),
    attack: &Attack,
) -> Statement {
    Statement::Image(ImageStatement {
        image: sample.index,
        original: sample.pixels.clone(),
        predicted: predicted.0,
        target: target.0,
        norm: attack.norm.name().into(),
        delta: attack.delta,
    })
}

/// The text of a proof file. `None` without claims.
pub(super) fn proof_text(
    model_sha256: &str,
    statement: Statement,
    claims: &[Claim],
) -> io::Result<Option<Vec<u8>>> {
    // A bound that overflowed says nothing.
    let claims: Vec<_> = claims.iter().filter(|claim| claim.bound.is_finite()).cloned().collect();
    if claims.is_empty() {
        return Ok(None);
    }
    let (schema, model_sha256) = (SCHEMA.into(), model_sha256.to_owned());
    let proof = ProofFile { schema, model_sha256, statement, claims };
    Ok(Some(serde_json::to_vec(&proof)?))
}
