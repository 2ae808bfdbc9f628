//! The problem as a MILP: the network's LP with a binary for every unstable neuron instead of the chord, whole or with all but a few neurons held in
//! their state of a pattern. Moves of inputs that take whole numbers only are integers: such an input is at one where it does not move.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use super::error::{EncodeError, MilpWriteError};
use super::network_lp::{NetworkLp, NeuronSplit, RowKind, UnstableNeuron};
use super::solve::LpWork;
use crate::bounds::{Interval, NeuronBounds};
use crate::budget::Budget;
use crate::lp::{Callbacks, Col, LpOutcome, LpSolution, NewRows, Row, Simplex};
use crate::network::{ActivationPattern, NeuronId};
use crate::problem::Problem;

/// What branch and bound of the MILP solver found.
#[derive(Clone, Debug)]
pub struct MilpSolution {
    /// The best point it found, if any.
    pub point: Option<Vec<f64>>,
    /// What it claims no point can exceed, if it claims anything.
    pub claimed_bound: Option<f64>,
    /// Whether it claims that its best point is optimal.
    pub finished: bool,
    /// What that has cost.
    pub work: LpWork,
}

/// A problem as a MILP, with big-M constants from the neurons' bounds.
pub struct Milp<'p> {
    lp: NetworkLp<'p>,
    /// The columns of the binaries, once they exist, in the order of the neurons' columns.
    col_from_state: Vec<Col>,
}

/// How one run of the MILP solver ended: its best point, its bound, and whether it claims an optimum.
struct SolverRun {
    best: Option<LpSolution>,
    claimed_bound: Option<f64>,
    finished: bool,
}

impl<'p> Milp<'p> {
    /// The whole problem.
    pub fn new(problem: &'p Problem, bounds: &NeuronBounds) -> Self {
        Self::of_split(problem, NeuronSplit::by_stability(&problem.network, bounds))
    }

    /// The problem with every neuron but the `free` ones held in its state of `pattern`.
    pub fn around(
        problem: &'p Problem,
        bounds: &NeuronBounds,
        pattern: &ActivationPattern,
        free: &HashSet<NeuronId>,
    ) -> Self {
        let pin = |id: NeuronId| (!free.contains(&id)).then(|| pattern.get(id.layer, id.index));
        Self::of_split(problem, NeuronSplit::pinning(&problem.network, bounds, pin))
    }

    fn of_split(problem: &'p Problem, split: NeuronSplit) -> Self {
        let mut lp = NetworkLp::new(problem, split);
        lp.start_cold();
        Self { lp, col_from_state: Vec::new() }
    }

