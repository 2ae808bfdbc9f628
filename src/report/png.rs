//! Pictures: the 8-bit adversary exactly as it was replayed, what was changed, and a strip to look at. The only file of
//! this room that says `image`.
//!
//! A signed difference is red where a pixel was made brighter, blue where darker, the stronger the larger the change;
//! grey where nothing changed. A strip shows, side by side and enlarged, original, adversary and signed difference.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use crate::data::PictureLayout;

/// Strips enlarge a picture, by a whole number, until its longer side has about this many pixels.
const STRIP_SIDE: usize = 224;
/// The same in a gallery.
const GALLERY_SIDE: usize = 84;
/// Pixels between and around the panels of a strip, before which all pictures stand out, black or white.
const GAP: usize = 4;
const GAP_COLOUR: [u8; 3] = [140, 140, 140];

const UNCHANGED: [u8; 3] = [232, 232, 232];
const BRIGHTER: [u8; 3] = [200, 0, 0];
const DARKER: [u8; 3] = [0, 40, 210];
/// The smallest change still shows: it gets this share of the full colour.
const FAINTEST: f64 = 0.25;

/// A PNG with exactly these bytes, which are in the model's own order.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn picture(layout: &PictureLayout, bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes.len(), layout.values(), "one byte per value");
    let channels = layout.channels();
    let mut interleaved = Vec::with_capacity(bytes.len());
    for (row, column) in places(layout.width, layout.height) {
        interleaved.extend((0..channels).map(|c| bytes[layout.position(row, column, c)]));
    }
    let colour = if channels == 1 { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
    encode(layout.width, layout.height, colour, &interleaved)
}

/// A PNG of the signed difference, of the pictures' own size.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn difference(layout: &PictureLayout, original: &[u8], adversarial: &[u8]) -> Vec<u8> {
    assert_eq!(original.len(), layout.values(), "one byte per value");
    assert_eq!(adversarial.len(), layout.values(), "one byte per value");
    let colours = places(layout.width, layout.height)
        .flat_map(|(row, column)| change_colour(layout, original, adversarial, row, column));
    encode(layout.width, layout.height, ExtendedColorType::Rgb8, &colours.collect::<Vec<u8>>())
}

/// A PNG of original, adversary and difference.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn strip(layout: &PictureLayout, original: &[u8], adversarial: &[u8]) -> Vec<u8> {
    let panels = Panel::three(layout, original, adversarial);
    let (width, height, colours) = montage(layout, STRIP_SIDE, &[panels.to_vec()]);
    encode(width, height, ExtendedColorType::Rgb8, &colours)
}

/// A PNG of several pictures side by side: above the originals, then the adversaries, then the differences.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn gallery(layout: &PictureLayout, pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let columns: Vec<[Panel; 3]> = pairs
        .iter()
        .map(|(original, adversarial)| Panel::three(layout, original, adversarial))
        .collect();
    let rows = [0, 1, 2].map(|row| columns.iter().map(|column| column[row]).collect());
    let (width, height, colours) = montage(layout, GALLERY_SIDE, &rows);
    drawing(width, height, &colours)
}

/// What one panel of a montage shows.
#[derive(Clone, Copy)]
enum Panel<'a> {
    Picture(&'a [u8]),
    /// The signed difference.
    Change {
        original: &'a [u8],
        adversarial: &'a [u8],
    },
}

impl<'a> Panel<'a> {
    /// Original, adversary and difference.
    fn three(layout: &PictureLayout, original: &'a [u8], adversarial: &'a [u8]) -> [Self; 3] {
        assert_eq!(original.len(), layout.values(), "one byte per value");
        assert_eq!(adversarial.len(), layout.values(), "one byte per value");
        let change = Self::Change { original, adversarial };
        [Self::Picture(original), Self::Picture(adversarial), change]
    }

    fn colour(self, layout: &PictureLayout, row: usize, column: usize) -> [u8; 3] {
        match self {
            Self::Picture(bytes) => colour(layout, bytes, row, column),
            Self::Change { original, adversarial } => {
                change_colour(layout, original, adversarial, row, column)
            }
        }
    }
}

