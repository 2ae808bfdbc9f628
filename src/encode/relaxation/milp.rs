//! The problem for branch and bound: the relaxation with binaries instead of chords, whole or with all but a few neurons
//! pinned.

use std::cell::Cell;
use std::path::Path;

use super::{Neuron, Relaxation, RowKind};
use crate::bounds::Interval;
use crate::budget::Budget;
use crate::encode::{EncodeError, MilpWriteError, Work};
use crate::lp::{Callbacks, Col, LpOutcome, NewRows, Row, Simplex};
use crate::network::NeuronId;

/// What branch and bound says.
#[derive(Clone, Debug)]
pub struct MilpAnswer {
    /// The best point it found, if any.
    pub point: Option<Vec<f64>>,
    /// What it claims no point can exceed, if it claims anything.
    pub claimed_bound: Option<f64>,
    /// Whether it claims that its best point is optimal.
    pub finished: bool,
    /// What that has cost.
    pub work: Work,
}

impl Relaxation<'_> {
    /// Solves by branch and bound: one binary per unstable neuron, big-M from the bounds, starting from `incumbent` if there is
    /// one. Better points are told to `better` as they come; it answers whether to stop.
    ///
    /// # Errors
    /// When the time is up before anything is known, or the solver fails.
    pub fn solve_milp(
        mut self,
        incumbent: Option<&[f64]>,
        budget: &Budget,
        mut better: impl FnMut(&[f64]) -> bool,
    ) -> Result<MilpAnswer, EncodeError> {
        if !self.pinned.is_empty() {
            // Of many signs few matter: the LP finds out which.
            self.solve(budget)?;
        }
        self.complete();
        loop {
            if budget.is_spent() {
                return Err(EncodeError::Budget);
            }
            if let Some(incumbent) = incumbent {
                self.lp.set_start(&self.milp_point(incumbent));
            }
            let (first_move, moves, set) = (self.neurons.len(), &self.moves, &self.problem.set);
            let enough = Cell::new(false);
            let mut tell = |cols: &[f64]| {
                enough.set(better(&moves.point(set, &cols[first_move..])) || enough.get());
            };
            let stop = || enough.get() || budget.is_spent();
            let mut calls = Callbacks { on_improvement: &mut tell, should_stop: &stop };
            let (left, choose) = (budget.left(), Simplex::Choose);
            let outcome = self.lp.solve_with_callbacks(left, choose, Some(&mut calls))?;
            self.work.lps += 1;
            self.work.iterations += self.lp.iterations();
            let (solution, bound, finished) = match outcome {
                LpOutcome::Optimal(solution) => {
                    let bound = Some(solution.bound);
                    (Some(solution), bound, true)
                }
                LpOutcome::Limit(stopped) => (stopped.incumbent, stopped.bound, false),
                other => return Err(EncodeError::without_solution(&other)),
            };
            let point = solution.as_ref().map(|solution| self.point(solution));
            if let (Some(point), Some(solution), true) = (&point, &solution, finished) {
                let g = self.pre_activations(point, solution);
                let missing: Vec<(NeuronId, RowKind)> =
                    self.unsigned(&g).map(|(_, id, side)| (id, side)).collect();
                if !missing.is_empty() {
                    self.add_rows(&missing);
                    continue;
                }
            }
            let claimed = bound.map(|bound| self.costs.constant + bound.value());
            let claimed_bound = claimed.filter(|bound| bound.is_finite());
            return Ok(MilpAnswer { point, claimed_bound, finished, work: self.work });
        }
    }

    /// Writes the model for other solvers, in the format (`.mps` or `.lp`) that the name ends in. Columns are called after
    /// what they mean: `h_1_5` and `z_1_5` are output and state of neuron 5 of the first hidden layer, `up_7` and `down_7` how far input 7 moves
    /// from where it stands. `offset` is added to the objective.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(mut self, path: &Path, offset: f64) -> Result<(), MilpWriteError> {
        self.complete();
        let of_neuron =
            |kind: &str, n: &Neuron| format!("{kind}_{}_{}", n.id.layer + 1, n.id.index);
        let outputs = self.neurons.iter().map(|n| of_neuron("h", n));
        let moves = self
            .moves
            .joined()
            .map(|m| format!("{}_{}", if m.sign > 0.0 { "up" } else { "down" }, m.pixel));
        let states = self.neurons.iter().map(|n| of_neuron("z", n));
        let names: Vec<String> = outputs.chain(moves).chain(states).collect();
        for (col, name) in names.iter().enumerate() {
            self.lp.set_col_name(Col(col), name);
        }
        Ok(self.lp.write(path, self.costs.constant + offset)?)
    }

    /// Adds all that is left to add on demand, and the binaries.
    fn complete(&mut self) {
        let outside = self.moves.best_outside(f64::NEG_INFINITY, usize::MAX, |_, _| 0.0);
        self.add_columns(&outside);
        let missing = self.neurons.iter().filter(|neuron| neuron.lower.is_none());
        let missing: Vec<(NeuronId, RowKind)> = missing.map(|n| (n.id, RowKind::Lower)).collect();
        self.add_rows(&missing);
        // Rows first, then columns: the solver turns its matrix around whenever the one follows the other.
        let big_m = self.lp.rows();
        let all: Vec<(NeuronId, RowKind)> =
            self.neurons.iter().map(|n| (n.id, RowKind::BigM)).collect();
        self.add_rows(&all);
        let off = self.lp.rows();
        let mut rows = NewRows::default();
        for place in 0..self.neurons.len() {
            rows.push(f64::NEG_INFINITY, 0.0, [(Col(place), 1.0)]);
        }
        self.lp.add_rows(&rows);
        for (place, Neuron { interval, .. }) in self.neurons.iter().enumerate() {
            let Interval { lower, upper } = *interval;
            let rows = [(Row(big_m + place), -lower), (Row(off + place), -upper)];
            let z = self.lp.add_col(0.0, 0.0, 1.0, &rows);
            self.lp.set_integer(z);
        }
    }

    /// `x` told in all columns of the MILP.
    fn milp_point(&self, x: &[f64]) -> Vec<f64> {
        let mut trace = self.at_centre.clone();
        self.problem.network.forward(x, &mut trace);
        let outputs = self.neurons.iter().map(|n| trace.activations(n.id.layer)[n.id.index]);
        let moves = self.moves.amounts(&self.problem.set, x);
        let on =
            |n: &Neuron| f64::from(u8::from(trace.pre_activations(n.id.layer)[n.id.index] > 0.0));
        outputs.chain(moves).chain(self.neurons.iter().map(on)).collect()
    }
}