    /// Solves by the solver's branch and bound, starting from `incumbent` if there is one. `better` is called with every better point; `Break`
    /// stops the solver.
    ///
    /// # Errors
    /// When the time is up before anything is known, or the solver fails.
    pub fn solve(
        mut self,
        incumbent: Option<&[f64]>,
        budget: &Budget,
        mut better: impl FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<MilpSolution, EncodeError> {
        if !self.lp.signs.is_empty() {
            // Of many signs few matter: the LP finds out which.
            self.lp.solve(budget)?;
        }
        self.complete();
        loop {
            let run = self.run_solver(incumbent, budget, &mut better)?;
            let point = run.best.as_ref().map(|best| self.lp.point(&best.cols));
            if let (Some(point), Some(best), true) = (&point, &run.best, run.finished) {
                let g = self.lp.pre_activations(point, &best.cols);
                let missing: Vec<(NeuronId, RowKind)> =
                    self.lp.violated_signs(&g).map(|(_, id, kind)| (id, kind)).collect();
                if !missing.is_empty() {
                    self.lp.add_rows(&missing);
                    continue;
                }
            }
            let SolverRun { claimed_bound, finished, .. } = run;
            return Ok(MilpSolution { point, claimed_bound, finished, work: self.lp.work });
        }
    }

    /// One run of the MILP solver on the rows that there are.
    fn run_solver(
        &mut self,
        incumbent: Option<&[f64]>,
        budget: &Budget,
        better: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<SolverRun, EncodeError> {
        if budget.is_spent() {
            return Err(EncodeError::Budget);
        }
        if let Some(incumbent) = incumbent {
            let start = self.columns_at(incumbent);
            self.lp.lp.set_start(&start);
        }
        let NetworkLp { lp, moves, problem, costs, work, .. } = &mut self.lp;
        let stopped = Cell::new(false);
        let mut tell = |cols: &[f64]| {
            let answer = better(&moves.point(&problem.set, cols));
            stopped.set(stopped.get() || answer.is_break());
        };
        let stop = || stopped.get() || budget.is_spent();
        let cancelled = || budget.is_cancelled();
        // Where the thread's own time counts, the solver stays on it.
        let gives_up: Option<&dyn Fn() -> bool> =
            if budget.counts_cpu() { None } else { Some(&cancelled) };
        let mut callbacks = Callbacks { on_improvement: &mut tell, should_stop: &stop, gives_up };
        let outcome =
            lp.solve_with_callbacks(budget.wall_left(), Simplex::Choose, Some(&mut callbacks))?;
        work.lps += 1;
        work.iterations += lp.iterations();
        let (best, bound, finished) = match outcome {
            LpOutcome::Optimal(solution) => {
                let bound = Some(solution.bound);
                (Some(solution), bound, true)
            }
            LpOutcome::Limit(stopped) => (stopped.incumbent, stopped.bound, false),
            other => return Err(EncodeError::without_solution(&other)),
        };
        let claimed_bound = bound.map(|bound| costs.constant + bound.value());
        let claimed_bound = claimed_bound.filter(|bound| bound.is_finite());
        Ok(SolverRun { best, claimed_bound, finished })
    }

    /// The model with every row and column, for [`MilpFile::write`].
    pub fn into_file(mut self) -> MilpFile<'p> {
        self.complete();
        let NetworkLp { lp, neurons, moves, .. } = &self.lp;
        let place =
            |neuron: &UnstableNeuron| format!("{}_{}", neuron.id.layer + 1, neuron.id.index);
        let mut names = vec![String::new(); lp.cols()];
        for (col, neuron) in neurons.iter() {
            names[col.0] = format!("h_{}", place(neuron));
        }
        for column in moves.columns() {
            let direction = if column.at.sign > 0.0 { "up" } else { "down" };
            names[column.col.0] = format!("{direction}_{}", column.at.pixel);
        }
        for (&col, (_, neuron)) in self.col_from_state.iter().zip(neurons.iter()) {
            names[col.0] = format!("z_{}", place(neuron));
        }
        MilpFile { lp: self.lp, names }
    }

    /// Adds every move and row that is still missing, and the binaries.
    fn complete(&mut self) {
        let lp = &mut self.lp;
        let missing = lp.moves.best_missing(f64::NEG_INFINITY, usize::MAX, |_, _| 0.0);
        lp.add_moves(&missing);
        let whole: Vec<Col> =
            lp.moves.columns().filter(|column| column.at.is_integer).map(|c| c.col).collect();
        whole.into_iter().for_each(|col| lp.lp.set_integer(col));
        let ids = || lp.neurons.iter().map(|(_, neuron)| neuron.id);
        let without = ids().filter(|&id| !lp.rows.contains(id, RowKind::Lower));
        let lower: Vec<(NeuronId, RowKind)> = without.map(|id| (id, RowKind::Lower)).collect();
        let big_m: Vec<(NeuronId, RowKind)> = ids().map(|id| (id, RowKind::BigM)).collect();
        lp.add_rows(&lower);
        // Rows first, then columns: the solver turns its matrix around whenever the one follows the other.
        lp.add_rows(&big_m);
        let mut off_rows = NewRows::default();
        for (col, _) in lp.neurons.iter() {
            off_rows.push(f64::NEG_INFINITY, 0.0, [(col, 1.0)]);
        }
        let Row(first_off) = lp.lp.add_rows(&off_rows);
        for (k, (_, neuron)) in lp.neurons.iter().enumerate() {
            let Interval { lower, upper } = neuron.interval;
            let big_m = lp.rows.row_from_neuron(neuron.id, RowKind::BigM).expect("just added");
            let entries = [(big_m, -lower), (Row(first_off + k), -upper)];
            let state = lp.lp.add_col(0.0, 0.0, 1.0, &entries);
            lp.lp.set_integer(state);
            self.col_from_state.push(state);
        }
    }

    /// The values of all columns at the input `x`.
    fn columns_at(&self, x: &[f64]) -> Vec<f64> {
        let NetworkLp { lp, neurons, moves, problem, affine, .. } = &self.lp;
        let mut trace = affine.trace();
        problem.network.forward(x, &mut trace);
        let mut values = vec![0.0; lp.cols()];
        for ((col, neuron), state) in neurons.iter().zip(&self.col_from_state) {
            let NeuronId { layer, index } = neuron.id;
            values[col.0] = trace.activations(layer)[index];
            values[state.0] = f64::from(u8::from(trace.pre_activations(layer)[index] > 0.0));
        }
        for (col, amount) in moves.amounts(&problem.set, x) {
            values[col.0] = amount;
        }
        values
    }
}

/// A MILP as a file for other solvers. Columns are called after what they mean: `h_1_5` and `z_1_5` are output and state of neuron 5 of the first
/// hidden layer, `up_7` and `down_7` how far input 7 moves from where it stands, and `one` is 1 and carries the constant of the objective.
pub struct MilpFile<'p> {
    lp: NetworkLp<'p>,
    /// By column.
    names: Vec<String>,
}