/// Rows of panels, each enlarged until its longer side has about `side` pixels. Gives width, height and colours.
fn montage(layout: &PictureLayout, side: usize, rows: &[Vec<Panel>]) -> (usize, usize, Vec<u8>) {
    let scale = (side / layout.width.max(layout.height)).max(1);
    let (step_x, step_y) = (layout.width * scale + GAP, layout.height * scale + GAP);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let (width, height) = (columns * step_x + GAP, rows.len() * step_y + GAP);
    let mut canvas = Vec::with_capacity(3 * width * height);
    for (y, x) in places(width, height) {
        let panel = rows.get(y / step_y).and_then(|row| row.get(x / step_x));
        let inside = (y % step_y).checked_sub(GAP).zip((x % step_x).checked_sub(GAP));
        canvas.extend(match (panel, inside) {
            (Some(panel), Some((y, x))) => panel.colour(layout, y / scale, x / scale),
            _ => GAP_COLOUR,
        });
    }
    (width, height, canvas)
}

/// A PNG of a drawing: red, green and blue, row by row.
///
/// # Panics
/// When there are not three bytes per pixel.
pub fn drawing(width: usize, height: usize, bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes.len(), 3 * width * height, "three bytes per pixel");
    let mut file = Vec::new();
    // Filters are for photographs: they make a drawing larger by half, and take ten times as long.
    let encoder =
        PngEncoder::new_with_quality(&mut file, CompressionType::Default, FilterType::NoFilter);
    write(encoder, width, height, ExtendedColorType::Rgb8, bytes);
    file
}

fn places(width: usize, height: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..height).flat_map(move |row| (0..width).map(move |column| (row, column)))
}

fn colour(layout: &PictureLayout, bytes: &[u8], row: usize, column: usize) -> [u8; 3] {
    // A grey picture has one channel to show three times.
    [0, 1, 2].map(|channel| bytes[layout.position(row, column, channel.min(layout.channels() - 1))])
}

/// The colour of the change, that of the channel that changed most.
fn change_colour(
    layout: &PictureLayout,
    original: &[u8],
    adversarial: &[u8],
    row: usize,
    column: usize,
) -> [u8; 3] {
    let changes = (0..layout.channels()).map(|channel| {
        let position = layout.position(row, column, channel);
        i16::from(adversarial[position]) - i16::from(original[position])
    });
    let change = changes.max_by_key(|change| change.abs()).unwrap_or(0);
    let strongest = match change {
        0 => return UNCHANGED,
        1.. => BRIGHTER,
        _ => DARKER,
    };
    let share = FAINTEST + (1.0 - FAINTEST) * f64::from(change.abs()) / 255.0;
    let mix = |from: u8, to: u8| f64::from(from) + share * (f64::from(to) - f64::from(from));
    [0, 1, 2].map(|c| mix(UNCHANGED[c], strongest[c]).round() as u8)
}

fn encode(width: usize, height: usize, colour: ExtendedColorType, bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    write(PngEncoder::new(&mut file), width, height, colour, bytes);
    file
}

fn write(
    encoder: PngEncoder<&mut Vec<u8>>,
    width: usize,
    height: usize,
    colour: ExtendedColorType,
    bytes: &[u8],
) {
    let side = |length| u32::try_from(length).expect("a picture that fits memory has short sides");
    encoder
        .write_image(bytes, side(width), side(height), colour)
        .expect("memory takes a picture of the right length");
}

