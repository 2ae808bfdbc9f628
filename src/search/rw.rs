//! Relax-and-Walk: start, climb, walk, offer, and again. Also the paper's form of it (Algorithms 1 and 2, no climbs) and its first-order part
//! alone (no walks).

use std::collections::HashSet;

use super::frank_wolfe::{ClimbedPoints, frank_wolfe};
use super::incumbent::Incumbent;
use super::method::Method;
use super::sign_ascent::{WHOLE_BOX, sign_ascent};
use super::starts::{Start, StartKind, Starts};
use super::task::{MethodResult, SearchTask};
use super::walk_filter::WalkFilter;
use crate::budget::Budget;
use crate::encode::{LpWork, RegionLp, Vertices};
use crate::network::{ActivationPattern, Trace};
use crate::problem::{Candidate, Problem};
use crate::walk::{StopReason, Walk, WayOut, walk};

/// The first step of a climb in a box from near the incumbent, as a share of the box.
const NEARBY_STEP: f64 = 0.1;

/// Searches from one start after the other until the incumbent says stop.
pub(super) fn relax_and_walk(task: &SearchTask, incumbent: &mut Incumbent) -> MethodResult {
    let mut search = LocalSearch::new(task, *incumbent.budget);
    let stop = loop {
        if let Some(stop) = incumbent.stop() {
            break stop;
        }
        let work_before = search.work();
        let start = search.starts.next(&incumbent.best, &mut search.vertices, incumbent.budget);
        let gained = match start {
            Ok(start) => search.follow(&start, incumbent),
            Err(error) => {
                log::debug!("start: {error}");
                false
            }
        };
        incumbent.finish_start(gained);
        let operations = search.work().operations - work_before.operations;
        log::debug!(
            "start {}: {operations} operations, gained: {gained}",
            search.starts.describe()
        );
        search.starts.learn(gained, operations);
    };
    let (starts, work) = (search.starts.made(), search.work());
    MethodResult { stop, starts, finished: search.finished, work, claimed_bound: None }
}

/// What climbs and walks from different starts share.
struct LocalSearch<'s, 'p> {
    task: &'s SearchTask<'s, 'p>,
    problem: &'p Problem,
    starts: Starts<'s, 'p>,
    vertices: Vertices<'s>,
    region: RegionLp<'p>,
    /// The patterns whose regions were solved.
    seen: HashSet<ActivationPattern>,
    filter: WalkFilter,
    climbed: ClimbedPoints,
    trace: Trace,
    /// Climbs (where there are no walks) or walks that came to a local optimum in time.
    finished: usize,
}

impl<'s, 'p> LocalSearch<'s, 'p> {
    fn new(task: &'s SearchTask<'s, 'p>, budget: Budget<'s>) -> Self {
        let problem = task.problem;
        Self {
            task,
            problem,
            starts: Starts::new(task),
            vertices: Vertices::new(&problem.set, budget),
            region: RegionLp::new(problem),
            seen: HashSet::new(),
            filter: WalkFilter::new(problem, task.options.patience),
            climbed: ClimbedPoints::default(),
            trace: problem.trace(),
            finished: 0,
        }
    }

    fn work(&self) -> LpWork {
        self.region.work() + self.vertices.work() + self.starts.work()
    }

    /// Climbs and walks from a start. Returns whether that gained.
    fn follow(&mut self, start: &Start, incumbent: &mut Incumbent) -> bool {
        let climbed = self.climb(start, incumbent);
        let Some(climbed) = climbed else {
            // The earlier climb went on from here, and was walked from.
            self.finished += usize::from(!incumbent.budget.is_spent());
            return false;
        };
        let gained = incumbent.offer(climbed.clone());
        let end = self.walk(start, climbed, incumbent);
        end.is_some_and(|end| incumbent.offer(end)) || gained
    }

    /// First-order ascent from a start; the start itself if it is to be walked from as it is; `None` if an earlier ascent came by the same way.
    fn climb(&mut self, start: &Start, incumbent: &Incumbent) -> Option<Candidate> {
        let (problem, budget) = (self.problem, incumbent.budget);
        let from = problem.evaluate(start.point.clone(), &mut self.trace);
        if !start.climb {
            return Some(from);
        }
        if problem.set.is_box() && self.task.options.method == Method::Rw {
            let nearby = start.kind == StartKind::Nearby;
            let first_step = if nearby { NEARBY_STEP } else { WHOLE_BOX };
            Some(sign_ascent(problem, from, first_step, &mut self.trace, budget))
        } else {
            let (vertices, climbed) = (&mut self.vertices, &mut self.climbed);
            frank_wolfe(problem, from, vertices, climbed, &mut self.trace, budget)
        }
    }

    /// Walks from where a climb has ended, if it is worth it, to a local optimum.
    fn walk(
        &mut self,
        start: &Start,
        climbed: Candidate,
        incumbent: &Incumbent,
    ) -> Option<Candidate> {
        let from = match self.task.options.method {
            Method::FrankWolfe => {
                self.finished += usize::from(!incumbent.budget.is_spent());
                None
            }
            Method::Rw if start.climb => self.filter.pick(climbed, incumbent.best.margin),
            _ => Some(climbed),
        };
        let from = from.filter(|_| incumbent.stop().is_none())?;
        let margin_before = from.margin;
        // The two ways out end in different places: from the centre and from relaxations we walk as in the paper.
        let as_in_paper =
            !start.climb && matches!(start.kind, StartKind::Centre | StartKind::Relaxed);
        let way_out = if as_in_paper { WayOut::Epsilon } else { self.task.options.way_out };
        let Walk { end, stop } =
            walk(&mut self.region, from, &mut self.seen, way_out, incumbent.budget);
        if start.climb {
            self.filter.learn(end.margin - margin_before);
        }
        self.finished += usize::from(stop == StopReason::LocalOptimum);
        Some(end)
    }
}
