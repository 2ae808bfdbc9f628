//! What the report draws and records do not hold: pictures, and how margins grew. Written during a run to `sketches.jsonl`, beside
//! the records and before them, so that the report can be made again without model and data.
//!
//! What was killed while it was written is dropped when a run is continued, together with what no record belongs to.
//!
//! A picture is 8 bits a value, row by row, the channels of a pixel side by side. What was changed in it is a list of
//! steps: how many values further the next change is, and by how many 255ths, rounded away from zero, so that the smallest
//! change still shows. Both are variable-length integers (LEB128), the second one in zigzag order: 0, −1, 1, −2, …

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::attempts::replace;
use super::results::ReportError;
use crate::data::{Colour, PictureLayout, Sample};
use crate::judge::{StoredPoint, nearest_byte};
use crate::record::Key;
use crate::record::json;
use crate::search::Curve;

const SCHEMA: &str = "rw-adv/sketches/1";
/// The file, beside the records or with the witnesses of an attempt.
const FILE: &str = "sketches.jsonl";
/// Of a curve no more points are kept.
const CURVE_POINTS: usize = 40;
/// Of an input that is no picture, the changes that are kept.
const LARGEST: usize = 12;

/// The size of all pictures of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub width: usize,
    pub height: usize,
    /// 1 or 3.
    pub channels: usize,
}

impl Shape {
    /// How values are laid out in a picture of this shape.
    pub fn layout(&self) -> PictureLayout {
        let colour = if self.channels == 1 { Colour::Grey } else { Colour::RgbInterleaved };
        PictureLayout { width: self.width, height: self.height, colour }
    }

    fn of(layout: &PictureLayout) -> Self {
        Self { width: layout.width, height: layout.height, channels: layout.channels() }
    }

    /// Values of a picture.
    pub fn values(&self) -> usize {
        self.width * self.height * self.channels
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum CurveLine {
    Head {
        schema: String,
        picture: Option<Shape>,
    },
    Sketch {
        image: usize,
        target: usize,
        #[serde(flatten)]
        sketch: Sketch,
    },
    Original {
        image: usize,
        original: String,
    },
}

/// What is drawn of one image and target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// What was changed in the picture, in base 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<String>,
    /// Where the input is no picture: place, value in the image, value in the point; the largest changes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<(usize, f32, f32)>,
    /// Seconds and margins.
    #[serde(default)]
    pub curve: Vec<(f64, f64)>,
}

impl Sketch {
    /// A sketch of the point that a search for an adversary of `sample` ended at, for a model whose input has these dimensions.
    pub fn of(dims: &[usize], sample: &Sample, point: &StoredPoint, curve: &Curve) -> Self {
        let layout = PictureLayout::from_dims(dims);
        Self::new(layout.as_ref(), &sample.pixels, point.pixels(), curve)
    }

    fn new(layout: Option<&PictureLayout>, original: &[f32], point: &[f32], curve: &Curve) -> Self {
        let changes = layout.map(|layout| BASE64.encode(steps(layout, original, point)));
        let largest = if changes.is_none() { largest(original, point) } else { Vec::new() };
        Self { changes, largest, curve: rounded(curve) }
    }

    /// The steps from one change to the next.
    pub fn changes(&self) -> Option<Vec<u8>> {
        BASE64.decode(self.changes.as_ref()?).ok()
    }

    /// The changed picture; `None` when there is none, or the changes are not of this picture.
    pub fn changed(&self, original: &[u8]) -> Option<Vec<u8>> {
        let steps = self.changes()?;
        let mut numbers = varints(&steps);
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
}

/// Where sketches are written, one run's.
#[derive(Debug)]
pub struct SketchFile {
    path: PathBuf,
    file: File,
    layout: Option<PictureLayout>,
    /// Images whose original is in the file.
    seen: BTreeSet<usize>,
}

impl SketchFile {
    /// Begins a file in a folder, for a model whose input has these dimensions.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(folder: &Path, dims: &[usize]) -> Result<Self, ReportError> {
        Self::resume(folder, dims, Sketches::default())
    }

    /// Begins a file with what was drawn before; nothing else stays in it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn resume(
        folder: &Path,
        dims: &[usize],
        mut earlier: Sketches,
    ) -> Result<Self, ReportError> {
        let layout = PictureLayout::from_dims(dims);
        earlier.shape = layout.as_ref().map(Shape::of);
        earlier.store(folder)?;
        let path = folder.join(FILE);
        match File::options().append(true).open(&path) {
            Ok(file) => {
                Ok(Self { path, file, layout, seen: earlier.originals.into_keys().collect() })
            }
            Err(source) => Err(ReportError::Unwritable { path, source }),
        }
    }

