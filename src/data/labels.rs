//! The true classes of the images: an IDX file, an `.npy` array of integers, or text with one number or name per line.
//!
//! The trap is the label that belongs to another image: there must be exactly as many labels as images, and in text
//! an unknown one is written `?`, `-` or `null`, never left out (blank lines and `#` comments do not count).

use std::path::Path;

use super::array::ElementKind;
use super::classes::Classes;
use super::error::{SampleError, ShapeText};
use super::file::FileReader;
use super::idx;
use super::npy::{self, NpyArray};
use super::npz;
use crate::network::Label;

/// One label per image, `None` where it is not known.
pub(super) type Labels = Vec<Option<Label>>;

/// How an unknown label is written in text.
const UNKNOWN: [&str; 3] = ["?", "-", "null"];
/// The longest text that is read, more than ten million labels: the length of a gzipped file does not bound its contents.
const LONGEST_TEXT: u64 = 64 << 20;

/// Reads the labels of `images` images, in the order of the images.
pub(super) fn read(path: &Path, images: usize, classes: &Classes) -> Result<Labels, SampleError> {
    let file = npz::open(path)?;
    let labels = if file.starts_with(npy::START) {
        from_array(path, npy::read(file)?)?
    } else if file.starts_with(&idx::START) {
        let array = idx::read(file)?;
        one_per_image(path, &array.shape)?;
        from_bytes(&array.bytes)
    } else {
        from_text(path, file, classes)?
    };
    if labels.len() != images {
        let (path, labels) = (path.to_owned(), labels.len());
        return Err(SampleError::LabelCount { path, labels, images });
    }
    Ok(labels)
}

/// Labels stored one to a byte.
pub(super) fn from_bytes(bytes: &[u8]) -> Labels {
    bytes.iter().map(|&byte| Some(Label(byte.into()))).collect()
}

/// Labels have one dimension; a second one of size 1 does no harm.
fn one_per_image(path: &Path, shape: &[usize]) -> Result<(), SampleError> {
    if matches!(shape, [_] | [_, 1]) {
        return Ok(());
    }
    let problem =
        format!("not labels: an array of {}, one number per image is needed", ShapeText(shape));
    Err(SampleError::unsupported(path, problem))
}

fn from_array(path: &Path, array: NpyArray) -> Result<Labels, SampleError> {
    one_per_image(path, &array.shape)?;
    let element = array.element;
    if element.kind == ElementKind::Float {
        let problem = "not labels: an array of floats; save them as integers";
        return Err(SampleError::unsupported(path, problem));
    }
    // Shifted to the top and back, so that a signed number keeps its sign.
    let unused = 64 - 8 * element.size as u32;
    let label = |(entry, stored)| {
        let bits = element.bits(stored);
        let signed = (bits << unused).cast_signed() >> unused;
        if element.kind == ElementKind::Signed && signed < 0 {
            return Err(SampleError::Label {
                path: path.to_owned(),
                place: format!("entry {entry}"),
                problem: format!("{signed} is not a class"),
            });
        }
        Ok(Some(Label(bits as usize)))
    };
    array.bytes.chunks_exact(element.size).enumerate().map(label).collect()
}

fn from_text(path: &Path, file: FileReader, classes: &Classes) -> Result<Labels, SampleError> {
    let not_text = file.not("labels: IDX, .npy or text with one class per line");
    let bytes = file.rest(LONGEST_TEXT)?;
    let text = str::from_utf8(&bytes).map_err(|_| not_text)?;
    let mut labels = Vec::new();
    for (line, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let label = parse_line(text, classes).map_err(|problem| SampleError::Label {
            path: path.to_owned(),
            place: format!("line {}", line + 1),
            problem,
        })?;
        labels.push(label);
    }
    Ok(labels)
}

