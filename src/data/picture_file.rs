//! A PNG, JPEG or WebP becomes pixels in the model's order; the only file of this room that says `image`.
//!
//! The trap is a value that changes quietly on the way. 16-bit files keep their 16 bits, colour management is left
//! alone, grey in three equal channels gives exactly the grey value, and transparency, for which there is no right
//! pixel, is refused. Files are told apart by content, not by name.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::{ImageDecoder, ImageError, ImageResult, Limits};

use super::error::SampleError;
use super::picture::{Colour, PictureLayout};

/// What every PNG, JPEG and WebP starts with.
pub(super) const STARTS: [&[u8]; 3] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF"];
/// How the names of such files end.
pub(super) const ENDINGS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

/// Reads a picture of exactly the layout's size; colour becomes grey or grey becomes colour as the layout asks.
pub(super) fn read(path: &Path, layout: &PictureLayout) -> Result<Vec<f32>, SampleError> {
    let stored = DecodedPicture::read(path, layout)?;
    let mut pixels = vec![0.0; layout.values()];
    for (index, stored_pixel) in stored.values.chunks_exact(stored.channels).enumerate() {
        let (row, column) = (index / layout.width, index % layout.width);
        let rgb = stored.rgb(stored_pixel).map_err(|problem| {
            let problem =
                format!("{problem} at row {row}, column {column}; remove the alpha channel");
            SampleError::unsupported(path, problem)
        })?;
        let shown = match layout.colour {
            Colour::Grey => [luma(rgb); 3],
            Colour::RgbPlanar | Colour::RgbInterleaved => rgb,
        };
        for (channel, value) in shown.into_iter().take(layout.channels()).enumerate() {
            pixels[layout.position(row, column, channel)] = value as f32 / stored.brightest as f32;
        }
    }
    Ok(pixels)
}

/// A decoded file: integers from 0 to `brightest`, row-major, channels side by side.
struct DecodedPicture {
    values: Vec<u32>,
    channels: usize,
    has_alpha: bool,
    brightest: u32,
}

impl DecodedPicture {
    fn read(path: &Path, layout: &PictureLayout) -> Result<Self, SampleError> {
        let file = File::open(path).map_err(|error| SampleError::io(path, error))?;
        let mut file = BufReader::new(file);
        let start = file.fill_buf().map_err(|error| SampleError::io(path, error))?.to_vec();
        let (kind, decoded) = match STARTS.iter().position(|mark| start.starts_with(mark)) {
            Some(1) => {
                ("JPEG", JpegDecoder::new(file).map(|decoder| Self::decode(decoder, layout)))
            }
            Some(2) => {
                ("WebP", WebPDecoder::new(file).map(|decoder| Self::decode(decoder, layout)))
            }
            // The default limits bound what the decoder may allocate, whatever the file says.
            _ => {
                let decoder = PngDecoder::with_limits(file, Limits::default());
                ("PNG", decoder.map(|decoder| Self::decode(decoder, layout)))
            }
        };
        match decoded.and_then(|decoded| decoded) {
            Ok(Ok(picture)) => Ok(picture),
            Ok(Err(found)) => {
                let (path, wanted) = (path.to_owned(), (layout.width, layout.height));
                Err(SampleError::PictureSize { path, found, wanted })
            }
            Err(ImageError::IoError(error))
                if error.kind() != std::io::ErrorKind::UnexpectedEof =>
            {
                Err(SampleError::io(path, error))
            }
            Err(error) => {
                Err(SampleError::damaged(path, format!("not a readable {kind}: {error}")))
            }
        }
    }

    /// What a decoder gives, or the width and height of a picture that has not those of the layout.
    fn decode(
        mut decoder: impl ImageDecoder,
        layout: &PictureLayout,
    ) -> ImageResult<Result<Self, (usize, usize)>> {
        let (width, height) = decoder.dimensions();
        let found = (width as usize, height as usize);
        if found != (layout.width, layout.height) {
            return Ok(Err(found));
        }
        decoder.set_limits(Limits::default())?;
        let colour = decoder.color_type();
        let channels = usize::from(colour.channel_count());
        let wide = usize::from(colour.bytes_per_pixel()) > channels;
        let mut bytes = vec![0; decoder.total_bytes() as usize];
        decoder.read_image(&mut bytes)?;
        let values = if wide {
            let pair = |pair: &[u8]| u16::from_ne_bytes([pair[0], pair[1]]);
            bytes.chunks_exact(2).map(|bytes| pair(bytes).into()).collect()
        } else {
            bytes.into_iter().map(u32::from).collect()
        };
        Ok(Ok(Self {
            values,
            channels,
            has_alpha: colour.has_alpha(),
            brightest: if wide { u16::MAX.into() } else { u8::MAX.into() },
        }))
    }

