//! What all figures share: title, axes with their numbers, and a legend beside the plot, where it covers nothing.

use super::axis::{Scale, Tick};
use super::canvas::{Anchor, Drawing, HEIGHT, Point, Rgb, TextMark, WIDTH};
use super::font::{self, HALF_CAPITAL};

const INK: Rgb = [30, 30, 30];
const FAINT_INK: Rgb = [85, 85, 85];
const GRID: Rgb = [226, 226, 226];

const TITLE_SIZE: f64 = 19.0;
const SUBTITLE_SIZE: f64 = 14.5;
const LABEL_SIZE: f64 = 15.0;
const NUMBER_SIZE: f64 = 13.0;
const LEGEND_SIZE: f64 = 14.0;
/// A text that does not fit is made smaller down to this share of its size, then cut.
const SMALLEST: f64 = 0.85;

/// White around everything.
const MARGIN: f64 = 16.0;
/// Between an axis and its numbers, of which ticks take a part.
const TICK_GAP: f64 = 9.0;
const TICK: f64 = 5.0;
const SMALL_TICK: f64 = 3.0;
/// Between the numbers of an axis, at least.
const NUMBER_GAP: f64 = 14.0;
/// Between the plot and the legend.
const LEGEND_GAP: f64 = 20.0;
/// Between two lines of the legend.
const LEGEND_STEP: f64 = 23.0;
/// Between a sample in the legend and its name.
const SAMPLE_GAP: f64 = 10.0;
/// The legend leaves the rest to the plot.
const WIDEST_LEGEND: f64 = 240.0;
/// As many names as fit beside the lowest plot.
const MOST_ROWS: usize = 20;

/// What is written around a plot.
pub struct FigureLabels<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    pub legend: Legend<'a>,
}

/// The series in the order in which to list them.
pub struct Legend<'a> {
    /// Without a name a series is not listed.
    pub names: Vec<(usize, &'a str)>,
    /// Room for what is drawn before a name.
    pub sample: f64,
}

/// A plot with room for its data.
pub struct Frame {
    pub drawing: Drawing,
    /// Upper left corner of the plot.
    corner: Point,
    width: f64,
    height: f64,
    x: Scale,
    y: Scale,
    /// The middle of each sample in the legend, and of which series it is.
    pub samples: Vec<(Point, usize)>,
}

impl Frame {
    /// Axes for these scales and all words, but no samples in the legend.
    pub fn new(words: &FigureLabels, x: Scale, y: Scale) -> Self {
        Self::sized(words, x, y, false)
    }

    /// The same for one scale, both axes equally long.
    pub fn square(words: &FigureLabels, scale: Scale) -> Self {
        Self::sized(words, scale, scale, true)
    }

    fn sized(words: &FigureLabels, x: Scale, y: Scale, square: bool) -> Self {
        let names = words.legend.rows();
        let beside = LEGEND_GAP + words.legend.sample + SAMPLE_GAP;
        let legend_width = names
            .iter()
            .map(|(_, name)| beside + text_width(name, LEGEND_SIZE))
            .fold(0.0, f64::max);
        let above = MARGIN
            + if words.title.is_empty() { 0.0 } else { 1.3 * TITLE_SIZE }
            + if words.subtitle.is_empty() { 0.0 } else { 1.5 * SUBTITLE_SIZE }
            + 10.0;
        let below = TICK_GAP + NUMBER_SIZE + 2.0 * LABEL_SIZE + 0.5 * MARGIN;
        // Half of the last number may stand out to the right.
        let after = legend_width.max(MARGIN) + MARGIN;
        let before = |y_ticks: &[Tick]| {
            let numbers = y_ticks.iter().map(|tick| text_width(&tick.label, NUMBER_SIZE));
            MARGIN + 1.6 * LABEL_SIZE + numbers.fold(0.0, f64::max) + TICK_GAP
        };
        let across = |label: &str| text_width(label, NUMBER_SIZE) + NUMBER_GAP;
        let tallest = HEIGHT - above - below;
        let (width, height, x_ticks, y_ticks) = if square {
            let side = tallest.min(WIDTH - before(&x.ticks(tallest, across)) - after);
            // The same numbers on both axes: those that fit side by side.
            let ticks = x.ticks(side, across);
            (side, side, ticks.clone(), ticks)
        } else {
            let y_ticks = y.ticks(tallest, |_| NUMBER_SIZE + 2.0 * NUMBER_GAP);
            let width = WIDTH - before(&y_ticks) - after;
            (width, tallest, x.ticks(width, across), y_ticks)
        };
        // In the middle of the sheet, together with numbers and legend.
        let spare = (WIDTH - before(&y_ticks) - width - after).max(0.0) / 2.0;
        let corner = (spare + before(&y_ticks), above);
        let mut frame =
            Self { drawing: Drawing::default(), corner, width, height, x, y, samples: Vec::new() };
        frame.write_titles(words);
        frame.draw_axes(&x_ticks, &y_ticks);
        frame.write_labels(words, spare + MARGIN);
        frame.write_legend(&names, words.legend.sample);
        frame
    }

    /// Where a point of the data is.
    pub fn place(&self, (x, y): (f64, f64)) -> Point {
        (self.across(x), self.along(y))
    }

    /// Says in the middle that there is nothing to see.
    pub fn say_empty(&mut self) {
        let at = (self.corner.0 + self.width / 2.0, self.corner.1 + self.height / 2.0);
        self.write("no values", at, Anchor::Middle, LABEL_SIZE, FAINT_INK);
    }

    fn across(&self, x: f64) -> f64 {
        self.corner.0 + self.width * self.x.share(x)
    }

