//! Why data could not be read: always one line that names the file, and the byte, line or image in it.
//!
//! Each message is complete in itself and there is no `source()`, so that a caller who prints the whole chain does
//! not say things twice.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why samples could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The operating system did not let us read.
    #[error("{path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },

    /// The place exists, or may exist, but holds nothing we could take for images or labels.
    #[error("{path}: {problem}")]
    NoData {
        /// The file, directory or pattern.
        path: PathBuf,
        /// What was looked for.
        problem: String,
    },

    /// The file contradicts itself: cut short, wrong counts, broken packing.
    #[error("{path}: {problem}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and at which byte.
        problem: String,
    },

    /// The file may be sound but is of a kind we do not read.
    #[error("{path}: {problem}")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is, and what to give instead.
        problem: String,
    },

    /// The images have another size than the model's input.
    #[error(
        "{path}: images are {} values, the model takes {}{}",
        CountedShape(image),
        CountedShape(model),
        reorder_hint(image, model)
    )]
    DoesNotFit {
        /// The file.
        path: PathBuf,
        /// ShapeText of one image in the file.
        image: Vec<usize>,
        /// ShapeText of the model's input, without batch.
        model: Vec<usize>,
    },

    /// A picture has another width or height than the model's input.
    #[error("{path}: the picture is {}x{} pixels (width x height), the model takes {}x{}",
        found.0, found.1, wanted.0, wanted.1)]
    PictureSize {
        /// The file.
        path: PathBuf,
        /// Width and height of the picture.
        found: (usize, usize),
        /// Width and height of the model's input.
        wanted: (usize, usize),
    },

    /// Pictures were given to a model whose input is not one.
    #[error(
        "{path}: the model's input ({} values) is not the shape of a grey or RGB picture; \
        give the images as an .npy array",
        CountedShape(model)
    )]
    NotAPicture {
        /// The picture, directory or pattern.
        path: PathBuf,
        /// ShapeText of the model's input, without batch.
        model: Vec<usize>,
    },

    /// A value is not a number in its range.
    #[error("{path}: image {index}: value {position} is {value}; values lie in [{}, {}]{}",
        range.0, range.1, range_hint(*value, *range))]
    Value {
        /// The file.
        path: PathBuf,
        /// The image, base 0.
        index: usize,
        /// Position in the image, base 0, in the file's order.
        position: usize,
        /// The value found.
        value: f64,
        /// The least and the largest value.
        range: (f64, f64),
    },

    /// Labels and images are not equally many.
    #[error("{path}: holds {labels} labels for {images} images")]
    LabelCount {
        /// The label file.
        path: PathBuf,
        /// Labels in it.
        labels: usize,
        /// Images in the data.
        images: usize,
    },

    /// A line of a text file, or an entry of an array, is not a label.
    #[error("{path}: {place}: {problem}")]
    Label {
        /// The label file.
        path: PathBuf,
        /// Line (base 1) or entry (base 0).
        place: String,
        /// What is wrong.
        problem: String,
    },

    /// The text of an image selection makes no sense.
    #[error("{0}; write a count (50), indices (3,7,9), ranges (100..150) or a mixture (0..5,9)")]
    Selection(String),

    /// More was asked for than the data holds.
    #[error("{asked}: the data holds {len} images")]
    BeyondData {
        /// What was asked for.
        asked: String,
        /// Images in the data.
        len: usize,
    },
}

impl SampleError {
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, error }
    }

    pub(super) fn no_data(path: &Path, problem: impl Into<String>) -> Self {
        let (path, problem) = (path.to_owned(), problem.into());
        Self::NoData { path, problem }
    }

    pub(super) fn damaged(path: &Path, problem: impl Into<String>) -> Self {
        let (path, problem) = (path.to_owned(), problem.into());
        Self::Damaged { path, problem }
    }

    pub(super) fn unsupported(path: &Path, problem: impl Into<String>) -> Self {
        let (path, problem) = (path.to_owned(), problem.into());
        Self::Unsupported { path, problem }
    }
}

/// A shape as people write it: `28x28`.
pub(super) struct ShapeText<'a>(pub &'a [usize]);

impl fmt::Display for ShapeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else {
            return write!(f, "1");
        };
        write!(f, "{first}")?;
        rest.iter().try_for_each(|dim| write!(f, "x{dim}"))
    }
}

/// A shape with its number of values: `28x28 = 784`, or just `784` for a flat one.
struct CountedShape<'a>(&'a [usize]);

impl fmt::Display for CountedShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", ShapeText(self.0))?;
        match volume(self.0) {
            Some(values) if self.0.len() > 1 => write!(f, " = {values}"),
            _ => Ok(()),
        }
    }
}

/// Number of values in a shape; `None` when it overflows.
pub(super) fn volume(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))
}

/// What to do about a value outside its range.
fn range_hint(value: f64, range: (f64, f64)) -> &'static str {
    match (value, range) {
        (value, _) if !value.is_finite() => "",
        (value, (_, 1.0)) if value > 1.0 => {
            ": divide by 255 or save uint8; or, if the model takes such values, give --range LO,HI"
        }
        (value, (0.0, _)) if value < 0.0 => {
            ": if they are normalised already, give pixels and --mean, --std, or --range LO,HI"
        }
        _ => ": give the least and the largest value with --range LO,HI",
    }
}

fn reorder_hint(image: &[usize], model: &[usize]) -> &'static str {
    if volume(image) == volume(model) {
        ": as many values in another order, reorder the axes"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_with_their_product() {
        let wrong = SampleError::DoesNotFit {
            path: "t10k".into(),
            image: vec![28, 28],
            model: vec![3, 32, 32],
        };
        assert_eq!(
            wrong.to_string(),
            "t10k: images are 28x28 = 784 values, the model takes 3x32x32 = 3072"
        );
    }

    #[test]
    fn another_order_of_the_same_size_is_said_to_be_one() {
        let wrong = SampleError::DoesNotFit {
            path: "a.npy".into(),
            image: vec![32, 32, 3],
            model: vec![3, 32, 32],
        };
        assert!(wrong.to_string().ends_with("reorder the axes"));
    }

    #[test]
    fn a_volume_that_overflows_is_none() {
        assert_eq!(volume(&[usize::MAX, 2]), None);
        assert_eq!(volume(&[]), Some(1));
    }
}