    /// A pixel's colour, if nothing shines through it.
    fn rgb(&self, pixel: &[u32]) -> Result<[u32; 3], String> {
        let (alpha, colours) = match pixel {
            [colours @ .., alpha] if self.has_alpha => (*alpha, colours),
            colours => (self.brightest, colours),
        };
        if alpha != self.brightest {
            return Err("the picture is transparent".into());
        }
        Ok(match *colours {
            [red, green, blue] => [red, green, blue],
            [grey] => [grey; 3],
            _ => unreachable!("pictures have one or three colours besides alpha"),
        })
    }
}

/// ITU-R 601 luma with the integer weights and the rounding of Pillow's `convert("L")`, which most training data
/// went through. The weights add up to 2^16, so that grey stays what it is.
fn luma([red, green, blue]: [u32; 3]) -> u32 {
    let sum = 19595 * u64::from(red) + 38470 * u64::from(green) + 7471 * u64::from(blue);
    ((sum + 0x8000) >> 16) as u32
}

/// Writes a grey PNG for the tests of this room.
#[cfg(test)]
pub(super) fn write_grey(path: &Path, width: u32, height: u32, bytes: &[u8]) {
    image::save_buffer(path, bytes, width, height, image::ExtendedColorType::L8)
        .expect("a PNG can be written");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use image::ExtendedColorType::{self, L8, L16, La8, Rgb8, Rgba8};

    use super::super::file::scratch;
    use super::*;

    const GREY: &[usize] = &[2, 2];
    const PLANAR: &[usize] = &[3, 2, 2];
    const INTERLEAVED: &[usize] = &[2, 2, 3];
    /// Four pixels: red, green, blue, and a dark grey.
    const COLOURS: [u8; 12] = [255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 51, 51];

    fn read_as(
        dims: &[usize],
        colour: ExtendedColorType,
        bytes: &[u8],
    ) -> Result<Vec<f32>, String> {
        let folder = scratch::folder();
        let path = folder.path().join("a.png");
        image::save_buffer(&path, bytes, 2, 2, colour).unwrap();
        read_file(&path, dims)
    }

    fn read_file(path: &Path, dims: &[usize]) -> Result<Vec<f32>, String> {
        let layout = PictureLayout::from_dims(dims).unwrap();
        read(path, &layout).map_err(|error| error.to_string())
    }

    fn over_255(values: &[u8]) -> Vec<f32> {
        values.iter().map(|&value| f32::from(value) / 255.0).collect()
    }

    #[test]
    fn grey_pictures_are_read_row_by_row() {
        let bytes = [0, 51, 254, 255];
        assert_eq!(read_as(GREY, L8, &bytes).unwrap(), over_255(&bytes));
    }

    #[test]
    fn other_formats_are_told_by_their_content() {
        let folder = scratch::folder();
        // WebP keeps the values; JPEG those of a picture of one colour, nearly.
        let webp = folder.path().join("a.webp");
        image::save_buffer(&webp, &COLOURS, 2, 2, Rgb8).unwrap();
        assert_eq!(read_file(&webp, INTERLEAVED).unwrap(), over_255(&COLOURS));
        let jpeg = folder.path().join("a.jpg");
        image::save_buffer(&jpeg, &[200; 12], 2, 2, Rgb8).unwrap();
        for value in read_file(&jpeg, PLANAR).unwrap() {
            assert!((value - 200.0 / 255.0).abs() < 0.01, "{value}");
        }
        for (path, kind) in [(webp, "WebP"), (jpeg, "JPEG")] {
            let renamed = scratch::write(&folder, "b.png", std::fs::read(&path).unwrap());
            assert!(read_file(&renamed, INTERLEAVED).is_ok());
            let bytes = std::fs::read(&path).unwrap();
            let cut = scratch::write(&folder, "cut.png", &bytes[..20]);
            let error = read_file(&cut, INTERLEAVED).unwrap_err();
            assert!(error.contains(&format!("not a readable {kind}: ")), "{error}");
        }
    }

    #[test]
    fn sixteen_bits_stay_sixteen_bits() {
        let values = [0u16, 1, 256, 65535];
        let bytes = values.map(u16::to_ne_bytes).concat();
        let expected = values.map(|value| f32::from(value) / 65535.0);
        assert_eq!(read_as(GREY, L16, &bytes).unwrap(), expected);
    }

    #[test]
    fn colours_are_laid_out_as_the_model_asks() {
        assert_eq!(read_as(INTERLEAVED, Rgb8, &COLOURS).unwrap(), over_255(&COLOURS));
        let planes = [255, 0, 0, 51, 0, 255, 0, 51, 0, 0, 255, 51];
        assert_eq!(read_as(PLANAR, Rgb8, &COLOURS).unwrap(), over_255(&planes));
    }

    #[test]
    fn colour_becomes_luma_and_grey_stays_what_it_is() {
        // Pillow: Image.new("RGB", (1, 1), colour).convert("L") gives these three for red, green and blue.
        assert_eq!(read_as(GREY, Rgb8, &COLOURS).unwrap(), over_255(&[76, 150, 29, 51]));
        for grey in 0..=65535 {
            assert_eq!(luma([grey; 3]), grey);
        }
    }

    #[test]
    fn grey_is_repeated_for_a_colour_model() {
        let repeated = [1, 2, 3, 4].map(|grey| [grey; 3]).concat();
        assert_eq!(read_as(INTERLEAVED, L8, &[1, 2, 3, 4]).unwrap(), over_255(&repeated));
    }

    #[test]
    fn an_opaque_alpha_channel_does_no_harm_and_a_transparent_one_is_refused() {
        let opaque = [1, 255, 2, 255, 3, 255, 4, 255];
        assert_eq!(read_as(GREY, La8, &opaque).unwrap(), over_255(&[1, 2, 3, 4]));
        let mut rgba = [255; 16];
        assert_eq!(read_as(GREY, Rgba8, &rgba).unwrap(), [1.0; 4]);
        rgba[11] = 254;
        let error = read_as(GREY, Rgba8, &rgba).unwrap_err();
        assert!(error.contains("a.png: the picture is transparent at row 1, column 0"), "{error}");
    }

    #[test]
    fn a_picture_of_another_size_is_refused() {
        let error = read_as(&[28, 20], L8, &[0; 4]).unwrap_err();
        assert!(
            error.ends_with("the picture is 2x2 pixels (width x height), the model takes 20x28"),
            "{error}"
        );
    }

    #[test]
    fn damaged_files_are_refused_at_every_length() {
        let folder = scratch::folder();
        let whole = folder.path().join("whole.png");
        write_grey(&whole, 2, 2, &[1, 2, 3, 4]);
        let bytes = std::fs::read(&whole).unwrap();
        // Without the twelve bytes of the closing IEND chunk all pixels are still there.
        for keep in 0..bytes.len() - 12 {
            let cut = scratch::write(&folder, "cut.png", &bytes[..keep]);
            let error = read_file(&cut, GREY).unwrap_err();
            assert!(
                error.contains("cut.png: not a readable PNG: ") && !error.contains('\n'),
                "{keep}: {error}"
            );
        }
        let text = scratch::write(&folder, "text.png", "this is not a picture");
        assert!(read_file(&text, GREY).unwrap_err().contains("text.png: not a readable PNG"));
        let missing = read_file(&folder.path().join("missing.png"), GREY).unwrap_err();
        assert!(missing.contains("missing.png: "), "{missing}");
    }

    #[test]
    fn a_declared_size_beyond_memory_is_refused() {
        let folder = scratch::folder();
        let path = folder.path().join("a.png");
        write_grey(&path, 2, 2, &[1, 2, 3, 4]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        let huge = scratch::write(&folder, "huge.png", bytes);
        assert!(read_file(&huge, GREY).is_err());
    }
}
