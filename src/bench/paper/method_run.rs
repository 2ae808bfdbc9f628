//! One method on one instance.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Result;
use rw_adv::bounds::{Arithmetic, LinearBounds, NeuronBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::search::{SearchEvent, SearchOptions, SearchStop, search};
use serde::{Deserialize, Serialize};

use super::instances::Instance;
use super::methods::NamedMethod;
use crate::interrupt::STOP;

/// What a method did with an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRun {
    pub instance: String,
    pub group: String,
    pub method: String,
    /// The best value, by the network's own forward pass.
    pub value: f64,
    /// CPU time of the thread; for solvers outside this program, time on the wall clock.
    pub seconds: f64,
    /// Time on the wall clock. Beside `seconds` it tells how busy the machine was. None in runs that counted nothing else.
    #[serde(default)]
    pub wall_seconds: Option<f64>,
    pub seconds_to_best: f64,
    pub starts: usize,
    /// Local searches that came to their end in time.
    pub finished: usize,
    /// Points that the method itself came to: 0 if a MILP solver found no feasible solution. None in runs that did not count them.
    #[serde(default)]
    pub points: Option<usize>,
    /// The solver does not take this problem, because of its licence: nothing else here counts.
    #[serde(default)]
    pub refused: bool,
    pub regions: usize,
    pub lps: usize,
    pub iterations: usize,
    /// What branch and bound claims no point can exceed.
    pub claimed_bound: Option<f64>,
    /// Whether branch and bound claims that its value is optimal.
    pub claimed_optimal: bool,
    /// When which value was reached.
    #[serde(default)]
    pub trace: Vec<(f64, f64)>,
}

/// How long a method may search.
#[derive(Clone, Copy, Debug)]
pub struct RunLimit {
    /// CPU time of the thread. A solver outside this program gets what is left of it when the model is written.
    pub seconds: f64,
    /// Starts.
    pub starts: usize,
}

/// Runs a method; the time counts for all it does, bounds of neurons included.
///
/// # Errors
/// When there is no such problem.
pub fn run(instance: &Instance, method: NamedMethod, limit: RunLimit) -> Result<MethodRun> {
    let problem = instance.problem()?;
    let RunLimit { seconds, starts } = limit;
    let budget = Budget::start_cpu(Some(Duration::from_secs_f64(seconds)), Some(&STOP));
    let bounds: OnceCell<NeuronBounds> = OnceCell::new();
    let make = || {
        bounds.get_or_init(|| {
            let (network, set) = (&problem.network, &problem.set);
            let half = budget.half();
            LinearBounds::new(network, set, UpperRelaxation::Envelopes, Arithmetic::Exact, &half)
                .neurons()
                .clone()
        })
    };
    let options = SearchOptions {
        seed: instance.seed,
        most_starts: starts,
        patience: usize::MAX,
        method: method.method,
        ..SearchOptions::default()
    };
    let mut trace = Vec::new();
    let found = search(&problem, &make, &options, &budget, |event| {
        if let SearchEvent::Better(better) = event {
            trace.push((budget.elapsed().as_secs_f64(), better.margin));
        }
        ControlFlow::Continue(())
    });
    let (cpu, wall) = (budget.elapsed().as_secs_f64(), budget.wall_elapsed().as_secs_f64());
    let is_external = method.method.solver().is_some();
    Ok(MethodRun {
        instance: instance.name.clone(),
        group: instance.group.clone(),
        method: method.name.to_owned(),
        value: found.best.margin,
        seconds: if is_external { wall } else { cpu },
        wall_seconds: Some(wall),
        seconds_to_best: found.time_to_best.as_secs_f64(),
        starts: found.starts,
        finished: found.finished,
        points: Some(found.points),
        refused: found.stop == SearchStop::Refused,
        regions: found.work.regions,
        lps: found.work.lps,
        iterations: found.work.iterations,
        claimed_bound: found.claimed_bound,
        claimed_optimal: found.stop == SearchStop::Claimed,
        trace,
    })
}
