//! Start, climb, walk, start again, until nothing new is found or the time is up.

mod ascent;
mod starts;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::budget::Budget;
use crate::encode::{RegionLp, Work};
use crate::network::{ActivationPattern, Trace};
use crate::query::{Candidate, Query};
use crate::tolerance;
use crate::walk::{WayOut, walk};
use starts::{Starts, start_point};

pub use ascent::frank_wolfe;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Seed of the starts. Default 0.
    pub seed: u64,
    /// Starts in a row without gain before the search ends. Default 30.
    pub patience: usize,
    /// How walks leave a region. Default: flip.
    pub way_out: WayOut,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { seed: 0, patience: 30, way_out: WayOut::default() }
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// So many starts in a row brought nothing.
    Patience,
    /// The time is up.
    Time,
    /// Somebody called it off.
    Cancelled,
    /// Whoever was offered a better point said that it is enough.
    Enough,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best point.
    pub best: Candidate,
    /// Number of starts.
    pub starts: usize,
    /// What the LPs have cost.
    pub work: Work,
    /// When the best point was found.
    pub time_to_best: Duration,
    /// Why the search ended.
    pub stop: SearchStop,
}

/// Searches for the best point of the query's set, the set's centre first. Every better point is offered to
/// `better`, which may end the search.
pub fn search(
    query: &Query,
    options: &SearchOptions,
    budget: &Budget,
    mut better: impl FnMut(&Candidate) -> ControlFlow<()>,
) -> Found {
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut trace = Trace::new(query.network);
    let mut region = RegionLp::new(query);
    let mut seen: HashSet<ActivationPattern> = HashSet::new();
    let mut kinds = Starts::new();

    let centre = query.evaluate(query.set.centre().to_vec(), &mut trace);
    let mut best = centre.clone();
    let mut time_to_best = budget.elapsed();
    let mut starts = 0;
    let mut idle = 0;
    let stop = loop {
        if budget.is_spent() {
            break if budget.is_cancelled() { SearchStop::Cancelled } else { SearchStop::Time };
        }
        if idle >= options.patience {
            break SearchStop::Patience;
        }
        let kind = (starts > 0).then(|| kinds.draw(&mut rng));
        let start = match kind {
            Some(kind) => query.evaluate(start_point(query, kind, &mut rng), &mut trace),
            None => centre.clone(),
        };
        starts += 1;
        let climbed = frank_wolfe(query, start, &mut trace);
        let end = walk(&mut region, climbed, &mut seen, options.way_out, budget).end;
        let gained = end.margin > best.margin + tolerance::GAIN;
        if end.margin > best.margin {
            best = end;
            time_to_best = budget.elapsed();
            if better(&best).is_break() {
                break SearchStop::Enough;
            }
        }
        idle = if gained { 0 } else { idle + 1 };
        if let Some(kind) = kind {
            kinds.learn(kind, gained);
        }
    };
    Found { best, starts, work: region.work(), time_to_best, stop }
}
