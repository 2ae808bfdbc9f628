//! Balls, and the range of pixel values that cuts them.

use super::norm::Norm;

/// What a ball around a set's centre is measured in, and how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// The norm.
    pub norm: Norm,
    /// Sets are closed, so that their points lie at most this far from the centre; the problem asks for points that are nearer.
    pub radius: f64,
}

/// The values that an input may have, whatever the budget: pixels lie in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelRange {
    /// The least value.
    pub lower: f64,
    /// The largest value.
    pub upper: f64,
}

impl PixelRange {
    /// [0, 1].
    pub const UNIT: Self = Self { lower: 0.0, upper: 1.0 };

    /// Is `x` one of these values?
    pub fn contains(&self, x: f64) -> bool {
        self.lower <= x && x <= self.upper
    }
}

impl Default for PixelRange {
    fn default() -> Self {
        Self::UNIT
    }
}
