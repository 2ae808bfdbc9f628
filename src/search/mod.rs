//! Start, climb, walk, start again, until nothing new is found or the time is up; and the methods that this is measured
//! against, on the same problems.

mod ascent;
mod baselines;
mod climb;
mod incumbent;
mod relaxed;
mod signs;
mod starts;

use std::ops::ControlFlow;
use std::str::FromStr;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::encode::{Vertices, Work};
use crate::network::Trace;
use crate::problem::{Candidate, Problem};
use crate::walk::WayOut;
use incumbent::Incumbent;

use ascent::frank_wolfe;
use signs::{REACH, sign_ascent};

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Method {
    /// All kinds of starts, first-order ascent, then the walk.
    #[default]
    Rw,
    /// Algorithms 1 and 2 of the paper: starts from relaxations only, ε-steps, no ascent.
    Paper,
    /// Perakis and Tsiourvas 2022: sample a region, solve its LP, then free the neurons that are zero at the vertex and let
    /// branch and bound decide them.
    SampleMip,
    /// Branch and bound on the whole problem.
    Milp {
        /// Whether to begin with what [`Method::Rw`] finds in a tenth of the time.
        warm: bool,
    },
    /// Croce and Hein 2021, for L1 balls cut by the pixel box; projected gradient for sets without a budget.
    Apgd,
    /// Our starts and first-order ascent, without any LP.
    FrankWolfe,
}

impl Method {
    /// All names, as the command line takes them.
    pub const NAMES: [&str; 6] = ["rw", "paper", "sample-mip", "milp", "apgd", "frank-wolfe"];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rw => "rw",
            Self::Paper => "paper",
            Self::SampleMip => "sample-mip",
            Self::Milp { .. } => "milp",
            Self::Apgd => "apgd",
            Self::FrankWolfe => "frank-wolfe",
        }
    }
}

/// By its name: whether a MILP begins with a point is another setting.
impl From<Method> for &'static str {
    fn from(method: Method) -> Self {
        method.name()
    }
}

impl TryFrom<String> for Method {
    type Error = UnknownMethod;

    fn try_from(name: String) -> Result<Self, UnknownMethod> {
        name.parse()
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let cold = Self::Milp { warm: false };
        let all = [Self::Rw, Self::Paper, Self::SampleMip, cold, Self::Apgd, Self::FrankWolfe];
        let named = all.into_iter().find(|method| method.name() == name);
        named.ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// There is no method of this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no method is called {0:?}")]
pub struct UnknownMethod(String);

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
    /// Branch and bound claims that nothing is better.
    Claimed,
    /// The solver gave up.
    Trouble,
}

/// When each better margin was found, from the start of the work on.
pub type Curve = Vec<(Duration, f64)>;

/// What a search found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The best point.
    pub best: Candidate,
    /// Number of starts.
    pub starts: usize,
    /// Local searches that came to their end in time.
    pub finished: usize,
    /// What branch and bound claims no point can exceed: not a certificate.
    pub claimed_bound: Option<f64>,
    /// What the LPs have cost.
    pub work: Work,
    /// When the best point was found.
    pub time_to_best: Duration,
    /// How the margin grew; the best point is its end.
    pub curve: Curve,
    /// Why the search ended.
    pub stop: SearchStop,
}

/// The first climb alone, from the set's centre: a few milliseconds, and often the optimum.
pub fn ascend(problem: &Problem, budget: &Budget) -> SearchResult {
    let mut trace = Trace::new(&problem.network);
    let centre = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
    let begin = (budget.elapsed(), centre.margin);
    let best = ascend_from(problem, centre, &mut trace, budget);
    let time_to_best = budget.elapsed();
    let curve = vec![begin, (time_to_best, best.margin)];
    SearchResult {
        best,
        starts: 1,
        finished: 1,
        claimed_bound: None,
        work: Work::default(),
        time_to_best,
        curve,
        stop: SearchStop::Enough,
    }
}

/// First-order ascent from a point of the set, the one that suits the set.
pub fn ascend_from(
    problem: &Problem,
    start: Candidate,
    trace: &mut Trace,
    budget: &Budget,
) -> Candidate {
    if problem.set.is_box() {
        sign_ascent(problem, start, REACH, trace, budget)
    } else {
        let mut vertices = Vertices::new(&problem.set, *budget);
        frank_wolfe(problem, start, &mut vertices, trace, budget)
    }
}

