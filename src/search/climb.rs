//! Start, climb, walk, start again: Relax-and-Walk, the paper's form of it, and first-order ascent alone.

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;

use super::incumbent::Incumbent;
use super::signs::{REACH, sign_ascent};
use super::starts::{StartKind, Starts};
use super::{Ended, Method, SearchOptions, frank_wolfe};
use crate::bounds::NeuronBounds;
use crate::encode::{RegionLp, Vertices};
use crate::network::{ActivationPattern, Trace};
use crate::query::{Candidate, Query};
use crate::walk::{WayOut, walk};

/// Many climbs end in few places. After so many starts without gain, one that climbs to where a walk has been is walked from
/// as it is: slower, but it sees other regions.
const UNCLIMBED_AFTER: usize = 34;

/// The first step of a climb in a box from near the best point, as a share of the box.
const REACH_NEARBY: f64 = 0.1;

pub(super) fn climb<'q>(
    query: &'q Query<'_>,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    options: &SearchOptions,
    rng: ChaCha8Rng,
    incumbent: &mut Incumbent,
) -> Ended {
    let mut trace = Trace::new(query.network);
    let mut region = RegionLp::new(query);
    let mut vertices = Vertices::new(&query.set, *incumbent.budget);
    let mut seen: HashSet<ActivationPattern> = HashSet::new();
    let mut starts = Starts::new(query, bounds, options, rng);
    let mut promise = Promise::new(query);
    let mut finished = 0;
    let stop = loop {
        if let Some(stop) = incumbent.stop() {
            break stop;
        }
        let spent = (region.work() + vertices.work() + starts.work()).iterations;
        let (kind, point) = match starts.next(&incumbent.best, &mut vertices, incumbent.budget) {
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
        let climbs = starts.climbs(kind);
        if climbs {
            let climbed = if query.set.is_box() && options.method == Method::Rw {
                let reach = if kind == StartKind::Nearby { REACH_NEARBY } else { REACH };
                sign_ascent(query, start.clone(), reach, &mut trace, incumbent.budget)
            } else {
                frank_wolfe(query, start.clone(), &mut vertices, &mut trace)
            };
            query.network.forward(&climbed.point, &mut trace);
            if incumbent.idle() < UNCLIMBED_AFTER || !seen.contains(&ActivationPattern::at(&trace))
            {
                start = climbed;
            }
            way_out = options.way_out;
        }
        let mut gained = incumbent.offer(start.clone());
        let walks_from = match options.method {
            Method::FrankWolfe => None,
            Method::Rw if climbs => promise.pick(start, incumbent.best.margin),
            _ => Some(start),
        };
        if let Some(start) = walks_from.filter(|_| incumbent.stop().is_none()) {
            let before = start.margin;
            let end = walk(&mut region, start, &mut seen, way_out, incumbent.budget).end;
            promise.learn(end.margin - before);
            gained |= incumbent.offer(end);
        }
        finished += usize::from(!incumbent.budget.is_spent());
        incumbent.finished_start(gained);
        let work = region.work() + vertices.work() + starts.work();
        starts.learn(kind, gained, work.iterations - spent);
    };
    let work = region.work() + vertices.work() + starts.work();
    Ended { stop, starts: starts.made(), finished, work, claimed_bound: None }
}

/// Which ends of climbs are walked from. All of them, where region LPs are small. In a box with many inputs a walk costs as much
/// as dozens of climbs: there the first climbs are only compared, and the best is walked from; afterwards those that the
/// largest gain of a walk so far, and half of it more, would lift above the best point.
struct Promise {
    compared: usize,
    best: Option<Candidate>,
    gain: f64,
}

impl Promise {
    /// Climbs that are only compared.
    const FIRST: usize = 10;

    /// Region LPs with more entries than this are large.
    const LARGE: usize = 50_000;

    const HOPE: f64 = 1.5;

    fn new(query: &Query) -> Self {
        let network = query.network;
        let large = query.set.is_box() && network.neurons() * network.inputs() >= Self::LARGE;
        let (compared, gain) = if large { (0, 0.0) } else { (Self::FIRST, f64::INFINITY) };
        Self { compared, best: None, gain }
    }

    /// What to walk from, if from anything, after a climb to `end`.
    fn pick(&mut self, end: Candidate, best_margin: f64) -> Option<Candidate> {
        if self.compared == Self::FIRST {
            return (end.margin + Self::HOPE * self.gain > best_margin).then_some(end);
        }
        self.compared += 1;
        if self.best.as_ref().is_none_or(|best| end.margin > best.margin) {
            self.best = Some(end);
        }
        if self.compared == Self::FIRST { self.best.take() } else { None }
    }

    /// Remembers what a walk has gained.
    fn learn(&mut self, gain: f64) {
        self.gain = self.gain.max(gain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_first_climbs_the_best_is_walked_from_then_what_may_become_the_best() {
        let end = |margin: f64| Candidate { point: vec![margin], margin };
        let mut promise = Promise { compared: 0, best: None, gain: 0.0 };
        for k in 1..Promise::FIRST {
            assert_eq!(promise.pick(end(if k == 3 { 5.0 } else { 1.0 }), 5.0), None);
        }
        assert_eq!(promise.pick(end(2.0), 5.0), Some(end(5.0)));
        promise.learn(1.0);
        promise.learn(0.5);
        assert_eq!(promise.pick(end(4.4), 6.0), None);
        assert_eq!(promise.pick(end(4.6), 6.0), Some(end(4.6)));
    }
}
