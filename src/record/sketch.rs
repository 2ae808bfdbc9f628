//! What the report draws and records do not hold: pictures, and how margins grew.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::changes;
use super::key::Key;
use crate::data::{Colour, PictureLayout};

/// Of a curve no more points are kept.
const CURVE_POINTS: usize = 40;
/// Of an input that is no picture, the changes that are kept.
const LARGEST: usize = 12;

/// The size of all pictures of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureSize {
    /// Pixels to the right.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// 1 or 3.
    pub channels: usize,
}

impl PictureSize {
    /// How values are laid out in a picture of this size.
    pub fn layout(&self) -> PictureLayout {
        let colour = if self.channels == 1 { Colour::Grey } else { Colour::RgbInterleaved };
        PictureLayout { width: self.width, height: self.height, colour }
    }

    /// The size of pictures with this layout.
    pub fn of(layout: &PictureLayout) -> Self {
        Self { width: layout.width, height: layout.height, channels: layout.channels() }
    }

    /// Values of a picture.
    pub fn values(&self) -> usize {
        self.width * self.height * self.channels
    }
}

/// What is drawn of one image and target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sketch {
    /// What was changed in the picture, in base 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<String>,
    /// Where the input is no picture: place, value in the image, value in the point; the largest changes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<(usize, f32, f32)>,
    /// Seconds and margins.
    pub curve: Vec<(f64, f64)>,
    /// Of a witness: its values where it was changed, in the order of the changes, as `f32` in base 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exact: Option<String>,
    /// The bytes of its picture there, in base 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<String>,
}

impl Sketch {
    /// A sketch of the point that a search for an adversary of `original` ended at, for a model whose input has these dimensions.
    pub fn new(dims: &[usize], original: &[f32], point: &[f32], curve: &[(Duration, f64)]) -> Self {
        let layout = PictureLayout::from_dims(dims);
        let changes = layout.map(|layout| BASE64.encode(changes::encode(&layout, original, point)));
        let largest = if changes.is_none() { largest(original, point) } else { Vec::new() };
        Self { changes, largest, curve: rounded(curve), ..Self::default() }
    }

    /// The same of a witness: with its exact values, and the bytes of its picture if there is one, both in the model's order.
    pub fn of_witness(
        self,
        dims: &[usize],
        original: &[f32],
        point: &[f32],
        picture: Option<&[u8]>,
    ) -> Self {
        let Some(layout) = PictureLayout::from_dims(dims) else { return self };
        let changed = changes::changed(&layout, original, point);
        let values = changed.iter().flat_map(|&(_, at)| point[at].to_le_bytes());
        let exact = BASE64.encode(values.collect::<Vec<u8>>());
        let bytes = picture.map(|picture| {
            BASE64.encode(changed.iter().map(|&(_, at)| picture[at]).collect::<Vec<u8>>())
        });
        Self { exact: Some(exact), bytes, ..self }
    }

    /// The exact values and the bytes of the picture where a witness was changed: four bytes and one byte a change.
    pub fn witness(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let exact = BASE64.decode(self.exact.as_ref()?).ok()?;
        let bytes = BASE64.decode(self.bytes.as_ref()?).ok()?;
        (exact.len() == 4 * bytes.len()).then_some((exact, bytes))
    }

    /// The steps from one change to the next.
    pub fn changes(&self) -> Option<Vec<u8>> {
        BASE64.decode(self.changes.as_ref()?).ok()
    }

    /// The changed picture; `None` when there is none, or the changes are not of this picture.
    pub fn changed(&self, original: &[u8]) -> Option<Vec<u8>> {
        changes::apply(&self.changes()?, original)
    }
}

