//! Which label each image should be made to get: the value of `--target`.
//!
//! The trap is a typing error that becomes a file name: what is no word and no number must be a file that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::SampleError;
use super::file::FileReader;
use crate::network::Label;

/// The first line of a target file.
const HEADER: &str = "image,target";
/// A bound on text for the sake of gzipped files, whose length tells nothing.
const LONGEST_TEXT: u64 = 64 << 20;

/// `--target` as it was typed; [`open`](Self::open) makes [`Targets`] of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TargetChoice {
    /// `runner-up`: the label with the second largest logit.
    #[default]
    RunnerUp,
    /// A label's number: that one, for every image.
    Label(Label),
    /// `all`: each label but the predicted one.
    All,
    /// A CSV file with the columns `image,target`.
    File(PathBuf),
}

/// Targets that fit a model and its data.
///
/// ```
/// use rw_adv::data::{TargetChoice, Targets};
/// use rw_adv::network::Label;
///
/// let choice: TargetChoice = "all".parse()?;
/// let targets: Targets = choice.open(3, 100)?; // three classes, a hundred images
/// let (predicted, runner_up) = (Label(1), Label(2));
/// assert_eq!(targets.of(0, predicted, runner_up).labels, [Label(0), Label(2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    choice: Choice,
    classes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    RunnerUp,
    Label(Label),
    All,
    Rows(Rows),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rows {
    /// Images in the order in which they first appear.
    images: Vec<usize>,
    labels_from_image: BTreeMap<usize, Vec<Label>>,
}

/// What to aim at for one image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageTargets {
    /// The targets, none of them the predicted label, none twice; empty when there is nothing to do.
    pub labels: Vec<Label>,
    /// Whether a target was left out because the image is predicted as it already.
    pub predicted_asked: bool,
}

/// Why `--target` makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Neither a word, nor a number, nor a file.
    #[error(
        "`{0}` is no target and no file; write runner-up, all, a label or the name of a CSV file"
    )]
    Unknown(String),
    /// A label that the model does not have.
    #[error("--target {label}: the model has the labels 0 to {last}")]
    NoSuchLabel {
        /// The label asked for.
        label: Label,
        /// The model's last label.
        last: usize,
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

impl FromStr for TargetChoice {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        match text {
            "runner-up" => Ok(Self::RunnerUp),
            "all" => Ok(Self::All),
            _ => match number(text) {
                Some(label) => Ok(Self::Label(Label(label))),
                None if Path::new(text).exists() => Ok(Self::File(text.into())),
                None => Err(TargetError::Unknown(text.into())),
            },
        }
    }
}

