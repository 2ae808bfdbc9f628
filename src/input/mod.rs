//! Where inputs come from: image files become [`Sample`]s, in the model's own order and in [0, 1].
//!
//! The trap of this room is the silent wrong answer: test images that are training images, channels in another
//! order, bytes that are not scaled, labels shifted by one. So nothing is guessed from a file's name where its
//! content can tell, every declared size is compared with what is there, and what does not fit is refused with one
//! line that names the file.
//!
//! | data | read by |
//! |---|---|
//! | a directory of the four MNIST files | the `mnist` crate, behind a guard, or else the IDX reader |
//! | an IDX file, plain or gzipped | the IDX reader |
//! | a PNG, a directory of PNGs or a pattern such as `digits/*.png` | the `image` crate |
//! | an `.npy` array, plain or gzipped | the npy reader |
//!
//! And where inputs may lie: the [`InputSet`] around a sample, or the [`Domain`] that a text file describes.

mod array;
mod constraint;
mod dataset;
mod domain;
mod error;
mod file;
mod idx;
mod labels;
mod linear;
mod listing;
mod mnist_dir;
mod norm;
mod npy;
mod picture;
mod png;
mod sample;
mod selection;
mod set;
mod source;
mod targets;

pub use constraint::Constraint;
pub use dataset::Dataset;
pub use domain::{Domain, DomainError};
pub use error::SampleError;
pub use linear::{Linear, LinearError, Relation};
pub use norm::Norm;
pub use picture::{Colour, PictureLayout};
pub use sample::Sample;
pub use selection::Selection;
pub use set::{InputSet, Move, Vertex};
pub use source::{DataSource, Split};
pub use targets::{ImageTargets, TargetChoice, TargetError, Targets};
