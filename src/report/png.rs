//! PNG files: the 8-bit adversary exactly as it was replayed, what was changed, and a strip to look at. The only file of
//! this room that says `image`.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use super::captions::{Caption, captioned};
use super::montage::{GAP, Panel, change_colour, montage, places};
use crate::data::PictureLayout;

/// Strips enlarge a picture, by a whole number, until its longer side has about this many pixels.
const STRIP_SIDE: usize = 224;
/// The same in a gallery.
const GALLERY_SIDE: usize = 84;

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

/// A PNG of original, adversary and difference, with words above.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn strip(
    layout: &PictureLayout,
    original: &[u8],
    adversarial: &[u8],
    caption: Option<&str>,
) -> Vec<u8> {
    let panels = Panel::three(layout, original, adversarial);
    let picture = montage(layout, STRIP_SIDE, &[panels.to_vec()]);
    let (middle, room) = (picture.0 / 2, picture.0 - 2 * GAP);
    let text = caption.map(|text| Caption { text: text.into(), middle, room, line: 0 });
    let (width, height, colours) = captioned(picture, text.as_slice());
    let mut file = Vec::new();
    // Most lines are like the one above.
    let encoder = PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Up);
    write(encoder, width, height, ExtendedColorType::Rgb8, &colours);
    file
}

/// A PNG of several pictures side by side, each with its lines of words: above the originals, then the adversaries, then the differences.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn gallery(
    layout: &PictureLayout,
    pairs: &[(Vec<u8>, Vec<u8>)],
    captions: &[Vec<String>],
) -> Vec<u8> {
    let columns: Vec<[Panel; 3]> = pairs
        .iter()
        .map(|(original, adversarial)| Panel::three(layout, original, adversarial))
        .collect();
    let rows = [0, 1, 2].map(|row| columns.iter().map(|column| column[row]).collect());
    let picture = montage(layout, GALLERY_SIDE, &rows);
    let step = (picture.0 - GAP) / pairs.len().max(1);
    let texts = captions.iter().enumerate().flat_map(|(column, lines)| {
        let (middle, room) = (GAP + column * step + (step - GAP) / 2, step - GAP);
        let caption = move |(line, text): (usize, &String)| Caption {
            text: text.clone(),
            middle,
            room,
            line,
        };
        lines.iter().enumerate().map(caption)
    });
    let (width, height, colours) = captioned(picture, &texts.collect::<Vec<_>>());
    drawing(width, height, &colours)
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
    use crate::report::montage::{GAP_COLOUR, UNCHANGED};

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
        let file = strip(&layout, &[10, 200], &[255, 200], None);
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
        let (width, height, pixels) = decoded(&gallery(&layout, &pairs, &[]));
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
}
