//! Words above pictures.

use std::convert::Infallible;

use super::figure::font;

/// Height of a line of words, in pixels.
const LINE: usize = 18;
/// Size of the letters; smaller where words are too long for their place.
const SIZE: f64 = 14.0;
const SMALLEST: f64 = 7.0;
const GROUND: [u8; 3] = [255; 3];
const INK: [u8; 3] = [30; 3];

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

/// The same picture (width, height, colours) below lines of words. Without words it stays as it is.
pub fn captioned(
    (width, height, colours): (usize, usize, Vec<u8>),
    captions: &[Caption],
) -> (usize, usize, Vec<u8>) {
    let lines = captions.iter().map(|caption| caption.line + 1).max().unwrap_or(0);
    let mut canvas: Vec<u8> = std::iter::repeat_n(GROUND, width * lines * LINE).flatten().collect();
    for caption in captions {
        write(&mut canvas, width, caption);
    }
    canvas.extend(colours);
    (width, height + lines * LINE, canvas)
}

fn write(canvas: &mut [u8], width: usize, caption: &Caption) {
    // A font that is invalid has no words; the picture is there without them.
    let Ok(natural) = font::width(&caption.text, SIZE) else { return };
    let size = (SIZE * caption.room as f64 / natural.max(1.0)).clamp(SMALLEST, SIZE);
    let left = (caption.middle as f64 - 0.5 * natural * size / SIZE).max(0.0) as i32;
    let baseline = (caption.line * LINE) as f64 + 0.5 * LINE as f64 + font::HALF_CAPITAL * size;
    let dot = |x: i32, y: i32, cover: f64| -> Result<(), Infallible> {
        let (x, y) = (left + x, baseline as i32 + y);
        let place = (y.max(0) as usize * width + x.max(0) as usize) * 3;
        let inside = x >= 0 && y >= 0 && (x as usize) < width;
        if let Some(pixel) = canvas.get_mut(place..place + 3).filter(|_| inside) {
            for (value, ink) in pixel.iter_mut().zip(INK) {
                let mixed = f64::from(*value) + cover * (f64::from(ink) - f64::from(*value));
                *value = mixed.round() as u8;
            }
        }
        Ok(())
    };
    let _ = font::rasterise(&caption.text, size, dot);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_above_and_leave_the_picture_alone() {
        let picture = || (60, 2, vec![140; 3 * 60 * 2]);
        assert_eq!(captioned(picture(), &[]), picture());
        let caption = |text: &str, line| Caption { text: text.into(), middle: 30, room: 56, line };
        let (width, height, canvas) =
            captioned(picture(), &[caption("4 → 9", 0), caption("a longer name", 1)]);
        assert_eq!((width, height, canvas.len()), (60, 2 * LINE + 2, 3 * 60 * (2 * LINE + 2)));
        assert_eq!(canvas[canvas.len() - 360..], [140; 360]);
        for line in 0..2 {
            let band = &canvas[3 * 60 * LINE * line..3 * 60 * LINE * (line + 1)];
            assert!(band.iter().any(|&value| value < 100), "line {line} has ink");
            let edge = (0..LINE).all(|y| band[3 * 60 * y] == 255);
            assert!(edge, "line {line} has room to the left");
        }
    }
}
