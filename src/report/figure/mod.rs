//! Figures, of a run or of a comparison of methods, as SVG for papers and as PNG for everything else.
//!
//! A figure always comes out: values that are not finite have no place in it and are left out, names that are too long
//! are cut, and without values there are still axes to look at.

mod axis;
mod canvas;
mod curves;
pub(super) mod font;
mod frame;
mod gaps;
mod marker;
mod panels;
mod regions;
mod scatter;
mod series;

pub use canvas::Drawing;
pub use curves::Curves;
pub use gaps::Gaps;
pub use panels::{ScatterPanel, ScatterPanels};
pub use regions::RegionMap;
pub use scatter::Scatter;
pub use series::Series;

#[cfg(test)]
mod tests;
