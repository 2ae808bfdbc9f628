//! What a run would do, for `--dry-run`.

use std::path::PathBuf;

use super::json::Fields;

/// What a run would do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Everything that was asked for.
    pub settings: Fields,
    /// Items with something to do: images, or one problem.
    pub items: usize,
    /// Records of our share.
    pub asked: usize,
    /// Those of them that are there already.
    pub finished: usize,
    /// Our share, if the work is shared.
    pub shard: Option<String>,
    /// How many threads.
    pub threads: usize,
    /// Where the results would go.
    pub out: Option<PathBuf>,
}
