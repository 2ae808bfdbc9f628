//! Where an LP ended, in terms of neurons and moves, so that the LP of a part can begin from it.

use super::model::NetworkLp;
use super::rows::RowKind;
use crate::lp::{Basis, BasisStatus, LpSolution, Simplex};
use crate::network::NeuronId;

/// Moves at their lower bound that are kept, of all those that an LP had.
const KEPT_MOVES: usize = 30;

/// The rows and moves with which an LP ended, and its basis.
#[derive(Clone, Debug, Default)]
pub struct WarmStart {
    /// By index among the moves of the set.
    moves: Vec<(usize, BasisStatus)>,
    neurons: Vec<(NeuronId, BasisStatus)>,
    neuron_rows: Vec<(NeuronId, RowKind, BasisStatus)>,
    set_rows: Vec<BasisStatus>,
}

impl NetworkLp<'_> {
    /// Adds the moves and rows with which another LP of the same set ended, as far as they make sense here, and the rows of all demanded
    /// signs. Begins with its basis.
    pub fn start_warm(&mut self, start: &WarmStart) {
        let moves: Vec<usize> = start.moves.iter().map(|&(index, _)| index).collect();
        self.add_moves(&moves);
        let neuron_rows = self.inherited_rows(start);
        let wanted: Vec<(NeuronId, RowKind)> =
            neuron_rows.iter().map(|&(id, kind, _)| (id, kind)).collect();
        self.add_rows(&wanted);
        let mut cols = vec![BasisStatus::Lower; self.lp.cols()];
        for &(id, status) in &start.neurons {
            if let Some(col) = self.neurons.col_from_neuron(id) {
                cols[col.0] = status;
            }
        }
        for (column, &(_, status)) in self.moves.columns().zip(&start.moves) {
            cols[column.col.0] = status;
        }
        let of_neurons = neuron_rows.iter().map(|&(_, _, status)| status);
        let rows = start.set_rows.iter().copied().chain(of_neurons).collect();
        if let Err(error) = self.lp.set_basis(&Basis { cols, rows }) {
            log::debug!("relaxation: starting cold: {error}");
        }
        self.first_simplex = Simplex::Choose;
    }

    /// The rows to begin with and their statuses, in the order of [`NetworkLp::add_rows`].
    fn inherited_rows(&self, start: &WarmStart) -> Vec<(NeuronId, RowKind, BasisStatus)> {
        let makes_sense = |&&(id, kind, _): &&(NeuronId, RowKind, BasisStatus)| match kind {
            RowKind::Sign => self.signs.contains(id),
            _ => self.neurons.col_from_neuron(id).is_some(),
        };
        let mut rows: Vec<(NeuronId, RowKind, BasisStatus)> =
            start.neuron_rows.iter().filter(makes_sense).copied().collect();
        let has_sign =
            |id: NeuronId| rows.iter().any(|&(of, kind, _)| of == id && kind == RowKind::Sign);
        let new_signs: Vec<NeuronId> = self.signs.neurons().filter(|&id| !has_sign(id)).collect();
        rows.extend(new_signs.into_iter().map(|id| (id, RowKind::Sign, BasisStatus::Basic)));
        rows.sort_by_key(|(id, ..)| id.layer);
        rows
    }

    /// Where the last solve ended. Nothing, if the solver has no basis.
    pub fn warm_start(&self, solution: &LpSolution) -> WarmStart {
        let Some(Basis { cols, rows }) = self.lp.basis() else { return WarmStart::default() };
        let mut moves: Vec<(usize, BasisStatus, f64)> = self
            .moves
            .columns()
            .map(|column| {
                let col = column.col.0;
                (column.index, cols[col], solution.reduced_costs[col])
            })
            .collect();
        // Of the moves that are not made, those that nearly were.
        moves.sort_by(|a, b| {
            let idle = |status| status == BasisStatus::Lower;
            idle(a.1).cmp(&idle(b.1)).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0))
        });
        let made = moves.iter().filter(|(_, status, _)| *status != BasisStatus::Lower).count();
        moves.truncate(made + KEPT_MOVES);
        let neurons = self.neurons.iter().map(|(col, neuron)| (neuron.id, cols[col.0]));
        let neuron_rows = self.rows.iter().map(|row| (row.neuron, row.kind, rows[row.row.0]));
        WarmStart {
            moves: moves.into_iter().map(|(index, status, _)| (index, status)).collect(),
            neurons: neurons.collect(),
            neuron_rows: neuron_rows.collect(),
            set_rows: rows[..self.moves.set_rows()].to_vec(),
        }
    }
}
