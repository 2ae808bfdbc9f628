//! Figures of a comparison of methods, each as SVG for papers and as PNG for everything else.
//!
//! A figure always comes out: values that are not finite have no place in it and are left out, names that are too long
//! are cut, and without values there are still axes to look at.

mod axis;
mod canvas;
mod curves;
mod font;
mod frame;
mod marker;
mod scatter;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use curves::Curves;
pub use scatter::Scatter;

use super::ReportError;
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
fn write(drawing: &Drawing, stem: &Path) -> Result<(), ReportError> {
    let store = |extension: &str, file: io::Result<Vec<u8>>| {
        // A stem may have dots of its own, as in `delta-0.5`.
        let mut path: OsString = stem.to_owned().into();
        path.push(extension);
        let path = PathBuf::from(path);
        let written = file.and_then(|bytes| fs::write(&path, bytes));
        written.map_err(|source| ReportError::Unwritable { path, source })
    };
    store(".svg", drawing.svg().map(String::into_bytes))?;
    store(".png", drawing.png())
}

#[cfg(test)]
mod tests;
