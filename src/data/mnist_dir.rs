//! The four files of MNIST and its relatives, in one directory.
//!
//! The `mnist` crate reads them when they are exactly what it expects, and that is checked first, because it panics
//! otherwise. Its other trap: it joins training and test images and cuts the row at the lengths asked for, so a
//! request for 0, 0 and 10000 silently returns *training* images. Only 60000 training images in front leave the
//! true test set. Everything else (gzipped, one split only, other counts) goes through our own IDX reader.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mnist::{Mnist, MnistBuilder};

use super::classes::Classes;
use super::error::SampleError;
use super::file::FileReader;
use super::idx::{self, IdxArray};
use super::labels::{self, Labels};
use super::source::Split;

const IMAGES: &str = "idx3-ubyte";
const LABELS: &str = "idx1-ubyte";
/// Rows and columns the `mnist` crate insists on.
const SIDE: usize = 28;

/// The images of one split, and their labels when there are any.
pub(super) struct MnistSplit {
    /// The image file, for messages.
    pub path: PathBuf,
    pub images: IdxArray,
    pub labels: Option<Labels>,
}

impl Split {
    /// How the names of this split's files start.
    fn prefix(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Test => "t10k",
        }
    }

    /// How many images MNIST has in this split.
    fn standard_len(self) -> usize {
        match self {
            Self::Train => 60_000,
            Self::Test => 10_000,
        }
    }
}

/// The names under which a directory's images of this split are looked for, for people.
pub(super) fn image_names(split: Split) -> String {
    let prefix = split.prefix();
    format!("{prefix}-images-{IMAGES}[.gz], {prefix}-images.{IMAGES}[.gz]")
}

/// The directory's image file of this split.
pub(super) fn image_file(directory: &Path, split: Split) -> Option<PathBuf> {
    find(directory, &format!("{}-images", split.prefix()), IMAGES)
}

/// The label file that by convention belongs to an image file: `x-labels-idx1-ubyte` beside `x-images-idx3-ubyte`.
pub(super) fn labels_beside(images: &Path) -> Option<PathBuf> {
    let name = images.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let stem = name.strip_suffix(IMAGES)?.strip_suffix(['-', '.'])?;
    let prefix = stem.strip_suffix("-images")?;
    find(images.parent()?, &format!("{prefix}-labels"), LABELS)
}

/// Reads a split whose image file exists. `with_labels` asks for the labels the directory itself holds.
pub(super) fn read(
    directory: &Path,
    path: PathBuf,
    split: Split,
    with_labels: bool,
) -> Result<MnistSplit, SampleError> {
    if let Some((images, labels)) = read_standard(directory, split) {
        log::debug!("{}: standard MNIST, read by the mnist crate", directory.display());
        let shape = vec![split.standard_len(), SIDE, SIDE];
        let images = IdxArray { shape, bytes: images };
        let labels = with_labels.then(|| labels::from_bytes(&labels));
        return Ok(MnistSplit { path, images, labels });
    }
    let images = idx::read(FileReader::open(&path)?)?;
    let labels = match labels_beside(&path) {
        Some(file) if with_labels => {
            Some(labels::read(&file, images.shape[0], &Classes::default())?)
        }
        _ => None,
    };
    Ok(MnistSplit { path, images, labels })
}

fn find(directory: &Path, stem: &str, kind: &str) -> Option<PathBuf> {
    ["", ".gz"]
        .iter()
        .flat_map(|packing| ["-", "."].map(|dash| format!("{stem}{dash}{kind}{packing}")))
        .map(|name| directory.join(name))
        .find(|path| path.is_file())
}

