//! Margin and bound of every search: what was found, what is proven, and the gap between.

use super::axis::Scale;
use super::canvas::{Drawing, Rgb};
use super::frame::{FigureLabels, Frame, Legend};
use super::marker;
use crate::record::AttackRecord;
use crate::record::Verdict;

/// Between the outermost values and the frame, as a share of the axis.
const MARGIN: f64 = 0.04;
const MARKER: f64 = 4.5;
const LINE: f64 = 2.0;
/// Room for a sample in the legend: a marker, and a gap that ends in its bound.
const SAMPLE: f64 = 24.0;
const ZERO: Rgb = [60, 60, 60];

/// A search: the margin found, and the bound if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    verdict: Verdict,
    margin: f64,
    bound: f64,
}

/// A line per search from margin to bound, the largest margin first; a colour and a marker for each verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaps {
    gaps: Vec<Gap>,
}

impl Gaps {
    /// The figure of these records.
    pub fn of(records: &[AttackRecord]) -> Self {
        let gap = |record: &AttackRecord| {
            let AttackRecord { verdict, margin, .. } = *record;
            // Without a bound that says something there is no line.
            let bound = record.upper_bound.filter(|_| !record.has_loose_bound());
            Gap { verdict, margin, bound: bound.unwrap_or(margin) }
        };
        let mut gaps: Vec<Gap> = records.iter().map(gap).collect();
        gaps.sort_by(|a, b| b.margin.total_cmp(&a.margin));
        Self { gaps }
    }

    /// The figure, drawn.
    pub fn drawing(&self) -> Drawing {
        let values = self.gaps.iter().flat_map(|gap| [gap.margin, gap.bound, 0.0]);
        let y = Scale::around(values, false, MARGIN);
        let x = Scale::linear(0.0, self.gaps.len() as f64 + 1.0);
        let count = |verdict| self.gaps.iter().filter(|gap| gap.verdict == verdict).count();
        let names = Verdict::ALL.map(|verdict| match count(verdict) {
            0 => String::new(),
            count => format!("{count} {verdict}"),
        });
        let words = FigureLabels {
            title: "Margin and bound",
            subtitle: "marker: largest margin found; end of its line: what no input can exceed, proven",
            x_label: "searches, the largest margin first",
            y_label: "y_target − y_predicted",
            legend: Legend {
                names: names.iter().map(String::as_str).enumerate().collect(),
                sample: SAMPLE,
            },
        };
        let mut frame = Frame::new(&words, x, y);
        if self.gaps.is_empty() {
            frame.say_empty();
        }
        let ends = [x.low(), x.high()].map(|end| frame.place((end, 0.0)));
        frame.drawing.line(ends, 1.5, ZERO);
        let room = frame.place((1.0, 0.0)).0 - frame.place((0.0, 0.0)).0;
        let (half, radius) = ((0.35 * room).min(MARKER), (0.45 * room).clamp(1.5, MARKER));
        for (rank, gap) in self.gaps.iter().enumerate() {
            let across = rank as f64 + 1.0;
            let [margin, bound] = [gap.margin, gap.bound].map(|y| frame.place((across, y)));
            draw(&mut frame.drawing, gap.verdict, margin, bound, (half, radius));
        }
        for &((x, y), series) in &frame.samples {
            let (margin, bound) = ((x, y + 6.0), (x, y - 8.0));
            draw(&mut frame.drawing, Verdict::ALL[series], margin, bound, (MARKER, MARKER));
        }
        frame.drawing
    }
}

/// A marker at the margin, a line to the bound, and a bar across its end.
fn draw(
    drawing: &mut Drawing,
    verdict: Verdict,
    margin: (f64, f64),
    bound: (f64, f64),
    (half, radius): (f64, f64),
) {
    let colour = marker::colour(series(verdict));
    if margin != bound {
        drawing.line([margin, bound], LINE.min(2.0 * half), paler(colour));
        drawing.line([(bound.0 - half, bound.1), (bound.0 + half, bound.1)], LINE, colour);
    }
    marker::draw(drawing, series(verdict), margin, radius);
}

/// The place of a verdict among the colours: robust is green, adversarial orange, unknown grey.
fn series(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Robust => 2,
        Verdict::Adversarial => 1,
        Verdict::Unknown => 6,
    }
}

fn paler(colour: Rgb) -> Rgb {
    colour.map(|part| 255 - (255 - part) / 2)
}
