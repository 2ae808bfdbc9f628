//! Colours and shapes that tell series apart, each without the help of the other.

use std::f64::consts::PI;

use super::canvas::{Drawing, Mark, Point, Rgb, WHITE};

/// Told apart with every common kind of colour blindness (Okabe and Ito, "Color universal design", 2008); without their
/// yellow, which is too faint on white.
const COLOURS: [Rgb; 7] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [230, 159, 0],
    [204, 121, 167],
    [86, 180, 233],
    [60, 60, 60],
];

/// The eighth series repeats a colour, the ninth a shape, the fifty-seventh both.
const SHAPES: [MarkerShape; 8] = [
    MarkerShape::Disc,
    MarkerShape::Regular { corners: 4, turned: PI / 4.0 },
    MarkerShape::Regular { corners: 3, turned: 0.0 },
    MarkerShape::Regular { corners: 4, turned: 0.0 },
    MarkerShape::Regular { corners: 3, turned: PI },
    MarkerShape::Cross { turned: 0.0 },
    MarkerShape::Cross { turned: PI / 4.0 },
    MarkerShape::Star,
];

/// White around a marker, so that one on top of others is seen to be several. In points.
const HALO: f64 = 0.75;

#[derive(Clone, Copy)]
enum MarkerShape {
    Disc,
    /// The first corner is above, then turned, in radians.
    Regular {
        corners: u32,
        turned: f64,
    },
    Cross {
        turned: f64,
    },
    Star,
}

/// The colour of a series.
pub fn colour(series: usize) -> Rgb {
    COLOURS[series % COLOURS.len()]
}

/// The marker of a series, about as heavy as a disc of this radius.
pub fn draw(drawing: &mut Drawing, series: usize, centre: Point, radius: f64) {
    let shape = SHAPES[series % SHAPES.len()];
    for (colour, halo) in [(WHITE, HALO), (colour(series), 0.0)] {
        let corners = match shape {
            MarkerShape::Disc => {
                drawing.marks.push(Mark::Disc { centre, radius: radius + halo, colour });
                continue;
            }
            MarkerShape::Regular { corners, turned } => {
                let angle = PI / f64::from(corners);
                // As large as the disc, but for a little: corners catch the eye.
                let area = f64::from(corners) * angle.sin() * angle.cos();
                let reach = 0.97 * radius * (PI / area).sqrt() + halo / angle.cos();
                let lift = if corners == 3 { turned.cos() * 0.12 * radius } else { 0.0 };
                let places =
                    (0..corners).map(|k| on_circle(reach, turned + 2.0 * angle * f64::from(k)));
                places.map(|(x, y)| (x, y + lift)).collect()
            }
            MarkerShape::Cross { turned } => {
                let (arm, half) = (1.3 * radius + halo, 0.4 * radius + halo);
                let (reach, angle) = (arm.hypot(half), (half / arm).atan());
                let quarter = |k: u32| {
                    let straight = turned + PI / 2.0 * f64::from(k);
                    let inner = half * 2f64.sqrt();
                    [
                        on_circle(reach, straight - angle),
                        on_circle(reach, straight + angle),
                        on_circle(inner, straight + PI / 4.0),
                    ]
                };
                (0..4).flat_map(quarter).collect()
            }
            MarkerShape::Star => {
                let (outer, inner) = (1.5 * radius + 2.0 * halo, 0.62 * radius + halo);
                let corner = |k: u32| {
                    let reach = if k.is_multiple_of(2) { outer } else { inner };
                    on_circle(reach, PI / 5.0 * f64::from(k))
                };
                (0..10).map(corner).collect::<Vec<Point>>()
            }
        };
        let corners = corners.into_iter().map(|(x, y)| (centre.0 + x, centre.1 + y)).collect();
        drawing.marks.push(Mark::Polygon { corners, colour });
    }
}

/// A place around the origin; angles begin above and go clockwise.
fn on_circle(radius: f64, angle: f64) -> Point {
    (radius * angle.sin(), -radius * angle.cos())
}
