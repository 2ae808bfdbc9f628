//! Start, climb, walk, start again: Relax-and-Walk, the paper's form of it, and first-order ascent alone.

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;

use super::incumbent::Incumbent;
use super::starts::Starts;
use super::{Ended, Method, SearchOptions, frank_wolfe};
use crate::bounds::NeuronBounds;
use crate::encode::RegionLp;
use crate::network::{ActivationPattern, Trace};
use crate::query::Query;
use crate::walk::{WayOut, walk};

/// Many climbs end in few places. After so many starts without gain, one that climbs to where a walk has been is walked from
/// as it is: slower, but it sees other regions.
const UNCLIMBED_AFTER: usize = 34;

pub(super) fn climb<'q>(
    query: &'q Query<'_>,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    options: &SearchOptions,
    rng: ChaCha8Rng,
    incumbent: &mut Incumbent,
) -> Ended {
    let mut trace = Trace::new(query.network);
    let mut region = RegionLp::new(query);
    let mut seen: HashSet<ActivationPattern> = HashSet::new();
    let mut starts = Starts::new(query, bounds, options, rng);
    let mut finished = 0;
    let stop = loop {
        if let Some(stop) = incumbent.stop() {
            break stop;
        }
        let spent = (region.work() + starts.work()).iterations;
        let (kind, point) = match starts.next(&incumbent.best, incumbent.budget) {
            Ok(start) => start,
            Err(error) => {
                log::debug!("start: {error}");
                incumbent.finished_start(false);
                continue;
            }
        };
        let mut start = query.evaluate(point, &mut trace);
        // Two ways of walking end in different places: what is not climbed is walked as in the paper.
        let mut way_out = WayOut::Epsilon;
        if starts.climbs(kind) {
            let climbed = frank_wolfe(query, start.clone(), &mut trace);
            query.network.forward(&climbed.point, &mut trace);
            if incumbent.idle() < UNCLIMBED_AFTER || !seen.contains(&ActivationPattern::at(&trace))
            {
                start = climbed;
            }
            way_out = options.way_out;
        }
        let mut gained = incumbent.offer(start.clone());
        if options.method != Method::FrankWolfe && incumbent.stop().is_none() {
            let end = walk(&mut region, start, &mut seen, way_out, incumbent.budget).end;
            gained |= incumbent.offer(end);
        }
        finished += usize::from(!incumbent.budget.is_spent());
        incumbent.finished_start(gained);
        starts.learn(kind, gained, (region.work() + starts.work()).iterations - spent);
    };
    let work = region.work() + starts.work();
    Ended { stop, starts: starts.made(), finished, work, claimed_bound: None }
}
