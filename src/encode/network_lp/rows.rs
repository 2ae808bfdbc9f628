//! Which rows of the LP belong to which neuron.

use std::collections::HashMap;

use crate::lp::Row;
use crate::network::NeuronId;

/// What a row of a neuron says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::encode) enum RowKind {
    /// `h ≥ g`.
    Lower,
    /// `h ≤ u (g − l) / (u − l)`.
    Chord,
    /// `h ≤ g − l (1 − z)`, in a MILP; the column `z` is added afterwards.
    BigM,
    /// `g ≥ 0` or `g ≤ 0`, for a neuron that is held in one state.
    Sign,
    /// `h` is at most its envelope, a function of the moves.
    Envelope,
}

/// A row `h + factor · g`; for an envelope, `h` minus a function of the moves.
#[derive(Clone, Copy, Debug)]
pub(in crate::encode) struct NeuronRow {
    pub neuron: NeuronId,
    pub kind: RowKind,
    /// The coefficient of `g`.
    pub factor: f64,
    pub row: Row,
}

/// The rows of neurons, in the order in which they were added.
#[derive(Debug, Default)]
pub(in crate::encode) struct NeuronRows {
    rows: Vec<NeuronRow>,
    row_from_neuron: HashMap<(NeuronId, RowKind), Row>,
}

impl NeuronRows {
    /// Remembers a row.
    pub fn push(&mut self, row: NeuronRow) {
        self.row_from_neuron.insert((row.neuron, row.kind), row.row);
        self.rows.push(row);
    }

    /// The row of this kind, if it was added.
    pub fn row_from_neuron(&self, neuron: NeuronId, kind: RowKind) -> Option<Row> {
        self.row_from_neuron.get(&(neuron, kind)).copied()
    }

    /// Whether the neuron has a row of this kind.
    pub fn contains(&self, neuron: NeuronId, kind: RowKind) -> bool {
        self.row_from_neuron.contains_key(&(neuron, kind))
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = NeuronRow> + '_ {
        self.rows.iter().copied()
    }

    /// The neurons of all rows, in row order.
    pub fn neurons(&self) -> Vec<NeuronId> {
        self.rows.iter().map(|row| row.neuron).collect()
    }

    /// All rows with their duals.
    pub fn with_duals<'s>(
        &'s self,
        duals: &'s [f64],
    ) -> impl Iterator<Item = (NeuronRow, f64)> + 's {
        self.rows.iter().map(|row| (*row, duals[row.row.0]))
    }
}
