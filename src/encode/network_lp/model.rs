//! The live LP and the only two ways in which it grows: rows of neurons, and moves.

use faer::Mat;

use super::affine::{AffineNetwork, ObjectiveCosts};
use super::neurons::{NeuronColumns, NeuronSplit, UnstableNeuron};
use super::rows::{NeuronRow, NeuronRows, RowKind};
use super::signs::DemandedSigns;
use crate::bounds::{Interval, LinearBounds};
use crate::encode::move_columns::MoveColumns;
use crate::encode::solve::LpWork;
use crate::lp::{Col, LpModel, NewRows, Row, Simplex};
use crate::network::NeuronId;
use crate::problem::Problem;

/// One live LP of a whole network. Columns: unstable neurons, then slacks of demanded signs, then moves. Rows: those of the set, then those of
/// neurons, as they are needed.
pub(in crate::encode) struct NetworkLp<'p> {
    pub problem: &'p Problem,
    pub affine: AffineNetwork<'p>,
    pub neurons: NeuronColumns,
    pub rows: NeuronRows,
    pub moves: MoveColumns,
    pub signs: DemandedSigns,
    /// For each unstable neuron the column that holds by how much its chord is missed, if that is allowed.
    pub hull_slacks: Vec<Col>,
    /// Where envelopes come from, if outputs are bounded by them too.
    pub envelopes: Option<&'p LinearBounds>,
    pub costs: ObjectiveCosts,
    pub lp: LpModel,
    /// The simplex for the first solve, which suits the basis that the LP begins with.
    pub first_simplex: Simplex,
    pub work: LpWork,
    /// The most [operations](LpWork::operations) that `work` may reach, where it is limited.
    pub most_operations: Option<usize>,
}

impl<'p> NetworkLp<'p> {
    /// The columns of the neurons, without rows of neurons and without moves. The signs of pinned neurons are demanded.
    pub fn new(problem: &'p Problem, split: NeuronSplit) -> Self {
        let NeuronSplit { columns: neurons, held, pinned } = split;
        let affine = AffineNetwork::new(problem, held);
        let costs = affine.objective_costs(&neurons, None);
        let (mut lp, mut moves) = (LpModel::new(), MoveColumns::new(&problem.set));
        moves.begin(&mut lp);
        for ((_, neuron), cost) in neurons.iter().zip(&costs.neurons) {
            let upper = if neuron.substitute.is_some() { 0.0 } else { neuron.interval.upper };
            lp.add_col(*cost, 0.0, upper, &[]);
        }
        Self {
            problem,
            affine,
            neurons,
            rows: NeuronRows::default(),
            moves,
            signs: DemandedSigns::new(pinned),
            hull_slacks: Vec::new(),
            envelopes: None,
            costs,
            lp,
            first_simplex: Simplex::Choose,
            work: LpWork::default(),
            most_operations: None,
        }
    }

    /// Allows every unstable neuron to be above its chord, at a price per unit. So there is a solution wherever neurons are.
    pub fn soften_hulls(&mut self, price: f64) {
        for (col, _) in self.neurons.iter() {
            // What the chord and `h ≥ g` imply.
            self.lp.set_col_bounds(col, 0.0, f64::INFINITY);
            self.hull_slacks.push(self.lp.add_col(-price, 0.0, f64::INFINITY, &[]));
        }
    }

    /// Adds these moves as columns.
    pub fn add_moves(&mut self, wanted: &[usize]) {
        // All rows would have to be worked out for nothing.
        if wanted.is_empty() {
            return;
        }
        let slopes = self.affine.slopes(&self.rows.neurons(), &self.moves.pixels(wanted));
        let entries: Vec<Vec<(Row, f64)>> = wanted
            .iter()
            .enumerate()
            .map(|(j, &index)| {
                let sign = self.moves.get(index).sign;
                let entry = |(r, row): (usize, NeuronRow)| match row.kind {
                    RowKind::Envelope => (row.row, -self.envelope_slope(row.neuron, index)),
                    _ => (row.row, sign * (row.factor * slopes[(j, r)])),
                };
                self.rows.iter().enumerate().map(entry).collect()
            })
            .collect();
        self.moves.add(&mut self.lp, wanted, &self.costs.pixels, |j| entries[j].iter().copied());
        self.work.columns += wanted.len();
    }

    /// Adds these rows, layer by layer.
    pub fn add_rows(&mut self, wanted: &[(NeuronId, RowKind)]) {
        for layer in 0..self.affine.hidden() {
            let of_layer: Vec<(NeuronId, RowKind)> =
                wanted.iter().copied().filter(|(id, _)| id.layer == layer).collect();
            if !of_layer.is_empty() {
                self.add_rows_of_layer(layer, &of_layer);
            }
        }
    }