    /// Adds a sketch, and the image's original if it is the first.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(
        &mut self,
        sample: &Sample,
        target: usize,
        sketch: &Sketch,
    ) -> Result<(), ReportError> {
        let image = sample.index;
        if let Some(layout) = self.layout
            && self.seen.insert(image)
        {
            let bytes: Vec<u8> =
                places(&layout).map(|at| nearest_byte(sample.pixels[at])).collect();
            self.write(&CurveLine::Original { image, original: BASE64.encode(bytes) })?;
        }
        self.write(&CurveLine::Sketch { image, target, sketch: sketch.clone() })
    }

    /// A whole line with a single write.
    fn write(&mut self, line: &CurveLine) -> Result<(), ReportError> {
        let mut text = Vec::new();
        let written = json::line(&mut text, line).and_then(|()| self.file.write_all(&text));
        written.map_err(|source| ReportError::Unwritable { path: self.path.clone(), source })
    }
}

/// Sketches, read back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketches {
    /// The size of the pictures, if there are any.
    pub shape: Option<Shape>,
    /// The images, by index; each has as many bytes as the shape says.
    pub originals: BTreeMap<usize, Vec<u8>>,
    /// By image and target.
    pub sketches: BTreeMap<(usize, usize), Sketch>,
}

impl Sketches {
    /// Reads what a folder has. A line that is not whole, or not understood, is left out: without it the report has a picture less.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self, ReportError> {
        let path = folder.join(FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => {
                text.map_err(|source| ReportError::Unreadable { path: path.clone(), source })?
            }
        };
        let mut all = Self::default();
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match json::parse(line) {
                Ok(line) => all.add(line),
                Err(error) => log::info!("{}: a sketch is left out: {error}", path.display()),
            }
        }
        Ok(all)
    }

    /// Takes over what was drawn elsewhere of some records.
    pub(crate) fn adopt(&mut self, mut from: Self, keys: &[Key]) {
        self.shape = self.shape.or(from.shape);
        for key in keys {
            let pair = key.target.map(|target| (key.image, target));
            if let Some((pair, sketch)) = pair.and_then(|pair| from.sketches.remove_entry(&pair)) {
                self.sketches.insert(pair, sketch);
            }
            if let Some((image, original)) = from.originals.remove_entry(&key.image) {
                self.originals.insert(image, original);
            }
        }
    }

    /// Makes these the contents of a folder's file, whole or not at all.
    pub(crate) fn store(&self, folder: &Path) -> Result<(), ReportError> {
        let path = folder.join(FILE);
        match self.text() {
            Ok(text) => replace(&path, &text),
            Err(source) => Err(ReportError::Unwritable { path, source }),
        }
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        json::line(&mut text, &CurveLine::Head { schema: SCHEMA.to_owned(), picture: self.shape })?;
        for (&image, original) in &self.originals {
            let original = BASE64.encode(original);
            json::line(&mut text, &CurveLine::Original { image, original })?;
        }
        for (&(image, target), sketch) in &self.sketches {
            json::line(&mut text, &CurveLine::Sketch { image, target, sketch: sketch.clone() })?;
        }
        Ok(text)
    }

    fn add(&mut self, line: CurveLine) {
        match line {
            CurveLine::Head { picture, .. } => self.shape = self.shape.or(picture),
            CurveLine::Sketch { image, target, sketch } => {
                self.sketches.insert((image, target), sketch);
            }
            CurveLine::Original { image, original } => {
                let values = self.shape.map(|shape| shape.values());
                let bytes = BASE64.decode(original).ok();
                if let Some(bytes) = bytes.filter(|bytes| Some(bytes.len()) == values) {
                    self.originals.insert(image, bytes);
                }
            }
        }
    }
}

/// Where the values of a picture are in the model's input, row by row, channels side by side.
fn places(layout: &PictureLayout) -> impl Iterator<Item = usize> + '_ {
    let channels = layout.channels();
    (0..layout.values()).map(move |k| {
        let (pixel, channel) = (k / channels, k % channels);
        layout.position(pixel / layout.width, pixel % layout.width, channel)
    })
}

fn steps(layout: &PictureLayout, original: &[f32], point: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = 0;
    for (k, at) in places(layout).enumerate() {
        let level = level(f64::from(point[at]) - f64::from(original[at]));
        if level != 0 {
            append_varint(&mut bytes, (k - next) as u64);
            append_varint(&mut bytes, zigzag(level));
            next = k + 1;
        }
    }
    bytes
}

