//! Pictures as the page holds them: all originals one after the other, then of each record what was changed; deflated
//! together, in base 64.
//!
//! If that is too large for one page, colours get coarser; if it still is, the last images go without pictures.

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

use crate::record::{AttackRecord, PictureSize, Sketches, append_varint};

/// The most characters that pictures may take.
const ROOM: usize = 2_200_000;
/// Bits of a value, the best first.
const BITS: [u32; 4] = [8, 6, 5, 4];

/// All pictures of a page.
#[derive(Serialize)]
pub struct PicturePack {
    #[serde(flatten)]
    size: PictureSize,
    /// Bits of a value that are kept.
    bits: u32,
    /// The images whose originals are there, in their order.
    images: Vec<usize>,
    /// Originals; then for each record 0 if it has no picture, or one more than its number of changes, and the steps between them.
    bytes: String,
}

/// The pictures of these records; `None` when there are none.
pub fn pack(records: &[AttackRecord], sketches: &Sketches) -> io::Result<Option<PicturePack>> {
    let Some(size) = sketches.size.filter(|_| !sketches.originals.is_empty()) else {
        return Ok(None);
    };
    let mut originals: BTreeMap<usize, &[u8]> = BTreeMap::new();
    for record in records {
        if let Some(original) = sketches.originals.get(&record.image) {
            originals.insert(record.image, original);
        }
    }
    loop {
        let mut smallest = usize::MAX;
        for bits in BITS {
            let bytes = packed(&originals, bits, records, sketches)?;
            if bytes.len() <= ROOM || originals.is_empty() {
                let images = originals.into_keys().collect();
                return Ok(Some(PicturePack { size, bits, images, bytes }));
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
    bits: u32,
    records: &[AttackRecord],
    sketches: &Sketches,
) -> io::Result<String> {
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::default());
    for original in originals.values() {
        let coarse: Vec<u8> = original.iter().map(|&byte| coarsened(byte, bits)).collect();
        deflated.write_all(&coarse)?;
    }
    for record in records {
        let sketch = sketches.sketches.get(&(record.image, record.target));
        let drawn = sketch.filter(|_| originals.contains_key(&record.image));
        let mut bytes = Vec::new();
        // Two numbers a change; each ends with a byte below 128.
        let numbers = |steps: &[u8]| steps.iter().filter(|&&byte| byte < 0x80).count();
        let whole = |steps: &Vec<u8>| numbers(steps).is_multiple_of(2);
        match drawn.and_then(|sketch| sketch.changes()).filter(whole) {
            None => append_varint(&mut bytes, 0),
            Some(steps) => {
                append_varint(&mut bytes, (numbers(&steps) / 2 + 1) as u64);
                bytes.extend(steps);
            }
        }
        deflated.write_all(&bytes)?;
    }
    Ok(BASE64.encode(deflated.finish()?))
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
        for bits in BITS {
            assert_eq!((coarsened(0, bits), coarsened(255, bits)), (0, 255));
            let farthest = (0..=255u8).map(|byte| byte.abs_diff(coarsened(byte, bits))).max();
            assert!(farthest <= Some((256u32 >> bits) as u8 / 2 + 1), "{bits}: {farthest:?}");
        }
        assert!((0..=255).all(|byte| coarsened(byte, 8) == byte));
    }
}