/// The sketches of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketches {
    /// The size of the pictures, if there are any.
    pub size: Option<PictureSize>,
    /// The shape of the model's input.
    pub dims: Option<Vec<usize>>,
    /// The images, by index; each has as many bytes as the size says.
    pub originals: BTreeMap<usize, Vec<u8>>,
    /// The images whose values are not those of their bytes (a 255th each): as `f32`, four bytes each.
    pub exact_originals: BTreeMap<usize, Vec<u8>>,
    /// By image and target.
    pub sketches: BTreeMap<(usize, usize), Sketch>,
}

impl Sketches {
    /// Takes over what was drawn elsewhere of some records.
    pub fn adopt(&mut self, mut from: Self, keys: &[Key]) {
        self.size = self.size.or(from.size);
        self.dims = self.dims.take().or(from.dims);
        for key in keys {
            // Where targets have no records of their own, all that was drawn of the image.
            let (low, high) = key.target.map_or((0, usize::MAX), |target| (target, target));
            let drawn = from.sketches.range((key.image, low)..=(key.image, high));
            let pairs: Vec<(usize, usize)> = drawn.map(|(&pair, _)| pair).collect();
            for pair in pairs {
                self.sketches.extend(from.sketches.remove_entry(&pair));
            }
            self.exact_originals.extend(from.exact_originals.remove_entry(&key.image));
            if let Some((image, original)) = from.originals.remove_entry(&key.image) {
                self.originals.insert(image, original);
            }
        }
    }
}

fn largest(original: &[f32], point: &[f32]) -> Vec<(usize, f32, f32)> {
    let pairs = original.iter().zip(point).enumerate();
    let mut changed: Vec<(usize, f32, f32)> =
        pairs.filter(|(_, (o, p))| o != p).map(|(k, (&o, &p))| (k, o, p)).collect();
    let size = |&(_, o, p): &(usize, f32, f32)| (p - o).abs();
    changed.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.0.cmp(&b.0)));
    changed.truncate(LARGEST);
    changed
}

/// At most so many points, two or more, evenly chosen, the first and the last among them.
pub fn thinned<T>(points: &[T], most: usize) -> Vec<&T> {
    if points.len() <= most {
        return points.iter().collect();
    }
    (0..most).map(|k| &points[k * (points.len() - 1) / (most - 1)]).collect()
}

/// A curve for looking at: in seconds, to a tenth of a millisecond.
fn rounded(curve: &[(Duration, f64)]) -> Vec<(f64, f64)> {
    let finite: Vec<_> = curve.iter().filter(|(_, margin)| margin.is_finite()).collect();
    let rounded = |number: f64| (number * 1e4).round() / 1e4;
    let points = thinned(&finite, CURVE_POINTS).into_iter();
    points.map(|(time, margin)| (rounded(time.as_secs_f64()), rounded(*margin))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_no_picture_the_largest_changes_are_kept() {
        let original: Vec<f32> = (0..40).map(|k| k as f32 / 40.0).collect();
        let mut point = original.clone();
        (point[3], point[9]) = (1.0, 0.0);
        let sketch = Sketch::new(&[40], &original, &point, &[]);
        assert_eq!(sketch.largest, [(3, 0.075, 1.0), (9, 0.225, 0.0)]);
        assert_eq!((sketch.changes(), sketch.curve.len()), (None, 0));
        let all = Sketch::new(&[40], &original, &[0.0; 40], &[]);
        assert_eq!((all.largest.len(), all.largest[0].0), (LARGEST, 39));
    }

    #[test]
    fn long_curves_keep_their_ends() {
        let curve: Vec<(Duration, f64)> =
            (0..1000).map(|k| (Duration::from_millis(k), k as f64 - 500.0)).collect();
        let thin = rounded(&curve);
        assert_eq!(thin.len(), CURVE_POINTS);
        assert_eq!((thin[0], thin[CURVE_POINTS - 1]), ((0.0, -500.0), (0.999, 499.0)));
        assert_eq!(rounded(&curve[..1]), [(0.0, -500.0)]);
        assert_eq!(rounded(&[(Duration::ZERO, f64::NEG_INFINITY)]), []);
    }
}
