//! How long something takes, and what is typical.

use rw_adv::bounds::{Arithmetic, LinearBounds, NeuronBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::problem::Problem;

/// Runs `work` and tells how long it took, in seconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let clock = Budget::unlimited();
    let result = work();
    (result, clock.elapsed().as_secs_f64())
}

/// The value in the middle.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bounds of all neurons, as long as they take.
pub fn neuron_bounds(problem: &Problem) -> NeuronBounds {
    let (network, set) = (&problem.network, &problem.set);
    let unlimited = Budget::unlimited();
    LinearBounds::new(network, set, UpperRelaxation::Envelopes, Arithmetic::Exact, &unlimited)
        .neurons()
        .clone()
}

/// Clock ticks of `/proc` in a second, on every Linux.
const TICKS: f64 = 100.0;

/// User time of all children that have ended, in seconds, where the system tells.
pub fn cpu_of_children() -> Option<f64> {
    // `cutime`.
    seconds_of_process(14)
}

/// What the system worked for them, in seconds.
pub fn system_of_children() -> Option<f64> {
    // `cstime`.
    seconds_of_process(15)
}

/// Time of this process alone, the system's work for it included, in seconds.
pub fn cpu_of_this_process() -> Option<f64> {
    // `utime` and `stime`.
    Some(seconds_of_process(12)? + seconds_of_process(13)?)
}

/// A time of this process, by its place behind the name.
fn seconds_of_process(place: usize) -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may hold anything.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: f64 = fields.split_whitespace().nth(place - 1)?.parse().ok()?;
    Some(ticks / TICKS)
}

/// How a goal is answered.
pub fn yes_or_no(reached: bool) -> &'static str {
    if reached { "yes" } else { "no" }
}