/// Images and labels by the `mnist` crate; `None` unless all four files are what it expects, to the byte count.
fn read_standard(directory: &Path, split: Split) -> Option<(Vec<u8>, Vec<u8>)> {
    let [train, test] =
        [Split::Train, Split::Test].map(|split| StandardFiles::find(directory, split));
    let (train, test) = (train?, test?);
    let Mnist { trn_img, trn_lbl, tst_img, tst_lbl, .. } = MnistBuilder::new()
        .base_path(directory.to_str()?)
        .training_images_filename(&train.images)
        .training_labels_filename(&train.labels)
        .test_images_filename(&test.images)
        .test_labels_filename(&test.labels)
        .label_format_digit()
        .training_set_length(Split::Train.standard_len() as u32)
        .validation_set_length(0)
        .test_set_length(Split::Test.standard_len() as u32)
        .finalize();
    Some(match split {
        Split::Train => (trn_img, trn_lbl),
        Split::Test => (tst_img, tst_lbl),
    })
}

/// Names of a split's two files, both plain and exactly as long as MNIST's.
struct StandardFiles {
    images: String,
    labels: String,
}

impl StandardFiles {
    fn find(directory: &Path, split: Split) -> Option<Self> {
        let (prefix, len) = (split.prefix(), split.standard_len());
        let images = find(directory, &format!("{prefix}-images"), IMAGES)?;
        let labels = find(directory, &format!("{prefix}-labels"), LABELS)?;
        let standard = holds(&images, &[len, SIDE, SIDE]) && holds(&labels, &[len]);
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        standard.then_some(Self { images: name(&images)?, labels: name(&labels)? })
    }
}

