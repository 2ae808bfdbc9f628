//! The pipeline, the same for every problem: bound, search, branch, judge.
//!
//! [`Solver`] holds what questions about one network and one set share: the neurons' bounds are made when the first question needs
//! them. All images, radii, `maximize` problems and property files come through here.

mod answer;
mod bottleneck;
mod boxes;
mod error;
mod known;
mod options;
mod pipeline;
mod property;
mod shared_bounds;
mod smallest_row;
mod solver;

use std::sync::Arc;

use crate::budget::Budget;
use crate::judge::{Judge, Replay};
use crate::observer::Observer;
use crate::problem::{Objective, Problem, Property};

pub use answer::{Solution, Stop, TreeSummary};
pub use error::SolveError;
pub use options::{BranchLimits, Goal, SolveOptions};
pub use property::Decision;
pub use solver::Solver;

use pipeline::Pipeline;

/// Answers one problem.
///
/// ```
/// use std::sync::Arc;
///
/// use rw_adv::budget::Budget;
/// use rw_adv::onnx::OnnxModel;
/// use rw_adv::problem::{Objective, Problem};
/// use rw_adv::sets::InputSet;
/// use rw_adv::solve::{SolveOptions, solve};
///
/// // How large can y0 − y1 get over the unit box?
/// let model = OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref())?;
/// let set = InputSet::new_box(&[0.0; 5], &[1.0; 5]);
/// let problem = Problem::new(&model.network, set, Objective::new(vec![1.0, -1.0, 0.0, 0.0, 0.0]));
/// let answer = solve(&problem, model.replay, &SolveOptions::default(), &Budget::unlimited())?;
/// assert!(answer.bound.is_some_and(|bound| answer.search.best.margin <= bound.value()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the judge cannot run the model, or a point contradicts a bound.
pub fn solve(
    problem: &Problem,
    replay: Arc<dyn Replay>,
    options: &SolveOptions,
    budget: &Budget,
) -> Result<Solution, SolveError> {
    let judge = Judge::new(Arc::clone(&problem.network), replay);
    let solver = Solver::new(judge, problem.set.clone(), options);
    solver.solve(&problem.question, options.search.seed, budget, &())
}

impl Solver {
    /// Maximises an objective: bounds it, searches, branches if that is asked for, and judges the best point.
    ///
    /// # Errors
    /// When the judge cannot run the model, or a point contradicts a bound.
    pub fn solve(
        &self,
        objective: &Objective,
        seed: u64,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Solution, SolveError> {
        let property = Property::positive(self.options.above_threshold(objective));
        Pipeline::new(self, objective, &property, seed, budget, observer).answer()
    }

    /// Answers whether some input of the set has a property.
    ///
    /// # Errors
    /// When the judge cannot run the model, or a point contradicts a bound.
    pub fn decide(
        &self,
        property: &Property,
        seed: u64,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Decision, SolveError> {
        property::decide(self, property, seed, budget, observer)
    }
}