impl SearchResult {
    /// This, after `earlier` if there was such a search: with its point if that is better.
    pub fn after(mut self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let reached = earlier.best.margin;
        self.curve.retain(|&(_, margin)| margin > reached);
        self.curve.splice(0..0, earlier.curve);
        if reached > self.best.margin {
            (self.best, self.time_to_best) = (earlier.best, earlier.time_to_best);
        }
        self
    }

    /// Takes a point that is better.
    pub(crate) fn improve(&mut self, better: &Candidate, when: Duration) {
        if better.margin > self.best.margin {
            (self.best, self.time_to_best) = (better.clone(), when);
            self.curve.push((when, better.margin));
        }
    }
}

/// How a method ended; the best point is the incumbent's.
struct MethodResult {
    stop: SearchStop,
    starts: usize,
    finished: usize,
    work: Work,
    claimed_bound: Option<f64>,
}

/// Searches for the best point of the problem's set. `bounds` are those of the problem's neurons, made when a method first needs
/// them. Every better point is offered to `better`, which may end the search.
pub fn search<'q>(
    problem: &'q Problem,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    options: &SearchOptions,
    budget: &Budget,
    mut better: impl FnMut(&Candidate) -> ControlFlow<()>,
) -> SearchResult {
    let rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut incumbent = Incumbent::new(problem, options.patience, budget, &mut better);
    let ended = match options.method {
        Method::Rw | Method::Paper | Method::FrankWolfe => {
            climb::climb(problem, bounds, options, rng, &mut incumbent)
        }
        Method::SampleMip => {
            baselines::sample_mip::sample_and_mip(problem, bounds, rng, &mut incumbent)
        }
        Method::Milp { warm } => {
            baselines::milp::branch_and_bound(problem, bounds, options, warm, &mut incumbent)
        }
        Method::Apgd => baselines::apgd::ascend(problem, rng, &mut incumbent),
    };
    let MethodResult { stop, starts, finished, work, claimed_bound } = ended;
    let Incumbent { best, time_to_best, curve, .. } = incumbent;
    SearchResult { best, starts, finished, claimed_bound, work, time_to_best, curve, stop }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_method() {
        for name in Method::NAMES {
            assert_eq!(name.parse::<Method>().map(Method::name), Ok(name));
        }
        assert_eq!("magic".parse::<Method>(), Err(UnknownMethod("magic".into())));
    }

    /// What a search found that reached these margins, a second each.
    fn found(begin: u64, margins: &[f64]) -> SearchResult {
        let curve: Curve =
            (begin..).map(Duration::from_secs).zip(margins.iter().copied()).collect();
        let &(time_to_best, margin) = curve.last().expect("a margin");
        SearchResult {
            best: Candidate { point: vec![margin], margin },
            starts: 1,
            finished: 1,
            claimed_bound: None,
            work: Work::default(),
            time_to_best,
            curve,
            stop: SearchStop::Patience,
        }
    }

    #[test]
    fn a_curve_goes_on_where_an_earlier_search_ended() {
        let seconds = |found: &SearchResult| -> Vec<(u64, f64)> {
            found.curve.iter().map(|&(time, margin)| (time.as_secs(), margin)).collect()
        };
        let earlier = || Some(found(0, &[-3.0, 1.0]));
        let better = found(5, &[-3.0, 0.0, 2.0]).after(earlier());
        assert_eq!(seconds(&better), [(0, -3.0), (1, 1.0), (7, 2.0)]);
        assert_eq!((better.best.margin, better.time_to_best.as_secs()), (2.0, 7));
        let mut worse = found(5, &[-3.0, 0.0]).after(earlier());
        assert_eq!(seconds(&worse), [(0, -3.0), (1, 1.0)]);
        assert_eq!((worse.best.margin, worse.time_to_best.as_secs()), (1.0, 1));
        assert_eq!(found(5, &[4.0]).after(None).best.margin, 4.0);
        for margin in [1.5, 1.25] {
            let candidate = Candidate { point: vec![margin], margin };
            worse.improve(&candidate, Duration::from_secs(9));
        }
        assert_eq!(seconds(&worse)[2..], [(9, 1.5)]);
        assert_eq!(worse.best.point, [1.5]);
    }
}
