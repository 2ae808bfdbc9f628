//! The relaxation LR of Algorithm 2: the whole network over the whole input set, each unstable ReLU as its convex hull, and any of its neurons
//! fixed.
//!
//! Fixing a neuron is an edit of bounds: *off* is `h ≤ 0` (with the row `h ≥ g`), *on* makes that row an equation; both can be taken back.

use super::error::EncodeError;
use super::network_lp::{
    AffineOutput, NetworkLp, NetworkOptimum, NeuronSplit, RowKind, UnstableNeuron,
};
use super::solve::LpWork;
use crate::bounds::{Interval, NeuronBounds};
use crate::budget::Budget;
use crate::lp::Col;
use crate::network::NeuronId;
use crate::problem::Problem;
use crate::sets::Move;

/// Moves added for a fixing: more than a budget of a few pixels can use.
const MOVES_FOR_FIXING: usize = 30;

/// A solution of the relaxation.
#[derive(Clone, Debug)]
pub struct RelaxationSolution {
    /// The input, inside the set.
    pub point: Vec<f64>,
    /// The LP's value: a claim of an upper bound, never a certificate.
    pub claimed_bound: f64,
    /// `z̄` of every unstable neuron: 0 is off, 1 is on, in the order of [`Relaxation::neurons`].
    pub z: Vec<f64>,
}

/// One live LP for the relaxation and all its restrictions.
pub struct Relaxation<'p> {
    lp: NetworkLp<'p>,
    /// By column.
    fixed: Vec<Option<bool>>,
}

impl<'p> Relaxation<'p> {
    /// The relaxation with no neuron fixed.
    pub fn new(problem: &'p Problem, bounds: &NeuronBounds) -> Self {
        let mut split = NeuronSplit::by_stability(&problem.network, bounds);
        substitute_chords(problem, &mut split);
        let mut lp = NetworkLp::new(problem, split);
        lp.start_cold();
        let fixed = vec![None; lp.neurons.len()];
        Self { lp, fixed }
    }

    /// What has been spent since [`Relaxation::new`].
    pub fn work(&self) -> LpWork {
        self.lp.work
    }

    /// Allows so many [operations](LpWork::operations) from now on; a solve that would take more ends with [`EncodeError::Budget`], and the
    /// next one goes on from there.
    pub fn allow(&mut self, operations: usize) {
        self.lp.most_operations = Some(self.lp.work.operations.saturating_add(operations));
    }

    /// The unstable neurons, layer by layer.
    pub fn neurons(&self) -> impl Iterator<Item = NeuronId> + '_ {
        self.lp.neurons.iter().map(|(_, neuron)| neuron.id)
    }

    /// Fixes an unstable neuron on or off, or takes that back.
    ///
    /// # Panics
    /// When the neuron is stable.
    pub fn fix(&mut self, neuron: NeuronId, state: Option<bool>) {
        let lp = &mut self.lp;
        let col = lp.neurons.col_from_neuron(neuron).expect("an unstable neuron");
        if !lp.rows.contains(neuron, RowKind::Lower) {
            lp.add_rows(&[(neuron, RowKind::Lower)]);
        }
        if let Some(on) = state {
            self.add_moves_towards(neuron, on);
        }
        self.fixed[col.0] = state;
        if self.lp.neurons.get(col).substitute.is_some() {
            self.fix_substitute(col, state);
        } else {
            self.fix_column(col, state);
        }
    }

    /// Edits the bounds of a neuron's column and of its row `h ≥ g`.
    fn fix_column(&mut self, col: Col, state: Option<bool>) {
        let lp = &mut self.lp;
        let UnstableNeuron { id, interval, .. } = *lp.neurons.get(col);
        let row = lp.rows.row_from_neuron(id, RowKind::Lower).expect("added before");
        let constant = lp.affine.constant(id);
        let upper = if state == Some(false) { 0.0 } else { interval.upper };
        let equation = if state == Some(true) { constant } else { f64::INFINITY };
        lp.lp.set_col_bounds(col, 0.0, upper);
        lp.lp.set_row_bounds(row, constant, equation);
    }

    /// Replaces the substitute of a neuron. Its column stays at 0, so the row `h ≥ g` is `−g`: only the sign is left to demand.
    fn fix_substitute(&mut self, col: Col, state: Option<bool>) {
        let lp = &mut self.lp;
        let UnstableNeuron { id, interval, .. } = *lp.neurons.get(col);
        let row = lp.rows.row_from_neuron(id, RowKind::Lower).expect("added before");
        let constant = lp.affine.constant(id);
        let (lower, upper) = match state {
            Some(true) => (f64::NEG_INFINITY, constant),
            Some(false) => (constant, f64::INFINITY),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        lp.lp.set_row_bounds(row, lower, upper);
        let output = state.map_or_else(|| AffineOutput::chord(interval), AffineOutput::fixed);
        lp.neurons.set_substitute(col, output);
        lp.update_costs();
    }

    /// Adds the moves that push a neuron's `g` furthest up or down: without them a fixing may look infeasible.
    fn add_moves_towards(&mut self, neuron: NeuronId, on: bool) {
        let direction = if on { 1.0 } else { -1.0 };
        let slopes = self.lp.affine.pixel_slopes(&[(neuron, direction)]);
        let worth = |_, at: Move| at.sign * slopes[at.pixel];
        let wanted = self.lp.moves.best_missing(0.0, MOVES_FOR_FIXING, worth);
        self.lp.add_moves(&wanted);
    }

    /// Solves the relaxation with its neurons as they are fixed now. `Ok(None)`: no point was found that fits the fixings.
    ///
    /// # Errors
    /// When the time is up, the work is done that was allowed, or the solver fails.
    pub fn solve(&mut self, budget: &Budget) -> Result<Option<RelaxationSolution>, EncodeError> {
        let optimum = self.lp.solve(budget)?;
        Ok(optimum.map(|NetworkOptimum { solution, point, pre_activations }| {
            let states = self.lp.neurons.iter().zip(&self.fixed).map(|((col, neuron), fixed)| {
                let g = pre_activations[neuron.id.layer][neuron.id.index];
                match fixed {
                    Some(on) => f64::from(u8::from(*on)),
                    None => relaxed_state(neuron, g, solution.cols[col.0]),
                }
            });
            let z = states.collect();
            RelaxationSolution {
                point,
                claimed_bound: self.lp.costs.constant + solution.objective,
                z,
            }
        }))
    }
}