/// As it can be typed again.
impl fmt::Display for TargetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunnerUp => f.write_str("runner-up"),
            Self::Label(label) => label.fmt(f),
            Self::All => f.write_str("all"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl TargetChoice {
    /// Reads the file, if it is one, and compares with what there is: `classes` labels, `images` images.
    ///
    /// # Errors
    /// When the file cannot be read or a line is wrong, or a label or image does not exist.
    pub fn open(&self, classes: usize, images: usize) -> Result<Targets, TargetError> {
        let choice = match self {
            Self::RunnerUp => Choice::RunnerUp,
            Self::All => Choice::All,
            &Self::Label(label) if label.0 >= classes => {
                return Err(TargetError::NoSuchLabel { label, last: classes.saturating_sub(1) });
            }
            &Self::Label(label) => Choice::Label(label),
            Self::File(path) => Choice::Rows(Rows::read(path, classes, images)?),
        };
        Ok(Targets { choice, classes })
    }
}

impl Targets {
    /// The targets of one image, given what the model says about it.
    pub fn of(&self, image: usize, predicted: Label, runner_up: Label) -> ImageTargets {
        let asked = match &self.choice {
            Choice::RunnerUp => vec![runner_up],
            Choice::Label(label) => vec![*label],
            Choice::All => {
                (0..self.classes).map(Label).filter(|&label| label != predicted).collect()
            }
            Choice::Rows(rows) => rows.labels_from_image.get(&image).cloned().unwrap_or_default(),
        };
        let predicted_asked = asked.contains(&predicted);
        let labels = asked.into_iter().filter(|&label| label != predicted).collect();
        ImageTargets { labels, predicted_asked }
    }

    /// The images that a file names, in its order; `None` when the targets do not come from a file.
    pub fn images(&self) -> Option<Vec<usize>> {
        match &self.choice {
            Choice::Rows(rows) => Some(rows.images.clone()),
            _ => None,
        }
    }
}

impl Rows {
    fn read(path: &Path, classes: usize, images: usize) -> Result<Self, TargetError> {
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
    fn parse(text: &str, classes: usize, images: usize) -> Result<Self, (usize, String)> {
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
            let (image, label) = parse_row(text).map_err(fail)?;
            if image >= images {
                return Err(fail(format!(
                    "image {image} (base 0): the data holds {images} images"
                )));
            }
            if label.0 >= classes {
                let last = classes.saturating_sub(1);
                return Err(fail(format!("target {label}: the model has the labels 0 to {last}")));
            }
            if !seen.insert((image, label)) {
                return Err(fail(format!("image {image} has the target {label} twice")));
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

fn parse_row(text: &str) -> Result<(usize, Label), String> {
    let (image, target) = text
        .split_once(',')
        .filter(|(_, rest)| !rest.contains(','))
        .ok_or_else(|| format!("an image and a target are expected, not {text:?}"))?;
    let number = |name: &str, text: &str| {
        number(text.trim()).ok_or_else(|| format!("the {name} {:?} is not a number", text.trim()))
    };
    Ok((number("image", image)?, Label(number("target", target)?)))
}

/// Digits and nothing else.
fn number(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::file::scratch::{folder, gzip, write};
    use super::*;

    const CLASSES: usize = 10;
    const IMAGES: usize = 100;

    fn open(text: &str) -> Result<Targets, String> {
        let choice: TargetChoice = text.parse().map_err(|e: TargetError| e.to_string())?;
        choice.open(CLASSES, IMAGES).map_err(|e| e.to_string())
    }

    fn open_file(bytes: impl AsRef<[u8]>) -> Result<Targets, String> {
        let folder = folder();
        let path = write(&folder, "targets.csv", bytes);
        open(path.to_str().unwrap())
    }

    /// For image 5, predicted 3, runner-up 8.
    fn of(targets: &Targets) -> (Vec<usize>, bool) {
        let found = targets.of(5, Label(3), Label(8));
        (found.labels.into_iter().map(|Label(label)| label).collect(), found.predicted_asked)
    }

    #[test]
    fn every_spelling_aims_at_what_it_says() {
        for (text, labels, predicted_asked) in [
            ("runner-up", vec![8], false),
            ("7", vec![7], false),
            ("3", vec![], true),
            ("all", vec![0, 1, 2, 4, 5, 6, 7, 8, 9], false),
        ] {
            let targets = open(text).unwrap();
            assert_eq!(of(&targets), (labels, predicted_asked), "{text}");
            assert_eq!(targets.images(), None);
            assert_eq!(text.parse::<TargetChoice>().unwrap().to_string(), text);
        }
        assert_eq!(TargetChoice::default(), TargetChoice::RunnerUp);
    }

    #[test]
    fn what_does_not_exist_is_refused_before_anything_is_computed() {
        assert_eq!(open("10").unwrap_err(), "--target 10: the model has the labels 0 to 9");
        for text in ["runner_up", "", "-1", "7.0", "no/such/file.csv", "99999999999999999999"] {
            let error = open(text).unwrap_err();
            let start = format!("`{text}` is no target and no file; write runner-up");
            assert!(error.starts_with(&start), "{error}");
        }
        let folder = folder();
        let error = open(folder.path().to_str().unwrap()).unwrap_err();
        assert!(error.ends_with("is a directory, a file is needed"), "{error}");
    }

    #[test]
    fn a_file_names_images_and_several_targets_each() {
        let text = "image,target\n9,0\n5,1\n\n5,3\n9,2\n5,0\n";
        let spaced = "\u{feff} image , target \r\n 9, 0\r\n5,1\r\n5 ,3\r\n9,2\r\n5,0";
        for file in [text.as_bytes().to_vec(), spaced.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let targets = open_file(file).unwrap();
            assert_eq!(targets.images(), Some(vec![9, 5]));
            assert_eq!(of(&targets), (vec![1, 0], true));
            assert_eq!(targets.of(7, Label(0), Label(1)), ImageTargets::default());
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, problem) in [
            ("", "the file is empty"),
            ("\n", "line 1: the header image,target is expected, not \"\""),
            ("5,1\n", "line 1: the header image,target is expected, not \"5,1\""),
            ("image;target\n5;1\n", "line 1: the header image,target is expected"),
            ("image,target\n", "line 1: no image follows the header"),
            ("image,target\n5\n", "line 2: an image and a target are expected, not \"5\""),
            ("image,target\n5,1\n\n5,1,2\n", "line 4: an image and a target are expected"),
            ("image,target\n-5,1\n", "line 2: the image \"-5\" is not a number"),
            ("image,target\n5,x\n", "line 2: the target \"x\" is not a number"),
            ("image,target\n5,\n", "line 2: the target \"\" is not a number"),
            ("image,target\n5,10\n", "line 2: target 10: the model has the labels 0 to 9"),
            ("image,target\n100,1\n", "line 2: image 100 (base 0): the data holds 100 images"),
            ("image,target\n5,1\n5,1\n", "line 3: image 5 has the target 1 twice"),
        ] {
            let error = open_file(text).unwrap_err();
            assert!(error.contains("targets.csv: ") && error.contains(problem), "{error}");
        }
        let error = open_file(b"\xff\xfe\x00").unwrap_err();
        assert!(error.contains("not a CSV file with the columns image,target"), "{error}");
    }

    proptest! {
        #[test]
        fn random_text_never_panics(text in "(image,target\n)?[0-9,\n x]{0,30}") {
            let _ = Rows::parse(&text, CLASSES, IMAGES);
        }

        #[test]
        fn what_is_written_is_read(rows in prop::collection::btree_set((0..IMAGES, 0..CLASSES), 1..40)) {
            let lines: String = rows.iter().map(|(image, label)| format!("{image},{label}\n")).collect();
            let read = Rows::parse(&format!("{HEADER}\n{lines}"), CLASSES, IMAGES).unwrap();
            let flat = read.labels_from_image.iter().flat_map(|(image, labels)| {
                labels.iter().map(|label| (*image, label.0))
            });
            prop_assert!(flat.eq(rows));
        }
    }
}
