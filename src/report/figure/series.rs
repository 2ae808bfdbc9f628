//! The data of a figure.

use super::axis;

/// Points with a name for the legend. Without a name they are drawn, but not listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What they have in common.
    pub name: String,
    /// To the right, then up.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// The points that can be drawn.
    pub(super) fn drawable(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let points = self.points.iter().copied();
        points.filter(|&(x, y)| axis::drawable(x) && axis::drawable(y))
    }
}
