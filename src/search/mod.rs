//! Start, climb, walk, start again, until nothing new is found or the time is up.

mod ascent;
mod relaxed;
mod starts;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::encode::{RegionLp, Work};
use crate::network::{ActivationPattern, Trace};
use crate::query::{Candidate, Query};
use crate::tolerance;
use crate::walk::{WayOut, walk};
use starts::Starts;

pub use ascent::frank_wolfe;

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// All kinds of starts, first-order ascent, then the walk.
    #[default]
    Rw,
    /// Algorithms 1 and 2 of the paper: starts from relaxations only, ε-steps, no ascent.
    Paper,
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Seed of the starts. Default 0.
    pub seed: u64,
    /// Starts in a row without gain before the search ends. Default 40.
    pub patience: usize,
    /// How walks leave a region. Default: flip.
    pub way_out: WayOut,
    /// Which algorithm. Default: our own.
    pub method: Method,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { seed: 0, patience: 40, way_out: WayOut::default(), method: Method::default() }
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

/// The first climb alone, from the set's centre: a few milliseconds, and often the optimum.
pub fn ascend(query: &Query, budget: &Budget) -> Found {
    let mut trace = Trace::new(query.network);
    let centre = query.evaluate(query.set.centre().to_vec(), &mut trace);
    let best = frank_wolfe(query, centre, &mut trace);
    let time_to_best = budget.elapsed();
    Found { best, starts: 1, work: Work::default(), time_to_best, stop: SearchStop::Enough }
}

/// Many climbs end in few places. After so many starts without gain, one that climbs to where a walk has been is walked from
/// as it is: slower, but it sees other regions.
const UNCLIMBED_AFTER: usize = 34;

impl Found {
    /// This, with the point of `other` if that one is better.
    pub fn or(mut self, other: Self) -> Self {
        if other.best.margin > self.best.margin {
            (self.best, self.time_to_best) = (other.best, other.time_to_best);
        }
        self
    }
}

/// Searches for the best point of the query's set. `bounds` are those of the query. Every better point is offered
/// to `better`, which may end the search.
pub fn search(
    query: &Query,
    bounds: &NeuronBounds,
    options: &SearchOptions,
    budget: &Budget,
    mut better: impl FnMut(&Candidate) -> ControlFlow<()>,
) -> Found {
    let mut trace = Trace::new(query.network);
    let mut region = RegionLp::new(query);
    let mut seen: HashSet<ActivationPattern> = HashSet::new();
    let mut starts = Starts::new(query, bounds, options, ChaCha8Rng::seed_from_u64(options.seed));

    let mut best = query.evaluate(query.set.centre().to_vec(), &mut trace);
    let mut time_to_best = budget.elapsed();
    let mut idle = 0;
    let stop = loop {
        if budget.is_spent() {
            break if budget.is_cancelled() { SearchStop::Cancelled } else { SearchStop::Time };
        }
        if idle >= options.patience {
            break SearchStop::Patience;
        }
        let spent = (region.work() + starts.work()).iterations;
        let (kind, point) = match starts.next(&best, budget) {
            Ok(start) => start,
            Err(error) => {
                log::debug!("start: {error}");
                idle += 1;
                continue;
            }
        };
        let mut start = query.evaluate(point, &mut trace);
        // Two ways of walking end in different places: what is not climbed is walked as in the paper.
        let mut way_out = WayOut::Epsilon;
        if starts.climbs(kind) {
            let climbed = frank_wolfe(query, start.clone(), &mut trace);
            query.network.forward(&climbed.point, &mut trace);
            if idle < UNCLIMBED_AFTER || !seen.contains(&ActivationPattern::at(&trace)) {
                start = climbed;
            }
            way_out = options.way_out;
        }
        let end = walk(&mut region, start, &mut seen, way_out, budget).end;
        let gained = end.margin > best.margin + tolerance::GAIN;
        if end.margin > best.margin {
            best = end;
            time_to_best = budget.elapsed();
            if better(&best).is_break() {
                break SearchStop::Enough;
            }
        }
        idle = if gained { 0 } else { idle + 1 };
        starts.learn(kind, gained, (region.work() + starts.work()).iterations - spent);
    };
    let work = region.work() + starts.work();
    Found { best, starts: starts.made(), work, time_to_best, stop }
}
