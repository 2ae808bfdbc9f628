//! The files of one witness in `adversarial/`: its numbers `IMAGE_cC_wW.npy`, exactly, and, where the model's input is a picture, its picture
//! `IMAGE_cC_wW.png` and `IMAGE_cC_wW_strip.png`, which shows image, witness and signed difference side by side. Where classes have names,
//! these files speak them: `IMAGE_cat_to_dog`. [`Pictures`] says which of them are wanted: a file costs as much as a twentieth of a short search.
//!
//! Image and difference have no files of their own: the image is in the data, and the difference is that of two arrays.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::disk::{self, UnsyncedFiles};
use super::error::StoreError;
use super::npy;
use super::whole_file::PARTIAL;
use crate::data::{Classes, PictureLayout};
use crate::judge::{EightBit, Witness, nearest_byte};
use crate::network::Label;
use crate::record::change_text;
use crate::report::png;

/// The folder in the result directory.
const FOLDER: &str = "adversarial";

/// Which files are stored beside a witness's own numbers, which always are. All of them follow from these and from the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    /// None.
    None,
    /// The witness's picture.
    #[default]
    Adversaries,
    /// The witness's picture, and one of image, witness and difference side by side.
    All,
}

impl Pictures {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::None, Self::Adversaries, Self::All];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Adversaries => "adversaries",
            Self::All => "all",
        }
    }
}

/// What the names of files tell of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelWords<'m> {
    /// The dimensions of its input.
    pub dims: &'m [usize],
    /// What its classes are called; none, if they have no names.
    pub class_names: &'m [String],
}

/// What a process that was killed has left behind.
fn remove_partial(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == PARTIAL) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Gives the files of a witness that lie in the folder `from` a place in `to` as well.
pub(crate) fn adopt(from: &Path, to: &Path, npy: &str) -> Result<(), StoreError> {
    let inside = |part: Component| matches!(part, Component::Normal(_));
    let stem = npy.strip_suffix(".npy").filter(|stem| {
        stem.starts_with(&format!("{FOLDER}/")) && Path::new(stem).components().all(inside)
    });
    let Some(stem) = stem else {
        let source = io::Error::other("a record names this file, and no witness is called so");
        return Err(StoreError::Unreadable { path: from.join(npy), source });
    };
    let names = [".npy", ".png", "_strip.png"].map(|end| format!("{stem}{end}"));
    let folder = to.join(FOLDER);
    fs::create_dir_all(&folder)
        .map_err(|source| StoreError::Unwritable { path: folder, source })?;
    // No pictures without numbers: these must be there.
    let needed = from.join(&names[0]);
    if let Err(source) = fs::metadata(&needed) {
        return Err(StoreError::Unreadable { path: needed, source });
    }
    for name in names {
        let (source, path) = (from.join(&name), to.join(&name));
        if source.exists() {
            link(&source, &path).map_err(|source| StoreError::Unwritable { path, source })?;
        }
    }
    Ok(())
}

/// Makes `path` the same file as `source`, or a copy where there are no links; whole or not at all.
fn link(source: &Path, path: &Path) -> io::Result<()> {
    let partial = path.with_extension(PARTIAL);
    let linked = fs::hard_link(source, &partial).or_else(|_| fs::copy(source, &partial).map(drop));
    let placed = linked.and_then(|()| fs::rename(&partial, path));
    // Renaming does nothing where both names are the same file already.
    let _ = fs::remove_file(&partial);
    placed
}

/// Where witnesses of one model are stored.
#[derive(Debug)]
pub struct WitnessFiles {
    root: PathBuf,
    dims: Vec<usize>,
    /// Where the input is a picture and pictures are wanted.
    layout: Option<PictureLayout>,
    /// Witnesses that are not synced yet.
    unsynced: Arc<UnsyncedFiles>,
    pictures: Pictures,
    /// What classes are called; none, if they have no names.
    class_names: Vec<String>,
    /// The same in names of files.
    file_names: Vec<String>,
}

