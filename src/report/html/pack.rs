//! Pictures as the page holds them: all originals one after the other, then of each record what was changed, then the exact values of
//! adversaries; deflated together, in base 64.
//!
//! If that is too large for one page, exact values go first, then colours get coarser, then the last images go without pictures.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

use crate::data::{Colour, PictureLayout};
use crate::record::{PictureSize, Sketch, Sketches, append_varint};

/// The most characters that pictures may take.
const ROOM: usize = 2_400_000;
/// Bits of a value and whether exact values are there, and how hard they are deflated: the best first. Where there is room, the fastest will do:
/// that takes a quarter of the time, and an eighth more room.
const QUALITIES: [((u32, bool), u32); 6] = [
    ((8, true), 1),
    ((8, true), 6),
    ((8, false), 6),
    ((6, false), 6),
    ((5, false), 6),
    ((4, false), 6),
];

/// What is deflated at once: with every write, the compressor clears a buffer of half this size.
const PORTION: usize = 1 << 16;

/// All pictures of a page.
#[derive(Serialize)]
pub struct PicturePack {
    #[serde(flatten)]
    size: PictureSize,
    /// Bits of a value that are kept.
    bits: u32,
    /// Whether adversaries can be told exactly.
    exact: bool,
    /// The shape of the model's input, if it is known.
    dims: Option<Vec<usize>>,
    /// Whether a plane of red comes before a plane of green in the model's input.
    planar: bool,
    /// The images whose originals are there, in their order.
    images: Vec<usize>,
    /// Those of them whose values are not those of their bytes, if values are exact.
    valued: Vec<usize>,
    /// Originals; then for each record 0 if it has no picture, or one more than its number of changes, and the steps between them; if values
    /// are exact, then the values of originals, and for each record 0, or 1 and an `f32` and a byte of its picture for each change.
    bytes: String,
}

/// The pictures of these records, each with its image and target; `None` when there are none.
pub fn pack(records: &[(usize, usize)], sketches: &Sketches) -> io::Result<Option<PicturePack>> {
    let Some(size) = sketches.size.filter(|_| !sketches.originals.is_empty()) else {
        return Ok(None);
    };
    let mut originals: BTreeMap<usize, &[u8]> = BTreeMap::new();
    for (image, _) in records {
        if let Some(original) = sketches.originals.get(image) {
            originals.insert(*image, original);
        }
    }
    let layout = sketches.dims.as_deref().and_then(PictureLayout::from_dims);
    let planar = layout.is_some_and(|layout| layout.colour == Colour::RgbPlanar);
    loop {
        let mut smallest = usize::MAX;
        for ((bits, exact), level) in QUALITIES {
            let exact = exact && layout.is_some();
            let bytes = packed(&originals, ((bits, exact), level), records, sketches)?;
            if bytes.len() <= ROOM || originals.is_empty() {
                let images: Vec<usize> = originals.into_keys().collect();
                let is_valued = |image: &&usize| sketches.exact_originals.contains_key(image);
                let valued = images.iter().filter(is_valued).copied().collect();
                let dims = sketches.dims.clone();
                let pack = PicturePack { size, bits, exact, dims, planar, images, valued, bytes };
                return Ok(Some(pack));
            }
            smallest = bytes.len();
        }
        // As many as would fit if all took the same space, and a few less.
        let share = 0.97 * ROOM as f64 / smallest as f64;
        let most = (share * originals.len() as f64) as usize;
        originals = originals.into_iter().take(most).collect();
    }
}

fn packed(
    originals: &BTreeMap<usize, &[u8]>,
    ((bits, exact), level): ((u32, bool), u32),
    records: &[(usize, usize)],
    sketches: &Sketches,
) -> io::Result<String> {
    let deflated = DeflateEncoder::new(Vec::new(), Compression::new(level));
    let mut deflated = BufWriter::with_capacity(PORTION, deflated);
    let coarse: Vec<u8> = (0..=255).map(|byte| coarsened(byte, bits)).collect();
    for original in originals.values() {
        if bits == 8 {
            deflated.write_all(original)?;
        } else {
            let coarse: Vec<u8> = original.iter().map(|&byte| coarse[usize::from(byte)]).collect();
            deflated.write_all(&coarse)?;
        }
    }
    let drawn = |key: &(usize, usize)| {
        sketches.sketches.get(key).filter(|_| originals.contains_key(&key.0))
    };
    let mut counts = Vec::new();
    for key in records {
        let mut bytes = Vec::new();
        // Two numbers a change; each ends with a byte below 128.
        let numbers = |steps: &[u8]| steps.iter().filter(|&&byte| byte < 0x80).count();
        let whole = |steps: &Vec<u8>| numbers(steps).is_multiple_of(2);
        let steps = drawn(key).and_then(Sketch::changes).filter(whole);
        counts.push(steps.as_ref().map_or(0, |steps| numbers(steps) / 2));
        match steps {
            None => append_varint(&mut bytes, 0),
            Some(steps) => {
                append_varint(&mut bytes, (numbers(&steps) / 2 + 1) as u64);
                bytes.extend(steps);
            }
        }
        deflated.write_all(&bytes)?;
    }
    if exact {
        for image in originals.keys() {
            if let Some(values) = sketches.exact_originals.get(image) {
                deflated.write_all(values)?;
            }
        }
        for (key, count) in records.iter().zip(counts) {
            let witness = drawn(key).and_then(Sketch::witness);
            match witness.filter(|(_, bytes)| bytes.len() == count) {
                None => deflated.write_all(&[0])?,
                Some((values, bytes)) => {
                    deflated.write_all(&[1])?;
                    deflated.write_all(&values)?;
                    deflated.write_all(&bytes)?;
                }
            }
        }
    }
    Ok(BASE64.encode(deflated.into_inner()?.finish()?))
}

/// The nearest of 2^bits evenly spaced values. Black and white stay exact.
fn coarsened(byte: u8, bits: u32) -> u8 {
    let steps = (1u32 << bits) - 1;
    let step = (u32::from(byte) * steps + 127) / 255;
    ((step * 255 + steps / 2) / steps) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_values_are_near_and_keep_black_and_white() {
        for ((bits, _), _) in QUALITIES {
            assert_eq!((coarsened(0, bits), coarsened(255, bits)), (0, 255));
            let farthest = (0..=255u8).map(|byte| byte.abs_diff(coarsened(byte, bits))).max();
            assert!(farthest <= Some((256u32 >> bits) as u8 / 2 + 1), "{bits}: {farthest:?}");
        }
        assert!((0..=255).all(|byte| coarsened(byte, 8) == byte));
    }
}
