//! Which label each image should be made to get: the value of `--target`.
//!
//! The trap is a typing error that is taken for a file name: a value that is neither a word nor a class must be an existing file. What
//! classes are called is known with the model, so it is decided when that is open.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::classes::Classes;
use super::target_file::{TargetError, TargetFile, number};
use crate::network::Label;

/// `--target` as it was typed; [`open`](Self::open) makes [`Targets`] of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TargetChoice {
    /// `runner-up`: the label with the second largest logit.
    #[default]
    RunnerUp,
    /// `all`: each label but the predicted one.
    All,
    /// A class, the same for every image, by its name or number; or else a CSV file with the columns `image,target`.
    Named(String),
}

/// Targets that fit a model and its data.
///
/// ```
/// use rw_adv::data::{Classes, TargetChoice, Targets};
/// use rw_adv::network::Label;
///
/// let choice: TargetChoice = "all".parse()?;
/// let targets: Targets = choice.open(&Classes::unnamed(3), 100)?; // three classes, a hundred images
/// let (predicted, runner_up) = (Label(1), Label(2));
/// assert_eq!(targets.of(0, predicted, runner_up), [Label(0), Label(2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    rule: TargetRule,
    classes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetRule {
    RunnerUp,
    Label(Label),
    All,
    File(TargetFile),
    Each(Vec<Label>),
}

impl FromStr for TargetChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "runner-up" => Self::RunnerUp,
            "all" => Self::All,
            _ => Self::Named(text.into()),
        })
    }
}

/// As it can be typed again.
impl fmt::Display for TargetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RunnerUp => "runner-up",
            Self::All => "all",
            Self::Named(text) => text,
        })
    }
}

impl TargetChoice {
    /// Finds the class or reads the file, and compares with what there is.
    ///
    /// # Errors
    /// When there is no such class or file, the file cannot be read or a line is wrong, or a label or image does not exist.
    pub fn open(&self, classes: &Classes, images: usize) -> Result<Targets, TargetError> {
        let rule = match self {
            Self::RunnerUp => TargetRule::RunnerUp,
            Self::All => TargetRule::All,
            Self::Named(text) => match classes.find(text) {
                Some(label) => TargetRule::Label(label),
                None if number(text).is_some() => {
                    let (target, choices) = (text.clone(), classes.choices());
                    return Err(TargetError::NoSuchLabel { target, choices });
                }
                None if Path::new(text).exists() => {
                    TargetRule::File(TargetFile::read(Path::new(text), classes, images)?)
                }
                None => {
                    let (target, choices) = (text.clone(), classes.choices());
                    return Err(TargetError::Unknown { target, choices });
                }
            },
        };
        Ok(Targets { rule, classes: classes.count() })
    }
}

impl Targets {
    /// One label for each image, in the order of the images.
    ///
    /// # Errors
    /// When a label does not exist.
    pub fn one_each(labels: Vec<Label>, classes: usize) -> Result<Self, TargetError> {
        match labels.iter().find(|label| label.0 >= classes) {
            Some(label) => {
                let choices = Classes::unnamed(classes).choices();
                Err(TargetError::NoSuchLabel { target: label.to_string(), choices })
            }
            None => Ok(Self { rule: TargetRule::Each(labels), classes }),
        }
    }

    /// The targets of one image, given what the model says about it: none of them the predicted label, none twice; empty when there
    /// is nothing to do.
    pub fn of(&self, image: usize, predicted: Label, runner_up: Label) -> Vec<Label> {
        let asked = match &self.rule {
            TargetRule::RunnerUp => vec![runner_up],
            TargetRule::Label(label) => vec![*label],
            TargetRule::All => {
                (0..self.classes).map(Label).filter(|&label| label != predicted).collect()
            }
            TargetRule::File(rows) => {
                rows.labels_from_image.get(&image).cloned().unwrap_or_default()
            }
            TargetRule::Each(labels) => labels.get(image).copied().into_iter().collect(),
        };
        asked.into_iter().filter(|&label| label != predicted).collect()
    }