/// What was stored, relative to the result directory, with `/` on every system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedWitness {
    /// The exact point.
    pub npy: String,
    /// The 8-bit picture, where there is one.
    pub png: Option<String>,
}

impl WitnessFiles {
    /// Makes the folder `adversarial` in the result directory, for a model with this input and these classes.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(
        results: &Path,
        ModelWords { dims, class_names }: ModelWords,
        pictures: Pictures,
    ) -> Result<Self, StoreError> {
        let folder = results.join(FOLDER);
        let made = fs::create_dir_all(&folder).and_then(|()| remove_partial(&folder));
        let unsynced = Arc::new(UnsyncedFiles::new(&folder));
        made.map_err(|source| StoreError::Unwritable { path: folder, source })?;
        let layout = PictureLayout::from_dims(dims).filter(|_| pictures != Pictures::None);
        let file_names = Classes::file_names(class_names);
        Ok(Self {
            root: results.to_owned(),
            dims: dims.to_vec(),
            layout,
            unsynced,
            pictures,
            class_names: class_names.to_vec(),
            file_names,
        })
    }

    /// What has to be synced before the records that name it.
    pub(crate) fn unsynced(&self) -> Arc<UnsyncedFiles> {
        Arc::clone(&self.unsynced)
    }

    /// What the names of a witness's files begin with: `4_cat_to_dog`, or `4_c3_w5` where classes have no names.
    fn stem(&self, image: usize, (predicted, target): (Label, Label)) -> String {
        match (self.file_names.get(predicted.0), self.file_names.get(target.0)) {
            (Some(from), Some(to)) => format!("{FOLDER}/{image}_{from}_to_{to}"),
            _ => format!("{FOLDER}/{image}_c{predicted}_w{target}"),
        }
    }

    /// Stores a witness; pictures only where they are wanted, `picture` is given and the model's input is one.
    ///
    /// # Errors
    /// When a file cannot be written.
    ///
    /// # Panics
    /// When the witness is of another model.
    pub fn save(
        &self,
        image: usize,
        (predicted, target): (Label, Label),
        original: &[f32],
        witness: &Witness,
        picture: Option<&EightBit>,
    ) -> Result<SavedWitness, StoreError> {
        let stem = self.stem(image, (predicted, target));
        let exact = format!("{stem}.npy");
        let pixels = witness.point().values();
        let mut files = vec![(self.root.join(&exact), npy::encode(&self.dims, pixels))];
        let layout = self.layout.as_ref().zip(picture);
        let drawn = layout.map(|_| format!("{stem}.png"));
        if let (Some((layout, picture)), Some(drawn)) = (layout, &drawn) {
            files.push((self.root.join(drawn), png::picture(layout, picture.bytes())));
            if self.pictures == Pictures::All {
                let bytes: Vec<u8> = original.iter().copied().map(nearest_byte).collect();
                let change = change_text((predicted.0, target.0), &self.class_names);
                let margin = witness.point().value();
                let caption = format!("image {image}: {change}, margin {margin:.2}");
                let strip = png::strip(layout, &bytes, picture.bytes(), Some(&caption));
                files.push((self.root.join(format!("{stem}_strip.png")), strip));
            }
        }
        write(&files)?;
        let (path, _) = files.swap_remove(0);
        self.unsynced.add(path);
        Ok(SavedWitness { npy: exact, png: drawn })
    }
}

