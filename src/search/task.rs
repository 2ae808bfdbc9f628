//! The signature that all methods share.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::incumbent::Incumbent;
use super::options::SearchOptions;
use super::result::SearchStop;
use crate::bounds::NeuronBounds;
use crate::encode::LpWork;
use crate::problem::Problem;

/// A method: searches for better points and offers them to the incumbent until [`Incumbent::stop`] says why to stop.
pub(super) type SearchMethod = fn(&SearchTask, &mut Incumbent) -> MethodResult;

/// What every method is given.
#[derive(Clone, Copy)]
pub(super) struct SearchTask<'s, 'p> {
    pub problem: &'p Problem,
    bounds: &'s dyn Fn() -> &'p NeuronBounds,
    pub options: SearchOptions,
}

impl<'s, 'p> SearchTask<'s, 'p> {
    /// `bounds` gives the bounds of the problem's neurons; it is called when a method first needs them.
    pub fn new(
        problem: &'p Problem,
        bounds: &'s dyn Fn() -> &'p NeuronBounds,
        options: SearchOptions,
    ) -> Self {
        Self { problem, bounds, options }
    }

    /// The same problem, searched in another way.
    pub fn with_options(&self, options: SearchOptions) -> Self {
        Self { options, ..*self }
    }

    /// The bounds of the problem's neurons. They may cost more than a whole search without them.
    pub fn bounds(&self) -> &'p NeuronBounds {
        (self.bounds)()
    }

    /// The random numbers of this search.
    pub fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.options.seed)
    }
}

/// What a method reports at its end, besides the incumbent.
pub(super) struct MethodResult {
    /// Why it ended.
    pub stop: SearchStop,
    /// Number of starts.
    pub starts: usize,
    /// Local searches that ended before the time was up.
    pub finished: usize,
    /// What the LPs have cost.
    pub work: LpWork,
    /// What the MILP solver claims no point can exceed.
    pub claimed_bound: Option<f64>,
}
