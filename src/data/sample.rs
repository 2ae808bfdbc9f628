//! One image as the network sees it.

use std::fmt;

use crate::network::{Label, widened};

/// One image of the data, ready to be fed to the model.
#[derive(Clone, PartialEq)]
pub struct Sample {
    /// Place in the data, base 0.
    pub index: usize,
    /// File name, for data that has one file per image.
    pub name: Option<String>,
    /// Values in [0, 1], row-major in the model's own input order.
    pub pixels: Vec<f32>,
    /// The true class; `None` when it is not known.
    pub label: Option<Label>,
}

impl Sample {
    /// The pixels as the network computes with them.
    pub fn widened(&self) -> Vec<f64> {
        widened(&self.pixels)
    }
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample")
            .field("index", &self.index)
            .field("name", &self.name)
            .field("pixels", &self.pixels.len())
            .field("label", &self.label)
            .finish()
    }
}