/// Writes files that belong together. If one cannot be written, none is left.
fn write(files: &[(PathBuf, Vec<u8>)]) -> Result<(), StoreError> {
    for (path, bytes) in files {
        let partial = || path.with_extension(PARTIAL);
        if let Err(source) = disk::write_unsynced(path, partial, bytes) {
            // Where there is nothing to remove, nothing is left to do.
            let _ = fs::remove_file(partial());
            files.iter().for_each(|(path, _)| drop(fs::remove_file(path)));
            return Err(StoreError::Unwritable { path: path.clone(), source });
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {

    use super::*;
    use crate::data::{DataSource, Dataset};
    use std::sync::Arc;

    use crate::judge::{Judge, Judgement, Replay, ReplayFailure};
    use crate::network::{AffineMap, Network};
    use crate::problem::{Objective, Property};
    use crate::sets::Norm;
    use crate::sets::{InputSet, PixelRange};

    /// A file that says whatever fools.
    struct Fooled;

    impl Replay for Fooled {
        fn logits(&self, _: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
            Ok(vec![0.0, 1.0])
        }
    }

    fn witness(original: &[f32], candidate: &[f64]) -> (Witness, Option<EightBit>) {
        let hidden = AffineMap::from_fn(1, original.len(), |_, _| 0.0, vec![1.0]);
        let output = AffineMap::from_rows(&[[0.0], [1.0]], vec![0.0, 0.0]);
        let network = Network::new(vec![hidden, output]).unwrap();
        let set = InputSet::ball(Norm::L1, original, 2.0, PixelRange::UNIT);
        let property = Property::positive(Objective::margin(2, Label(0), Label(1)));
        let judge = Judge::new(Arc::new(network), Arc::new(Fooled));
        let Judgement::Witness(witness) = judge.judge(&set, &property, candidate).unwrap() else {
            panic!("everybody is fooled");
        };
        let picture = judge.eight_bit(&set, &property, witness.point()).unwrap();
        (witness, picture)
    }

    fn unnamed(dims: &[usize]) -> ModelWords<'_> {
        ModelWords { dims, class_names: &[] }
    }

    #[test]
    fn names_of_classes_are_in_names_of_files() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let original = [0.0, 0.2, 0.4, 1.0];
        let (witness, picture) = witness(&original, &[0.3, 0.2, 0.1, 1.0]);
        let class_names = ["Tabby cat/kitten".to_owned(), "犬".to_owned()];
        let words = ModelWords { dims: &[2, 2], class_names: &class_names };
        let files = WitnessFiles::create(folder.path(), words, Pictures::All).unwrap();
        let labels = (Label(0), Label(1));
        let saved = files.save(4, labels, &original, &witness, picture.as_ref()).unwrap();
        assert_eq!(saved.png.as_deref(), Some("adversarial/4_tabby-cat-kitten_to_1.png"));
        adopt(folder.path(), other.path(), &saved.npy).unwrap();
        assert_eq!(names(other.path()), names(folder.path()));
        for foreign in ["../4.npy", "adversarial/../../4.npy", "/etc/4.npy", "adversarial/4.txt"] {
            assert!(adopt(folder.path(), other.path(), foreign).is_err(), "{foreign}");
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder.join(FOLDER)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_witness_is_stored_as_numbers_and_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let original = [0.0, 0.2, 0.4, 1.0];
        let (witness, picture) = witness(&original, &[0.3, 0.2, 0.1, 1.0]);
        let files = WitnessFiles::create(folder.path(), unnamed(&[2, 2]), Pictures::All).unwrap();
        let labels = (Label(0), Label(1));
        let saved = files.save(17, labels, &original, &witness, picture.as_ref()).unwrap();
        assert_eq!(saved.npy, "adversarial/17_c0_w1.npy");
        assert_eq!(saved.png.as_deref(), Some("adversarial/17_c0_w1.png"));
        assert_eq!(names(folder.path()), ["17_c0_w1.npy", "17_c0_w1.png", "17_c0_w1_strip.png"]);
        let read = |name: &str| {
            let source = DataSource { path: folder.path().join(name), ..DataSource::default() };
            Dataset::open(&source, &[2, 2]).unwrap().sample(0).unwrap().pixels
        };
        assert_eq!(read(&saved.npy), witness.point().values());
        let shown: Vec<f32> =
            picture.unwrap().bytes().iter().map(|&byte| f32::from(byte) / 255.0).collect();
        assert_eq!(read("adversarial/17_c0_w1.png"), shown);
    }

    #[test]
    fn only_the_pictures_that_are_wanted_are_stored() {
        let original = [0.0, 0.2, 0.4, 1.0];
        let (witness, picture) = witness(&original, &[0.3, 0.2, 0.1, 1.0]);
        for (pictures, drawn) in
            [(Pictures::None, None), (Pictures::Adversaries, Some("17_c0_w1.png"))]
        {
            let folder = tempfile::tempdir().unwrap();
            let files = WitnessFiles::create(folder.path(), unnamed(&[2, 2]), pictures).unwrap();
            let labels = (Label(0), Label(1));
            let saved = files.save(17, labels, &original, &witness, picture.as_ref()).unwrap();
            assert_eq!(saved.png, drawn.map(|name| format!("adversarial/{name}")));
            let expected: Vec<&str> = ["17_c0_w1.npy"].into_iter().chain(drawn).collect();
            assert_eq!(names(folder.path()), expected);
            // Another run may take over what there is.
            let other = tempfile::tempdir().unwrap();
            adopt(folder.path(), other.path(), &saved.npy).unwrap();
            assert_eq!(names(other.path()), expected);
        }
    }

    #[test]
    fn a_file_that_is_there_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let original = [0.0, 0.2, 0.4, 1.0];
        let (witness, picture) = witness(&original, &[0.3, 0.2, 0.1, 1.0]);
        let files = WitnessFiles::create(folder.path(), unnamed(&[2, 2]), Pictures::All).unwrap();
        let save = |target| {
            let labels = (Label(0), Label(target));
            files.save(17, labels, &original, &witness, picture.as_ref()).unwrap()
        };
        save(1);
        let path = |name| folder.path().join("adversarial").join(name);
        fs::write(path("17_c0_w1.npy"), "torn").unwrap();
        save(2);
        save(1);
        let at = |name| fs::read(path(name)).unwrap();
        assert_eq!(at("17_c0_w1.npy"), at("17_c0_w2.npy"));
        assert!(npy::is_whole(&path("17_c0_w1.npy")));
        assert!(names(folder.path()).iter().all(|name| !name.ends_with(PARTIAL)));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (witness, picture) = witness(&[0.0; 4], &[0.3, 0.2, 0.1, 1.0]);
        let files = WitnessFiles::create(folder.path(), unnamed(&[2, 2]), Pictures::All).unwrap();
        // A folder in the place of the file.
        fs::create_dir(folder.path().join("adversarial/17_c0_w1.npy")).unwrap();
        let labels = (Label(0), Label(1));
        let failed = files.save(17, labels, &[0.0; 4], &witness, picture.as_ref()).unwrap_err();
        assert!(failed.to_string().contains("17_c0_w1.npy: cannot write"), "{failed}");
        assert_eq!(names(folder.path()), ["17_c0_w1.npy"]);
        // The last file: those before it are removed again.
        fs::create_dir(folder.path().join("adversarial/18_c0_w1_strip.png")).unwrap();
        let failed = files.save(18, labels, &[0.0; 4], &witness, picture.as_ref()).unwrap_err();
        assert!(failed.to_string().contains("18_c0_w1_strip.png: cannot write"), "{failed}");
        assert_eq!(names(folder.path()), ["17_c0_w1.npy", "18_c0_w1_strip.png"]);
    }

    #[test]
    fn an_input_that_is_no_picture_is_stored_as_numbers_only() {
        let folder = tempfile::tempdir().unwrap();
        let original = [0.0; 5];
        let (witness, picture) = witness(&original, &[0.1; 5]);
        let files = WitnessFiles::create(folder.path(), unnamed(&[5]), Pictures::All).unwrap();
        let labels = (Label(0), Label(1));
        let saved = files.save(3, labels, &original, &witness, picture.as_ref()).unwrap();
        assert_eq!(saved.png, None);
        assert_eq!(names(folder.path()), ["3_c0_w1.npy"]);
    }
}
