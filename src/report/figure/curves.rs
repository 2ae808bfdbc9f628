//! What methods have reached as time goes by.

use super::axis::Scale;
use super::canvas::{Drawing, Point};
use super::frame::{FigureLabels, Frame, Legend};
use super::marker;
use super::series::Series;

/// Between the outermost values and the frame, as a share of the axis.
const MARGIN: f64 = 0.04;
const LINE: f64 = 2.0;
const MARKER: f64 = 4.5;
/// A piece of a curve in the legend.
const SAMPLE: f64 = 30.0;
/// To the right from one marker to the next.
const MARKER_STEP: f64 = 120.0;

/// Curves that stay at a value from its time until the next point, and end at their last point: where that is a value
/// kept until the end, give it once more at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Above everything.
    pub title: String,
    /// What the figure shows.
    pub subtitle: String,
    /// The time, and its unit.
    pub x_label: String,
    /// What is reached.
    pub y_label: String,
    /// Logarithmic time. A value reached at time zero then starts at the left edge. Time stays linear when no time is
    /// positive.
    pub log_x: bool,
    /// A curve per method, its points in any order; each has its own colour and markers. The legend lists them as they
    /// end, from above to below.
    pub curves: Vec<Series>,
}

impl Curves {
    /// The figure, drawn.
    pub fn drawing(&self) -> Drawing {
        let mut curves: Vec<Vec<(f64, f64)>> =
            self.curves.iter().map(|curve| curve.drawable().collect()).collect();
        for curve in &mut curves {
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let times = || curves.iter().flatten().map(|&(time, _)| time);
        let log = self.log_x && times().any(|time| time > 0.0);
        let x = Scale::around(times().filter(|&time| !log || time > 0.0), log, MARGIN);
        let x = x.with_zero(times().fold(f64::INFINITY, f64::min));
        let heights = || curves.iter().flatten().map(|&(_, height)| height);
        let y = Scale::around(heights(), false, MARGIN);
        let y = y.with_zero(heights().fold(f64::INFINITY, f64::min));

        let mut names: Vec<(usize, &str)> =
            self.curves.iter().map(|curve| curve.name.as_str()).enumerate().collect();
        let end = |series: usize| curves[series].last().map_or(f64::NEG_INFINITY, |&(_, end)| end);
        names.sort_by(|&(a, _), &(b, _)| end(b).total_cmp(&end(a)));
        let words = FigureLabels {
            title: &self.title,
            subtitle: &self.subtitle,
            x_label: &self.x_label,
            y_label: &self.y_label,
            legend: Legend { names, sample: SAMPLE },
        };
        let mut frame = Frame::new(&words, x, y);

        let lines: Vec<Vec<Point>> =
            curves.iter().map(|curve| steps(curve, &frame, x.low())).collect();
        for (series, line) in lines.iter().enumerate() {
            frame.drawing.line(line.as_slice(), LINE, marker::colour(series));
        }
        for (series, line) in lines.iter().enumerate() {
            // Not at the same places for all: curves that run together are then seen to be several.
            let first = MARKER_STEP * (series as f64 + 0.5) / lines.len() as f64;
            for place in markers(line, first) {
                marker::draw(&mut frame.drawing, series, place, MARKER);
            }
        }
        for &((x, y), series) in &frame.samples {
            let ends = [(x - SAMPLE / 2.0, y), (x + SAMPLE / 2.0, y)];
            frame.drawing.line(ends, LINE, marker::colour(series));
            marker::draw(&mut frame.drawing, series, (x, y), MARKER);
        }
        if curves.iter().all(Vec::is_empty) {
            frame.say_empty();
        }
        frame.drawing
    }
}

/// The corners of a curve. What was reached before the axis begins is there when it begins.
fn steps(curve: &[(f64, f64)], frame: &Frame, begin: f64) -> Vec<Point> {
    let before = curve.partition_point(|&(time, _)| time < begin);
    let mut line: Vec<Point> = Vec::with_capacity(2 * curve.len());
    for &(time, height) in &curve[before.saturating_sub(1)..] {
        let place = frame.place((time.max(begin), height));
        if let Some(&(_, last)) = line.last() {
            line.push((place.0, last));
        }
        line.push(place);
    }
    line
}

/// Places for markers: on level stretches, the first so far to the right, more at even distances, and one at the end.
fn markers(line: &[Point], first: f64) -> Vec<Point> {
    let (Some(&begin), Some(&end)) = (line.first(), line.last()) else { return Vec::new() };
    let mut places = Vec::new();
    let mut next = begin.0 + first;
    for ends in line.windows(2).filter(|ends| ends[0].1 == ends[1].1) {
        while next <= ends[1].0 && next + MARKER_STEP / 3.0 < end.0 {
            places.push((next, ends[0].1));
            next += MARKER_STEP;
        }
    }
    places.push(end);
    places
}
