//! The region LP written out in full: what the lazy one of [`RegionLp`](super::RegionLp) is measured against.

use super::error::EncodeError;
use super::move_columns::{MoveColumn, MoveColumns};
use super::region::sign_sides;
use super::solve::{LpWork, solve};
use crate::budget::Budget;
use crate::lp::{LpModel, NewRows, Simplex};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;

/// The value of a region LP with every ReLU a row and every move a column. Slow.
///
/// # Errors
/// When the region is empty or the solver fails.
pub fn dense_region_value(
    problem: &Problem,
    pattern: &ActivationPattern,
) -> Result<f64, EncodeError> {
    let network = &problem.network;
    let mut at_centre = Trace::new(network);
    network.forward_held(problem.set.centre(), pattern, &mut at_centre);
    let gradient = network.gradient(problem.weights(), pattern);
    let (mut lp, mut moves) = (LpModel::new(), MoveColumns::new(&problem.set));
    moves.begin(&mut lp);
    moves.add_all(&mut lp, &gradient);
    let pixels: Vec<usize> = (0..network.inputs()).collect();
    let neurons: Vec<NeuronId> = network.relus().collect();
    let slopes = network.slopes(&network.neuron_slopes(&neurons, pattern), &pixels);
    let mut rows = NewRows::default();
    for (k, &neuron) in neurons.iter().enumerate() {
        let columns = moves.columns();
        let entries =
            columns.map(|MoveColumn { at, col, .. }| (col, at.sign * slopes[(at.pixel, k)]));
        let (lower, upper) = sign_sides(neuron, pattern, &at_centre);
        rows.push(lower, upper, entries);
    }
    lp.add_rows(&rows);
    let unlimited = Budget::unlimited();
    let solution = solve(&mut lp, Simplex::Dual, &unlimited, &mut LpWork::default())?;
    Ok(problem.value(&at_centre) + solution.objective)
}
