//! The region LP: with the activation pattern held, network and objective are affine; the best point of
//! the region is the answer of an LP over the input set with one sign row per neuron.
//!
//! Few rows and few pixels matter, so both are made on demand. The LP starts with the moves that look best and
//! the neurons that held the walk back last. After each solve one forward pass shows which neurons have the wrong
//! sign (rows to add) and one backward pass prices all other moves (columns to add). When neither finds anything, the
//! small LP's optimum is that of the whole one.
//!
//! Trap: the LP's value is a claim. Whoever uses the point asks the network what it is worth.

use std::collections::HashSet;

use super::error::EncodeError;
use super::moves::Moves;
use super::solve::{Work, solve};
use crate::budget::Budget;
use crate::lp::{Col, LpModel, LpSolution, NewRows, Simplex};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;
use crate::sets::Move;
use crate::tolerance;

/// Moves in the first LP of a region, besides those the start uses.
const FIRST_MOVES: usize = 40;
/// Rows or moves added in one round: enough that rounds are few, few enough that the LP stays small.
const ADDED_ROWS: usize = 20;
const ADDED_MOVES: usize = 30;
/// Rounds before the LP is given up: a healthy one needs about ten.
const MOST_ROUNDS: usize = 500;

/// The best point of a region.
#[derive(Clone, Debug)]
pub struct RegionOptimum {
    /// The point, inside the set.
    pub point: Vec<f64>,
    /// The LP's value.
    pub value: f64,
    /// The neurons whose sign rows hold the point back, strongest dual first.
    pub tight: Vec<(NeuronId, f64)>,
}

/// The value of a region LP written out in full, every neuron a row and every move a column: what the lazy LP is
/// measured against. Slow.
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
    let mut lp = LpModel::new();
    let mut moves = Moves::new(&problem.set);
    moves.begin(&mut lp);
    moves.join_all(&mut lp, &gradient);
    let pixels: Vec<usize> = (0..network.inputs()).collect();
    let of_layer = |layer: usize| {
        (0..network.layers()[layer].outputs()).map(move |index| NeuronId { layer, index })
    };
    let neurons: Vec<NeuronId> = (0..network.hidden().len()).flat_map(of_layer).collect();
    let slopes = network.slopes(&neurons, &pixels, pattern);
    let mut rows = NewRows::default();
    for (k, neuron) in neurons.iter().enumerate() {
        let signed = moves.joined().map(|m| m.sign * slopes[(m.pixel, k)]);
        let entries = signed.enumerate().map(|(c, v)| (Col(c), v));
        let constant = at_centre.pre_activations(neuron.layer)[neuron.index];
        let (lower, upper) = sides(pattern.get(neuron.layer, neuron.index), constant);
        rows.push(lower, upper, entries);
    }
    lp.add_rows(&rows);
    let unlimited = Budget::unlimited();
    let solution = solve(&mut lp, Simplex::Dual, &unlimited, &mut Work::default())?;
    Ok(problem.value(&at_centre) + solution.objective)
}

/// The sides of a sign row: `constant + slopes · moves` stays non-negative or non-positive.
fn sides(on: bool, constant: f64) -> (f64, f64) {
    if on { (-constant, f64::INFINITY) } else { (f64::NEG_INFINITY, -constant) }
}

/// One live LP, edited from region to region.
pub struct RegionLp<'q> {
    problem: &'q Problem,
    lp: LpModel,
    moves: Moves,
    /// The neurons that are rows, in row order, behind the set's own.
    neurons: Vec<NeuronId>,
    is_row: HashSet<NeuronId>,
    /// Pre-activations at the set's centre with the pattern held: the rows' constants.
    at_centre: Trace,
    held: Trace,
    work: Work,
}

impl<'q> RegionLp<'q> {
    /// An LP for any region of the problem.
    pub fn new(problem: &'q Problem) -> Self {
        let trace = Trace::new(&problem.network);
        Self {
            problem,
            lp: LpModel::new(),
            moves: Moves::new(&problem.set),
            neurons: Vec::new(),
            is_row: HashSet::new(),
            at_centre: trace.clone(),
            held: trace,
            work: Work::default(),
        }
    }

