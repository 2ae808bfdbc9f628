//! Figures, of a run or of a comparison of methods, as SVG for papers and as PNG for everything else.
//!
//! A figure always comes out: values that are not finite have no place in it and are left out, names that are too long
//! are cut, and without values there are still axes to look at.

mod axis;
mod canvas;
mod curves;
mod font;
mod frame;
mod gaps;
mod marker;
mod scatter;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

pub use curves::Curves;
pub use gaps::Gaps;
pub use scatter::Scatter;

use crate::run::StoreError;
use canvas::Drawing;

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
    fn drawable(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let points = self.points.iter().copied();
        points.filter(|&(x, y)| axis::drawable(x) && axis::drawable(y))
    }
}

/// Writes `stem.svg` and `stem.png`.
fn write(drawing: &Drawing, stem: &Path) -> Result<(), StoreError> {
    [".svg", ".png"].into_iter().try_for_each(|extension| {
        // A stem may have dots of its own, as in `delta-0.5`.
        let mut path: OsString = stem.to_owned().into();
        path.push(extension);
        write_file(drawing, &PathBuf::from(path))
    })
}

/// Writes a PNG where the file's name says so, an SVG otherwise.
fn write_file(drawing: &Drawing, path: &Path) -> Result<(), StoreError> {
    let is_png = path.extension().is_some_and(|end| end == "png");
    let file = if is_png { drawing.png() } else { drawing.svg().map(String::into_bytes) };
    let written = file.and_then(|bytes| fs::write(path, bytes));
    written.map_err(|source| StoreError::Unwritable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
