//! The binary batches of CIFAR-10: a label and 32 x 32 pixels, all of red, then green, then blue; no header.
//!
//! The trap is that any file of a fitting length would do. So a batch is known by its name's ending, its length, and labels below ten.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::SampleError;
use super::labels::{self, Labels};
use super::source::Split;

/// The shape of an image.
pub(super) const SHAPE: [usize; 3] = [3, 32, 32];
const PIXELS: usize = 3 * 32 * 32;
/// A label and an image.
const RECORD: usize = 1 + PIXELS;
const CLASSES: u8 = 10;
/// The names of the classes, beside the batches.
const NAMES: &str = "batches.meta.txt";

/// Images and labels of some batches.
pub(super) struct Batches {
    /// One image after the other.
    pub pixels: Vec<u8>,
    pub labels: Labels,
}

/// Whether a file is a batch by its name and length.
pub(super) fn is_batch(path: &Path) -> bool {
    let named = path.extension().is_some_and(|extension| extension == "bin");
    let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
    named && length > 0 && length.is_multiple_of(RECORD as u64)
}

/// The batches of a directory with the names of the original; `None` if they are not there.
pub(super) fn files(directory: &Path, split: Split) -> Option<Vec<PathBuf>> {
    let names: Vec<String> = match split {
        Split::Test => vec!["test_batch.bin".into()],
        Split::Train => (1..=5).map(|number| format!("data_batch_{number}.bin")).collect(),
    };
    let files: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    files.iter().all(|file| file.is_file()).then_some(files)
}

/// The names of the classes that lie beside batches; none, if there are none.
pub(super) fn names(directory: &Path) -> Vec<String> {
    let text = fs::read_to_string(directory.join(NAMES)).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// Reads batches.
pub(super) fn read(files: &[PathBuf]) -> Result<Batches, SampleError> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for path in files {
        let bytes = fs::read(path).map_err(|error| SampleError::io(path, error))?;
        let damaged = |problem: String| Err(SampleError::damaged(path, problem));
        if bytes.is_empty() || bytes.len() % RECORD != 0 {
            let length = bytes.len();
            return damaged(format!("{length} bytes are not a number of records of {RECORD}"));
        }
        for (index, record) in bytes.chunks_exact(RECORD).enumerate() {
            if record[0] >= CLASSES {
                return damaged(format!(
                    "not a CIFAR-10 batch: record {index} has label {}",
                    record[0]
                ));
            }
            labels.push(record[0]);
            pixels.extend_from_slice(&record[1..]);
        }
    }
    Ok(Batches { pixels, labels: labels::from_bytes(&labels) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::dataset::Dataset;
    use super::super::file::scratch::{folder, write};
    use super::super::source::DataSource;
    use super::*;
    use crate::network::Label;

    fn batch(labels: &[u8]) -> Vec<u8> {
        let record = |&label: &u8| [vec![label], vec![10 * label; PIXELS]].concat();
        labels.iter().flat_map(record).collect()
    }

    fn open(path: &Path, split: Split, dims: &[usize]) -> Result<Dataset, String> {
        let source = DataSource { path: path.into(), split, ..DataSource::default() };
        Dataset::open(&source, dims).map_err(|error| error.to_string())
    }

    #[test]
    fn a_directory_has_both_splits_and_names() {
        let folder = folder();
        for number in 1..=5 {
            write(&folder, &format!("data_batch_{number}.bin"), batch(&[number, 9]));
        }
        write(&folder, "test_batch.bin", batch(&[3, 8, 0]));
        write(&folder, NAMES, "airplane\nautomobile\n\n");
        let test = open(folder.path(), Split::Test, &SHAPE).unwrap();
        assert_eq!((test.len(), test.class_names().len()), (3, 2));
        let sample = test.sample(1).unwrap();
        assert_eq!((sample.label, sample.pixels[5]), (Some(Label(8)), 80.0 / 255.0));
        let train = open(folder.path(), Split::Train, &SHAPE).unwrap();
        assert_eq!((train.len(), train.sample(8).unwrap().label), (10, Some(Label(5))));
        let error = open(folder.path(), Split::Test, &[32, 32, 3]).unwrap_err();
        assert!(error.ends_with("reorder the axes"), "{error}");
    }

    #[test]
    fn one_batch_is_data_and_what_is_none_is_refused() {
        let folder = folder();
        let path = write(&folder, "some.bin", batch(&[1, 2]));
        assert_eq!(open(&path, Split::Test, &SHAPE).unwrap().len(), 2);
        let wrong = write(&folder, "wrong.bin", batch(&[1, 12]));
        let error = open(&wrong, Split::Test, &SHAPE).unwrap_err();
        assert!(error.contains("not a CIFAR-10 batch: record 1 has label 12"), "{error}");
        let short = write(&folder, "short.bin", &batch(&[1])[..3000]);
        assert!(open(&short, Split::Test, &SHAPE).unwrap_err().contains("not an IDX"));
    }
}