/// Width, height and pixels of a PNG.
#[cfg(test)]
pub fn decoded(file: &[u8]) -> (u32, u32, Vec<u8>) {
    let shown = image::load_from_memory(file).expect("a PNG").to_rgb8();
    (shown.width(), shown.height(), shown.into_raw())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::{Colour, DataSource, Dataset};

    fn read_back(file: &[u8], dims: &[usize]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.png");
        std::fs::write(&path, file).unwrap();
        let data = Dataset::open(&DataSource { path, ..DataSource::default() }, dims).unwrap();
        let pixels = data.sample(0).unwrap().pixels;
        pixels.into_iter().map(|value| (value * 255.0).round() as u8).collect()
    }

    #[test]
    fn a_picture_holds_exactly_its_bytes_in_every_layout() {
        for dims in [&[4, 6][..], &[36], &[1, 5, 4], &[3, 4, 5], &[4, 5, 3]] {
            let layout = PictureLayout::from_dims(dims).unwrap();
            let bytes: Vec<u8> = (0..layout.values()).map(|i| (i * 37 % 256) as u8).collect();
            assert_eq!(read_back(&picture(&layout, &bytes), dims), bytes, "{dims:?}");
        }
    }

    #[test]
    fn a_strip_shows_original_adversary_and_signed_difference() {
        let layout = PictureLayout { width: 2, height: 1, colour: Colour::Grey };
        let file = strip(&layout, &[10, 200], &[255, 200]);
        let shown = image::load_from_memory(&file).unwrap().to_rgb8();
        let scale = STRIP_SIDE / 2;
        assert_eq!(
            shown.dimensions(),
            ((3 * 2 * scale + 4 * GAP) as u32, (scale + 2 * GAP) as u32)
        );
        let at = |panel: usize, column: usize| {
            let x = GAP + panel * (2 * scale + GAP) + column * scale;
            shown.get_pixel(x as u32, GAP as u32).0
        };
        assert_eq!((at(0, 0), at(0, 1)), ([10; 3], [200; 3]));
        assert_eq!((at(1, 0), at(1, 1)), ([255; 3], [200; 3]));
        assert_eq!(at(2, 1), UNCHANGED);
        let [red, green, blue] = at(2, 0);
        assert!(red > green && green == blue);
        assert_eq!(shown.get_pixel(0, 0).0, GAP_COLOUR);
    }

    #[test]
    fn a_gallery_has_a_column_per_picture() {
        let layout = PictureLayout { width: 2, height: 1, colour: Colour::Grey };
        let pairs = [(vec![10, 200], vec![255, 200]), (vec![1, 2], vec![1, 0])];
        let (width, height, pixels) = decoded(&gallery(&layout, &pairs));
        let scale = GALLERY_SIDE / 2;
        assert_eq!(width as usize, 2 * (2 * scale + GAP) + GAP);
        assert_eq!(height as usize, 3 * (scale + GAP) + GAP);
        let at = |picture: usize, panel: usize, column: usize| {
            let x = GAP + picture * (2 * scale + GAP) + column * scale;
            let y = GAP + panel * (scale + GAP);
            let start = 3 * (y * width as usize + x);
            [pixels[start], pixels[start + 1], pixels[start + 2]]
        };
        assert_eq!((at(0, 0, 1), at(1, 0, 1)), ([200; 3], [2; 3]));
        assert_eq!((at(0, 1, 0), at(1, 1, 1)), ([255; 3], [0; 3]));
        assert_eq!((at(0, 2, 1), at(1, 2, 0)), (UNCHANGED, UNCHANGED));
        assert!(at(0, 2, 0)[0] > at(0, 2, 0)[2] && at(1, 2, 1)[2] > at(1, 2, 1)[0]);
        assert_eq!(pixels[..3], GAP_COLOUR);
    }

    #[test]
    fn a_difference_is_as_large_as_the_picture() {
        let layout = PictureLayout { width: 3, height: 2, colour: Colour::Grey };
        let (original, adversarial) = ([10, 20, 30, 40, 50, 60], [10, 25, 30, 0, 50, 60]);
        let file = difference(&layout, &original, &adversarial);
        let shown = image::load_from_memory(&file).unwrap().to_rgb8();
        assert_eq!(shown.dimensions(), (3, 2));
        for (k, (row, column)) in places(3, 2).enumerate() {
            let [red, _, blue] = shown.get_pixel(column as u32, row as u32).0;
            assert_eq!(red.cmp(&blue), adversarial[k].cmp(&original[k]), "{row} {column}");
        }
    }

    #[test]
    fn the_difference_is_red_up_and_blue_down_and_never_invisible() {
        let layout = PictureLayout { width: 1, height: 1, colour: Colour::RgbPlanar };
        let of = |change: [i16; 3]| {
            let bytes = change.map(|c| (128 + c) as u8);
            change_colour(&layout, &[128; 3], &bytes, 0, 0)
        };
        assert_eq!(of([0, 0, 0]), UNCHANGED);
        assert!(of([1, 0, 0])[0] > of([1, 0, 0])[2]);
        assert!(of([0, 0, -1])[2] > of([0, 0, -1])[0]);
        // The channel that changed most decides.
        assert_eq!(of([5, -90, 7]), of([0, -90, 0]));
        assert_ne!(of([-1, 0, 0]), UNCHANGED);
    }
}
