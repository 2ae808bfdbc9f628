//! NumPy's `.npy` files, format versions 1.0 to 3.0: a mark, a small Python dictionary, then the values.
//!
//! Integers of all sizes and 32- or 64-bit floats are read, in either byte order. Fortran order is refused: its
//! values would have to be reordered, and one `np.ascontiguousarray` does that where the file is made.

use std::path::Path;

use super::array::{Element, ElementKind};
use super::error::{SampleError, ShapeText, volume};
use super::file::FileReader;
use super::npy_header::NpyHeader;

/// What every `.npy` file starts with.
pub(super) const START: &[u8] = b"\x93NUMPY";
/// Far more than the header of an array of plain numbers needs (NumPy itself stops at 10,000 bytes).
const LONGEST_HEADER: usize = 65_536;

/// An array of numbers, row-major.
#[derive(Debug, PartialEq)]
pub(super) struct NpyArray {
    pub shape: Vec<usize>,
    pub element: Element,
    pub bytes: Vec<u8>,
}

/// Reads a whole `.npy` file of plain numbers.
pub(super) fn read(mut file: FileReader) -> Result<NpyArray, SampleError> {
    if !file.starts_with(START) {
        return Err(file.not("an .npy file"));
    }
    let text = header_text(&mut file)?;
    let header = NpyHeader::parse(&text).map_err(|problem| {
        SampleError::damaged(file.path(), format!("bad .npy header: {problem}"))
    })?;
    if header.fortran_order {
        let problem = "array in Fortran order; save np.ascontiguousarray of it instead";
        return Err(SampleError::unsupported(file.path(), problem));
    }
    let element = element(file.path(), &header.descr)?;
    let shape = header.shape;
    let len = volume(&shape).and_then(|values| values.checked_mul(element.size));
    let Some(len) = len else {
        let problem = format!("declares {} values, an impossible size", ShapeText(&shape));
        return Err(SampleError::damaged(file.path(), problem));
    };
    let part = format!("an array of {} values of type {}", ShapeText(&shape), header.descr);
    let bytes = file.body(len as u64, &part)?;
    Ok(NpyArray { shape, element, bytes })
}

fn header_text(file: &mut FileReader) -> Result<String, SampleError> {
    const PART: &str = "the .npy header";
    let version = file.header(8, PART)?[6..].to_vec();
    let length_bytes = match version[0] {
        1 => 2,
        2 | 3 => 4,
        major => {
            let problem =
                format!(".npy format version {major}.{}; 1.0 to 3.0 are read", version[1]);
            return Err(SampleError::unsupported(file.path(), problem));
        }
    };
    let length = file.header(length_bytes, PART)?;
    let length = length.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte));
    if length > LONGEST_HEADER {
        let problem = format!("the .npy header claims {length} bytes, more than {LONGEST_HEADER}");
        return Err(SampleError::damaged(file.path(), problem));
    }
    let text = file.header(length as u64, PART)?;
    String::from_utf8(text)
        .map_err(|_| SampleError::damaged(file.path(), "bad .npy header: it is not text"))
}

/// The element a type string such as `<f4` stands for; others are refused by name.
fn element(path: &Path, descr: &str) -> Result<Element, SampleError> {
    let refuse = || {
        let problem = format!(
            "array of type {descr}; save it as uint8 (0 to 255) or float32 (0 to 1), labels as integers"
        );
        SampleError::unsupported(path, problem)
    };
    let [order, kind, size] = *descr.as_bytes() else {
        return Err(refuse());
    };
    let size = usize::from(size.wrapping_sub(b'0'));
    let kind = match (kind, size) {
        (b'u', 1 | 2 | 4 | 8) => ElementKind::Unsigned,
        (b'i', 1 | 2 | 4 | 8) => ElementKind::Signed,
        (b'f', 4 | 8) => ElementKind::Float,
        _ => return Err(refuse()),
    };
    let big_endian = match order {
        b'<' => false,
        b'>' => true,
        b'|' if size == 1 => false,
        _ => return Err(refuse()),
    };
    Ok(Element { kind, size, big_endian })
}

/// The bytes of an `.npy` file of version 1.0 with these contents.
#[cfg(test)]
pub(super) fn encode(descr: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let dims: String = shape.iter().map(|dim| format!("{dim}, ")).collect();
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}\n");
    encode_header(1, &header, bytes)
}

