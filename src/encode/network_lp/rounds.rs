//! Solving the LP: after each solve the violated rows and the moves that price out are added, until there are none.

use super::model::NetworkLp;
use super::neurons::UnstableNeuron;
use super::rows::RowKind;
use crate::bounds::Interval;
use crate::budget::Budget;
use crate::encode::error::EncodeError;
use crate::encode::lazy::{MOST_ROUNDS, simplex_after, too_many_rounds, worst_first};
use crate::encode::solve::{LpWork, solve};
use crate::lp::{Col, LpSolution, Simplex};
use crate::network::NeuronId;
use crate::sets::Move;
use crate::tolerance;

/// Moves added in one round.
const ADDED_MOVES: usize = 60;
/// Rows added in one round; a relaxation needs hundreds in all.
const ADDED_ROWS: usize = 150;

/// Rows or moves whose coefficients cost as much as one pass through the network with a single vector: they are worked out as blocks.
const ROWS_PER_PASS: usize = 4;

/// An optimum of the LP that violates no missing row and that no missing move improves.
pub(in crate::encode) struct NetworkOptimum {
    pub solution: LpSolution,
    /// The input, inside the set.
    pub point: Vec<f64>,
    /// `g` of every neuron, layer by layer.
    pub pre_activations: Vec<Vec<f64>>,
}

/// A row that is not in the LP, and by how much a solution violates it.
type Violation = (f64, NeuronId, RowKind);

impl NetworkLp<'_> {
    /// Solves the LP as it is now. `Ok(None)`: the solver calls it infeasible.
    ///
    /// # Errors
    /// When the time is up or the solver fails.
    pub fn solve(&mut self, budget: &Budget) -> Result<Option<NetworkOptimum>, EncodeError> {
        // After edits of bounds and costs the solver knows best.
        let mut simplex = if self.work.lps == 0 { self.first_simplex } else { Simplex::Choose };
        for _ in 0..MOST_ROUNDS {
            if let Some(most) = self.most_operations {
                let size = self.lp.rows() + self.lp.cols();
                let iterations = most.saturating_sub(self.work.operations) / size.max(1);
                if iterations == 0 {
                    return Err(EncodeError::Budget);
                }
                self.lp.limit_iterations(Some(iterations));
            }
            let solution = match solve(&mut self.lp, simplex, budget, &mut self.work) {
                // With moves left out this may still be wrong; it costs a start, nothing else depends on it.
                Err(EncodeError::Infeasible) => return Ok(None),
                solved => solved?,
            };
            let point = self.point(&solution.cols);
            let pre_activations = self.pre_activations(&point, &solution.cols);
            let missing = self.violated(&pre_activations, &solution);
            let wanted = self.priced(&solution);
            if missing.is_empty() && wanted.is_empty() {
                return Ok(Some(NetworkOptimum { solution, point, pre_activations }));
            }
            simplex = simplex_after(!missing.is_empty());
            let products = 1 + (missing.len() + wanted.len()) / ROWS_PER_PASS;
            self.work.operations += LpWork::passes(&self.problem.network, products);
            self.add_moves(&wanted);
            self.add_rows(&missing);
        }
        Err(too_many_rounds())
    }

    /// The missing rows that the solution violates, worst first, a round's worth of them.
    fn violated(&self, g: &[Vec<f64>], solution: &LpSolution) -> Vec<(NeuronId, RowKind)> {
        let mut violated: Vec<Violation> = self.violated_signs(g).collect();
        violated.extend(self.violated_hulls(g, solution));
        violated.extend(self.violated_envelopes(solution));
        worst_first(violated, ADDED_ROWS).collect()
    }

    /// The demanded signs that are wrong and have no row yet.
    pub fn violated_signs<'s>(&'s self, g: &'s [Vec<f64>]) -> impl Iterator<Item = Violation> + 's {
        let missing = self.signs.neurons().filter(|&id| !self.rows.contains(id, RowKind::Sign));
        let violation = |id: NeuronId| {
            let g = g[id.layer][id.index];
            (if self.affine.is_held_on(id) { -g } else { g }, id, RowKind::Sign)
        };
        missing.map(violation).filter(|(violation, ..)| *violation > tolerance::VIOLATION)
    }

    /// The missing rows of the convex hulls of unstable neurons.
    fn violated_hulls<'s>(
        &'s self,
        g: &'s [Vec<f64>],
        solution: &'s LpSolution,
    ) -> impl Iterator<Item = Violation> + 's {
        let columns = self.neurons.iter().filter(|(_, neuron)| neuron.substitute.is_none());
        let violations = columns.flat_map(move |(col, neuron)| {
            let (id, h) = (neuron.id, solution.cols[col.0]);
            let g = g[id.layer][id.index];
            let Interval { lower, upper } = neuron.interval;
            let chord = upper * (g - lower) / (upper - lower);
            [(g - h, id, RowKind::Lower), (h - chord, id, RowKind::Chord)]
        });
        violations.filter(|&(violation, id, kind)| {
            violation > tolerance::VIOLATION && !self.rows.contains(id, kind)
        })
    }

    /// The missing rows of envelopes.
    fn violated_envelopes<'s>(
        &'s self,
        solution: &'s LpSolution,
    ) -> impl Iterator<Item = Violation> + 's {
        let columns = self.neurons.iter();
        let missing =
            columns.filter(|(_, neuron)| !self.rows.contains(neuron.id, RowKind::Envelope));
        let violation = |(col, neuron): (Col, &UnstableNeuron)| {
            let (constant, slope) = self.envelopes?.envelope(neuron.id)?;
            let amounts =
                self.moves.columns().map(|column| (column.index, solution.cols[column.col.0]));
            let moved: f64 = amounts.map(|(index, amount)| slope(index) * amount).sum();
            Some((solution.cols[col.0] - constant - moved, neuron.id, RowKind::Envelope))
        };
        missing.filter_map(violation).filter(|(violation, ..)| *violation > tolerance::VIOLATION)
    }

    /// The missing moves that would improve the objective, best first, a round's worth of them.
    fn priced(&self, solution: &LpSolution) -> Vec<usize> {
        let used = || {
            let rows = self.rows.with_duals(&solution.duals);
            rows.filter(|(_, dual)| dual.abs() > tolerance::DUAL)
        };
        let weights: Vec<(NeuronId, f64)> =
            used().map(|(row, dual)| (row.neuron, -dual * row.factor)).collect();
        let of_rows = self.affine.pixel_slopes(&weights);
        let slopes: Vec<f64> =
            self.costs.pixels.iter().zip(of_rows).map(|(cost, row)| cost + row).collect();
        let envelopes = used().filter(|(row, _)| row.kind == RowKind::Envelope);
        let envelopes: Vec<_> = envelopes
            .filter_map(|(row, dual)| Some((self.envelopes?.envelope(row.neuron)?.1, dual)))
            .collect();
        let set_duals = self.moves.set_duals(solution);
        let reduced_cost = |index: usize, at: Move| {
            let of_envelopes: f64 = envelopes.iter().map(|(slope, dual)| dual * slope(index)).sum();
            at.sign * slopes[at.pixel] + of_envelopes - set_duals.price(at)
        };
        self.moves.best_missing(tolerance::REDUCED_COST, ADDED_MOVES, reduced_cost)
    }
}
