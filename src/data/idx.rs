//! IDX files, the format MNIST comes in: `00 00 type rank`, one big-endian u32 per dimension, then the values.
//!
//! Only unsigned bytes are read; the format's other element types are refused by name.

use super::error::{SampleError, ShapeText, volume};
use super::file::FileReader;

/// What every IDX file starts with.
pub(super) const START: [u8; 2] = [0, 0];

/// An array of bytes, row-major.
#[derive(Debug, PartialEq)]
pub(super) struct IdxArray {
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// Reads a whole IDX file of unsigned bytes.
pub(super) fn read(mut file: FileReader) -> Result<IdxArray, SampleError> {
    if !file.starts_with(&START) {
        return Err(file.not("an IDX file"));
    }
    let magic = file.header(4, "the IDX magic number")?;
    let rank = usize::from(magic[3]);
    if let Err(problem) = unsigned_bytes(magic[2]) {
        return Err(SampleError::unsupported(file.path(), problem));
    }
    if rank == 0 {
        return Err(SampleError::damaged(file.path(), "an IDX file of rank 0 holds nothing"));
    }
    let shape: Vec<usize> = file
        .header(4 * rank as u64, "the IDX header")?
        .chunks_exact(4)
        .map(|dim| u32::from_be_bytes(dim.try_into().expect("chunks of four")) as usize)
        .collect();
    let Some(len) = volume(&shape) else {
        let problem = format!("declares {} values, an impossible size", ShapeText(&shape));
        return Err(SampleError::damaged(file.path(), problem));
    };
    let part = format!("an array of {}", ShapeText(&shape));
    let bytes = file.body(len as u64, &part)?;
    Ok(IdxArray { shape, bytes })
}

fn unsigned_bytes(element_type: u8) -> Result<(), String> {
    let name = match element_type {
        0x08 => return Ok(()),
        0x09 => "signed byte",
        0x0b => "16-bit integer",
        0x0c => "32-bit integer",
        0x0d => "32-bit float",
        0x0e => "64-bit float",
        other => {
            return Err(format!("not an IDX file: unknown element type 0x{other:02x} at byte 2"));
        }
    };
    Err(format!("IDX file of {name} values; only unsigned bytes (type 0x08) are read"))
}

/// The bytes of an IDX file with these contents.
#[cfg(test)]
pub(super) fn encode(shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 0x08, shape.len() as u8];
    for &dim in shape {
        file.extend((dim as u32).to_be_bytes());
    }
    file.extend(bytes);
    file
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::file::scratch::{folder, gzip, write};
    use super::*;

    fn read_bytes(bytes: &[u8]) -> Result<IdxArray, String> {
        let folder = folder();
        let path = write(&folder, "images", bytes);
        FileReader::open(&path).and_then(read).map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(shape in prop::collection::vec(0usize..6, 1..5), pack: bool, seed: u8) {
            let len = volume(&shape).unwrap();
            let bytes: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect();
            let file = encode(&shape, &bytes);
            let file = if pack { gzip(&file) } else { file };
            prop_assert_eq!(read_bytes(&file).unwrap(), IdxArray { shape, bytes });
        }

        #[test]
        fn random_bytes_never_panic(tail in prop::collection::vec(any::<u8>(), 0..40), rank in 0u8..9) {
            let _ = read_bytes(&tail);
            let _ = read_bytes(&[&[0, 0, 8, rank][..], &tail].concat());
        }

        #[test]
        fn no_file_cut_short_is_accepted(keep in 0usize..28) {
            let file = encode(&[3, 2, 2], &[7; 12]);
            prop_assert!(read_bytes(&file[..keep]).is_err());
        }
    }

    #[test]
    fn a_wrong_magic_number_is_shown() {
        let error = read_bytes(b"\x01\x00\x08\x03rest").unwrap_err();
        assert!(
            error.ends_with(r#"not an IDX file (it starts with "\x01\x00\x08\x03rest")"#),
            "{error}"
        );
        let error = read_bytes(&[0, 0, 0x42, 3]).unwrap_err();
        assert!(error.contains("unknown element type 0x42 at byte 2"), "{error}");
    }

    #[test]
    fn other_element_types_are_refused_by_name() {
        for (code, name) in [(9, "signed byte"), (0x0d, "32-bit float")] {
            let error = read_bytes(&[0, 0, code, 1, 0, 0, 0, 0]).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_header_that_counts_too_many_or_too_few_is_refused() {
        let error = read_bytes(&encode(&[3, 2, 2], &[7; 8])).unwrap_err();
        assert!(
            error.ends_with(
                "cut short: an array of 3x2x2 needs 12 bytes from byte 16 on, 8 are there"
            ),
            "{error}"
        );
        let error = read_bytes(&encode(&[3, 2, 2], &[7; 13])).unwrap_err();
        assert!(error.contains("an array of 3x2x2 should end at byte 28"), "{error}");
    }

    #[test]
    fn a_shape_that_overflows_is_refused() {
        let huge = u32::MAX as usize;
        let error = read_bytes(&encode(&[huge, huge, huge], &[])).unwrap_err();
        assert!(error.contains("impossible size"), "{error}");
        let error = read_bytes(&gzip(&encode(&[huge, 28, 28], &[]))).unwrap_err();
        assert!(error.contains("gzipped bytes can hold"), "{error}");
    }
}