/// A change in 255ths, rounded away from zero.
fn level(change: f64) -> i64 {
    // A change by whole grey levels is a little more than that after rounding to f32.
    let levels = (255.0 * change.abs() - 1e-3).ceil().max(1.0) as i64;
    if change == 0.0 { 0 } else { levels * change.signum() as i64 }
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
fn rounded(curve: &Curve) -> Vec<(f64, f64)> {
    let finite: Vec<_> = curve.iter().filter(|(_, margin)| margin.is_finite()).collect();
    let rounded = |number: f64| (number * 1e4).round() / 1e4;
    let points = thinned(&finite, CURVE_POINTS).into_iter();
    points.map(|(time, margin)| (rounded(time.as_secs_f64()), rounded(*margin))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample(index: usize, pixels: &[f32]) -> Sample {
        Sample { index, name: None, pixels: pixels.to_vec(), label: None }
    }

    fn grey(width: usize, height: usize) -> PictureLayout {
        PictureLayout { width, height, colour: Colour::Grey }
    }

    #[test]
    fn changes_by_hand() {
        let layout = grey(3, 2);
        let original = [0.0, 0.5, 1.0, 0.2, 0.0, 0.0];
        let point = [0.0, 0.5, 0.0, 0.2, 1.0, 1e-6];
        // Two values further −255, that is 509 in zigzag order; one further 255, 510; at once 1, 2.
        assert_eq!(steps(&layout, &original, &point), [2, 0xfd, 3, 1, 0xfe, 3, 0, 2]);
        let sketch = Sketch::new(Some(&layout), &original, &point, &Vec::new());
        let bytes = [0, 128, 255, 51, 0, 0];
        assert_eq!(sketch.changed(&bytes), Some(vec![0, 128, 0, 51, 255, 1]));
        assert_eq!(sketch.changed(&bytes[..4]), None);
        assert!([0, -1, 1, -255, i64::MAX, i64::MIN].iter().all(|&n| unzigzag(zigzag(n)) == n));
        assert_eq!(level(10.0 / 255.0), 10);
        assert_eq!(level(f64::from(133.0f32 / 255.0) - f64::from(123.0f32 / 255.0)), 10);
        assert_eq!((level(-1e-9), level(0.0), level(-10.5 / 255.0)), (-1, 0, -11));
    }

    #[test]
    fn colours_are_stored_side_by_side() {
        let layout = PictureLayout { width: 2, height: 1, colour: Colour::RgbPlanar };
        assert_eq!(places(&layout).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let image = sample(7, &[0.0, 1.0, 0.2, 0.4]);
        let sketch = Sketch::new(
            Some(&grey(2, 2)),
            &image.pixels,
            &[0.0, 1.0, 0.2, 0.5],
            &vec![(Duration::from_millis(20), -1.0), (Duration::from_millis(30), 0.25)],
        );
        // Two runs, one after the other, each killed while writing.
        for target in [3, 4] {
            let earlier = Sketches::read(folder.path()).unwrap();
            let mut file = SketchFile::resume(folder.path(), &[2, 2], earlier).unwrap();
            file.append(&image, target, &sketch).unwrap();
            file.append(&image, target + 10, &Sketch::default()).unwrap();
            file.file.write_all(b"{\"image\":8,\"targ").unwrap();
        }
        let read = Sketches::read(folder.path()).unwrap();
        assert_eq!(read.shape, Some(Shape { width: 2, height: 2, channels: 1 }));
        assert_eq!(read.originals, BTreeMap::from([(7, vec![0, 255, 51, 102])]));
        let keys: Vec<(usize, usize)> = read.sketches.keys().copied().collect();
        assert_eq!(keys, [(7, 3), (7, 4), (7, 13), (7, 14)]);
        assert_eq!(read.sketches[&(7, 3)], sketch);
        assert_eq!(sketch.curve, [(0.02, -1.0), (0.03, 0.25)]);
        assert_eq!(sketch.changes(), Some(vec![3, 52]));
        assert!(Sketches::read(&folder.path().join("none")).unwrap().sketches.is_empty());
    }

    #[test]
    fn of_what_is_no_picture_the_largest_changes_are_kept() {
        let original: Vec<f32> = (0..40).map(|k| k as f32 / 40.0).collect();
        let mut point = original.clone();
        (point[3], point[9]) = (1.0, 0.0);
        let sketch = Sketch::new(None, &original, &point, &Vec::new());
        assert_eq!(sketch.largest, [(3, 0.075, 1.0), (9, 0.225, 0.0)]);
        assert_eq!((sketch.changes(), sketch.curve.len()), (None, 0));
        let all = Sketch::new(None, &original, &[0.0; 40], &Vec::new());
        assert_eq!((all.largest.len(), all.largest[0].0), (LARGEST, 39));
    }

    #[test]
    fn long_curves_keep_their_ends() {
        let curve: Curve =
            (0..1000).map(|k| (Duration::from_millis(k), k as f64 - 500.0)).collect();
        let thin = rounded(&curve);
        assert_eq!(thin.len(), CURVE_POINTS);
        assert_eq!((thin[0], thin[CURVE_POINTS - 1]), ((0.0, -500.0), (0.999, 499.0)));
        assert_eq!(rounded(&curve[..1].to_vec()), [(0.0, -500.0)]);
        assert_eq!(rounded(&vec![(Duration::ZERO, f64::NEG_INFINITY)]), []);
    }
}
