//! Words above pictures.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::figure::font::{self, Glyph};
use super::montage::RunLengthPicture;

/// Height of a line of words, in pixels.
const LINE: usize = 18;
/// Size of the letters; smaller where words are too long for their place.
const SIZE: f64 = 14.0;
const SMALLEST: f64 = 7.0;
/// Grey levels of paper and ink.
const GROUND: u8 = 255;
const INK: u8 = 30;
/// Letters are drawn at quarters of a pixel.
const STEPS: f64 = 4.0;

thread_local! {
    /// Letters of the usual size, by where they begin: what they cover takes longer to tell than all else that a strip needs.
    static GLYPHS: RefCell<HashMap<(char, u8), Rc<Glyph>>> = RefCell::default();
}

/// A line of words.
pub struct Caption {
    pub text: String,
    /// The place of its middle to the right, in pixels.
    pub middle: usize,
    /// The room that it has, in pixels.
    pub room: usize,
    /// Which line, from above.
    pub line: usize,
}

/// Draws lines of words, before the picture that they stand above.
pub fn write_words(captions: &[Caption], picture: &mut RunLengthPicture) {
    let (band, inked) = band(picture.width, captions);
    for line in band.chunks_exact(picture.width) {
        picture.run([GROUND; 3], inked.start);
        for run in line[inked.clone()].chunk_by(|left, right| left == right) {
            picture.run([run[0]; 3], run.len());
        }
        picture.run([GROUND; 3], picture.width - inked.end);
        picture.end_line(1);
    }
}

/// The greys of lines of words, and the columns beside which there are none.
fn band(width: usize, captions: &[Caption]) -> (Vec<u8>, Range<usize>) {
    let lines = captions.iter().map(|caption| caption.line + 1).max().unwrap_or(0);
    let mut canvas = vec![GROUND; width * lines * LINE];
    let mut inked = Vec::new();
    for caption in captions {
        // A font that is invalid has no words; the picture is there without them.
        inked.extend(write(&mut canvas, width, caption).ok());
    }
    let first = inked.iter().map(|columns| columns.start).min().unwrap_or(0);
    let end = inked.iter().map(|columns| columns.end).max().unwrap_or(0);
    (canvas, first..end)
}

/// Writes a line of words, and tells the columns that it takes.
fn write(
    canvas: &mut [u8],
    width: usize,
    caption: &Caption,
) -> Result<Range<usize>, font::InvalidFont> {
    // Not `font::width`: letters in the cache know their advance, the font's tables are slow to search.
    let mut natural = 0.0;
    for c in caption.text.chars() {
        natural += glyph(c, SIZE, 0)?.advance;
    }
    let size = (SIZE * caption.room as f64 / natural.max(1.0)).clamp(SMALLEST, SIZE);
    let left = (caption.middle as f64 - 0.5 * natural * size / SIZE).max(0.0).trunc();
    let baseline = (caption.line * LINE) as f64 + 0.5 * LINE as f64 + font::HALF_CAPITAL * size;
    let mut x = left;
    for c in caption.text.chars() {
        let glyph = glyph(c, size, (x.fract() * STEPS) as u8)?;
        let (column, row) = (x as i32 + glyph.left, baseline as i32 + glyph.top);
        ink(canvas, width, &glyph, (column, row));
        x += glyph.advance;
    }
    // Letters may reach a little farther than their places.
    let [first, end] = [left - SIZE, x + SIZE].map(|place| (place.max(0.0) as usize).min(width));
    Ok(first..end)
}

/// What a letter covers that begins so many steps behind a pixel.
fn glyph(c: char, size: f64, step: u8) -> Result<Rc<Glyph>, font::InvalidFont> {
    let make = || font::glyph(c, size, f64::from(step) / STEPS).map(Rc::new);
    if size < SIZE {
        return make();
    }
    GLYPHS.with_borrow_mut(|glyphs| {
        if let Some(known) = glyphs.get(&(c, step)) {
            return Ok(Rc::clone(known));
        }
        let made = make()?;
        glyphs.insert((c, step), Rc::clone(&made));
        Ok(made)
    })
}

/// Covers the pixels of a letter, as far as there are any, from this one on.
fn ink(canvas: &mut [u8], width: usize, glyph: &Glyph, (column, row): (i32, i32)) {
    let first = column.max(0) as usize;
    let cut_off = (-column).max(0) as usize;
    let lines = canvas.chunks_exact_mut(width).skip(row.max(0) as usize);
    let covers = glyph.cover.chunks_exact(glyph.width.max(1)).skip((-row).max(0) as usize);
    for (line, covers) in lines.zip(covers) {
        let line = line.get_mut(first..).unwrap_or_default();
        for (grey, &cover) in line.iter_mut().zip(covers.get(cut_off..).unwrap_or_default()) {
            // No underflow: a pixel starts at GROUND and is never darkened below INK.
            let darker = u16::from(*grey - INK) * u16::from(cover);
            *grey -= ((darker + 127) / 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(captions: &[Caption]) -> (usize, Vec<u8>) {
        let mut picture = RunLengthPicture::new(60);
        write_words(captions, &mut picture);
        (picture.height(), picture.pixels())
    }

    #[test]
    fn words_stand_in_the_middle_of_their_lines() {
        assert_eq!(drawn(&[]), (0, Vec::new()));
        let caption = |text: &str, line| Caption { text: text.into(), middle: 30, room: 56, line };
        let (height, canvas) = drawn(&[caption("4 → 9", 0), caption("a longer name", 1)]);
        assert_eq!((height, canvas.len()), (2 * LINE, 3 * 60 * 2 * LINE));
        for line in 0..2 {
            let band = &canvas[3 * 60 * LINE * line..3 * 60 * LINE * (line + 1)];
            assert!(band.iter().any(|&value| value < 100), "line {line} has ink");
            let edge = (0..LINE).all(|y| band[3 * 60 * y] == 255);
            assert!(edge, "line {line} has room to the left");
        }
        // Letters that are known already look the same.
        assert_eq!(drawn(&[caption("4 → 9", 0), caption("a longer name", 1)]).1, canvas);
        // What has no room is cut off.
        assert_eq!(drawn(&[caption(&"a very long name ".repeat(20), 0)]).0, LINE);
    }
}
