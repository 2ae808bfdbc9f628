//! Linear regions of a network with two inputs, level lines of its objective, and a walk over them: Figure 1 of the Relax-and-Walk paper.

use super::axis::Scale;
use super::canvas::{Anchor, Drawing, Mark, Point, Rgb, TextMark, WHITE};
use super::frame::{FigureLabels, Frame, Legend};

const LEVEL: Rgb = [150, 150, 150];
const EDGE: Rgb = [255, 255, 255];
const INSIDE: Rgb = [0, 70, 160];
const BEYOND: Rgb = [200, 60, 0];
const HATCH: Rgb = [90, 90, 90];
/// Steps that are drawn with letters; the others would have none left.
const LETTERS: usize = 13;

/// A walk over linear regions. All places are (to the right, up).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionMap {
    /// Above everything.
    pub title: String,
    /// What the figure shows.
    pub subtitle: String,
    /// The box of both inputs.
    pub range: (f64, f64),
    /// The corners of each region, a convex polygon.
    pub regions: Vec<Vec<(f64, f64)>>,
    /// Stretches of level lines.
    pub levels: Vec<[(f64, f64); 2]>,
    /// Regions to be hatched, by their place among all.
    pub highlighted: Vec<usize>,
    /// Where each step inside a region begins and ends. The next begins where a step beyond the region leads.
    pub steps: Vec<((f64, f64), (f64, f64))>,
}

impl RegionMap {
    /// The figure, drawn.
    pub fn drawing(&self) -> Drawing {
        let scale = Scale::linear(self.range.0, self.range.1);
        let words = FigureLabels {
            title: &self.title,
            subtitle: &self.subtitle,
            x_label: "x0",
            y_label: "x1",
            legend: Legend {
                names: vec![(0, "inside a region"), (1, "out of it"), (2, "level line")],
                sample: 22.0,
            },
        };
        let mut frame = Frame::square(&words, scale);
        for (k, corners) in self.regions.iter().enumerate() {
            let corners: Vec<Point> = corners.iter().map(|&at| frame.place(at)).collect();
            let outline: Vec<Point> = corners.iter().chain(corners.first()).copied().collect();
            frame.drawing.marks.push(Mark::Polygon { corners, colour: pastel(k) });
            frame.drawing.line(outline, 1.0, EDGE);
        }
        for &k in &self.highlighted {
            let corners: Vec<Point> = self.regions[k].iter().map(|&at| frame.place(at)).collect();
            hatch(&mut frame.drawing, &corners);
        }
        for &[from, to] in &self.levels {
            let ends = [frame.place(from), frame.place(to)];
            frame.drawing.line(ends, 0.75, LEVEL);
        }
        self.draw_walk(&mut frame);
        for &(middle, series) in &frame.samples.clone() {
            let ends = [(middle.0 - 11.0, middle.1), (middle.0 + 11.0, middle.1)];
            let (width, colour) = [(3.0, INSIDE), (2.0, BEYOND), (0.75, LEVEL)][series];
            frame.drawing.line(ends, width, colour);
        }
        frame.drawing
    }

    fn draw_walk(&self, frame: &mut Frame) {
        let border = frame.place((self.range.0, self.range.0));
        for (k, &(from, to)) in self.steps.iter().enumerate() {
            let (begin, end) = (frame.place(from), frame.place(to));
            arrow(&mut frame.drawing, begin, end, 3.0, INSIDE);
            if let Some(&(next, _)) = self.steps.get(k + 1) {
                let ends = [end, frame.place(next)];
                frame.drawing.line(ends, 2.0, BEYOND);
            }
        }
        let places = self.steps.iter().flat_map(|&(from, to)| [from, to]);
        for (k, at) in places.enumerate() {
            let (centre, colour) = (frame.place(at), if k % 2 == 0 { BEYOND } else { INSIDE });
            frame.drawing.marks.push(Mark::Disc { centre, radius: 5.0, colour: WHITE });
            frame.drawing.marks.push(Mark::Disc { centre, radius: 4.0, colour });
            if k < 2 * LETTERS {
                let letter = char::from(b'A' + k as u8).to_string();
                // The points of a step lie close to those of the next: their letters are on different sides.
                let (mut right, mut down) = if k % 2 == 0 { (-17.0, -4.0) } else { (7.0, 16.0) };
                // On the border they stay inside, away from the axes' numbers.
                if centre.0 + right < border.0 {
                    right = 7.0;
                }
                if centre.1 + down > border.1 {
                    down = -4.0;
                }
                let at = (centre.0 + right, centre.1 + down);
                let (anchor, size) = (Anchor::Start, 15.0);
                let text =
                    TextMark { text: letter, at, anchor, size, colour: [0; 3], upward: false };
                frame.drawing.text(text);
            }
        }
    }
}

/// Light colours, far apart for neighbours in the list.
fn pastel(k: usize) -> Rgb {
    // The golden angle never comes back to a hue.
    let hue = (k as f64 * 137.508).to_radians();
    let channel = |shift: f64| {
        let wave = (hue + shift).cos();
        (222.0 + 26.0 * wave).round() as u8
    };
    let third = std::f64::consts::TAU / 3.0;
    [channel(0.0), channel(third), channel(-third)]
}

fn arrow(drawing: &mut Drawing, from: Point, to: Point, width: f64, colour: Rgb) {
    drawing.line([from, to], width, colour);
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length < 16.0 {
        return;
    }
    // Before the disc at the end.
    let (ux, uy) = (dx / length, dy / length);
    let tip = (to.0 - 5.0 * ux, to.1 - 5.0 * uy);
    let back = (tip.0 - 11.0 * ux, tip.1 - 11.0 * uy);
    let corners =
        vec![tip, (back.0 - 5.0 * uy, back.1 + 5.0 * ux), (back.0 + 5.0 * uy, back.1 - 5.0 * ux)];
    drawing.marks.push(Mark::Polygon { corners, colour });
}

/// Slanted lines over a convex polygon.
fn hatch(drawing: &mut Drawing, corners: &[Point]) {
    let along = |&(x, y): &Point| x + y;
    let least = corners.iter().map(along).fold(f64::INFINITY, f64::min);
    let most = corners.iter().map(along).fold(f64::NEG_INFINITY, f64::max);
    let mut level = least + 3.0;
    while level < most {
        let mut ends = Vec::new();
        for (k, a) in corners.iter().enumerate() {
            let b = &corners[(k + 1) % corners.len()];
            let (u, v) = (along(a) - level, along(b) - level);
            if (u > 0.0) != (v > 0.0) {
                let share = u / (u - v);
                ends.push((a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1)));
            }
        }
        if ends.len() == 2 {
            drawing.line(ends, 1.0, HATCH);
        }
        level += 6.0;
    }
}
