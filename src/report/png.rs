//! PNG files: the 8-bit adversary exactly as it was replayed, and strips and galleries to look at. The only file of
//! this room that says `image`.

use std::borrow::Cow;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use super::captions::{Caption, write_words};
use super::flat_png::FlatPng;
use super::montage::{GAP, Panel, RunLengthPicture, montage, montage_width, places, scale};
use crate::data::{Colour, PictureLayout};

/// Strips enlarge a picture, by a whole number, until its longer side has about this many pixels.
const STRIP_SIDE: usize = 224;
/// The same in a gallery.
const GALLERY_SIDE: usize = 84;
/// A picture of 32 × 32 colours, or of fewer bytes, takes at most one block of most file systems, even if nothing repeats.
const SMALL: usize = 32 * 32 * 3;

/// A PNG with exactly these bytes, which are in the model's own order.
///
/// # Panics
/// When there are not as many bytes as the layout says.
pub fn picture(layout: &PictureLayout, bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes.len(), layout.values(), "one byte per value");
    let interleaved = match layout.colour {
        Colour::Grey | Colour::RgbInterleaved => Cow::Borrowed(bytes),
        Colour::RgbPlanar => {
            let places = places(layout.width, layout.height);
            let pixel = |(row, column)| [0, 1, 2].map(|c| bytes[layout.position(row, column, c)]);
            places.flat_map(pixel).collect()
        }
    };
    let encode = |colour| encode(layout.width, layout.height, colour, &interleaved);
    match (layout.channels(), bytes.len() <= SMALL) {
        (1, true) => flat::<1>(layout, &interleaved),
        (1, false) => encode(ExtendedColorType::L8),
        (_, true) => flat::<3>(layout, &interleaved),
        (_, false) => encode(ExtendedColorType::Rgb8),
    }
}

fn flat<const CHANNELS: usize>(layout: &PictureLayout, bytes: &[u8]) -> Vec<u8> {
    let mut png = FlatPng::<CHANNELS>::new(layout.width, layout.height);
    let (pixels, _) = bytes.as_chunks::<CHANNELS>();
    for line in pixels.chunks_exact(layout.width) {
        png.line(line.chunk_by(|left, right| left == right).map(|run| (run[0], run.len())));
    }
    png.finish()
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
    let picture = strip_picture(layout, original, adversarial, caption);
    if scale(layout, STRIP_SIDE) > 1 {
        return picture.png();
    }
    encode(picture.width, picture.height(), ExtendedColorType::Rgb8, &picture.pixels())
}

fn strip_picture(
    layout: &PictureLayout,
    original: &[u8],
    adversarial: &[u8],
    caption: Option<&str>,
) -> RunLengthPicture {
    let panels = Panel::three(layout, original, adversarial).to_vec();
    let width = montage_width(layout, STRIP_SIDE, panels.len());
    let (middle, room) = (width / 2, width - 2 * GAP);
    let words = caption.map(|text| Caption { text: text.into(), middle, room, line: 0 });
    let mut picture = RunLengthPicture::new(width);
    write_words(words.as_slice(), &mut picture);
    montage(layout, STRIP_SIDE, &[panels], &mut picture);
    picture
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
    let mut picture = RunLengthPicture::new(montage_width(layout, GALLERY_SIDE, pairs.len()));
    let step = (picture.width - GAP) / pairs.len().max(1);
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
    write_words(&texts.collect::<Vec<_>>(), &mut picture);
    montage(layout, GALLERY_SIDE, &rows, &mut picture);
    drawing(picture.width, picture.height(), &picture.pixels())
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
    use crate::data::{DataSource, Dataset};
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
        let small = [&[4, 6][..], &[36], &[1, 5, 4], &[3, 4, 5], &[4, 5, 3]];
        let large = [&[60, 80][..], &[1, 60, 80], &[3, 40, 50], &[40, 50, 3]];
        for dims in small.into_iter().chain(large) {
            let layout = PictureLayout::from_dims(dims).unwrap();
            assert_eq!(layout.values() > SMALL, large.contains(&dims), "{dims:?}");
            let bytes: Vec<u8> = (0..layout.values()).map(|i| (i * 37 % 256) as u8).collect();
            assert_eq!(read_back(&picture(&layout, &bytes), dims), bytes, "{dims:?}");
        }
    }

    #[test]
    fn a_small_picture_takes_one_block_even_if_nothing_repeats() {
        let layout = PictureLayout { width: 32, height: 32, colour: Colour::RgbInterleaved };
        assert_eq!(layout.values(), SMALL);
        // Literals from 144 on have nine bits, smaller ones eight.
        let bytes: Vec<u8> = (0..SMALL).map(|i| 144 + (i * 37 % 112) as u8).collect();
        let length = picture(&layout, &bytes).len();
        assert!((9 * SMALL / 8..=4096).contains(&length), "{length}");
    }

    /// Such a strip is not drawn run by run.
    #[test]
    fn a_strip_of_a_picture_that_is_not_enlarged_shows_the_same() {
        for colour in [Colour::Grey, Colour::RgbPlanar] {
            let layout = PictureLayout { width: 113, height: 40, colour };
            assert_eq!(scale(&layout, STRIP_SIDE), 1);
            let bytes = |factor| -> Vec<u8> {
                (0..layout.values()).map(|i| (i * factor % 256) as u8).collect()
            };
            let (original, adversarial) = (bytes(37), bytes(41));
            let picture = strip_picture(&layout, &original, &adversarial, Some("4 → 9"));
            let size = (picture.width as u32, picture.height() as u32);
            assert_eq!(
                decoded(&strip(&layout, &original, &adversarial, Some("4 → 9"))),
                (size.0, size.1, picture.pixels())
            );
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
}