    fn add_rows_of_layer(&mut self, layer: usize, wanted: &[(NeuronId, RowKind)]) {
        let ids: Vec<NeuronId> = wanted.iter().map(|&(id, _)| id).collect();
        let slopes = self.affine.slopes(&ids, &self.moves.column_pixels());
        let below = self.affine.coefficients_below(layer, &ids);
        let mut new_rows = NewRows::default();
        for (k, &(neuron, kind)) in wanted.iter().enumerate() {
            let factor = self.factor(neuron, kind);
            let output = self.neurons.col_from_neuron(neuron).map(|col| (col, 1.0));
            let mut entries: Vec<(Col, f64)> = output.into_iter().collect();
            if factor != 0.0 {
                entries.extend(self.entries_below(&below, k, factor));
            }
            entries.extend(self.moves.columns().enumerate().map(|(c, column)| match kind {
                RowKind::Envelope => (column.col, -self.envelope_slope(neuron, column.index)),
                _ => (column.col, factor * column.at.sign * slopes[(c, k)]),
            }));
            if kind == RowKind::Sign {
                let sign = if self.affine.is_held_on(neuron) { -1.0 } else { 1.0 };
                entries.extend(self.signs.slack_from_neuron(neuron).map(|slack| (slack, sign)));
            }
            if kind == RowKind::Chord {
                let slack = self.neurons.col_from_neuron(neuron);
                let slack = slack.and_then(|Col(place)| self.hull_slacks.get(place));
                entries.extend(slack.map(|slack| (*slack, -1.0)));
            }
            let (lower, upper) = self.sides(neuron, kind);
            new_rows.push(lower, upper, entries);
            let row = Row(self.lp.rows() + k);
            self.rows.push(NeuronRow { neuron, kind, factor, row });
            self.work.rows += 1;
        }
        self.lp.add_rows(&new_rows);
    }

    /// The coefficients of unstable neurons below in `factor · g` of the neuron that is column `k` of the matrices.
    fn entries_below<'s>(
        &'s self,
        below: &'s [Mat<f64>],
        k: usize,
        factor: f64,
    ) -> impl Iterator<Item = (Col, f64)> + 's {
        below.iter().enumerate().flat_map(move |(layer, coefficients)| {
            let by_neuron =
                self.neurons.cols_of_layer(layer).iter().zip(coefficients.col_as_slice(k));
            let unstable = by_neuron.filter_map(|(col, v)| col.map(|col| (col, *v)));
            unstable.filter(|(_, v)| *v != 0.0).map(move |(col, v)| (col, factor * v))
        })
    }

    /// The coefficient of `g` in a row.
    fn factor(&self, neuron: NeuronId, kind: RowKind) -> f64 {
        match kind {
            RowKind::Chord => {
                let Interval { lower, upper } = self.unstable(neuron).interval;
                -(upper / (upper - lower))
            }
            RowKind::Envelope => 0.0,
            RowKind::Lower | RowKind::BigM | RowKind::Sign => -1.0,
        }
    }

    /// The sides of a row.
    fn sides(&self, neuron: NeuronId, kind: RowKind) -> (f64, f64) {
        let constant = self.affine.constant(neuron);
        match kind {
            RowKind::Lower => (constant, f64::INFINITY),
            RowKind::Chord => {
                let Interval { lower, upper } = self.unstable(neuron).interval;
                (f64::NEG_INFINITY, upper / (upper - lower) * (constant - lower))
            }
            RowKind::BigM => (f64::NEG_INFINITY, constant - self.unstable(neuron).interval.lower),
            RowKind::Envelope => {
                let envelope = self.envelopes.and_then(|bounds| bounds.envelope(neuron));
                (f64::NEG_INFINITY, envelope.map_or(f64::INFINITY, |(constant, _)| constant))
            }
            RowKind::Sign if self.affine.is_held_on(neuron) => (f64::NEG_INFINITY, constant),
            RowKind::Sign => (constant, f64::INFINITY),
        }
    }

    fn unstable(&self, neuron: NeuronId) -> &UnstableNeuron {
        self.neurons.find(neuron).expect("only unstable neurons have hulls")
    }

    /// The slope of a neuron's envelope in a move.
    fn envelope_slope(&self, neuron: NeuronId, index: usize) -> f64 {
        let envelope = self.envelopes.and_then(|bounds| bounds.envelope(neuron));
        envelope.map_or(0.0, |(_, slope)| slope(index))
    }

    /// The input at a solution.
    pub fn point(&self, cols: &[f64]) -> Vec<f64> {
        self.moves.point(&self.problem.set, cols)
    }

    /// `g` of every neuron, layer by layer, at a solution and its point.
    pub fn pre_activations(&self, point: &[f64], cols: &[f64]) -> Vec<Vec<f64>> {
        let output = |id| self.neurons.col_from_neuron(id).map(|col| cols[col.0]);
        self.affine.pre_activations(point, output)
    }

    /// Makes the objective count again what it is made of, after substitutes have changed.
    pub fn update_costs(&mut self) {
        self.costs = self.affine.objective_costs(&self.neurons, None);
        let mut costs = vec![0.0; self.lp.cols()];
        for ((col, _), cost) in self.neurons.iter().zip(&self.costs.neurons) {
            costs[col.0] = *cost;
        }
        for column in self.moves.columns() {
            costs[column.col.0] = column.at.sign * self.costs.pixels[column.at.pixel];
        }
        self.lp.set_costs(&costs);
    }
}
