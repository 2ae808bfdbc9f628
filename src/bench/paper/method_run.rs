//! One method on one instance.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Result;
use rw_adv::bounds::{Arithmetic, LinearBounds, NeuronBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::search::{Method, SearchEvent, SearchOptions, SearchStop, search};
use serde::{Deserialize, Serialize};

use super::instances::Instance;
use crate::interrupt::STOP;

/// What a method did with an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRun {
    pub instance: String,
    pub group: String,
    pub method: String,
    /// The best value, by the network's own forward pass.
    pub value: f64,
    pub seconds: f64,
    pub seconds_to_best: f64,
    pub starts: usize,
    /// Local searches that came to their end in time.
    pub finished: usize,
    pub regions: usize,
    pub lps: usize,
    pub iterations: usize,
    /// What branch and bound claims no point can exceed.
    pub claimed_bound: Option<f64>,
    /// Whether branch and bound claims that its value is optimal.
    pub claimed_optimal: bool,
    /// When which value was reached.
    pub trace: Vec<(f64, f64)>,
}

/// Runs a method; the time counts for all it does, bounds of neurons included.
///
/// # Errors
/// When there is no such problem.
pub fn run(instance: &Instance, method: Method, seconds: f64) -> Result<MethodRun> {
    let problem = instance.problem()?;
    let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), Some(&STOP));
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
        patience: usize::MAX,
        method,
        ..SearchOptions::default()
    };
    let mut trace = Vec::new();
    let found = search(&problem, &make, &options, &budget, |event| {
        if let SearchEvent::Better(better) = event {
            trace.push((budget.elapsed().as_secs_f64(), better.margin));
        }
        ControlFlow::Continue(())
    });
    Ok(MethodRun {
        instance: instance.name.clone(),
        group: instance.group.clone(),
        method: method.name().to_owned(),
        value: found.best.margin,
        seconds: budget.elapsed().as_secs_f64(),
        seconds_to_best: found.time_to_best.as_secs_f64(),
        starts: found.starts,
        finished: found.finished,
        regions: found.work.regions,
        lps: found.work.lps,
        iterations: found.work.iterations,
        claimed_bound: found.claimed_bound,
        claimed_optimal: found.stop == SearchStop::Claimed,
        trace,
    })
}
