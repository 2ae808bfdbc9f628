//! The letters of the figures: how wide they are, and what they cover. The only file that says `ab_glyph`.
//!
//! The font comes with the program (`font/README.md`), so that a picture is the same on every machine.

use std::sync::LazyLock;

pub use ab_glyph::InvalidFont;
use ab_glyph::{Font, FontRef, OutlinedGlyph, PxScale, ScaleFont, point};

/// What an SVG viewer looks for. All but the last are as wide as the font measured here.
pub const FAMILY: &str = "Arimo, Arial, Helvetica, Liberation Sans, sans-serif";
/// Half the height of a capital or a digit, in units of the font's size.
pub const HALF_CAPITAL: f64 = 0.36;

static FONT: LazyLock<Result<FontRef, InvalidFont>> =
    LazyLock::new(|| FontRef::try_from_slice(include_bytes!("font/arimo-subset.ttf")));

fn font() -> Result<&'static FontRef<'static>, InvalidFont> {
    FONT.as_ref().map_err(|_| InvalidFont)
}

/// The library's own measure of size, from ascender to descender, for a size in the usual one, that of an em.
fn scale(font: &impl Font, size: f64) -> PxScale {
    let em = font.units_per_em().unwrap_or(1000.0);
    PxScale::from(size as f32 * font.height_unscaled() / em)
}

/// How wide a text is. A box stands for each character that the font lacks.
///
/// # Errors
/// When the bundled font is invalid.
pub fn width(text: &str, size: f64) -> Result<f64, InvalidFont> {
    let font = font()?;
    let scaled = font.as_scaled(scale(font, size));
    Ok(text.chars().map(|c| f64::from(scaled.h_advance(scaled.glyph_id(c)))).sum())
}

/// A letter in pixels, right and down from the place on its baseline where it begins.
pub struct Glyph {
    /// Where the next letter begins, to the right.
    pub advance: f64,
    /// The pixel at the upper left corner, and pixels in a row.
    pub left: i32,
    pub top: i32,
    pub width: usize,
    /// How much of each pixel is covered, row by row: 255 is all of it.
    pub cover: Vec<u8>,
}

/// A letter that begins so far to the right of a pixel's left edge.
///
/// # Errors
/// When the bundled font is invalid.
pub fn glyph(c: char, size: f64, right: f64) -> Result<Glyph, InvalidFont> {
    let font = font()?;
    let (outline, advance) = outlined(font, scale(font, size), c, right as f32);
    let advance = f64::from(advance);
    let mut glyph = Glyph { advance, left: 0, top: 0, width: 0, cover: Vec::new() };
    if let Some(outline) = outline {
        let bounds = outline.px_bounds();
        (glyph.left, glyph.top) = (bounds.min.x as i32, bounds.min.y as i32);
        glyph.width = bounds.width() as usize;
        glyph.cover = vec![0; glyph.width * bounds.height() as usize];
        outline.draw(|x, y, cover| {
            let place = y as usize * glyph.width + x as usize;
            glyph.cover[place] = (255.0 * cover.clamp(0.0, 1.0)).round() as u8;
        });
    }
    Ok(glyph)
}

/// Calls `dot` with the pixels that a text covers, right and down from the beginning of its baseline, and how much of
/// each. Ends early when `dot` fails.
///
/// # Errors
/// When the bundled font is invalid.
pub fn rasterise<E>(
    text: &str,
    size: f64,
    mut dot: impl FnMut(i32, i32, f64) -> Result<(), E>,
) -> Result<Result<(), E>, InvalidFont> {
    let font = font()?;
    let scale = scale(font, size);
    let mut x = 0.0;
    let mut drawn = Ok(());
    for c in text.chars() {
        let (outline, advance) = outlined(font, scale, c, x);
        if let Some(outline) = outline {
            let corner = outline.px_bounds().min;
            outline.draw(|dx, dy, cover| {
                if drawn.is_ok() && cover > 0.0 {
                    let (x, y) = (corner.x as i32 + dx as i32, corner.y as i32 + dy as i32);
                    drawn = dot(x, y, f64::from(cover.min(1.0)));
                }
            });
        }
        x += advance;
    }
    Ok(drawn)
}

/// The outline of a letter at this place to the right on the baseline, unless it is blank, and how far from there the next letter begins.
/// Unlike in plotters' own text, a letter begins a little after its place, not at it.
fn outlined(font: &FontRef, scale: PxScale, c: char, x: f32) -> (Option<OutlinedGlyph>, f32) {
    let id = font.glyph_id(c);
    let outline = font.outline_glyph(id.with_scale_and_position(scale, point(x, 0.0)));
    (outline, font.as_scaled(scale).h_advance(id))
}
