//! Where the user says the data is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::classes::Classes;

/// Which part of an MNIST directory to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// The images the model was trained on (`train-…`).
    Train,
    /// The images kept for testing (`t10k-…`).
    #[default]
    Test,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Train => "train",
            Self::Test => "test",
        })
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "train" => Ok(Self::Train),
            "test" => Ok(Self::Test),
            _ => Err(format!("`{text}` is not a split; write train or test")),
        }
    }
}

/// Where the images and their labels are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSource {
    /// A directory (of the MNIST or CIFAR-10 files, of pictures, or of one folder of pictures for each class), a pattern that matches
    /// pictures, or a file (IDX, `.npy`, `.npz`, a CIFAR-10 batch, or a picture).
    pub path: PathBuf,
    /// The part of an MNIST directory; other sources have no parts.
    pub split: Split,
    /// A file of labels (IDX, `.npy` or text); without one, those that lie beside an MNIST file by convention.
    pub labels: Option<PathBuf>,
    /// What floats lie in, for all values or for each channel: [0, 1] if none is named.
    pub ranges: Vec<(f64, f64)>,
    /// What classes are called, in labels and folders.
    pub classes: Classes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_typed_as_they_are_shown() {
        for split in [Split::Train, Split::Test] {
            assert_eq!(split.to_string().parse(), Ok(split));
        }
        assert!("validation".parse::<Split>().is_err());
    }
}
