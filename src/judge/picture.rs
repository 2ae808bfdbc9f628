//! Stored points as 8-bit pictures.

use std::fmt;

/// A stored point as an 8-bit picture that is strictly inside the ball too.
#[derive(Clone, PartialEq)]
pub struct EightBit {
    bytes: Vec<u8>,
    value: f64,
    distance: f64,
}

impl EightBit {
    pub(super) fn new(bytes: Vec<u8>, value: f64, distance: f64) -> Self {
        Self { bytes, value, distance }
    }

    /// One byte per value, in the model's own order; a byte `b` means the pixel `b / 255` in `f32`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The property's value for the picture in the file's own run.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Distance of the picture from the image.
    pub fn distance(&self) -> f64 {
        self.distance
    }
}

impl fmt::Debug for EightBit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EightBit({} bytes, value {})", self.bytes.len(), self.value)
    }
}

/// The bytes for `x`, each on the side of the centre.
pub(super) fn bytes_towards(centre: &[f64], x: &[f32]) -> Vec<u8> {
    let pairs = x.iter().zip(centre);
    pairs.map(|(&x, &original)| byte_towards(original as f32, x)).collect()
}

/// What bytes mean to the network.
pub(super) fn pixels(bytes: &[u8]) -> Vec<f32> {
    bytes.iter().copied().map(pixel).collect()
}

/// The byte for `x` on the side of the original, so that the picture is no farther away than `x` is.
///
/// An original between two bytes has no exact picture: its nearest byte stands for it, and a change that does not
/// reach another byte is not shown.
pub(super) fn byte_towards(original: f32, x: f32) -> u8 {
    let base = nearest_byte(original);
    let nearest = nearest_byte(x);
    if x > original {
        let below = if pixel(nearest) > x { nearest.saturating_sub(1) } else { nearest };
        below.max(base)
    } else if x < original {
        let above = if pixel(nearest) < x { nearest.saturating_add(1) } else { nearest };
        above.min(base)
    } else {
        base
    }
}

/// The byte whose pixel is nearest to a value in [0, 1].
pub fn nearest_byte(value: f32) -> u8 {
    // `as` saturates and cuts off. Nothing is lost by adding a half: the product of a float and 255 has 32 bits. `round` would be a call.
    (f64::from(value) * 255.0 + 0.5) as u8
}

/// What a byte means to the network, as the readers of images have it.
pub(super) fn pixel(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}
