//! All the images at one place, opened for one model, with their labels.

use std::fmt;

use super::error::SampleError;
use super::images::{self, Images, OpenImages};
use super::labels::{self, Labels};
use super::sample::Sample;
use super::source::{DataSource, Split};
use super::{cifar, mnist_dir};

/// Images that fit one model, with their labels where they are known; never empty.
pub struct Dataset {
    origin: String,
    images: Images,
    labels: Option<Labels>,
    names: Vec<String>,
}

impl Dataset {
    /// Opens the data for a model whose input has these dimensions, batch left out.
    ///
    /// # Errors
    /// When nothing known is there, a file is damaged, the images do not fit the model, or labels and images are not
    /// equally many.
    pub fn open(source: &DataSource, dims: &[usize]) -> Result<Self, SampleError> {
        let OpenImages { origin, images, labels: own_labels, names } = images::open(source, dims)?;
        let labels = match &source.labels {
            Some(file) => Some(labels::read(file, images.len(), &source.classes)?),
            None => own_labels,
        };
        Ok(Self { origin, images, labels, names })
    }

    /// Names of classes that lie beside the images, or that their folders have, in the order of labels; none, if there are none.
    pub fn class_names(&self) -> &[String] {
        &self.names
    }

    /// Whether the data there is split into a training and a test set.
    pub fn has_splits(source: &DataSource) -> bool {
        let is_there = |split| {
            mnist_dir::image_file(&source.path, split).is_some()
                || cifar::files(&source.path, split).is_some()
        };
        source.path.is_dir() && [Split::Train, Split::Test].into_iter().any(is_there)
    }

    /// Number of images, at least one.
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// The image with this index, base 0.
    ///
    /// # Errors
    /// When there is no such image, or it holds values outside [0, 1], or its file is damaged or has another size.
    pub fn sample(&self, index: usize) -> Result<Sample, SampleError> {
        let len = self.len();
        if index >= len {
            let asked = format!("image {index} (base 0)");
            return Err(SampleError::BeyondData { asked, len });
        }
        let (name, pixels) = (self.images.name(index), self.images.pixels(index)?);
        let label = self.labels.as_ref().and_then(|labels| labels[index]);
        Ok(Sample { index, name, pixels, label })
    }

