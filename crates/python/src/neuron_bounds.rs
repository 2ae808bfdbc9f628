//! Bounds of every hidden neuron, for MILP models of others.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use rw_adv::bounds::{Arithmetic, Interval};
use rw_adv::budget::Budget;
use rw_adv::encode::interior_point;
use rw_adv::judge::Judge;
use rw_adv::sets::{InputSet, PixelRange};
use rw_adv::solve::{SolveOptions, Solver};

use crate::background;
use crate::errors::Failure;
use crate::maximize::{DomainArgument, why_no_point};
use crate::model::Model;

/// Lower and upper bounds of the neurons of one layer.
type LayerBounds<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Where inputs may lie.
#[derive(FromPyObject)]
pub enum SetArgument {
    /// Centre, radius and norm of a ball that is cut by the box of pixels.
    Ball(Vec<f64>, f64, String),
    /// A box, perhaps cut by linear constraints.
    Domain(DomainArgument),
}

impl SetArgument {
    fn set(self, budget: &Budget) -> Result<InputSet, Failure> {
        match self {
            Self::Ball(centre, radius, norm) => {
                let norm =
                    norm.parse().map_err(|problem| Failure::Input(format!("norm: {problem}")))?;
                Ok(InputSet::ball(norm, &centre, radius, PixelRange::UNIT))
            }
            Self::Domain(domain) => {
                let domain = domain.domain()?;
                let centre = if domain.constraints.is_empty() {
                    domain.lower.clone()
                } else {
                    interior_point(&domain, budget).map_err(|error| why_no_point(error, budget))?
                };
                Ok(InputSet::of_domain(&domain, centre))
            }
        }
    }
}

/// Bounds of the pre-activations of all hidden neurons, layer by layer.
#[pyfunction]
#[pyo3(signature = (model, set, threads=None))]
pub fn neuron_bounds<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    set: SetArgument,
    threads: Option<usize>,
) -> PyResult<Vec<LayerBounds<'py>>> {
    let model = model.get().share().model;
    let layers = background::run(py, threads, None, move |outside| {
        let budget = Budget::start(None, Some(outside.cancelled()));
        let judge = Judge::new(Arc::clone(&model.network), model.replay.clone());
        let solver = Solver::new(judge, set.set(&budget)?, &SolveOptions::default());
        let neurons = solver.bounds(Arithmetic::Exact, &budget).neurons();
        let layers = (0..neurons.hidden()).map(|layer| neurons.layer(layer).to_vec());
        Ok(layers.collect::<Vec<Vec<Interval>>>())
    })?;
    let arrays = |layer: Vec<Interval>| {
        let (lower, upper): (Vec<f64>, Vec<f64>) =
            layer.into_iter().map(|interval| (interval.lower, interval.upper)).unzip();
        (lower.into_pyarray(py), upper.into_pyarray(py))
    };
    Ok(layers.into_iter().map(arrays).collect())
}