    /// The problem this LP is for.
    pub fn problem(&self) -> &'q Problem {
        self.problem
    }

    /// What has been spent since [`RegionLp::new`].
    pub fn work(&self) -> Work {
        self.work
    }

    /// The best point with this pattern. `start` is a point of the region (it keeps the small LP feasible), `hint`
    /// the neurons whose rows are likely to matter.
    ///
    /// # Errors
    /// When the time is up, the region is empty, or the solver fails.
    pub fn solve(
        &mut self,
        pattern: &ActivationPattern,
        start: &[f64],
        hint: &[NeuronId],
        budget: &Budget,
    ) -> Result<RegionOptimum, EncodeError> {
        let problem = self.problem;
        let network = &problem.network;
        network.forward_held(problem.set.centre(), pattern, &mut self.at_centre);
        let base = problem.value(&self.at_centre);
        let gradient = network.gradient(problem.weights(), pattern);
        self.work.regions += 1;
        self.begin(start, &gradient);
        self.add_rows(hint, pattern);

        let mut simplex = Simplex::Choose;
        for _ in 0..MOST_ROUNDS {
            let solution = solve(&mut self.lp, simplex, budget, &mut self.work)?;
            let point = self.moves.point(&problem.set, &solution.cols);
            let missing = self.violated(&point, pattern)?;
            let wanted = self.priced(&solution, pattern);
            if missing.is_empty() && wanted.is_empty() {
                let mut tight: Vec<(NeuronId, f64)> = self.multipliers(&solution).collect();
                tight.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
                return Ok(RegionOptimum { point, value: base + solution.objective, tight });
            }
            simplex = if missing.is_empty() { Simplex::Primal } else { Simplex::Dual };
            self.add_columns(&wanted, &gradient, pattern);
            self.add_rows(&missing, pattern);
        }
        Err(EncodeError::Trouble(format!("no end after {MOST_ROUNDS} rounds")))
    }

    /// An LP with the most promising moves, those that `start` makes, and the set's own rows.
    fn begin(&mut self, start: &[f64], gradient: &[f64]) {
        self.lp.clear();
        self.moves.begin(&mut self.lp);
        self.neurons.clear();
        self.is_row.clear();
        let centre = self.problem.set.centre();
        // Without a budget every pixel goes to one of its ends: there is nothing to choose.
        let (least, most) = if self.problem.set.budget().is_some() {
            (0.0, FIRST_MOVES)
        } else {
            (f64::NEG_INFINITY, usize::MAX)
        };
        let promising = self.moves.best_outside(least, most, |_, m| m.sign * gradient[m.pixel]);
        for k in promising {
            self.add_column(k, gradient, &[]);
        }
        let made = self
            .moves
            .best_outside(0.0, usize::MAX, |_, m| m.sign * (start[m.pixel] - centre[m.pixel]));
        for k in made {
            self.add_column(k, gradient, &[]);
        }
    }

    /// Makes a move a column; `slopes` are those of the neurons that are rows, with respect to its pixel.
    fn add_column(&mut self, k: usize, gradient: &[f64], slopes: &[f64]) {
        self.moves.join(&mut self.lp, k, gradient, slopes.iter().copied());
        self.work.columns += 1;
    }

    fn add_columns(&mut self, wanted: &[usize], gradient: &[f64], pattern: &ActivationPattern) {
        let pixels = self.moves.pixels(wanted);
        let slopes = self.problem.network.slopes(&self.neurons, &pixels, pattern);
        for (j, &k) in wanted.iter().enumerate() {
            let of_pixel: Vec<f64> = (0..self.neurons.len()).map(|r| slopes[(j, r)]).collect();
            self.add_column(k, gradient, &of_pixel);
        }
    }

    /// Adds the sign rows of `neurons`: with the pattern held, `g = g(centre) + slopes · moves` keeps its sign.
    fn add_rows(&mut self, neurons: &[NeuronId], pattern: &ActivationPattern) {
        let new: Vec<NeuronId> =
            neurons.iter().copied().filter(|n| !self.is_row.contains(n)).collect();
        let pixels: Vec<usize> = self.moves.joined().map(|m| m.pixel).collect();
        let slopes = self.problem.network.slopes(&new, &pixels, pattern);
        let mut rows = NewRows::default();
        for (r, &neuron) in new.iter().enumerate() {
            let slope = slopes.col_as_slice(r);
            let signed = self.moves.joined().zip(slope).map(|(m, slope)| m.sign * slope);
            let entries = signed.enumerate().map(|(c, v)| (Col(c), v));
            let constant = self.at_centre.pre_activations(neuron.layer)[neuron.index];
            let (lower, upper) = sides(pattern.get(neuron.layer, neuron.index), constant);
            rows.push(lower, upper, entries);
            self.neurons.push(neuron);
            self.is_row.insert(neuron);
            self.work.rows += 1;
        }
        self.lp.add_rows(&rows);
    }

    /// The neurons with the wrong sign at `point`, worst first, a round's worth of them.
    ///
    /// # Errors
    /// When a neuron has the wrong sign although its row is there: then the solver's answer is none.
    fn violated(
        &mut self,
        point: &[f64],
        pattern: &ActivationPattern,
    ) -> Result<Vec<NeuronId>, EncodeError> {
        self.problem.network.forward_held(point, pattern, &mut self.held);
        let mut wrong: Vec<(f64, NeuronId)> = Vec::new();
        for layer in 0..self.held.hidden() {
            for (index, &g) in self.held.pre_activations(layer).iter().enumerate() {
                let violation = if pattern.get(layer, index) { -g } else { g };
                let neuron = NeuronId { layer, index };
                let has_row = self.is_row.contains(&neuron);
                if has_row && violation > tolerance::BROKEN_ROW {
                    return Err(EncodeError::Trouble(format!(
                        "{neuron:?} breaks its row by {violation:.1e}"
                    )));
                }
                if !has_row && violation > tolerance::VIOLATION {
                    wrong.push((violation, neuron));
                }
            }
        }
        wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Ok(wrong.into_iter().take(ADDED_ROWS).map(|(_, neuron)| neuron).collect())
    }

    /// The rows' neurons and their duals, where not zero.
    fn multipliers<'s>(
        &'s self,
        solution: &'s LpSolution,
    ) -> impl Iterator<Item = (NeuronId, f64)> + 's {
        let (_, duals) = self.moves.split_duals(&solution.duals);
        let pairs = self.neurons.iter().copied().zip(duals.iter().copied());
        pairs.filter(|(_, dual)| dual.abs() > tolerance::DUAL)
    }

    /// The moves outside the LP that would improve it, best first, a round's worth of them.
    fn priced(&self, solution: &LpSolution, pattern: &ActivationPattern) -> Vec<usize> {
        let weights: Vec<(NeuronId, f64)> =
            self.multipliers(solution).map(|(neuron, dual)| (neuron, -dual)).collect();
        let slopes = self.problem.network.gradient_with(self.problem.weights(), &weights, pattern);
        let (prices, _) = self.moves.split_duals(&solution.duals);
        let gain = |_, m: Move| m.sign * slopes[m.pixel] - prices.of(m);
        self.moves.best_outside(tolerance::REDUCED_COST, ADDED_MOVES, gain)
    }
}
