//! Properties in VNN-LIB.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use rw_adv::budget::Budget;
use rw_adv::record::{VerifyInstance, VerifyRecord};
use rw_adv::run::has_spare_threads;
use rw_adv::search::SearchOptions;
use rw_adv::solve::{BranchLimits, Goal, SolveOptions};
use rw_adv::tolerance::OPTIMAL_GAP;
use rw_adv::verify::{Verification, VerifyError};
use rw_adv::vnnlib::VnnlibQuery;

use crate::background::{self, to_json};
use crate::errors::{Failure, chain};
use crate::model::Model;

/// How to run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct VerifyOptions {
    /// Nodes at most.
    branch: usize,
    patience: usize,
    seed: u64,
    time_limit: Option<f64>,
    threads: Option<usize>,
}

/// Decides the property in a file, or in a text. Gives the record as JSON.
#[pyfunction]
#[pyo3(signature = (model, name, text, options))]
pub fn verify(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    name: PathBuf,
    text: Option<String>,
    options: VerifyOptions,
) -> PyResult<String> {
    let model = model.get().share();
    background::run(py, options.threads, None, move |outside| {
        let limit = options.time_limit.map(Duration::from_secs_f64);
        let budget = Budget::start(limit, Some(outside.cancelled()));
        let property = name.display().to_string();
        let query = match &text {
            Some(text) => VnnlibQuery::from_text(text, &property)?,
            None => VnnlibQuery::read(&name)?,
        };
        let (seed, patience) = (options.seed, options.patience);
        let search = SearchOptions { seed, patience, ..SearchOptions::default() };
        let (nodes, gap, parallel) = (options.branch, OPTIMAL_GAP, has_spare_threads(1));
        let branch = Some(BranchLimits { nodes, gap, parallel });
        let options =
            SolveOptions { search, goal: Goal::Verdict, branch, ..SolveOptions::default() };
        let problem = Verification::new(&model.model, query, &options).map_err(failure)?;
        let answer = problem.solve(&budget, &()).map_err(failure)?;
        let timeout = limit.map(|limit| limit.as_secs_f64());
        let instance = VerifyInstance { instance: 0, model: model.name, property, timeout };
        let seconds = budget.elapsed().as_secs_f64();
        Ok(to_json(&VerifyRecord::new(&instance, &Ok(answer), seed, seconds)))
    })
}

fn failure(error: VerifyError) -> Failure {
    match error {
        VerifyError::Solve(error) => Failure::Solve(chain(&error)),
        about_the_property => Failure::Property(chain(&about_the_property)),
    }
}
