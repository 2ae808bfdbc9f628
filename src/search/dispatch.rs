//! One door to all methods.

use std::ops::ControlFlow;

use super::baselines::{apgd, external, milp, sample_mip};
use super::incumbent::Incumbent;
use super::method::Method;
use super::options::SearchOptions;
use super::result::{SearchEvent, SearchResult};
use super::rw::relax_and_walk;
use super::task::{MethodResult, SearchMethod, SearchTask};
use crate::bounds::NeuronBounds;
use crate::budget::Budget;
use crate::problem::Problem;

/// Searches for the best point of the problem's set. `bounds` gives the bounds of the problem's neurons; it is called when a method first needs
/// them. `watch` is called with every better point and after every start; `Break` ends the search.
pub fn search<'p>(
    problem: &'p Problem,
    bounds: &dyn Fn() -> &'p NeuronBounds,
    options: &SearchOptions,
    budget: &Budget,
    mut watch: impl FnMut(SearchEvent) -> ControlFlow<()>,
) -> SearchResult {
    let method: SearchMethod = match options.method {
        Method::Rw | Method::Paper | Method::FrankWolfe => relax_and_walk,
        Method::SampleMip => sample_mip,
        Method::Milp { .. } => milp,
        Method::Apgd => apgd,
        Method::External { .. } => external,
    };
    let mut incumbent = Incumbent::new(problem, options, budget, &mut watch);
    let ended = method(&SearchTask::new(problem, bounds, *options), &mut incumbent);
    let MethodResult { stop, starts, finished, work, claimed_bound } = ended;
    let work = work + incumbent.work();
    let Incumbent { best, time_to_best, curve, points, .. } = incumbent;
    SearchResult { best, starts, finished, points, claimed_bound, work, time_to_best, curve, stop }
}
