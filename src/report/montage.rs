//! The pixels of pictures that show what was changed.
//!
//! A signed difference is red where a pixel was made brighter, blue where darker, the stronger the larger the change;
//! grey where nothing changed. A montage shows panels in rows, enlarged.

use crate::data::PictureLayout;

/// Pixels between and around the panels. Their colour sets off black and white pictures alike.
pub const GAP: usize = 4;
pub const GAP_COLOUR: [u8; 3] = [140, 140, 140];

pub const UNCHANGED: [u8; 3] = [232, 232, 232];
const BRIGHTER: [u8; 3] = [200, 0, 0];
const DARKER: [u8; 3] = [0, 40, 210];
/// The smallest change still shows: it gets this share of the full colour.
const FAINTEST: f64 = 0.25;

/// What one panel of a montage shows.
#[derive(Clone, Copy)]
pub enum Panel<'a> {
    Picture(&'a [u8]),
    /// The signed difference.
    Change {
        original: &'a [u8],
        adversarial: &'a [u8],
    },
}

impl<'a> Panel<'a> {
    /// Original, adversary and difference.
    pub fn three(layout: &PictureLayout, original: &'a [u8], adversarial: &'a [u8]) -> [Self; 3] {
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
pub fn montage(
    layout: &PictureLayout,
    side: usize,
    rows: &[Vec<Panel>],
) -> (usize, usize, Vec<u8>) {
    let scale = (side / layout.width.max(layout.height)).max(1);
    let (step_x, step_y) = (layout.width * scale + GAP, layout.height * scale + GAP);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let (width, height) = (columns * step_x + GAP, rows.len() * step_y + GAP);
    let mut canvas = Vec::with_capacity(3 * width * height);
    let gap = |canvas: &mut Vec<u8>, pixels: usize| {
        canvas.extend(std::iter::repeat_n(GAP_COLOUR, pixels).flatten());
    };
    for row in rows {
        gap(&mut canvas, GAP * width);
        for y in 0..layout.height {
            // All lines of one row of pixels are alike.
            let begin = canvas.len();
            for panel in row {
                gap(&mut canvas, GAP);
                for x in 0..layout.width {
                    let colour = panel.colour(layout, y, x);
                    canvas.extend(std::iter::repeat_n(colour, scale).flatten());
                }
            }
            gap(&mut canvas, width - row.len() * step_x);
            let line = begin..canvas.len();
            (1..scale).for_each(|_| canvas.extend_from_within(line.clone()));
        }
    }
    gap(&mut canvas, GAP * width);
    (width, height, canvas)
}

/// The rows and columns of a picture, row by row.
pub fn places(width: usize, height: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..height).flat_map(move |row| (0..width).map(move |column| (row, column)))
}

fn colour(layout: &PictureLayout, bytes: &[u8], row: usize, column: usize) -> [u8; 3] {
    // The one channel of a grey picture is shown three times.
    [0, 1, 2].map(|channel| bytes[layout.position(row, column, channel.min(layout.channels() - 1))])
}

/// The colour of a change: red for brighter, blue for darker. In a picture with colours every channel shows its own change, around grey.
pub fn change_colour(
    layout: &PictureLayout,
    original: &[u8],
    adversarial: &[u8],
    row: usize,
    column: usize,
) -> [u8; 3] {
    let change = |channel| {
        let position = layout.position(row, column, channel);
        i16::from(adversarial[position]) - i16::from(original[position])
    };
    let share = |change: i16| FAINTEST + (1.0 - FAINTEST) * f64::from(change.abs()) / 255.0;
    if layout.channels() == 3 {
        let changes = [0, 1, 2].map(change);
        let shown = |change: i16| 128.0 + f64::from(change.signum()) * 127.0 * share(change);
        let is_changed = changes.iter().any(|&change| change != 0);
        return if is_changed { changes.map(|c| shown(c).round() as u8) } else { UNCHANGED };
    }
    let change = change(0);
    let strongest = match change {
        0 => return UNCHANGED,
        1.. => BRIGHTER,
        _ => DARKER,
    };
    let share = share(change);
    let mix = |from: u8, to: u8| f64::from(from) + share * (f64::from(to) - f64::from(from));
    [0, 1, 2].map(|c| mix(UNCHANGED[c], strongest[c]).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Colour;

    #[test]
    fn the_difference_is_red_up_and_blue_down_and_never_invisible() {
        let layout = PictureLayout { width: 1, height: 1, colour: Colour::Grey };
        let of = |change: i16| change_colour(&layout, &[128], &[(128 + change) as u8], 0, 0);
        assert_eq!(of(0), UNCHANGED);
        assert!(of(1)[0] > of(1)[2] && of(-1)[2] > of(-1)[0]);
        assert!(of(1) != UNCHANGED && of(-1) != UNCHANGED && of(1) != of(100));
    }

    #[test]
    fn every_channel_of_a_picture_with_colours_shows_its_own_change() {
        let layout = PictureLayout { width: 1, height: 1, colour: Colour::RgbPlanar };
        let of = |change: [i16; 3]| {
            let bytes = change.map(|c| (128 + c) as u8);
            change_colour(&layout, &[128; 3], &bytes, 0, 0)
        };
        assert_eq!(of([0, 0, 0]), UNCHANGED);
        let [red, green, blue] = of([5, -90, 0]);
        assert!(red > 128 && green < 128 && blue == 128);
        assert!(of([100, 0, 0])[0] > of([1, 0, 0])[0] && of([1, 0, 0])[0] > 140);
    }
}