fn parse_line(text: &str, classes: &Classes) -> Result<Option<Label>, String> {
    if let Some(label) = classes.find(text) {
        return Ok(Some(label));
    }
    if UNKNOWN.contains(&text) {
        return Ok(None);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(class) = text.parse()
    {
        return Ok(Some(Label(class)));
    }
    let found: String = text.chars().take(20).collect();
    Err(format!(
        "{found:?} is not a class; write one number or name per line, ? where it is not known"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::file::scratch::{folder, gzip, write};
    use super::*;

    fn read_bytes(bytes: impl AsRef<[u8]>, images: usize) -> Result<Vec<Option<usize>>, String> {
        let folder = folder();
        let path = write(&folder, "labels", bytes);
        let labels = read(&path, images, &Classes::default()).map_err(|error| error.to_string())?;
        Ok(labels.into_iter().map(|label| label.map(|Label(class)| class)).collect())
    }

    #[test]
    fn all_kinds_of_label_files_say_the_same() {
        let int64 = [7i64, 2, 1].map(i64::to_le_bytes).concat();
        let int16 = [7i16, 2, 1].map(i16::to_be_bytes).concat();
        for file in [
            idx::encode(&[3], &[7, 2, 1]),
            gzip(&idx::encode(&[3], &[7, 2, 1])),
            npy::encode("<i8", &[3], &int64),
            npy::encode(">i2", &[3, 1], &int16),
            npy::encode("|u1", &[3], &[7, 2, 1]),
            b"7\n2\n1\n".to_vec(),
            b"\xef\xbb\xbf# digits\r\n\r\n 7\r\n2 # two\r\n1".to_vec(),
            gzip(b"7\n2\n1"),
        ] {
            assert_eq!(
                read_bytes(&file, 3).unwrap(),
                [Some(7), Some(2), Some(1)],
                "{}",
                file.escape_ascii()
            );
        }
    }

    #[test]
    fn unknown_labels_are_none() {
        assert_eq!(read_bytes("?\n4\n-\nnull\n", 4).unwrap(), [None, Some(4), None, None]);
    }

    #[test]
    fn labels_of_another_length_are_refused() {
        for file in [idx::encode(&[3], &[7, 2, 1]), b"7\n2\n1\n".to_vec()] {
            let error = read_bytes(&file, 4).unwrap_err();
            assert!(error.ends_with("labels: holds 3 labels for 4 images"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_labels_is_refused() {
        for (file, problem) in [
            (idx::encode(&[1, 2, 2], &[0; 4]), "not labels: an array of 1x2x2"),
            (npy::encode("|u1", &[1, 10], &[0; 10]), "not labels: an array of 1x10"),
            (npy::encode("<f4", &[1], &[0; 4]), "not labels: an array of floats"),
            (b"\x89PNG\r\n\x1a\n".to_vec(), "not labels: IDX, .npy or text"),
        ] {
            let error = read_bytes(&file, 1).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, problem) in [
            ("1\n\n# no\nseven\n", "line 4: \"seven\" is not a class"),
            ("-3", "line 1: \"-3\" is not a class"),
            ("+3", "line 1: \"+3\""),
            ("1\n2.0", "line 2: \"2.0\""),
            ("1 2 3", "line 1: \"1 2 3\""),
            ("99999999999999999999999", "line 1: \"99999999999999999999\""),
        ] {
            let error = read_bytes(text, 1).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_negative_entry_is_named() {
        let error = read_bytes(npy::encode("|i1", &[2], &[3, 0xff]), 2).unwrap_err();
        assert!(error.ends_with("entry 1: -1 is not a class"), "{error}");
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = read_bytes(bytes, 3);
        }

        #[test]
        fn text_roundtrips(labels in prop::collection::vec(prop::option::of(0usize..1000), 1..30)) {
            let text: String = labels
                .iter()
                .map(|label| label.map_or("?\n".into(), |class| format!("{class}\n")))
                .collect();
            prop_assert_eq!(read_bytes(text, labels.len()).unwrap(), labels);
        }
    }
}
