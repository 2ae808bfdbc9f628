//! A CSV file of targets: the columns `image,target`, one pair a line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::classes::Classes;
use super::error::SampleError;
use super::file::FileReader;
use crate::network::Label;

/// The first line of a target file.
const HEADER: &str = "image,target";
/// The longest text that is read: the length of a gzipped file does not bound its contents.
const LONGEST_TEXT: u64 = 64 << 20;

/// Why `--target` makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Neither a word, nor a number, nor a file.
    #[error(
        "--target: `{target}` is neither a target nor a file; write runner-up, all, a label ({choices}) or the name of a CSV file"
    )]
    Unknown {
        /// What was typed.
        target: String,
        /// The model's labels.
        choices: String,
    },
    /// A label that the model does not have.
    #[error("--target {target}: the model has the labels {choices}")]
    NoSuchLabel {
        /// What was typed.
        target: String,
        /// The model's labels.
        choices: String,
    },
    /// A line of the file is wrong.
    #[error("{path}: line {line}: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Base 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] SampleError),
}

/// The targets that a file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TargetFile {
    /// Images in the order in which they first appear.
    pub images: Vec<usize>,
    pub labels_from_image: BTreeMap<usize, Vec<Label>>,
}

impl TargetFile {
    /// Reads a file for a model with these classes and data of `images` images.
    pub fn read(path: &Path, classes: &Classes, images: usize) -> Result<Self, TargetError> {
        let file = FileReader::open(path)?;
        let not_text = file.not("a CSV file with the columns image,target");
        let bytes = file.rest(LONGEST_TEXT)?;
        let text = str::from_utf8(&bytes).map_err(|_| not_text)?;
        Self::parse(text, classes, images).map_err(|(line, problem)| TargetError::Line {
            path: path.to_owned(),
            line,
            problem,
        })
    }

    /// On failure, the line (base 1) and what is wrong with it.
    fn parse(text: &str, classes: &Classes, images: usize) -> Result<Self, (usize, String)> {
        let mut rows = Self::default();
        let mut seen = BTreeSet::new();
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let mut lines = (1..).zip(lines).filter(|(_, text)| !text.is_empty());
        let (line, header) = lines.next().unwrap_or((1, ""));
        if header.split(',').map(str::trim).ne(HEADER.split(',')) {
            return Err((line, format!("the header {HEADER} is expected, not {header:?}")));
        }
        for (line, text) in lines {
            let fail = |problem: String| (line, problem);
            let (image, target) = parse_row(text).map_err(fail)?;
            if image >= images {
                return Err(fail(format!(
                    "image {image} (base 0): the data holds {images} images"
                )));
            }
            let label = classes.find(target).ok_or_else(|| {
                let choices = classes.choices();
                fail(format!("target {target}: the model has the labels {choices}"))
            })?;
            if !seen.insert((image, label)) {
                return Err(fail(format!("image {image} has the target {target} twice")));
            }
            let labels = rows.labels_from_image.entry(image).or_default();
            if labels.is_empty() {
                rows.images.push(image);
            }
            labels.push(label);
        }
        if rows.images.is_empty() {
            return Err((line, "no image follows the header".into()));
        }
        Ok(rows)
    }
}

/// An image, and the target as it is written.
fn parse_row(text: &str) -> Result<(usize, &str), String> {
    let (image, target) = text
        .split_once(',')
        .filter(|(_, rest)| !rest.contains(','))
        .ok_or_else(|| format!("an image and a target are expected, not {text:?}"))?;
    let image = image.trim();
    let place = number(image).ok_or_else(|| format!("the image {image:?} is not a number"))?;
    Ok((place, target.trim()))
}

/// Digits and nothing else.
pub(super) fn number(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLASSES: usize = 10;
    const IMAGES: usize = 100;

    proptest! {
        #[test]
        fn random_text_never_panics(text in "(image,target\n)?[0-9,\n x]{0,30}") {
            let _ = TargetFile::parse(&text, &Classes::unnamed(CLASSES), IMAGES);
        }

        #[test]
        fn what_is_written_is_read(rows in prop::collection::btree_set((0..IMAGES, 0..CLASSES), 1..40)) {
            let lines: String = rows.iter().map(|(image, label)| format!("{image},{label}\n")).collect();
            let read = TargetFile::parse(&format!("{HEADER}\n{lines}"), &Classes::unnamed(CLASSES), IMAGES).unwrap();
            let flat = read.labels_from_image.iter().flat_map(|(image, labels)| {
                labels.iter().map(|label| (*image, label.0))
            });
            prop_assert!(flat.eq(rows));
        }
    }
}
