//! How to search.

use super::method::Method;
use crate::walk::WayOut;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Seed of the starts. Default 0.
    pub seed: u64,
    /// Starts before the search ends. Default: as many as there is time for.
    pub starts: usize,
    /// Starts in a row without gain before the search ends. Default 40.
    pub patience: usize,
    /// How walks leave a region. Default: flip.
    pub way_out: WayOut,
    /// Which algorithm. Default: our own.
    pub method: Method,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            starts: usize::MAX,
            patience: 40,
            way_out: WayOut::default(),
            method: Method::default(),
        }
    }
}
