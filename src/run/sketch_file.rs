//! `sketches.jsonl`: what the report draws, written during a run beside the records and before them, so that the report can be made
//! again without model and data.
//!
//! What was killed while it was written is dropped when a run is continued, together with what no record belongs to.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::json_lines::JsonLines;
use super::whole_file::replace;
use crate::data::{Colour, PictureLayout, Sample};
use crate::judge::nearest_byte;
use crate::record::json;
use crate::record::{PictureSize, Sketch, Sketches, picture_places};

const SCHEMA: &str = "rw-adv/sketches/1";
/// The file, beside the records or with the witnesses of an attempt.
const FILE: &str = "sketches.jsonl";

/// A line of the file.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SketchLine<'s> {
    Head {
        schema: String,
        picture: Option<PictureSize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dims: Option<Vec<usize>>,
    },
    Sketch {
        image: usize,
        target: usize,
        #[serde(flatten)]
        sketch: &'s Sketch,
    },
    Original {
        image: usize,
        original: String,
        /// Where values are not those of the bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        values: Option<String>,
    },
}

/// Any line of the file, as it is read: with this a line is read at once, while the variants would be tried one after the other.
#[derive(Debug, Deserialize)]
struct StoredLine {
    picture: Option<PictureSize>,
    dims: Option<Vec<usize>>,
    image: Option<usize>,
    target: Option<usize>,
    original: Option<String>,
    values: Option<String>,
    changes: Option<String>,
    #[serde(default)]
    largest: Vec<(usize, f32, f32)>,
    #[serde(default)]
    curve: Vec<(f64, f64)>,
    exact: Option<String>,
    bytes: Option<String>,
}

/// Where sketches are written, one run's.
#[derive(Debug)]
pub struct SketchFile {
    lines: JsonLines,
    layout: Option<PictureLayout>,
    /// What bytes mean to the network.
    pixels: [f32; 256],
    /// Images whose original is in the file.
    seen: BTreeSet<usize>,
}

impl SketchFile {
    /// Begins a file in a folder with what was drawn before; nothing else stays in it. The model's input has these dimensions.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(folder: &Path, dims: &[usize], mut earlier: Sketches) -> Result<Self, StoreError> {
        let layout = PictureLayout::from_dims(dims);
        earlier.size = layout.as_ref().map(PictureSize::of);
        earlier.dims = Some(dims.to_vec());
        store(&earlier, folder)?;
        let lines = JsonLines::open(&folder.join(FILE))?;
        let pixels = std::array::from_fn(|byte| byte as f32 / 255.0);
        Ok(Self { lines, layout, pixels, seen: earlier.originals.into_keys().collect() })
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
    ) -> Result<(), StoreError> {
        let image = sample.index;
        let mut lines = Vec::with_capacity(2);
        if let Some(layout) = self.layout
            && self.seen.insert(image)
        {
            let shown = in_picture_order(&layout, &sample.pixels);
            let bytes: Vec<u8> = shown.iter().copied().map(nearest_byte).collect();
            let mut pairs = shown.iter().zip(&bytes);
            let is_shown = pairs.all(|(&x, &b)| x == self.pixels[usize::from(b)]);
            let exact = || {
                let values = shown.iter().copied().flat_map(f32::to_le_bytes);
                BASE64.encode(values.collect::<Vec<u8>>())
            };
            let values = (!is_shown).then(exact);
            let original = BASE64.encode(bytes);
            lines.push(SketchLine::Original { image, original, values });
        }
        lines.push(SketchLine::Sketch { image, target, sketch });
        self.lines.append_all(&lines)
    }
}

/// The values of an input, row by row, channels side by side.
fn in_picture_order<'p>(layout: &PictureLayout, pixels: &'p [f32]) -> Cow<'p, [f32]> {
    match layout.colour {
        // The model's own order.
        Colour::Grey | Colour::RgbInterleaved => pixels.into(),
        Colour::RgbPlanar => picture_places(layout).map(|at| pixels[at]).collect(),
    }
}

