//! Proofs about properties as files, one for each instance.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::whole_file::{PARTIAL, remove_partial, replace_through, unique};
use crate::proof::{PROPERTY_SCHEMA, PropertyProofFile};
use crate::verify::VerifyAnswer;

/// What was last written to so long ago is not being written.
const OLD: Duration = Duration::from_secs(600);

/// Where proofs about properties go.
#[derive(Debug)]
pub struct PropertyProofFiles {
    root: PathBuf,
}

impl PropertyProofFiles {
    /// Makes the directory.
    ///
    /// # Errors
    /// When it holds files already, or cannot be made.
    pub fn create(root: &Path) -> Result<Self, StoreError> {
        let files = Self::resume(root, false)?;
        if fs::read_dir(root).map_err(StoreError::unreadable(root))?.next().is_some() {
            return Err(StoreError::Taken(root.to_owned()));
        }
        Ok(files)
    }

    /// The same where an earlier run, or another share of this one, may have left proofs: they stay until they are replaced.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn resume(root: &Path, is_shared: bool) -> Result<Self, StoreError> {
        fs::create_dir_all(root).map_err(StoreError::unwritable(root))?;
        remove_partial(root, if is_shared { OLD } else { Duration::ZERO });
        Ok(Self { root: root.to_owned() })
    }

    /// Stores a proof, whole or not at all. The name of its file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn save(
        &self,
        instance: usize,
        [model, property]: [&Path; 2],
        text: &[u8],
    ) -> Result<String, StoreError> {
        let name = format!("{instance}_{}_{}.json.gz", stem(model), stem(property));
        let path = self.root.join(&name);
        let partial = path.with_extension(format!("{}.{PARTIAL}", unique()));
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        let packed = packed.write_all(text).and_then(|()| packed.finish());
        replace_through(&path, &partial, &packed.map_err(StoreError::unwritable(&path))?)?;
        Ok(name)
    }
}

/// A file's name up to its first dot, and no character in it that is awkward.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    stem.chars().map(plain).take(80).collect()
}

/// The text of a proof that no input has the property of a file. `None` if the answer has none.
pub(super) fn property_proof_text(
    model_sha256: &str,
    property: &Path,
    answer: &VerifyAnswer,
) -> io::Result<Option<Vec<u8>>> {
    let Some(proven) = &answer.proof else { return Ok(None) };
    let (cases, trees) = proven.iter().cloned().unzip();
    let proof = PropertyProofFile {
        schema: PROPERTY_SCHEMA.into(),
        model_sha256: model_sha256.to_owned(),
        property: property.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        property_sha256: hex::encode(Sha256::digest(fs::read(property)?)),
        cases,
        f32: true,
        trees,
    };
    Ok(Some(serde_json::to_vec(&proof)?))
}
