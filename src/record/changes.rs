//! What was changed in a picture, as bytes: a list of steps. Each step says how many values further the next change is, and by how
//! many 255ths, rounded away from zero, so that the smallest change still shows. Both are variable-length integers (LEB128), the
//! second one in zigzag order: 0, −1, 1, −2, …
//!
//! A picture is 8 bits a value, row by row, the channels of a pixel side by side.

use crate::data::{Colour, PictureLayout};

/// Where the values of a picture are in the model's input, row by row, channels side by side.
pub fn places(layout: &PictureLayout) -> impl Iterator<Item = usize> + '_ {
    let channels = layout.channels();
    let is_planar = layout.colour == Colour::RgbPlanar;
    (0..layout.values()).map(move |k| {
        // In every other layout that is the model's own order.
        if !is_planar {
            return k;
        }
        let (pixel, channel) = (k / channels, k % channels);
        layout.position(pixel / layout.width, pixel % layout.width, channel)
    })
}

/// The values that differ, row by row, channels side by side: of each the place in the picture and in the model's input.
pub fn changed(layout: &PictureLayout, original: &[f32], point: &[f32]) -> Vec<(usize, usize)> {
    if layout.colour == Colour::RgbPlanar {
        let both = places(layout).enumerate();
        return both.filter(|&(_, at)| original[at] != point[at]).collect();
    }
    // Most values are as they were: nothing is done to them but to be compared.
    let pairs = original.iter().zip(point).enumerate();
    pairs.filter(|(_, (before, after))| before != after).map(|(k, _)| (k, k)).collect()
}

/// The steps from one picture to the other, both in the model's own order.
pub fn encode(layout: &PictureLayout, original: &[f32], point: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = 0;
    for (k, at) in changed(layout, original, point) {
        let level = level(f64::from(point[at]) - f64::from(original[at]));
        if level != 0 {
            append_varint(&mut bytes, (k - next) as u64);
            append_varint(&mut bytes, zigzag(level));
            next = k + 1;
        }
    }
    bytes
}

/// The picture after the steps; `None` when the steps are not of this picture.
pub fn apply(steps: &[u8], original: &[u8]) -> Option<Vec<u8>> {
    let mut numbers = varints(steps);
    let (mut picture, mut at) = (original.to_vec(), 0);
    while let Some(gap) = numbers.next() {
        at += usize::try_from(gap).ok()?;
        let level = unzigzag(numbers.next()?);
        let value = picture.get_mut(at)?;
        *value = i64::from(*value).saturating_add(level).clamp(0, 255) as u8;
        at += 1;
    }
    Some(picture)
}

/// A change in 255ths, rounded away from zero.
fn level(change: f64) -> i64 {
    if change == 0.0 {
        return 0;
    }
    // A change by whole grey levels is a little more than that after rounding to f32.
    let levels = (255.0 * change.abs() - 1e-3).ceil().max(1.0) as i64;
    levels * change.signum() as i64
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Numbers as [`append_varint`] writes them; at most nine bytes each.
fn varints(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.split_inclusive(|&byte| byte < 0x80).map(|number| {
        let parts = number.iter().take(9).enumerate();
        parts.fold(0, |sum, (k, &byte)| sum | u64::from(byte & 0x7f) << (7 * k))
    })
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
pub fn append_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Colour;

    #[test]
    fn changes_by_hand() {
        let layout = PictureLayout { width: 3, height: 2, colour: Colour::Grey };
        let original = [0.0, 0.5, 1.0, 0.2, 0.0, 0.0];
        let point = [0.0, 0.5, 0.0, 0.2, 1.0, 1e-6];
        // Two values further −255, that is 509 in zigzag order; one further 255, 510; at once 1, 2.
        let steps = encode(&layout, &original, &point);
        assert_eq!(steps, [2, 0xfd, 3, 1, 0xfe, 3, 0, 2]);
        let bytes = [0, 128, 255, 51, 0, 0];
        assert_eq!(apply(&steps, &bytes), Some(vec![0, 128, 0, 51, 255, 1]));
        assert_eq!(apply(&steps, &bytes[..4]), None);
        assert!([0, -1, 1, -255, i64::MAX, i64::MIN].iter().all(|&n| unzigzag(zigzag(n)) == n));
        assert_eq!(level(10.0 / 255.0), 10);
        assert_eq!(level(f64::from(133.0f32 / 255.0) - f64::from(123.0f32 / 255.0)), 10);
        assert_eq!((level(-1e-9), level(0.0), level(-10.5 / 255.0)), (-1, 0, -11));
    }

    #[test]
    fn colours_are_stored_side_by_side() {
        let layout = PictureLayout { width: 2, height: 1, colour: Colour::RgbPlanar };
        assert_eq!(places(&layout).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
        let (original, point) = ([0.0; 6], [0.0, 0.0, 0.5, 0.0, 1.0, 0.0]);
        assert_eq!(changed(&layout, &original, &point), [(1, 2), (2, 4)]);
        let layout = PictureLayout { colour: Colour::RgbInterleaved, ..layout };
        assert_eq!(changed(&layout, &original, &point), [(2, 2), (4, 4)]);
    }
}