/// Reads what a folder has. A line that is not whole, or not understood, is left out: without it the report has a picture less.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read(folder: &Path) -> Result<Sketches, StoreError> {
    let path = folder.join(FILE);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Sketches::default()),
        text => text.map_err(StoreError::unreadable(&path))?,
    };
    let mut all = Sketches::default();
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        match json::parse::<StoredLine>(line) {
            Ok(line) => add(&mut all, line),
            Err(error) => log::info!("{}: a sketch is left out: {error}", path.display()),
        }
    }
    Ok(all)
}

/// Makes these sketches the contents of a folder's file, whole or not at all.
pub(crate) fn store(sketches: &Sketches, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(FILE);
    match text(sketches) {
        Ok(text) => replace(&path, &text),
        Err(source) => Err(StoreError::Unwritable { path, source }),
    }
}

fn text(sketches: &Sketches) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let (picture, dims) = (sketches.size, sketches.dims.clone());
    json::line(&mut text, &SketchLine::Head { schema: SCHEMA.to_owned(), picture, dims })?;
    for (&image, original) in &sketches.originals {
        let original = BASE64.encode(original);
        let values = sketches.exact_originals.get(&image).map(|values| BASE64.encode(values));
        json::line(&mut text, &SketchLine::Original { image, original, values })?;
    }
    for (&(image, target), sketch) in &sketches.sketches {
        json::line(&mut text, &SketchLine::Sketch { image, target, sketch })?;
    }
    Ok(text)
}

fn add(all: &mut Sketches, line: StoredLine) {
    let StoredLine { picture, dims, image, target, original, values: exact_values, .. } = line;
    let StoredLine { changes, largest, curve, exact, bytes, .. } = line;
    let Some(image) = image else {
        all.size = all.size.or(picture);
        all.dims = all.dims.take().or(dims);
        return;
    };
    if let Some(target) = target {
        let sketch = Sketch { changes, largest, curve, exact, bytes };
        all.sketches.insert((image, target), sketch);
        return;
    }
    let values = all.size.map(|size| size.values());
    let exact = exact_values.and_then(|exact| BASE64.decode(exact).ok());
    let whole = |exact: &Vec<u8>| Some(exact.len()) == values.map(|values| 4 * values);
    all.exact_originals.extend(exact.filter(whole).map(|exact| (image, exact)));
    let bytes = original.and_then(|original| BASE64.decode(original).ok());
    if let Some(bytes) = bytes.filter(|bytes| Some(bytes.len()) == values) {
        all.originals.insert(image, bytes);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let pixels = vec![0.0, 1.0, 0.2, 0.4];
        let image = Sample { index: 7, name: None, pixels, label: None };
        let sketch = Sketch::new(
            &[2, 2],
            &image.pixels,
            &[0.0, 1.0, 0.2, 0.5],
            &[(Duration::from_millis(20), -1.0), (Duration::from_millis(30), 0.25)],
        );
        // Two runs, one after the other, each killed while writing.
        for target in [3, 4] {
            let earlier = read(folder.path()).unwrap();
            let mut file = SketchFile::open(folder.path(), &[2, 2], earlier).unwrap();
            file.append(&image, target, &sketch).unwrap();
            file.append(&image, target + 10, &Sketch::default()).unwrap();
            let mut file = fs::File::options().append(true).open(folder.path().join(FILE)).unwrap();
            file.write_all(b"{\"image\":8,\"targ").unwrap();
        }
        let all = read(folder.path()).unwrap();
        assert_eq!(all.size, Some(PictureSize { width: 2, height: 2, channels: 1 }));
        assert_eq!(all.originals, BTreeMap::from([(7, vec![0, 255, 51, 102])]));
        let keys: Vec<(usize, usize)> = all.sketches.keys().copied().collect();
        assert_eq!(keys, [(7, 3), (7, 4), (7, 13), (7, 14)]);
        assert_eq!(all.sketches[&(7, 3)], sketch);
        assert_eq!(sketch.curve, [(0.02, -1.0), (0.03, 0.25)]);
        assert_eq!(sketch.changes(), Some(vec![3, 52]));
        assert!(read(&folder.path().join("none")).unwrap().sketches.is_empty());
    }
}
