//! Start, climb, walk, start again: Relax-and-Walk, the paper's form of it, and first-order ascent alone.

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;

use super::incumbent::Incumbent;
use super::signs::{REACH, sign_ascent};
use super::starts::{StartKind, Starts};
use super::{Method, MethodResult, SearchOptions, frank_wolfe};
use crate::bounds::NeuronBounds;
use crate::encode::{RegionLp, Vertices};
use crate::network::{ActivationPattern, Trace};
use crate::problem::{Candidate, Problem};
use crate::walk::{StopReason, Walk, WayOut, walk};

/// Many climbs end in few places. After so many starts without gain, one that climbs to where a walk has been is walked from
/// as it is: slower, but it sees other regions.
const UNCLIMBED_AFTER: usize = 34;

/// The first step of a climb in a box from near the best point, as a share of the box.
const REACH_NEARBY: f64 = 0.1;

pub(super) fn climb<'q>(
    problem: &'q Problem,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    options: &SearchOptions,
    rng: ChaCha8Rng,
    incumbent: &mut Incumbent,
) -> MethodResult {
    let mut trace = Trace::new(&problem.network);
    let mut region = RegionLp::new(problem);
    let mut vertices = Vertices::new(&problem.set, *incumbent.budget);
    let mut seen: HashSet<ActivationPattern> = HashSet::new();
    let mut starts = Starts::new(problem, bounds, options, rng);
    let mut filter = WalkFilter::new(problem, options.patience);
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
        let mut start = problem.evaluate(point, &mut trace);
        // Two ways of walking end in different places: what is not climbed is walked as in the paper.
        let mut way_out = WayOut::Epsilon;
        let climbs = starts.climbs(kind);
        if climbs {
            let climbed = if problem.set.is_box() && options.method == Method::Rw {
                let reach = if kind == StartKind::Nearby { REACH_NEARBY } else { REACH };
                sign_ascent(problem, start.clone(), reach, &mut trace, incumbent.budget)
            } else {
                frank_wolfe(problem, start.clone(), &mut vertices, &mut trace, incumbent.budget)
            };
            problem.network.forward(&climbed.point, &mut trace);
            if incumbent.idle() < UNCLIMBED_AFTER || !seen.contains(&ActivationPattern::at(&trace))
            {
                start = climbed;
            }
            way_out = options.way_out;
        }
        let mut gained = incumbent.offer(start.clone());
        let walks_from = match options.method {
            Method::FrankWolfe => {
                finished += usize::from(!incumbent.budget.is_spent());
                None
            }
            Method::Rw if climbs => filter.pick(start, incumbent.best.margin),
            _ => Some(start),
        };
        if let Some(start) = walks_from.filter(|_| incumbent.stop().is_none()) {
            let before = start.margin;
            let Walk { end, stop } = walk(&mut region, start, &mut seen, way_out, incumbent.budget);
            if climbs {
                filter.learn(end.margin - before);
            }
            gained |= incumbent.offer(end);
            finished += usize::from(stop == StopReason::LocalOptimum);
        }
        incumbent.finished_start(gained);
        let work = region.work() + vertices.work() + starts.work();
        starts.learn(kind, gained, work.iterations - spent);
    };
    let work = region.work() + vertices.work() + starts.work();
    MethodResult { stop, starts: starts.made(), finished, work, claimed_bound: None }
}

/// Which ends of climbs are walked from. Where region LPs are small, all. In a box of a larger network a walk costs as much as many climbs: there
/// the first climbs are only compared, and the best is walked from; afterwards those that three times the mean gain of a walk would lift
/// above the best point.
struct WalkFilter {
    /// Climbs still to be compared, the last one included; none where all are walked from.
    to_compare: Option<usize>,
    best: Option<Candidate>,
    walks: usize,
    gains: f64,
}

impl WalkFilter {
    /// Climbs that are only compared.
    const FIRST: usize = 10;

    /// From so many entries on region LPs are large.
    const LARGE: usize = 10_000;

    /// How many times the mean gain to hope for.
    const HOPE: f64 = 3.0;

    fn new(problem: &Problem, patience: usize) -> Self {
        let network = &problem.network;
        let large = problem.set.is_box() && network.relu_count() * network.inputs() >= Self::LARGE;
        // Whoever has little patience wants to see a walk nevertheless.
        let to_compare = large.then_some(Self::FIRST.min(patience));
        Self { to_compare, best: None, walks: 0, gains: 0.0 }
    }

    /// What to walk from, if from anything, after a climb to `end`.
    fn pick(&mut self, end: Candidate, best_margin: f64) -> Option<Candidate> {
        match &mut self.to_compare {
            None => Some(end),
            Some(0) => {
                let hope = Self::HOPE * self.gains / self.walks.max(1) as f64;
                (end.margin + hope > best_margin).then_some(end)
            }
            Some(left) => {
                *left -= 1;
                if self.best.as_ref().is_none_or(|best| end.margin > best.margin) {
                    self.best = Some(end);
                }
                if *left == 0 { self.best.take() } else { None }
            }
        }
    }

    /// Remembers what a walk from the end of a climb has gained.
    fn learn(&mut self, gain: f64) {
        self.walks += 1;
        self.gains += gain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_first_climbs_the_best_is_walked_from_then_what_may_become_the_best() {
        let end = |margin: f64| Candidate { point: vec![margin], margin };
        let mut filter = WalkFilter { to_compare: Some(4), best: None, walks: 0, gains: 0.0 };
        for margin in [1.0, 5.0, 1.0] {
            assert_eq!(filter.pick(end(margin), 5.0), None);
        }
        assert_eq!(filter.pick(end(2.0), 5.0), Some(end(5.0)));
        filter.learn(0.7);
        filter.learn(0.3);
        assert_eq!(filter.pick(end(4.4), 6.0), None);
        assert_eq!(filter.pick(end(4.6), 6.0), Some(end(4.6)));
        let mut all = WalkFilter { to_compare: None, best: None, walks: 0, gains: 0.0 };
        assert_eq!(all.pick(end(1.0), 9.0), Some(end(1.0)));
    }
}