#[cfg(test)]
fn encode_header(version: u8, header: &str, bytes: &[u8]) -> Vec<u8> {
    let length = header.len().to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length[..4] };
    [START, &[version, 0], length, header.as_bytes(), bytes].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::file::scratch::{folder, gzip, write};
    use super::*;

    fn read_bytes(bytes: &[u8]) -> Result<NpyArray, String> {
        let folder = folder();
        let path = write(&folder, "a.npy", bytes);
        FileReader::open(&path).and_then(read).map_err(|error| error.to_string())
    }

    fn any_element() -> impl Strategy<Value = (String, Element)> {
        let kinds = prop::sample::select(vec![
            ('u', ElementKind::Unsigned, 1),
            ('u', ElementKind::Unsigned, 8),
            ('i', ElementKind::Signed, 2),
            ('i', ElementKind::Signed, 8),
            ('f', ElementKind::Float, 4),
            ('f', ElementKind::Float, 8),
        ]);
        (kinds, any::<bool>()).prop_map(|((letter, kind, size), big_endian)| {
            let order = if big_endian { '>' } else { '<' };
            (format!("{order}{letter}{size}"), Element { kind, size, big_endian })
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            shape in prop::collection::vec(0usize..5, 0..5),
            (descr, element) in any_element(),
            pack: bool,
        ) {
            let len = volume(&shape).unwrap() * element.size;
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let file = encode(&descr, &shape, &bytes);
            let file = if pack { gzip(&file) } else { file };
            prop_assert_eq!(read_bytes(&file).unwrap(), NpyArray { shape, element, bytes });
        }

        #[test]
        fn random_headers_never_panic(header in "[{}()':,a-z0-9<| ]{0,60}", raw in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read_bytes(&encode_header(1, &header, &raw));
            let _ = read_bytes(&[START, &raw].concat());
        }

        #[test]
        fn bits_read_back_in_either_order(value: f64) {
            let element = |big_endian| Element { kind: ElementKind::Float, size: 8, big_endian };
            prop_assert_eq!(element(false).bits(&value.to_le_bytes()), value.to_bits());
            prop_assert_eq!(element(true).bits(&value.to_be_bytes()), value.to_bits());
        }
    }

    #[test]
    fn headers_of_all_versions_and_spellings_are_read() {
        for version in 1..=3 {
            for header in [
                "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }          \n",
                "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"|u1\"}",
            ] {
                let array = read_bytes(&encode_header(version, header, b"abcdef")).unwrap();
                assert_eq!((array.shape, array.element), (vec![2, 3], Element::BYTE));
            }
        }
    }

    #[test]
    fn damaged_headers_are_refused_saying_where() {
        let shape = "'fortran_order': False, 'shape': (2, 3)";
        for (header, problem) in [
            ("", "'{' expected"),
            ("{'descr': '|u1'}", "no 'fortran_order'"),
            ("{'descr': '|u1', 'colour': 'red'}", "unexpected entry 'colour'"),
            ("{'descr': '|u1", "a quote is not closed"),
            (&format!("{{'descr': [('r', '|u1')], {shape}}}"), "arrays of records"),
            (&format!("{{'descr': '|u1', {shape}}} and more"), "text after its end"),
            ("{'descr': '|u1', 'shape': (-2, 3)}", "'' is not a size"),
            ("{'descr': '|u1', 'shape': (99999999999999999999,)}", "is not a size"),
        ] {
            let error = read_bytes(&encode_header(1, header, b"abcdef")).unwrap_err();
            assert!(error.contains(problem), "{header}: {error}");
        }
    }

    #[test]
    fn bad_magic_version_and_header_length_are_refused() {
        let error = read_bytes(b"\x93NUMPX\x01\x00").unwrap_err();
        assert!(error.contains("not an .npy file"), "{error}");
        let error = read_bytes(b"\x93NUMPY\x09\x00").unwrap_err();
        assert!(error.contains("version 9.0"), "{error}");
        let error = read_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").unwrap_err();
        assert!(error.contains("header claims 4294967295 bytes"), "{error}");
        let error = read_bytes(b"\x93NUMPY\x01\x00\xff\x00{").unwrap_err();
        assert!(error.contains("cut short"), "{error}");
    }

    #[test]
    fn other_types_and_orders_are_refused_by_name() {
        for descr in ["<f2", "|b1", "<c8", "<U3", "|O", "=f4", "<f16", "|f4"] {
            let error = read_bytes(&encode(descr, &[0], &[])).unwrap_err();
            assert!(error.contains(&format!("array of type {descr};")), "{error}");
        }
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}";
        let error = read_bytes(&encode_header(1, header, b"abcdef")).unwrap_err();
        assert!(error.contains("Fortran order"), "{error}");
    }

    #[test]
    fn sizes_that_overflow_or_do_not_match_are_refused() {
        let error = read_bytes(&encode("<f8", &[usize::MAX / 2, 3], &[])).unwrap_err();
        assert!(error.contains("impossible size"), "{error}");
        let error = read_bytes(&encode("<f8", &[usize::MAX / 4], &[])).unwrap_err();
        assert!(error.contains("impossible size"), "{error}");
        let error = read_bytes(&encode("<f4", &[2, 3], &[0; 23])).unwrap_err();
        assert!(error.contains("needs 24 bytes"), "{error}");
        let error = read_bytes(&encode("<f4", &[2, 3], &[0; 25])).unwrap_err();
        assert!(error.contains("more follows"), "{error}");
    }
}