/// A neuron of the last layer that the objective wants large sits on its chord in any optimum: it needs no column of its own.
fn substitute_chords(problem: &Problem, split: &mut NeuronSplit) {
    let network = &problem.network;
    let last = network.hidden().len() - 1;
    let output = network.output().affine();
    let mut weights = vec![0.0; output.inputs()];
    output.apply_transposed(problem.weights(), &mut weights);
    let wanted_large =
        |neuron: &UnstableNeuron| neuron.id.layer == last && weights[neuron.id.index] > 0.0;
    let neurons = split.columns.iter().filter(|(_, neuron)| wanted_large(neuron));
    let chords: Vec<(Col, AffineOutput)> =
        neurons.map(|(col, neuron)| (col, AffineOutput::chord(neuron.interval))).collect();
    for (col, chord) in chords {
        split.columns.set_substitute(col, chord);
    }
}

/// The binary's relaxed value: any `z` in `[h/u, 1 − (h − g)/(−l)]` fits; the middle where there is a choice.
fn relaxed_state(neuron: &UnstableNeuron, g: f64, h: f64) -> f64 {
    let Interval { lower, upper } = neuron.interval;
    if neuron.substitute.is_some() {
        return ((g - lower) / (upper - lower)).clamp(0.0, 1.0);
    }
    let (low, high) = (h / upper, 1.0 - (h - g) / -lower);
    ((low + high) / 2.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bounds::interval_arithmetic;
    use crate::network::{AffineMap, Network};
    use crate::problem::Objective;
    use crate::sets::InputSet;

    /// `relu(x) − relu(−x)` for x in [−1, 1].
    fn odd() -> Problem {
        let hidden = AffineMap::from_rows(&[[1.0], [-1.0]], vec![0.0, 0.0]);
        let output = AffineMap::from_rows(&[[1.0, -1.0]], vec![0.0]);
        let network = Arc::new(Network::new(vec![hidden, output]).expect("shapes fit"));
        Problem::new(&network, InputSet::new_box(&[-1.0], &[1.0]), Objective::new(vec![1.0]))
    }

    #[test]
    fn a_fixing_binds_until_it_is_taken_back() {
        let problem = odd();
        let bounds = interval_arithmetic(&problem.network, &problem.set);
        let mut relaxation = Relaxation::new(&problem, &bounds);
        let neurons: Vec<NeuronId> = relaxation.neurons().collect();
        assert_eq!(neurons.len(), 2);
        // The first neuron is substituted by its chord, the second one is a column.
        for (neuron, state, expected) in
            [(0, false, 0.0), (0, true, 1.0), (1, true, 0.5), (1, false, 1.0)]
        {
            relaxation.fix(neurons[neuron], Some(state));
            let solution = relaxation.solve(&Budget::unlimited()).expect("solved");
            let solution = solution.expect("feasible");
            let claimed = solution.claimed_bound;
            assert!((claimed - expected).abs() < 1e-9, "{neuron} {state}: {claimed}");
            assert_eq!(solution.z[neuron], f64::from(u8::from(state)));
            relaxation.fix(neurons[neuron], None);
            let free = relaxation.solve(&Budget::unlimited()).expect("solved").expect("feasible");
            assert!((free.claimed_bound - 1.0).abs() < 1e-9, "{neuron} {state}");
        }
    }

    #[test]
    fn a_relaxation_stops_at_its_work_and_goes_on_later() {
        let network = Arc::new(crate::network::random::network(&[12, 20, 20, 2], 5));
        let set = InputSet::new_box(&[-1.0; 12], &[1.0; 12]);
        let problem = Problem::new(&network, set, Objective::new(vec![1.0, -1.0]));
        let bounds = interval_arithmetic(&problem.network, &problem.set);
        let solved = |relaxation: &mut Relaxation| relaxation.solve(&Budget::unlimited());
        let mut whole = Relaxation::new(&problem, &bounds);
        let expected = solved(&mut whole).expect("solved").expect("feasible").claimed_bound;
        let work = whole.work().operations;
        let mut relaxation = Relaxation::new(&problem, &bounds);
        relaxation.allow(0);
        assert!(matches!(solved(&mut relaxation), Err(EncodeError::Budget)));
        assert_eq!(relaxation.work().lps, 0);
        let mut slices = 0;
        let found = loop {
            relaxation.allow(work / 4);
            match solved(&mut relaxation) {
                Ok(solution) => break solution.expect("feasible").claimed_bound,
                Err(EncodeError::Budget) => slices += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(slices < 1000, "no end");
        };
        assert!(slices > 0 && (found - expected).abs() < 1e-6, "{slices} {found} {expected}");
    }
}
