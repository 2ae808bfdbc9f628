//! A drawing as plain data, and the two ways to store it. The only file that says `plotters`.
//!
//! Places and lengths are in points on a sheet of [`WIDTH`] × [`HEIGHT`]. Plotters places everything on whole pixels, in
//! vector graphics too, so both backends get a sheet [`FINE`] times as large: SVG then says how small to show it, and the
//! picture is averaged down, which also smooths edges that the rasteriser leaves rough.

use std::io;

use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendStyle, BackendTextStyle, DrawingBackend, FontFamily, FontTransform,
};
use plotters_bitmap::BitMapBackend;
use plotters_svg::SVGBackend;

use super::font::{self, InvalidFont};
use crate::report::png;

/// Width of every figure, in points.
pub const WIDTH: f64 = 800.0;
/// Height of every figure, in points.
pub const HEIGHT: f64 = 640.0;
/// Pixels of the backends' sheet per point.
const FINE: u32 = 4;
/// Pixels of the stored picture per point: sharp on a dense screen, and in print.
const PNG_FINE: u32 = 2;

const FINE_SIZE: (u32, u32) = (WIDTH as u32 * FINE, HEIGHT as u32 * FINE);
/// Width and height of the stored picture, in pixels.
pub const PNG_SIZE: (u32, u32) = (WIDTH as u32 * PNG_FINE, HEIGHT as u32 * PNG_FINE);

/// Red, green, blue.
pub type Rgb = [u8; 3];
/// To the right and down, in points.
pub type Point = (f64, f64);

pub const WHITE: Rgb = [255; 3];

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug)]
pub struct TextMark {
    pub text: String,
    /// On the baseline.
    pub at: Point,
    pub anchor: Anchor,
    pub size: f64,
    pub colour: Rgb,
    /// Read from below to above, turned around `at`.
    pub upward: bool,
}

/// One thing on the sheet, over those before it.
#[derive(Clone, Debug)]
pub enum Mark {
    Line { points: Vec<Point>, width: f64, colour: Rgb },
    Polygon { corners: Vec<Point>, colour: Rgb },
    Disc { centre: Point, radius: f64, colour: Rgb },
    Text(TextMark),
}

/// Marks on a white sheet, in order.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    pub(super) marks: Vec<Mark>,
}

impl Drawing {
    pub(super) fn line(&mut self, points: impl Into<Vec<Point>>, width: f64, colour: Rgb) {
        self.marks.push(Mark::Line { points: points.into(), width, colour });
    }

    /// The text as an XML file may hold it: control characters become blanks.
    pub(super) fn text(&mut self, mut text: TextMark) {
        let unfit = |c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}');
        text.text = text.text.replace(unfit, " ");
        if !text.text.trim().is_empty() {
            self.marks.push(Mark::Text(text));
        }
    }

    /// The drawing as an SVG file.
    ///
    /// # Errors
    /// When the bundled font is invalid.
    pub fn svg(&self) -> io::Result<String> {
        let mut file = String::new();
        draw(self, &mut SVGBackend::with_string(&mut file, FINE_SIZE), BackendKind::Vector)?;
        let size = |(width, height): (u32, u32)| format!(r#"width="{width}" height="{height}""#);
        Ok(file.replacen(&size(FINE_SIZE), &size((WIDTH as u32, HEIGHT as u32)), 1))
    }

    /// The drawing as a PNG file of `PNG_SIZE`.
    ///
    /// # Errors
    /// When the bundled font is invalid.
    pub fn png(&self) -> io::Result<Vec<u8>> {
        let (width, height) = (FINE_SIZE.0 as usize, FINE_SIZE.1 as usize);
        let mut pixels = vec![0; 3 * width * height];
        draw(self, &mut BitMapBackend::with_buffer(&mut pixels, FINE_SIZE), BackendKind::Raster)?;
        Ok(png::drawing(PNG_SIZE.0 as usize, PNG_SIZE.1 as usize, &averaged(&pixels, width)))
    }
}

/// Where plotters' backends differ.
#[derive(Clone, Copy, PartialEq)]
enum BackendKind {
    Vector,
    Raster,
}

fn draw<B>(drawing: &Drawing, backend: &mut B, kind: BackendKind) -> io::Result<()>
where
    B: DrawingBackend<ErrorType: 'static>,
{
    let corner = (FINE_SIZE.0 as i32, FINE_SIZE.1 as i32);
    backend.draw_rect((0, 0), corner, &colour(WHITE), true).map_err(io::Error::other)?;
    for mark in &drawing.marks {
        match mark {
            Mark::Line { points, width, colour: ink } => {
                let (path, style) = (path(points), LineStyle(colour(*ink), fine(*width) as u32));
                match kind {
                    BackendKind::Vector => backend.draw_path(path, &style),
                    // Each stretch by itself: the rasteriser leaves holes where a wide line soon turns again.
                    BackendKind::Raster => path.windows(2).try_for_each(|ends| {
                        backend.draw_path(capped(ends[0], ends[1], *width), &style)
                    }),
                }
                .map_err(io::Error::other)?;
            }
            Mark::Polygon { corners, colour: fill } => backend
                .fill_polygon(corners.iter().map(|&place| pixel(place)), &colour(*fill))
                .map_err(io::Error::other)?,
            Mark::Disc { centre, radius, colour: fill } => backend
                .draw_circle(pixel(*centre), fine(*radius) as u32, &colour(*fill), true)
                .map_err(io::Error::other)?,
            Mark::Text(text) => draw_text(text, backend, kind)?,
        }
    }
    backend.present().map_err(io::Error::other)
}

