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
//! | a PNG, JPEG or WebP, a directory of these, one folder for each class, or a pattern such as `digits/*.png` | the `image` crate |
//! | an `.npy` array, plain or gzipped, or one in an `.npz` archive | the npy reader |
//! | the binary batches of CIFAR-10 | the cifar reader |

mod array;
mod cifar;
mod classes;
mod dataset;
mod error;
mod file;
mod idx;
mod images;
mod labels;
mod listing;
mod mnist_dir;
mod npy;
mod npy_header;
mod npz;
mod picture;
mod picture_file;
mod sample;
mod selection;
mod source;
mod target_file;
mod targets;

pub use array::fits;
pub use classes::Classes;
pub use dataset::Dataset;
pub use error::SampleError;
pub use picture::{Colour, PictureLayout};
pub use sample::Sample;
pub use selection::Selection;
pub use source::{DataSource, Split};
pub use target_file::TargetError;
pub use targets::{TargetChoice, Targets};