impl MilpFile<'_> {
    /// Writes the file, in the format (`.mps` or `.lp`) that its name ends in. `offset` is added to the objective.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path, offset: f64) -> Result<(), MilpWriteError> {
        Ok(self.lp.lp.write(path, &self.names, self.lp.costs.constant + offset)?)
    }

    /// The input at a solution that another solver gave: the value of each column by its name, 0 for those without one.
    pub fn point(&self, value_from_name: &HashMap<String, f64>) -> Vec<f64> {
        let value = |name| value_from_name.get(name).copied().filter(|v| v.is_finite());
        let cols: Vec<f64> = self.names.iter().map(|name| value(name).unwrap_or(0.0)).collect();
        self.lp.point(&cols)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bounds::interval_arithmetic;
    use crate::network::{AffineMap, Network, Trace};
    use crate::problem::Objective;
    use crate::sets::InputSet;

    /// `|x|` for x in [−1, 0.5], as `relu(x) + relu(−x)`: 1 at the far end, 0.5 in the region of positive inputs.
    #[test]
    fn the_whole_problem_has_the_far_optimum_and_a_pattern_its_own() {
        let hidden = AffineMap::from_rows(&[[1.0], [-1.0]], vec![0.0, 0.0]);
        let output = AffineMap::from_rows(&[[1.0, 1.0]], vec![0.0]);
        let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
        let set = InputSet::new_box(&[-1.0], &[0.5]);
        let problem = Problem::new(&network, set, Objective::new(vec![1.0]));
        let bounds = interval_arithmetic(&network, &problem.set);
        let mut trace = Trace::new(&network);
        network.forward(&[0.25], &mut trace);
        let positive = ActivationPattern::at(&trace);
        let whole = Milp::new(&problem, &bounds);
        let around = Milp::around(&problem, &bounds, &positive, &HashSet::new());
        for (milp, x, value) in [(whole, -1.0, 1.0), (around, 0.5, 0.5)] {
            let go_on = |_: &[f64]| ControlFlow::Continue(());
            let solution = milp.solve(Some(&[0.25]), &Budget::unlimited(), go_on).expect("solved");
            assert!(solution.finished);
            let point = solution.point.expect("a point");
            assert!((point[0] - x).abs() < 1e-6, "{point:?}");
            assert!((solution.claimed_bound.expect("a bound") - value).abs() < 1e-5);
        }
    }
}
