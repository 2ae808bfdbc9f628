//! Rendering: records become tables, pictures, figures and one page. Nothing here opens a file.

mod captions;
pub mod csv;
pub mod figure;
mod flat_png;
mod gallery;
mod histogram;
pub mod html;
pub mod junit;
mod montage;
mod paint;
pub(crate) mod png;
mod progress;
mod table;
pub mod text;

pub use gallery::gallery;
pub use paint::Paint;
pub use png::strip;
pub use progress::{Progress, ProgressMode, with_bar_aside};