fn draw_text<B>(text: &TextMark, backend: &mut B, kind: BackendKind) -> io::Result<()>
where
    B: DrawingBackend<ErrorType: 'static>,
{
    // SVG text hangs from its place, so far above the baseline.
    let above = if kind == BackendKind::Vector { 0.76 * text.size } else { 0.0 };
    let (x, y) = text.at;
    let at = if text.upward { (x - above, y) } else { (x, y - above) };
    backend.draw_text(&text.text, &PlottersText(text), pixel(at)).map_err(io::Error::other)
}

/// A text in the words of plotters.
struct PlottersText<'a>(&'a TextMark);

impl BackendTextStyle for PlottersText<'_> {
    type FontError = InvalidFont;

    fn color(&self) -> BackendColor {
        colour(self.0.colour)
    }

    fn size(&self) -> f64 {
        // What the SVG backend takes for the height of a line with letters of this size.
        1.24 * self.0.size * f64::from(FINE)
    }

    fn transform(&self) -> FontTransform {
        if self.0.upward { FontTransform::Rotate270 } else { FontTransform::None }
    }

    fn anchor(&self) -> Pos {
        let side = match self.0.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        Pos::new(side, VPos::Top)
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::Name(font::FAMILY)
    }

    /// All of it on the baseline.
    fn layout_box(&self, text: &str) -> Result<((i32, i32), (i32, i32)), InvalidFont> {
        let width = font::width(text, self.0.size * f64::from(FINE))?;
        Ok(((0, 0), (width.round() as i32, 0)))
    }

    fn draw<E, F: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        text: &str,
        (x, y): (i32, i32),
        mut draw: F,
    ) -> Result<Result<(), E>, InvalidFont> {
        let colour = self.color();
        font::rasterise(text, self.0.size * f64::from(FINE), |dx, dy, cover| {
            draw(x + dx, y + dy, colour.mix(cover))
        })
    }
}

/// A colour and the width of a line.
struct LineStyle(BackendColor, u32);

impl BackendStyle for LineStyle {
    fn color(&self) -> BackendColor {
        self.0
    }

    fn stroke_width(&self) -> u32 {
        self.1
    }
}

fn colour([red, green, blue]: Rgb) -> BackendColor {
    BackendColor { alpha: 1.0, rgb: (red, green, blue) }
}

/// A length in pixels of the backends' sheet.
fn fine(points: f64) -> i32 {
    (points * f64::from(FINE)).round() as i32
}

fn pixel((x, y): Point) -> (i32, i32) {
    (fine(x), fine(y))
}

/// The pixels where a line begins, turns and ends.
fn path(points: &[Point]) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = Vec::with_capacity(points.len());
    for next in points.iter().map(|&place| pixel(place)) {
        if path.last() == Some(&next) {
            continue;
        }
        // Thousands of small steps up one column of pixels are one line.
        if let [.., before, last] = path[..] {
            let ahead = (last.0 - before.0, last.1 - before.1);
            let further = (next.0 - last.0, next.1 - last.1);
            let upright = ahead.0 == 0 && further.0 == 0 && ahead.1.signum() == further.1.signum();
            let level = ahead.1 == 0 && further.1 == 0 && ahead.0.signum() == further.0.signum();
            if upright || level {
                path.pop();
            }
        }
        path.push(next);
    }
    path
}

/// A stretch of a line, half its width longer at both ends, so that stretches at right angles make a corner.
fn capped(from: (i32, i32), to: (i32, i32), width: f64) -> [(i32, i32); 2] {
    let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
    let share = width * f64::from(FINE) / 2.0 / dx.hypot(dy);
    let (dx, dy) = ((dx * share).round() as i32, (dy * share).round() as i32);
    [(from.0 - dx, from.1 - dy), (to.0 + dx, to.1 + dy)]
}

/// The picture with every square of pixels replaced by its mean colour.
fn averaged(pixels: &[u8], width: usize) -> Vec<u8> {
    const SIDE: usize = (FINE / PNG_FINE) as usize;
    let mut averages = Vec::with_capacity(pixels.len() / (SIDE * SIDE));
    let mut sums = vec![0u16; 3 * width / SIDE];
    for rows in pixels.chunks_exact(3 * width * SIDE) {
        sums.fill(0);
        for row in rows.chunks_exact(3 * width) {
            for (sum, square) in sums.chunks_exact_mut(3).zip(row.chunks_exact(3 * SIDE)) {
                for (k, &value) in square.iter().enumerate() {
                    sum[k % 3] += u16::from(value);
                }
            }
        }
        averages.extend(sums.iter().map(|sum| (sum / (SIDE * SIDE) as u16) as u8));
    }
    averages
}