    /// The images that a file names, in its order; `None` when the targets do not come from a file.
    pub fn images(&self) -> Option<Vec<usize>> {
        match &self.rule {
            TargetRule::File(rows) => Some(rows.images.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::file::scratch::{folder, gzip, write};
    use super::*;

    const CLASSES: usize = 10;
    const IMAGES: usize = 100;

    fn open(text: &str) -> Result<Targets, String> {
        let choice: TargetChoice = text.parse().unwrap();
        choice.open(&Classes::unnamed(CLASSES), IMAGES).map_err(|e| e.to_string())
    }

    fn open_file(bytes: impl AsRef<[u8]>) -> Result<Targets, String> {
        let folder = folder();
        let path = write(&folder, "targets.csv", bytes);
        open(path.to_str().unwrap())
    }

    /// For image 5, predicted 3, runner-up 8.
    fn of(targets: &Targets) -> Vec<usize> {
        targets.of(5, Label(3), Label(8)).into_iter().map(|Label(label)| label).collect()
    }

    #[test]
    fn every_spelling_aims_at_what_it_says() {
        for (text, labels) in [
            ("runner-up", vec![8]),
            ("7", vec![7]),
            // Predicted already.
            ("3", vec![]),
            ("all", vec![0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ] {
            let targets = open(text).unwrap();
            assert_eq!(of(&targets), labels, "{text}");
            assert_eq!(targets.images(), None);
            assert_eq!(text.parse::<TargetChoice>().unwrap().to_string(), text);
        }
        assert_eq!(TargetChoice::default(), TargetChoice::RunnerUp);
    }

    #[test]
    fn classes_are_called_by_their_names() {
        let names = ["cat", "dog", "owl"].map(String::from).to_vec();
        let classes = Classes::named(3, names).unwrap();
        let open = |text: &str| {
            let choice: TargetChoice = text.parse().unwrap();
            choice.open(&classes, IMAGES).map_err(|e| e.to_string())
        };
        assert_eq!(open("dog").unwrap().of(0, Label(0), Label(2)), [Label(1)]);
        assert_eq!(open("2").unwrap().of(0, Label(0), Label(1)), [Label(2)]);
        assert!(open("3").unwrap_err().ends_with("the model has the labels cat, dog, owl"));
        assert!(open("cow").unwrap_err().contains("a label (cat, dog, owl)"));
        let folder = folder();
        let path = write(&folder, "targets.csv", "image,target\n5,owl\n5,cat\n");
        let targets = open(path.to_str().unwrap()).unwrap();
        assert_eq!(targets.of(5, Label(1), Label(0)), [Label(2), Label(0)]);
    }

    #[test]
    fn a_list_has_one_label_for_each_image() {
        let targets = Targets::one_each(vec![Label(1), Label(3), Label(8)], CLASSES).unwrap();
        assert_eq!(targets.of(2, Label(3), Label(0)), [Label(8)]);
        assert_eq!(targets.of(1, Label(3), Label(0)), []);
        assert_eq!(targets.of(3, Label(3), Label(0)), []);
        assert!(Targets::one_each(vec![Label(CLASSES)], CLASSES).is_err());
    }

    #[test]
    fn what_does_not_exist_is_refused_before_anything_is_computed() {
        assert_eq!(open("10").unwrap_err(), "--target 10: the model has the labels 0 to 9");
        for text in ["runner_up", "", "-1", "7.0", "no/such/file.csv", "99999999999999999999"] {
            let error = open(text).unwrap_err();
            let start =
                format!("--target: `{text}` is neither a target nor a file; write runner-up");
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
            assert_eq!(of(&targets), [1, 0]);
            assert_eq!(targets.of(7, Label(0), Label(1)), []);
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
            ("image,target\n5,x\n", "line 2: target x: the model has the labels 0 to 9"),
            ("image,target\n5,\n", "line 2: target : the model has the labels 0 to 9"),
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
}
