//! How to search.

use super::method::Method;
use crate::walk::WayOut;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Seed of the starts. Default 0.
    pub seed: u64,
    /// Starts in a row without gain before the search ends. Default 40.
    pub patience: usize,
    /// Starts before the search ends, whatever they gained. Default: no limit.
    pub most_starts: usize,
    /// How walks leave a region. Default: flip.
    pub way_out: WayOut,
    /// Which algorithm. Default: our own.
    pub method: Method,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            patience: 40,
            most_starts: usize::MAX,
            way_out: WayOut::default(),
            method: Method::default(),
        }
    }
}