    /// What the data is, in one line.
    pub fn describe(&self) -> String {
        let len = self.len();
        let known = self.labels.iter().flatten().flatten().count();
        let labels = match known {
            0 => "no labels".to_owned(),
            _ if known == len => "all labelled".to_owned(),
            _ => format!("{known} labelled"),
        };
        format!("{}: {len} {}, {labels}", self.origin, self.images.kind())
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dataset").field(&self.describe()).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::super::classes::Classes;
    use super::super::file::scratch::{folder, gzip, write};
    use super::super::source::Split;
    use super::super::{idx, npy, picture_file};
    use super::*;
    use crate::network::Label;

    fn open(
        path: impl AsRef<Path>,
        labels: Option<PathBuf>,
        dims: &[usize],
    ) -> Result<Dataset, String> {
        let path = path.as_ref().to_owned();
        let source = DataSource { path, labels, ..DataSource::default() };
        Dataset::open(&source, dims).map_err(|error| error.to_string())
    }

    fn labels(data: &Dataset) -> Vec<Option<usize>> {
        let class = |index| data.sample(index).unwrap().label.map(|Label(class)| class);
        (0..data.len()).map(class).collect()
    }

    fn three_images() -> Vec<u8> {
        idx::encode(&[3, 2, 2], &[0, 255, 51, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    }

    fn write_pictures(folder: &TempDir, names: &[&str]) {
        for (name, grey) in names.iter().zip(10..) {
            picture_file::write_grey(&folder.path().join(name), 2, 2, &[grey; 4]);
        }
    }

    #[test]
    fn an_idx_file_gives_samples_without_labels() {
        let folder = folder();
        let path = write(&folder, "digits", gzip(&three_images()));
        let data = open(&path, None, &[4]).unwrap();
        assert_eq!(data.len(), 3);
        let sample = data.sample(0).unwrap();
        assert_eq!((sample.index, sample.name, sample.label), (0, None, None));
        assert_eq!(sample.pixels, [0.0, 1.0, 0.2, 0.0]);
        assert_eq!(data.describe(), format!("{}: 3 images of 2x2, no labels", path.display()));
        let error = data.sample(3).unwrap_err().to_string();
        assert_eq!(error, "image 3 (base 0): the data holds 3 images");
    }

    #[test]
    fn labels_beside_an_image_file_are_used_unless_others_are_named() {
        let folder = folder();
        let images = write(&folder, "x-images-idx3-ubyte", three_images());
        let beside = write(&folder, "x-labels-idx1-ubyte.gz", gzip(&idx::encode(&[3], &[7, 2, 1])));
        let data = open(&images, None, &[2, 2]).unwrap();
        assert_eq!(labels(&data), [Some(7), Some(2), Some(1)]);
        assert!(data.describe().ends_with(", all labelled"));

        let named = write(&folder, "labels.txt", "4\n?\n4\n");
        std::fs::write(beside, "damaged").unwrap();
        let data = open(&images, Some(named), &[2, 2]).unwrap();
        assert_eq!(labels(&data), [Some(4), None, Some(4)]);
        assert!(data.describe().ends_with(", 2 labelled"));
        assert!(open(&images, None, &[2, 2]).unwrap_err().contains("x-labels-idx1-ubyte.gz"));
    }

    #[test]
    fn images_of_another_size_than_the_models_are_refused() {
        let folder = folder();
        let path = write(&folder, "digits", three_images());
        let error = open(&path, None, &[3, 32, 32]).unwrap_err();
        assert!(
            error.ends_with("images are 2x2 = 4 values, the model takes 3x32x32 = 3072"),
            "{error}"
        );
    }

    #[test]
    fn labels_of_another_length_are_refused() {
        let folder = folder();
        let path = write(&folder, "digits", three_images());
        let short = write(&folder, "labels.txt", "1\n2\n");
        let error = open(&path, Some(short), &[4]).unwrap_err();
        assert!(error.ends_with("labels.txt: holds 2 labels for 3 images"), "{error}");
    }

    #[test]
    fn an_mnist_directory_gives_the_split_asked_for() {
        let folder = folder();
        write(&folder, "t10k-images-idx3-ubyte.gz", gzip(&three_images()));
        write(&folder, "t10k-labels-idx1-ubyte.gz", gzip(&idx::encode(&[3], &[7, 2, 1])));
        write_pictures(&folder, &["shown-in-the-readme.png"]);
        let data = open(folder.path(), None, &[1, 2, 2]).unwrap();
        assert_eq!(labels(&data), [Some(7), Some(2), Some(1)]);
        assert!(data.describe().ends_with("(test split): 3 images of 2x2, all labelled"));

        let path = folder.path().into();
        let source = DataSource { path, split: Split::Train, ..DataSource::default() };
        let error = Dataset::open(&source, &[4]).unwrap_err().to_string();
        assert!(error.contains("no train split (train-images-idx3-ubyte[.gz]"), "{error}");
        assert!(error.ends_with("ask for --split test"), "{error}");
    }

    #[test]
    fn a_directory_without_known_data_says_what_was_looked_for() {
        let folder = folder();
        write(&folder, "notes.txt", "");
        let error = open(folder.path(), None, &[4]).unwrap_err();
        assert!(error.contains("looked for t10k-images-idx3-ubyte[.gz]"), "{error}");
        assert!(error.ends_with("*.png, *.jpg, *.webp, and folders of these"), "{error}");
    }

    #[test]
    fn pictures_come_from_a_directory_a_pattern_or_a_file() {
        let folder = folder();
        write_pictures(&folder, &["2.png", "10.png"]);
        let classes = write(&folder, "classes.txt", "5\n6\n");
        for path in [folder.path().to_owned(), folder.path().join("*.png")] {
            let data = open(&path, Some(classes.clone()), &[2, 2]).unwrap();
            let sample = data.sample(1).unwrap();
            assert_eq!((sample.name.as_deref(), sample.label), (Some("10.png"), Some(Label(6))));
            assert_eq!(sample.pixels, [11.0 / 255.0; 4]);
            assert!(data.describe().ends_with(": 2 pictures, all labelled"));
        }
        let single = open(folder.path().join("2.png"), None, &[2, 2]).unwrap();
        assert!(single.describe().ends_with(": 1 picture, no labels"));
        assert_eq!(single.sample(0).unwrap().pixels, [10.0 / 255.0; 4]);
    }

    #[test]
    fn folders_are_classes() {
        let folder = folder();
        for class in ["owl", "cat", "dog"] {
            std::fs::create_dir(folder.path().join(class)).unwrap();
        }
        write_pictures(&folder, &["cat/1.png", "owl/1.png", "owl/2.png"]);
        let data = open(folder.path(), None, &[2, 2]).unwrap();
        // The folder of dogs is empty.
        assert_eq!(data.class_names(), ["cat", "owl"]);
        assert_eq!(labels(&data), [Some(0), Some(1), Some(1)]);
        assert_eq!(data.sample(2).unwrap().name.as_deref(), Some("owl/2.png"));
        let with_names = |names: &[&str]| {
            let names = names.iter().map(|&name| name.into()).collect();
            let classes = Classes::named(3, names).unwrap();
            let source =
                DataSource { path: folder.path().into(), classes, ..DataSource::default() };
            Dataset::open(&source, &[2, 2]).map_err(|error| error.to_string())
        };
        assert_eq!(
            labels(&with_names(&["cat", "dog", "owl"]).unwrap()),
            [Some(0), Some(2), Some(2)]
        );
        let error = with_names(&["cat", "dog", "cow"]).unwrap_err();
        assert!(error.ends_with("owl: is not named as a class is: cat, dog, cow"), "{error}");
        let numbered = super::super::file::scratch::folder();
        for class in ["7", "10"] {
            std::fs::create_dir(numbered.path().join(class)).unwrap();
            write_pictures(&numbered, &[&format!("{class}/a.png")]);
        }
        let data = open(numbered.path(), None, &[2, 2]).unwrap();
        assert_eq!((labels(&data), data.class_names().len()), (vec![Some(7), Some(10)], 0));
    }

    #[test]
    fn labels_may_be_names() {
        let folder = folder();
        let path = write(&folder, "digits", three_images());
        let file = write(&folder, "labels.txt", "owl\ncat\n?\n");
        let classes = Classes::named(2, vec!["cat".into(), "owl".into()]).unwrap();
        let source = DataSource { path, labels: Some(file), classes, ..DataSource::default() };
        assert_eq!(labels(&Dataset::open(&source, &[4]).unwrap()), [Some(1), Some(0), None]);
    }

    #[test]
    fn pictures_are_decoded_only_when_asked_for() {
        let folder = folder();
        write_pictures(&folder, &["0.png"]);
        write(&folder, "1.png", "damaged");
        let data = open(folder.path(), None, &[4]).unwrap();
        assert!(data.sample(0).is_ok());
        assert!(data.sample(1).unwrap_err().to_string().contains("1.png: not a readable PNG"));
    }

    #[test]
    fn pictures_are_refused_when_the_models_input_is_none() {
        let folder = folder();
        write_pictures(&folder, &["0.png"]);
        let error = open(folder.path(), None, &[5]).unwrap_err();
        assert!(error.contains("the model's input (5 values) is not the shape of"), "{error}");
    }

    #[test]
    fn a_name_with_pattern_characters_that_exists_is_a_file() {
        let folder = folder();
        let path = write(&folder, "digits[1].idx", three_images());
        assert_eq!(open(path, None, &[4]).unwrap().len(), 3);
    }

    #[test]
    fn an_array_is_many_images_or_exactly_one() {
        let folder = folder();
        let open_shape = |shape: &[usize], dims: &[usize]| {
            let values = vec![128; shape.iter().product()];
            let path = write(&folder, "a.npy", npy::encode("|u1", shape, &values));
            open(path, None, dims).map(|data| (data.len(), data.sample(0).unwrap().pixels.len()))
        };
        assert_eq!(open_shape(&[5, 2, 2], &[4]), Ok((5, 4)));
        assert_eq!(open_shape(&[5, 4], &[1, 2, 2]), Ok((5, 4)));
        assert_eq!(open_shape(&[4], &[4]), Ok((1, 4)));
        assert_eq!(open_shape(&[2, 2], &[4]), Ok((1, 4)));
        assert_eq!(open_shape(&[1, 2, 2], &[1, 2, 2]), Ok((1, 4)));
        assert_eq!(open_shape(&[4, 4], &[4]), Ok((4, 4)));
        assert_eq!(open_shape(&[5], &[1]), Ok((5, 1)));
        let error = open_shape(&[2, 4, 4, 3], &[3, 4, 4]).unwrap_err();
        assert!(error.ends_with("reorder the axes"), "{error}");
        assert!(open_shape(&[0, 4], &[4]).unwrap_err().ends_with("holds no images"));
    }

    #[test]
    fn arrays_of_floats_are_taken_as_they_are_and_integers_refused() {
        let folder = folder();
        let values = [0.0, 0.25, 1.0, 0.1f64];
        let path = write(
            &folder,
            "a.npy",
            npy::encode(">f8", &[1, 4], &values.map(f64::to_be_bytes).concat()),
        );
        let data = open(path, None, &[4]).unwrap();
        assert_eq!(data.sample(0).unwrap().pixels, values.map(|value| value as f32));
        let path = write(&folder, "b.npy", npy::encode("<i8", &[1, 4], &[0; 32]));
        let error = open(path, None, &[4]).unwrap_err();
        assert!(error.contains("images must be bytes (uint8, 0 to 255) or floats"), "{error}");
    }

    #[test]
    fn files_that_are_missing_empty_or_something_else_are_refused() {
        let folder = folder();
        for (path, problem) in [
            (folder.path().join("missing"), "missing: "),
            (write(&folder, "empty", ""), "the file is empty"),
            (
                write(&folder, "page.gz", "<!DOCTYPE html>"),
                "not an IDX, .npy, .npz, PNG, JPEG or WebP file (it starts with \"<!DOCTYP\")",
            ),
            (write(&folder, "labels", idx::encode(&[3], &[7, 2, 1])), "holds labels, not images"),
            (write(&folder, "none", idx::encode(&[0, 2, 2], &[])), "holds no images"),
        ] {
            let error = open(path, None, &[4]).unwrap_err();
            assert!(error.contains(problem) && !error.contains('\n'), "{error}");
        }
    }
}
