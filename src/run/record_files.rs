//! What belongs to records and lies beside them, always there before the record that names it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::disk::UnsyncedFiles;
use super::error::StoreError;
use super::npy;
use super::sketch_file::SketchFile;
use super::whole_file::replace;
use super::witness::{ModelWords, Pictures, SavedWitness, WitnessFiles};
use crate::data::Sample;
use crate::judge::{EightBit, Witness};
use crate::network::Label;
use crate::record::{Contents, Sketch, Sketches};

/// The folder of one run: witnesses, sketches and arrays, as far as its kind has them.
#[derive(Debug)]
pub struct RecordFiles {
    folder: PathBuf,
    dims: Vec<usize>,
    witnesses: Option<WitnessFiles>,
    sketches: Option<Mutex<SketchFile>>,
}

impl RecordFiles {
    /// Opens a folder, for a model whose input has these dimensions and whose classes have these names. Of earlier sketches only these stay.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(crate) fn open(
        contents: Contents,
        folder: &Path,
        words: ModelWords,
        pictures: Pictures,
        earlier: Sketches,
    ) -> Result<Self, StoreError> {
        let dims = words.dims;
        let witnesses = || WitnessFiles::create(folder, words, pictures);
        let witnesses = contents.has_witnesses().then(witnesses);
        let witnesses = witnesses.transpose()?;
        let sketches = contents.has_sketches().then(|| SketchFile::open(folder, dims, earlier));
        let sketches = sketches.transpose()?.map(Mutex::new);
        Ok(Self { folder: folder.to_owned(), dims: dims.to_vec(), witnesses, sketches })
    }

    /// What has to be synced before the records that name it.
    pub(crate) fn unsynced(&self) -> Option<Arc<UnsyncedFiles>> {
        self.witnesses.as_ref().map(WitnessFiles::unsynced)
    }

    /// Stores a witness; pictures only where they are wanted, `picture` is given and the model's input is one.
    ///
    /// # Errors
    /// When a file cannot be written.
    ///
    /// # Panics
    /// When the witness is of another model, or records of this kind have none.
    pub fn save_witness(
        &self,
        sample: &Sample,
        pair: (Label, Label),
        witness: &Witness,
        picture: Option<&EightBit>,
    ) -> Result<SavedWitness, StoreError> {
        let files = self.witnesses.as_ref().expect("records of this kind have witnesses");
        files.save(sample.index, pair, &sample.pixels, witness, picture)
    }

    /// Stores what the report draws of one image and target.
    ///
    /// # Errors
    /// When it cannot be written.
    ///
    /// # Panics
    /// When points of such records are not drawn.
    pub fn draw(&self, sample: &Sample, target: Label, sketch: &Sketch) -> Result<(), StoreError> {
        let file = self.sketches.as_ref().expect("points of such records are drawn");
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.append(sample, target.0, sketch)
    }

    /// Writes an input of the model as a NumPy array of its shape.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_array<N: npy::Number>(&self, name: &str, values: &[N]) -> Result<(), StoreError> {
        replace(&self.folder.join(name), &npy::encode(&self.dims, values))
    }
}
