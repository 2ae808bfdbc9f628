//! One method against another in a grid of small plots, each with its own scale: Figures 2 and 3 of the Relax-and-Walk paper.

use super::axis::Scale;
use super::canvas::{Anchor, Drawing, HEIGHT, Point, Rgb, TextMark, WIDTH};
use super::marker;
use super::series::Series;

const INK: Rgb = [30, 30, 30];
const FAINT: Rgb = [120, 120, 120];
const MARGIN: f64 = 0.12;
/// White around the grid, in points: for title and columns above, for the rows on the left.
const ABOVE: f64 = 96.0;
const BELOW: f64 = 52.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
/// Between two plots, for the numbers below and beside them.
const GAP: (f64, f64) = (30.0, 26.0);

/// One of the plots: points (value of one method, value of another), in groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterPanel {
    /// Each group has its own colour and shape.
    pub groups: Vec<Series>,
}

/// Plots in rows and columns, each with the line on which both methods are equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterPanels {
    /// Above everything.
    pub title: String,
    /// What the figure shows.
    pub subtitle: String,
    /// The method that goes to the right.
    pub x_label: String,
    /// The method that goes up.
    pub y_label: String,
    /// What the plots of a column have in common.
    pub columns: Vec<String>,
    /// What the plots of a row have in common.
    pub rows: Vec<String>,
    /// Row by row.
    pub panels: Vec<ScatterPanel>,
}

impl ScatterPanels {
    /// The figure, drawn.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::default();
        let (columns, rows) = (self.columns.len().max(1), self.rows.len().max(1));
        let wide = (WIDTH - LEFT - RIGHT) / columns as f64 - GAP.0;
        let high = (HEIGHT - ABOVE - BELOW) / rows as f64 - GAP.1;
        let side = wide.min(high);
        let step =
            ((WIDTH - LEFT - RIGHT) / columns as f64, (HEIGHT - ABOVE - BELOW) / rows as f64);
        write(&mut drawing, &self.title, (16.0, 28.0), Anchor::Start, 19.0, INK);
        write(&mut drawing, &self.subtitle, (16.0, 50.0), Anchor::Start, 14.0, FAINT);
        self.write_legend(&mut drawing);
        for (k, panel) in self.panels.iter().enumerate() {
            let (row, column) = (k / columns, k % columns);
            let corner = (
                LEFT + step.0 * column as f64 + (step.0 - side) / 2.0,
                ABOVE + step.1 * row as f64 + (step.1 - GAP.1 - side) / 2.0,
            );
            draw_panel(&mut drawing, panel, corner, side);
            if row == 0 {
                let at = (corner.0 + side / 2.0, ABOVE - 6.0);
                write(&mut drawing, &self.columns[column], at, Anchor::Middle, 13.0, INK);
            }
            if column == 0 {
                let at = (LEFT - 34.0, corner.1 + side / 2.0);
                let (text, anchor) = (self.rows[row].clone(), Anchor::Middle);
                drawing.text(TextMark { text, at, anchor, size: 13.0, colour: INK, upward: true });
            }
        }
        let below = (LEFT + (WIDTH - LEFT - RIGHT) / 2.0, HEIGHT - 18.0);
        let right = format!("to the right: {}; up: {}", self.x_label, self.y_label);
        write(&mut drawing, &right, below, Anchor::Middle, 14.0, INK);
        drawing
    }

    /// The names of the groups, in one line under the title.
    fn write_legend(&self, drawing: &mut Drawing) {
        let Some(first) = self.panels.first() else { return };
        let named = first.groups.iter().enumerate().filter(|(_, group)| !group.name.is_empty());
        let mut x = 20.0;
        for (series, group) in named {
            marker::draw(drawing, series, (x, 67.0), 4.5);
            write(drawing, &group.name, (x + 10.0, 71.5), Anchor::Start, 13.0, INK);
            x += 120.0;
        }
    }
}

fn draw_panel(drawing: &mut Drawing, panel: &ScatterPanel, (left, top): Point, side: f64) {
    let groups: Vec<Vec<(f64, f64)>> =
        panel.groups.iter().map(|group| group.drawable().collect()).collect();
    let values = groups.iter().flatten().flat_map(|&(x, y)| [x, y]);
    let scale = Scale::around(values, false, MARGIN);
    let (right, bottom) = (left + side, top + side);
    let frame = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    drawing.line(frame, 1.0, FAINT);
    if groups.iter().all(Vec::is_empty) {
        let middle = (left + side / 2.0, top + side / 2.0);
        write(drawing, "no values", middle, Anchor::Middle, 11.0, FAINT);
        return;
    }
    drawing.line([(left, bottom), (right, top)], 1.0, FAINT);
    for (value, at) in [(scale.low(), left), (scale.high(), right)] {
        let anchor = if at == left { Anchor::Start } else { Anchor::End };
        write(drawing, &short(value), (at, bottom + 11.0), anchor, 9.5, FAINT);
    }
    let place = |(x, y): (f64, f64)| (left + side * scale.share(x), bottom - side * scale.share(y));
    for (series, group) in groups.iter().enumerate() {
        for &point in group {
            marker::draw(drawing, series, place(point), 3.5);
        }
    }
}

/// Three digits.
fn short(value: f64) -> String {
    let digits = 2 - value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(digits.clamp(0, 6)).unwrap_or(0))
}

fn write(drawing: &mut Drawing, text: &str, at: Point, anchor: Anchor, size: f64, colour: Rgb) {
    drawing.text(TextMark { text: text.to_owned(), at, anchor, size, colour, upward: false });
}