/// Whether a plain file is an IDX array of bytes of just this shape.
fn holds(path: &Path, shape: &[usize]) -> bool {
    let mut header = vec![0, 0, 0x08, shape.len() as u8];
    header.extend(shape.iter().flat_map(|&dim| (dim as u32).to_be_bytes()));
    let len = header.len() as u64 + shape.iter().product::<usize>() as u64;
    let mut found = Vec::new();
    File::open(path).is_ok_and(|file| {
        file.metadata().is_ok_and(|metadata| metadata.len() == len)
            && file.take(header.len() as u64).read_to_end(&mut found).is_ok()
            && found == header
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::io::{Seek, SeekFrom, Write};

    use tempfile::TempDir;

    use super::super::file::scratch::{folder, gzip, write};
    use super::*;

    fn read_split(directory: &Path, split: Split) -> Result<MnistSplit, String> {
        let path = image_file(directory, split).expect("the split is there");
        read(directory, path, split, true).map_err(|error| error.to_string())
    }

    fn classes(split: &MnistSplit) -> Vec<usize> {
        let labels = split.labels.as_ref().unwrap();
        labels.iter().map(|label| label.unwrap().0).collect()
    }

    /// A directory as large as MNIST, black but for the first and last pixel of each split: 1 in the training images,
    /// 2 in the test images. Labels count up.
    fn standard(dash: &str) -> TempDir {
        let folder = folder();
        for (split, mark) in [(Split::Train, 1), (Split::Test, 2)] {
            let (prefix, len) = (split.prefix(), split.standard_len());
            let start = idx::encode(&[len, 28, 28], &[mark]);
            let path = write(&folder, &format!("{prefix}-images{dash}idx3-ubyte"), start);
            // Lengthened by holes, which cost no disk.
            let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.seek(SeekFrom::Start(16 + len as u64 * 784 - 1)).unwrap();
            file.write_all(&[mark]).unwrap();
            let labels: Vec<u8> = (0..len).map(|i| (i % 10) as u8).collect();
            let name = format!("{prefix}-labels{dash}idx1-ubyte");
            write(&folder, &name, idx::encode(&[len], &labels));
        }
        folder
    }

    #[test]
    fn each_split_gets_its_own_images_from_the_crate() {
        for dash in ["-", "."] {
            let folder = standard(dash);
            for (split, mark) in [(Split::Train, 1), (Split::Test, 2)] {
                assert!(read_standard(folder.path(), split).is_some());
                let read = read_split(folder.path(), split).unwrap();
                assert_eq!(read.images.shape, [split.standard_len(), 28, 28]);
                assert_eq!(read.images.bytes.len(), split.standard_len() * 784);
                assert_eq!(read.images.bytes.first(), Some(&mark));
                assert_eq!(read.images.bytes.last(), Some(&mark));
                assert_eq!(classes(&read)[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
            }
        }
    }

    #[test]
    fn a_damaged_file_keeps_the_crate_away_and_is_named_when_it_is_needed() {
        let folder = standard("-");
        type Damage = fn(&mut Vec<u8>);
        let damages: [(&str, Damage); 4] = [
            ("t10k-images-idx3-ubyte", |bytes| bytes[3] = 1),
            ("t10k-images-idx3-ubyte", |bytes| bytes.truncate(5000)),
            ("t10k-labels-idx1-ubyte", |bytes| bytes.push(0)),
            ("t10k-labels-idx1-ubyte", |bytes| bytes[7] ^= 1),
        ];
        for (name, damage) in damages {
            let path = folder.path().join(name);
            let good = fs::read(&path).unwrap();
            let mut bad = good.clone();
            damage(&mut bad);
            fs::write(&path, bad).unwrap();
            assert!(read_standard(folder.path(), Split::Train).is_none());
            assert!(read_split(folder.path(), Split::Test).err().unwrap().contains(name));
            let train = read_split(folder.path(), Split::Train).unwrap();
            assert_eq!(train.images.shape, [60_000, 28, 28]);
            fs::write(&path, good).unwrap();
        }
        assert!(read_standard(folder.path(), Split::Train).is_some());
    }

    #[test]
    fn one_gzipped_split_is_enough() {
        let folder = folder();
        write(&folder, "t10k-images-idx3-ubyte.gz", gzip(&idx::encode(&[2, 1, 2], &[1, 2, 3, 4])));
        let read = read_split(folder.path(), Split::Test).unwrap();
        assert_eq!((read.images.shape, read.labels), (vec![2, 1, 2], None));
        assert_eq!(image_file(folder.path(), Split::Train), None);

        write(&folder, "t10k-labels-idx1-ubyte.gz", gzip(&idx::encode(&[2], &[7, 2])));
        assert_eq!(classes(&read_split(folder.path(), Split::Test).unwrap()), [7, 2]);

        write(&folder, "t10k-labels-idx1-ubyte.gz", gzip(&idx::encode(&[3], &[7, 2, 1])));
        let error = read_split(folder.path(), Split::Test).err().unwrap();
        assert!(error.ends_with("holds 3 labels for 2 images"), "{error}");
    }

    #[test]
    fn labels_are_found_beside_images_of_any_spelling() {
        let folder = folder();
        let labels = write(&folder, "x-labels.idx1-ubyte.gz", "");
        for name in ["x-images-idx3-ubyte", "x-images.idx3-ubyte.gz"] {
            assert_eq!(labels_beside(&folder.path().join(name)), Some(labels.clone()));
        }
        for name in ["y-images-idx3-ubyte", "x-images", "x-labels.idx1-ubyte.gz"] {
            assert_eq!(labels_beside(&folder.path().join(name)), None);
        }
    }

    /// Needs the real files: their directory is named by `RW_ADV_MNIST_DIR`.
    #[test]
    fn the_crate_and_our_reader_agree_on_the_real_test_set() {
        let Some(directory) = std::env::var_os("RW_ADV_MNIST_DIR").map(PathBuf::from) else {
            #[allow(clippy::print_stderr)]
            {
                eprintln!(
                    "skipped: RW_ADV_MNIST_DIR does not name the directory of the four MNIST files"
                );
            }
            return;
        };
        for (split, first) in [(Split::Train, [5, 0, 4, 1, 9]), (Split::Test, [7, 2, 1, 0, 4])] {
            let (images, digits) =
                read_standard(&directory, split).expect("the standard four files");
            assert_eq!(digits[..5], first);
            let path = image_file(&directory, split).unwrap();
            let labels = labels::read(
                &labels_beside(&path).unwrap(),
                split.standard_len(),
                &Classes::default(),
            )
            .unwrap();
            assert_eq!(labels, labels::from_bytes(&digits));
            assert_eq!(idx::read(FileReader::open(&path).unwrap()).unwrap().bytes, images);
        }
    }
}
