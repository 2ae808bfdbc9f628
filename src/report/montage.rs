//! The pixels of pictures that show what was changed.
//!
//! A signed difference is red where a pixel was made brighter, blue where darker, the stronger the larger the change;
//! grey where nothing changed. A montage shows panels in rows, enlarged.

use super::flat_png::FlatPng;
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

/// A strip of digits has about so many.
const USUAL_RUNS: usize = 2048;

/// A picture as runs of equal pixels: enlarged pictures are made of few of them.
pub struct RunLengthPicture {
    pub width: usize,
    /// Colours and numbers of pixels, line by line.
    runs: Vec<([u8; 3], u32)>,
    /// Of lines that are alike: where the runs of the first end, and how many there are.
    lines: Vec<(usize, usize)>,
}

impl RunLengthPicture {
    /// A picture without lines.
    pub fn new(width: usize) -> Self {
        debug_assert!(width >= 1, "a line has at least one pixel");
        Self { width, runs: Vec::with_capacity(USUAL_RUNS), lines: Vec::new() }
    }

    /// More pixels of the line that is drawn.
    pub fn run(&mut self, colour: [u8; 3], count: usize) {
        let count = u32::try_from(count).expect("a picture has short sides");
        if count == 0 {
            return;
        }
        let begin = self.lines.last().map_or(0, |line| line.0);
        match self.runs[begin..].last_mut() {
            Some((last, pixels)) if *last == colour => *pixels += count,
            _ => self.runs.push((colour, count)),
        }
    }

    /// Ends the line that was drawn: it is there so many times.
    pub fn end_line(&mut self, times: usize) {
        debug_assert!(times > 0, "a line that was drawn is there");
        let begin = self.lines.last().map_or(0, |line| line.0);
        let drawn = || self.runs[begin..].iter().map(|run| run.1 as usize).sum::<usize>();
        debug_assert_eq!(drawn(), self.width, "runs fill a line");
        self.lines.push((self.runs.len(), times));
    }

    /// The runs of a line, and how many lines are like it.
    fn lines(&self) -> impl Iterator<Item = (&[([u8; 3], u32)], usize)> {
        let begins = std::iter::once(0).chain(self.lines.iter().map(|line| line.0));
        begins.zip(&self.lines).map(|(begin, &(end, times))| (&self.runs[begin..end], times))
    }

    pub fn height(&self) -> usize {
        self.lines.iter().map(|line| line.1).sum()
    }

    /// All colours, and of each run its place among them; `None` if there are more than 256.
    fn palette(&self) -> Option<(Vec<[u8; 3]>, Vec<u8>)> {
        let mut palette: Vec<[u8; 3]> = Vec::new();
        // Most are greys, and looked up; there are few others.
        let mut place_of_grey = [None; 256];
        let mut others: Vec<([u8; 3], u8)> = Vec::new();
        let mut places = Vec::with_capacity(self.runs.len());
        for &(colour, _) in &self.runs {
            let is_grey = colour == [colour[0]; 3];
            let known = match is_grey {
                true => place_of_grey[usize::from(colour[0])],
                false => others.iter().find(|(other, _)| *other == colour).map(|other| other.1),
            };
            let place = match known {
                Some(place) => place,
                None => {
                    let place = u8::try_from(palette.len()).ok()?;
                    palette.push(colour);
                    match is_grey {
                        true => place_of_grey[usize::from(colour[0])] = Some(place),
                        false => others.push((colour, place)),
                    }
                    place
                }
            };
            places.push(place);
        }
        Some((palette, places))
    }

    /// A PNG of it.
    pub fn png(&self) -> Vec<u8> {
        let (width, height) = (self.width, self.height());
        let Some((palette, places)) = self.palette() else {
            let mut png = FlatPng::<3>::new(width, height);
            for (runs, times) in self.lines() {
                png.line(runs.iter().map(|&(colour, count)| (colour, count as usize)));
                png.lines_as_above(times - 1);
            }
            return png.finish();
        };
        let mut png = FlatPng::with_palette(width, height, &palette);
        let mut places = places.into_iter();
        for (runs, times) in self.lines() {
            png.line(
                runs.iter().zip(places.by_ref()).map(|(run, place)| ([place], run.1 as usize)),
            );
            png.lines_as_above(times - 1);
        }
        png.finish()
    }

    /// Red, green and blue of all pixels.
    pub fn pixels(&self) -> Vec<u8> {
        let mut pixels = Vec::with_capacity(3 * self.width * self.height());
        for (runs, times) in self.lines() {
            let begin = pixels.len();
            for &(colour, count) in runs {
                pixels.extend(std::iter::repeat_n(colour, count as usize).flatten());
            }
            let line = begin..pixels.len();
            (1..times).for_each(|_| pixels.extend_from_within(line.clone()));
        }
        pixels
    }
}

/// How many times larger a picture is shown so that its longer side has about `side` pixels.
pub fn scale(layout: &PictureLayout, side: usize) -> usize {
    (side / layout.width.max(layout.height)).max(1)
}

/// How wide a montage of so many panels side by side is.
pub fn montage_width(layout: &PictureLayout, side: usize, columns: usize) -> usize {
    columns * (layout.width * scale(layout, side) + GAP) + GAP
}

/// Draws rows of panels, each enlarged until its longer side has about `side` pixels.
pub fn montage(
    layout: &PictureLayout,
    side: usize,
    rows: &[Vec<Panel>],
    picture: &mut RunLengthPicture,
) {
    let scale = scale(layout, side);
    let width = picture.width;
    for row in rows {
        picture.run(GAP_COLOUR, width);
        picture.end_line(GAP);
        for y in 0..layout.height {
            // All lines of one row of pixels are alike.
            for panel in row {
                picture.run(GAP_COLOUR, GAP);
                (0..layout.width).for_each(|x| picture.run(panel.colour(layout, y, x), scale));
            }
            picture.run(GAP_COLOUR, width + GAP - montage_width(layout, side, row.len()));
            picture.end_line(scale);
        }
    }
    picture.run(GAP_COLOUR, width);
    picture.end_line(GAP);
}

/// The rows and columns of a picture, row by row.
pub fn places(width: usize, height: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..height).flat_map(move |row| (0..width).map(move |column| (row, column)))
}

fn colour(layout: &PictureLayout, bytes: &[u8], row: usize, column: usize) -> [u8; 3] {
    // The one channel of a grey picture is shown three times.
    if layout.channels() == 1 {
        return [bytes[layout.position(row, column, 0)]; 3];
    }
    [0, 1, 2].map(|channel| bytes[layout.position(row, column, channel)])
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::data::Colour;
    use crate::report::png::decoded;

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

    /// With a palette, and with more colours than one holds.
    #[test]
    fn a_png_shows_the_pixels() {
        for colours in [3, 100, 200, 400] {
            let mut picture = RunLengthPicture::new(30);
            for k in 0..colours {
                picture.run([(k % 256) as u8; 3], 10);
                picture.run([k as u8, (k / 256) as u8, 77], 20);
                picture.end_line(1 + k % 2);
            }
            let distinct: BTreeSet<[u8; 3]> = picture.runs.iter().map(|run| run.0).collect();
            assert_eq!(picture.palette().is_some(), distinct.len() <= 256, "{}", distinct.len());
            let (wide, high) = (30, picture.height() as u32);
            assert_eq!(decoded(&picture.png()), (wide, high, picture.pixels()));
        }
    }
}