    fn along(&self, y: f64) -> f64 {
        self.corner.1 + self.height * (1.0 - self.y.share(y))
    }

    fn write(&mut self, text: &str, at: Point, anchor: Anchor, size: f64, colour: Rgb) {
        let text = TextMark { text: text.to_owned(), at, anchor, size, colour, upward: false };
        self.drawing.text(text);
    }

    fn write_titles(&mut self, words: &FigureLabels) {
        let (left, top) = self.corner;
        let room = WIDTH - left - MARGIN;
        let mut baseline = top - 14.0;
        for (text, size, colour, rise) in [
            (words.subtitle, SUBTITLE_SIZE, FAINT_INK, 1.6 * SUBTITLE_SIZE),
            (words.title, TITLE_SIZE, INK, 0.0),
        ] {
            if !text.is_empty() {
                let (text, size) = fitted(text, size, room);
                self.write(&text, (left, baseline), Anchor::Start, size, colour);
                baseline -= rise;
            }
        }
    }

    fn write_labels(&mut self, words: &FigureLabels, outside: f64) {
        let (left, top) = self.corner;
        let bottom = top + self.height;
        let (text, size) = fitted(words.x_label, LABEL_SIZE, self.width);
        let below = bottom + TICK_GAP + NUMBER_SIZE + 1.5 * LABEL_SIZE;
        self.write(&text, (left + self.width / 2.0, below), Anchor::Middle, size, INK);
        let (text, size) = fitted(words.y_label, LABEL_SIZE, self.height);
        let at = (outside + 0.8 * LABEL_SIZE, top + self.height / 2.0);
        let anchor = Anchor::Middle;
        self.drawing.text(TextMark { text, at, anchor, size, colour: INK, upward: true });
    }

    fn draw_axes(&mut self, x_ticks: &[Tick], y_ticks: &[Tick]) {
        let (left, top) = self.corner;
        let (right, bottom) = (left + self.width, top + self.height);
        for tick in x_ticks.iter().filter(|tick| !tick.label.is_empty()) {
            let x = self.across(tick.value);
            self.drawing.line([(x, top), (x, bottom)], 1.0, GRID);
        }
        for tick in y_ticks.iter().filter(|tick| !tick.label.is_empty()) {
            let y = self.along(tick.value);
            self.drawing.line([(left, y), (right, y)], 1.0, GRID);
        }
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.drawing.line(corners, 1.0, FAINT_INK);
        for tick in x_ticks {
            let x = self.across(tick.value);
            let length = if tick.label.is_empty() { SMALL_TICK } else { TICK };
            self.drawing.line([(x, bottom), (x, bottom + length)], 1.0, FAINT_INK);
            let at = (x, bottom + TICK_GAP + 0.8 * NUMBER_SIZE);
            self.write(&tick.label, at, Anchor::Middle, NUMBER_SIZE, INK);
        }
        for tick in y_ticks {
            let y = self.along(tick.value);
            let length = if tick.label.is_empty() { SMALL_TICK } else { TICK };
            self.drawing.line([(left - length, y), (left, y)], 1.0, FAINT_INK);
            let at = (left - TICK_GAP, y + HALF_CAPITAL * NUMBER_SIZE);
            self.write(&tick.label, at, Anchor::End, NUMBER_SIZE, INK);
        }
    }

    fn write_legend(&mut self, rows: &[(Option<usize>, String)], sample: f64) {
        let x = self.corner.0 + self.width + LEGEND_GAP;
        let mut y = self.corner.1 + LEGEND_STEP / 2.0;
        for (series, name) in rows {
            let at = (x + sample + SAMPLE_GAP, y + HALF_CAPITAL * LEGEND_SIZE);
            self.write(name, at, Anchor::Start, LEGEND_SIZE, INK);
            self.samples.extend(series.map(|series| ((x + sample / 2.0, y), series)));
            y += LEGEND_STEP;
        }
    }
}

impl Legend<'_> {
    /// Names cut to what fits. The last row is of no series when there are too many.
    fn rows(&self) -> Vec<(Option<usize>, String)> {
        let room = WIDEST_LEGEND - LEGEND_GAP - self.sample - SAMPLE_GAP;
        let named = self.names.iter().filter(|(_, name)| !name.trim().is_empty());
        let mut rows: Vec<_> =
            named.map(|&(series, name)| (Some(series), cut(name, LEGEND_SIZE, room))).collect();
        if rows.len() > MOST_ROWS {
            let more = rows.split_off(MOST_ROWS - 1).len();
            rows.push((None, format!("… and {more} more")));
        }
        rows
    }
}

/// The text and its size, so that it is not wider than `room`.
fn fitted(text: &str, size: f64, room: f64) -> (String, f64) {
    let wide = text_width(text, size);
    let size = if wide > room { size * (room / wide).max(SMALLEST) } else { size };
    (cut(text, size, room), size)
}

/// As much of the text as fits, and dots for the rest.
fn cut(text: &str, size: f64, room: f64) -> String {
    // To shrink a text to what fits may leave it too wide by a rounding.
    if text_width(text, size) <= room + 0.5 {
        return text.to_owned();
    }
    // No figure has room for more letters.
    let mut kept: Vec<char> = text.chars().take(300).collect();
    loop {
        let shorter = kept.iter().collect::<String>().trim_end().to_owned() + "…";
        if kept.pop().is_none() || text_width(&shorter, size) <= room {
            return shorter;
        }
    }
}

/// In points. With an invalid font the width is 0 here, and drawing fails later.
fn text_width(text: &str, size: f64) -> f64 {
    font::width(text, size).unwrap_or(0.0)
}
