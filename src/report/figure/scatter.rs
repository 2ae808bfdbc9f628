//! One method against another, one point per instance: Figures 2 to 4 of the Relax-and-Walk paper.

use super::axis::Scale;
use super::canvas::{Drawing, Rgb};
use super::frame::{FigureLabels, Frame, Legend};
use super::marker;
use super::series::Series;

/// Between the outermost points and the frame, as a share of the axis.
const MARGIN: f64 = 0.04;
/// Of a marker.
const LARGEST_RADIUS: f64 = 4.5;
const DIAGONAL: Rgb = [120, 120, 120];

/// Points (value of one method, value of another), in groups, with the line on which both are the same. Both axes have
/// the same range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// Above everything.
    pub title: String,
    /// What the figure shows, as in "rw ≥ 1 % better: 23, apgd ≥ 1 % better: 2, of 90".
    pub subtitle: String,
    /// The method that goes to the right.
    pub x_label: String,
    /// The method that goes up.
    pub y_label: String,
    /// Logarithmic axes. They stay linear when a value is zero or negative.
    pub log: bool,
    /// The points; each group has its own colour and shape.
    pub groups: Vec<Series>,
}

impl Scatter {
    /// The figure, drawn.
    pub fn drawing(&self) -> Drawing {
        let groups: Vec<Vec<(f64, f64)>> =
            self.groups.iter().map(|group| group.drawable().collect()).collect();
        let values = groups.iter().flatten().flat_map(|&(x, y)| [x, y]);
        let scale = Scale::around(values, self.log, MARGIN);
        let names = self.groups.iter().map(|group| group.name.as_str()).enumerate().collect();
        let words = FigureLabels {
            title: &self.title,
            subtitle: &self.subtitle,
            x_label: &self.x_label,
            y_label: &self.y_label,
            legend: Legend { names, sample: 2.0 * LARGEST_RADIUS },
        };
        let mut frame = Frame::square(&words, scale);
        let count: usize = groups.iter().map(Vec::len).sum();
        if count == 0 {
            frame.say_empty();
        } else {
            let ends = [scale.low(), scale.high()].map(|end| frame.place((end, end)));
            frame.drawing.line(ends, 1.5, DIAGONAL);
        }
        let radius = match count {
            0..=200 => LARGEST_RADIUS,
            201..=1000 => 3.5,
            _ => 2.5,
        };
        // A point of each group in turn: no group hides another that was there before it.
        let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
        for k in 0..longest {
            for (series, group) in groups.iter().enumerate() {
                if let Some(&point) = group.get(k) {
                    let place = frame.place(point);
                    marker::draw(&mut frame.drawing, series, place, radius);
                }
            }
        }
        for &(middle, series) in &frame.samples {
            marker::draw(&mut frame.drawing, series, middle, LARGEST_RADIUS);
        }
        frame.drawing
    }
}
