//! Exact numbers as NumPy's `.npy` files: format version 1.0, C order, little-endian. The crates for this bring a parser generator for
//! headers, which writing does not need.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the file starts with: the mark and the version.
const START: &[u8; 8] = b"\x93NUMPY\x01\x00";
/// The values begin at a multiple of this, as NumPy does it, so that the file can be mapped into memory.
const ALIGNMENT: usize = 64;
/// No header of a shape with at most twenty dimensions is longer.
const LONGEST_HEADER: u64 = 512;

/// What an array may be made of.
pub trait Number: Copy {
    /// NumPy's name of the type.
    const TYPE: &'static str;

    /// The bytes of these numbers, of each the lowest first.
    fn bytes(values: &[Self]) -> Vec<u8>;
}

impl Number for f32 {
    const TYPE: &'static str = "<f4";

    fn bytes(values: &[Self]) -> Vec<u8> {
        values.iter().copied().map(f32::to_le_bytes).collect::<Vec<_>>().into_flattened()
    }
}

impl Number for f64 {
    const TYPE: &'static str = "<f8";

    fn bytes(values: &[Self]) -> Vec<u8> {
        values.iter().copied().map(f64::to_le_bytes).collect::<Vec<_>>().into_flattened()
    }
}

/// The bytes of a file that holds `values`, row-major, as an array of shape `dims`.
///
/// # Panics
/// When there are not as many values as the shape says.
pub fn encode<N: Number>(dims: &[usize], values: &[N]) -> Vec<u8> {
    assert_eq!(values.len(), dims.iter().product::<usize>(), "as many values as the shape says");
    let shape = match dims {
        // Python's tuple of one.
        [only] => format!("({only},)"),
        _ => format!("({})", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", N::TYPE);
    let before = START.len() + size_of::<u16>();
    // Filled up with blanks, and a line break at the end.
    let length = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before;
    let stated = u16::try_from(length).expect("a shape takes a few bytes per dimension");
    let mut file = Vec::with_capacity(before + length + size_of_val(values));
    file.extend_from_slice(START);
    file.extend_from_slice(&stated.to_le_bytes());
    file.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    file.extend(N::bytes(values));
    file
}

/// Whether a file of ours holds all the values that it says it holds. What a power loss leaves may be its beginning, zeros, or nothing.
pub fn is_whole(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| {
        let length = file.metadata()?.len();
        file.take(LONGEST_HEADER).read_to_end(&mut start)?;
        Ok(length)
    });
    read.is_ok_and(|length| stated_length(&start) == Some(length))
}

/// The length of a file that begins so.
fn stated_length(start: &[u8]) -> Option<u64> {
    let (stated, rest) = start.strip_prefix(START)?.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_le_bytes(*stated));
    let header = std::str::from_utf8(rest.get(..length)?).ok()?;
    let (_, shape) = header.split_once('(')?;
    let (shape, _) = shape.split_once(')')?;
    let sides = shape.split(',').map(str::trim).filter(|side| !side.is_empty());
    let values = sides.map(|side| side.parse::<u64>().ok()).product::<Option<u64>>()?;
    let bytes = if header.contains(f32::TYPE) { 4 } else { 8 };
    Some((START.len() + 2 + length) as u64 + bytes * values)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{DataSource, Dataset};

    #[test]
    fn the_header_is_what_numpy_writes() {
        // numpy.save of np.array([0, 1], "<f4"), by hand.
        let file = encode(&[2], &[0.0f32, 1.0]);
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        assert_eq!(file[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(file[10..128], *format!("{header:<117}\n").as_bytes());
        assert_eq!(file[128..], [0, 0, 0, 0, 0, 0, 0x80, 0x3f]);
        let doubles = encode(&[2], &[0.0f64, 1.0]);
        assert_eq!(doubles[10..128], *format!("{:<117}\n", header.replace("f4", "f8")).as_bytes());
        assert_eq!(doubles[128..136], [0; 8]);
        assert_eq!(doubles[136..], [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    }

    proptest! {
        #[test]
        fn what_is_written_our_own_reader_reads_bit_by_bit(
            dims in prop::collection::vec(1usize..5, 0..5),
            seed in prop::collection::vec(0.0f32..=1.0, 1..30),
        ) {
            let values: Vec<f32> = seed.into_iter().cycle().take(dims.iter().product()).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.npy");
            let file = encode(&dims, &values);
            prop_assert_eq!((file.len() - 4 * values.len()) % ALIGNMENT, 0);
            for length in [0, 9, file.len() / 2, file.len() - 1] {
                std::fs::write(&path, &file[..length]).unwrap();
                prop_assert!(!is_whole(&path));
            }
            std::fs::write(&path, vec![0; file.len()]).unwrap();
            prop_assert!(!is_whole(&path));
            std::fs::write(&path, file).unwrap();
            prop_assert!(is_whole(&path));
            let data = Dataset::open(&DataSource { path, ..DataSource::default() }, &dims).unwrap();
            prop_assert_eq!(data.len(), 1);
            prop_assert_eq!(data.sample(0).unwrap().pixels, values);
        }
    }
}
