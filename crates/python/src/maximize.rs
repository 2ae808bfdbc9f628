//! The largest value of a linear function of the outputs.

use std::path::PathBuf;
use std::time::Duration;

use numpy::PyArray1;
use pyo3::prelude::*;
use rw_adv::budget::Budget;
use rw_adv::encode::EncodeError;
use rw_adv::formula::Linear;
use rw_adv::maximize::Maximization;
use rw_adv::record::{MaximizeSettings, json};
use rw_adv::run::{MaximizeJob, Pictures, ProofFiles, has_spare_threads};
use rw_adv::search::SearchOptions;
use rw_adv::sets::{Constraint, Domain};
use rw_adv::solve::{BranchLimits, SolveOptions};

use crate::attack::{goal, method};
use crate::background::{self, Outside, to_json};
use crate::errors::{Failure, chain, guarded};
use crate::model::Model;
use crate::saved::Finished;

/// A row of `A x <= b`: inputs with their weights, and the two sides.
type Row = (Vec<(usize, f64)>, f64, f64);

/// Where inputs may lie, as Python tells it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct DomainArgument {
    lower: Vec<f64>,
    upper: Vec<f64>,
    rows: Vec<Row>,
    /// The inputs that take whole numbers only.
    integers: Vec<usize>,
}

impl DomainArgument {
    pub fn domain(self) -> Result<Domain, Failure> {
        let Self { lower, upper, rows, integers } = self;
        let row = |(terms, low, high): Row| Constraint::new(&terms, low, high);
        let constraints = rows.into_iter().map(row).collect();
        Domain { lower, upper, constraints, integers: Vec::new() }
            .with_integers(&integers)
            .map_err(|error| Failure::Input(chain(&error)))
    }
}

/// What is asked, and how to run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MaximizeOptions {
    /// Outputs and their weights.
    terms: Vec<(usize, f64)>,
    constant: f64,
    /// The same for people.
    objective: String,
    goal: String,
    threshold: Option<f64>,
    method: String,
    patience: usize,
    branch: Option<usize>,
    gap: f64,
    proofs: bool,
    check_proofs: bool,
    seed: u64,
    time_limit: Option<f64>,
    threads: Option<usize>,
}

impl MaximizeOptions {
    fn solve_options(&self) -> Result<SolveOptions, Failure> {
        let &Self { seed, patience, threshold, gap, .. } = self;
        let proofs = self.proofs || self.check_proofs;
        let method = method(&self.method)?;
        let search = SearchOptions { seed, patience, method, ..SearchOptions::default() };
        let parallel = has_spare_threads(1);
        let branch = self.branch.map(|nodes| BranchLimits { nodes, gap, parallel });
        Ok(SolveOptions { search, goal: goal(&self.goal)?, threshold, branch, proofs })
    }

    fn settings(&self, model: &Model, domain: &Domain, options: &SolveOptions) -> MaximizeSettings {
        let least = domain.lower.iter().copied().fold(f64::INFINITY, f64::min);
        let most = domain.upper.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rows = domain.constraints.len();
        MaximizeSettings {
            model: model.name.clone(),
            model_sha256: model.model.sha256.clone(),
            widths: model.model.network.widths(),
            objective: self.objective.clone(),
            bounds: [least, most],
            constraints: (rows > 0).then(|| format!("an array of {rows} rows")),
            method: options.search.method,
            way_out: options.search.way_out,
            patience: self.patience,
            branch: self.branch,
            goal: options.goal,
            threshold: self.threshold,
            time_limit: self.time_limit,
            seed: self.seed,
        }
    }

    fn run(
        self,
        model: &Model,
        domain: &Domain,
        outside: &Outside,
    ) -> Result<Finished<MaximizeJob>, Failure> {
        let limit = self.time_limit.map(Duration::from_secs_f64);
        let budget = Budget::start(limit, Some(outside.cancelled()));
        let options = self.solve_options()?;
        let objective = Linear { terms: self.terms.clone(), constant: self.constant };
        let problem = Maximization::new(&model.model, domain, &objective, &options, &budget)
            .map_err(|error| why_no_point(error, &budget))?;
        let accepted = problem.accepts(options.search.method);
        accepted.map_err(|error| Failure::Input(chain(&error)))?;
        let settings = self.settings(model, domain, &options);
        let mut fields = json::fields(&settings);
        fields.insert("gap".into(), options.gap().into());
        let job = MaximizeJob {
            problem,
            settings,
            optimal_gap: options.gap(),
            proofs: None,
            self_check: model.self_check(self.check_proofs)?,
            input_dims: model.model.input_dims.clone(),
        };
        Finished::run(job, vec![()], fields, budget.left(), outside, Clone::clone)
    }
}

/// Why no point of the domain is known.
pub fn why_no_point(error: EncodeError, budget: &Budget) -> Failure {
    match error {
        EncodeError::Infeasible => {
            Failure::Input("A, b: no input keeps all bounds and constraints".into())
        }
        EncodeError::Budget if budget.is_cancelled() => Failure::Interrupted,
        EncodeError::Budget => {
            Failure::Solve("no time to find an input that keeps all constraints".into())
        }
        other => Failure::Solve(chain(&other)),
    }
}

/// Maximises a linear function of the outputs.
#[pyfunction]
pub fn maximize(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    domain: DomainArgument,
    options: MaximizeOptions,
) -> PyResult<MaximizeRun> {
    let (model, proofs) = (model.get().share(), options.proofs);
    let finished = background::run(py, options.threads, None, move |outside| {
        let run = options.run(&model, &domain.domain()?, outside)?;
        if run.records.is_empty() { Err(Failure::Interrupted) } else { Ok((run, model)) }
    });
    let (finished, model) = finished?;
    Ok(MaximizeRun { finished, sha256: model.model.sha256.clone(), proofs })
}

/// The record of a maximum, and its point.
#[pyclass(frozen, module = "rw_adv._native")]
pub struct MaximizeRun {
    finished: Finished<MaximizeJob>,
    sha256: String,
    proofs: bool,
}

#[pymethods]
impl MaximizeRun {
    /// The record as JSON.
    fn record(&self) -> String {
        to_json(&self.finished.records[0])
    }

    /// The best point.
    fn point<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let answer = self.finished.answers().next()?;
        Some(PyArray1::from_slice(py, &answer.point))
    }

    #[getter]
    fn complete(&self) -> bool {
        self.finished.complete
    }

    /// Writes the record, the point and, if it was kept, the proof to a new directory.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        guarded(|| py.detach(|| self.write(&directory)))?.map_err(Into::into)
    }
}

impl MaximizeRun {
    fn write(&self, directory: &std::path::Path) -> Result<(), Failure> {
        self.finished.check(&[()], directory)?;
        self.finished.write(&self.finished.job, vec![()], directory, Pictures::default().name())?;
        if self.proofs {
            let folder = directory.join(crate::attack::PROOFS);
            let files = ProofFiles::create(&folder, &self.sha256)?;
            for answer in self.finished.answers() {
                let problem = self.finished.job.problem.problem();
                let inputs = self.finished.job.problem.inputs();
                files.save_maximum(&problem, inputs, &answer.solution.claims)?;
            }
        }
        Ok(())
    }
}
