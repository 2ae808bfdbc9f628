//! How an LP begins that has no other LP to begin from: with what the objective wants.

use super::model::NetworkLp;
use super::rows::RowKind;
use crate::lp::{Basis, BasisStatus, Simplex};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::sets::Move;

/// Moves in the first LP: all of them for small inputs.
const FIRST_MOVES: usize = 100;

impl NetworkLp<'_> {
    /// Adds the most promising moves and the rows that the objective pushes against, with a basis that suits the primal simplex.
    pub fn start_cold(&mut self) {
        let mut trace = self.affine.trace();
        self.problem.network.forward(self.problem.set.centre(), &mut trace);
        let guess = self.affine.objective_costs(&self.neurons, Some(&trace)).neurons;
        let pushed =
            guess.iter().zip(self.neurons.iter()).filter_map(|(&cost, (_, neuron))| match cost {
                0.0 => None,
                _ if cost > 0.0 => Some((neuron.id, RowKind::Chord)),
                _ => Some((neuron.id, RowKind::Lower)),
            });
        let pushed: Vec<(NeuronId, RowKind)> = pushed.collect();
        let pattern = self.pattern_of_chords();
        let gradient = self.problem.network.gradient(self.problem.weights(), &pattern);
        let worth = |_, at: Move| at.sign * gradient[at.pixel];
        let first = self.moves.best_missing(f64::NEG_INFINITY, FIRST_MOVES, worth);
        self.add_moves(&first);
        self.add_rows(&pushed);
        self.set_crash_basis(&pushed, &trace);
        self.first_simplex = Simplex::Primal;
    }

    /// A first basis: no pixel moves, and every neuron that the objective pushes against a row sits on it (`trace` is at the centre). That is
    /// nearly feasible and nearly optimal, where the solver's own first basis needs an iteration for each of them.
    fn set_crash_basis(&mut self, pushed: &[(NeuronId, RowKind)], trace: &Trace) {
        let mut cols = vec![BasisStatus::Lower; self.lp.cols()];
        let mut rows = vec![BasisStatus::Basic; self.lp.rows()];
        for &(id, kind) in pushed {
            let col = self.neurons.col_from_neuron(id);
            let (Some(col), Some(row)) = (col, self.rows.row_from_neuron(id, kind)) else {
                continue;
            };
            let on = trace.pre_activations(id.layer)[id.index] > 0.0;
            let status = match kind {
                RowKind::Chord => BasisStatus::Upper,
                RowKind::Lower if on => BasisStatus::Lower,
                _ => continue,
            };
            (cols[col.0], rows[row.0]) = (BasisStatus::Basic, status);
        }
        if let Err(error) = self.lp.set_basis(&Basis { cols, rows }) {
            log::debug!("relaxation: starting cold: {error}");
        }
    }

    /// The pattern of the chords' slopes, rounded: a guess at what will matter.
    fn pattern_of_chords(&self) -> ActivationPattern {
        let mut pattern = self.affine.held().clone();
        for (_, neuron) in self.neurons.iter() {
            pattern.set(neuron.id, neuron.interval.upper > -neuron.interval.lower);
        }
        pattern
    }
}
