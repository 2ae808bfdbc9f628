//! The region LP: with the activation pattern held, network and objective are affine; the best point of the region is the answer of an LP over
//! the input set with one sign row per neuron.
//!
//! Few rows and few pixels matter, so both are added on demand. The LP starts with the moves that look best and the neurons that were tight in
//! the last region. After each solve one forward pass shows which neurons have the wrong sign (rows to add) and one backward pass prices all
//! other moves (columns to add). When neither finds anything, the small LP's optimum is that of the whole one.
//!
//! Trap: the LP's value is a claim. What a point is worth, only the network says.

use std::borrow::Cow;
use std::collections::HashMap;

use super::error::EncodeError;
use super::lazy::{MOST_ROUNDS, simplex_after, too_many_rounds, worst_first};
use super::move_columns::MoveColumns;
use super::solve::{LpWork, solve};
use crate::budget::Budget;
use crate::lp::{LpModel, LpSolution, NewRows, Row, Simplex};
use crate::network::{ActivationPattern, NeuronId, PulledBackNeurons, Trace};
use crate::problem::Problem;
use crate::sets::Move;
use crate::tolerance;

/// Products with the network that a region takes, about.
const PASSES: usize = 4;
/// Moves in the first LP of a region, besides those the start uses.
const FIRST_MOVES: usize = 40;
/// Rows or moves added in one round: enough that rounds are few, few enough that the LP stays small.
const ADDED_ROWS: usize = 20;
const ADDED_MOVES: usize = 30;

/// The best point of a region.
#[derive(Clone, Debug)]
pub struct RegionOptimum {
    /// The point, inside the set.
    pub point: Vec<f64>,
    /// The LP's value.
    pub value: f64,
    /// The neurons whose sign rows are tight with a non-zero dual, strongest dual first.
    pub tight: Vec<(NeuronId, f64)>,
}

/// One live LP, edited from region to region.
pub struct RegionLp<'p> {
    problem: &'p Problem,
    lp: LpModel,
    moves: MoveColumns,
    rows: SignRows,
    /// Pre-activations at the set's centre with the pattern held: the rows' constants.
    at_centre: Trace,
    /// Buffers for the forward pass at a solution.
    held: Trace,
    work: LpWork,
}

/// The neurons whose signs are rows of the LP.
#[derive(Default)]
struct SignRows {
    /// In row order.
    neurons: Vec<NeuronId>,
    row_from_neuron: HashMap<NeuronId, Row>,
    /// Of the neurons, in row order.
    slopes: PulledBackNeurons,
}

impl SignRows {
    fn push(&mut self, neuron: NeuronId, row: Row) {
        self.neurons.push(neuron);
        self.row_from_neuron.insert(neuron, row);
    }

    fn contains(&self, neuron: NeuronId) -> bool {
        self.row_from_neuron.contains_key(&neuron)
    }

    fn clear(&mut self) {
        self.neurons.clear();
        self.row_from_neuron.clear();
        self.slopes.clear();
    }

    /// The rows in row order.
    fn rows(&self) -> impl Iterator<Item = (NeuronId, Row)> + '_ {
        self.neurons.iter().map(|neuron| (*neuron, self.row_from_neuron[neuron]))
    }
}

impl<'p> RegionLp<'p> {
    /// An LP for any region of the problem.
    pub fn new(problem: &'p Problem) -> Self {
        let trace = problem.trace();
        Self {
            problem,
            lp: LpModel::new(),
            moves: MoveColumns::new(&problem.set),
            rows: SignRows::default(),
            at_centre: trace.clone(),
            held: trace,
            work: LpWork::default(),
        }
    }

    /// The problem this LP is for.
    pub fn problem(&self) -> &'p Problem {
        self.problem
    }

    /// What has been spent since [`RegionLp::new`].
    pub fn work(&self) -> LpWork {
        self.work
    }

    /// The best point with this pattern. `start` is a point of the region (it keeps the small LP feasible), `hint` the neurons whose rows are
    /// likely to matter.
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
        self.work.operations += LpWork::passes(network, PASSES);
        self.begin(start, &gradient);
        self.add_rows(hint, pattern);

        // Every move has a cap: the dual simplex sends all that gain to it at once, and takes back what is beyond the budget.
        let mut simplex = Simplex::Dual;
        for _ in 0..MOST_ROUNDS {
            let solution = solve(&mut self.lp, simplex, budget, &mut self.work)?;
            let point = self.moves.point(&problem.set, &solution.cols);
            let missing = self.violated(&point, pattern)?;
            // The duals are not final while rows are missing: moves are priced once none is.
            let wanted = if missing.is_empty() {
                self.priced(&solution, &gradient, pattern)
            } else {
                Vec::new()
            };
            if missing.is_empty() && wanted.is_empty() {
                let mut tight: Vec<(NeuronId, f64)> = self.nonzero_duals(&solution).collect();
                tight.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
                return Ok(RegionOptimum { point, value: base + solution.objective, tight });
            }
            simplex = simplex_after(!missing.is_empty());
            self.add_moves(&wanted, &gradient);
            self.add_rows(&missing, pattern);
        }
        Err(too_many_rounds())
    }

    /// Begins a new LP with the set's own rows, the most promising moves and those that `start` makes.
    fn begin(&mut self, start: &[f64], gradient: &[f64]) {
        self.lp.clear();
        self.moves.begin(&mut self.lp);
        self.rows.clear();
        let centre = self.problem.set.centre();
        // Without a budget every pixel goes to one of its ends: there is nothing to choose.
        let (least, most) = if self.problem.set.budget().is_some() {
            (0.0, FIRST_MOVES)
        } else {
            (f64::NEG_INFINITY, usize::MAX)
        };
        let promise = |_, at: Move| at.sign * gradient[at.pixel];
        let promising = self.moves.best_missing(least, most, promise);
        self.moves.add(&mut self.lp, &promising, gradient, |_| []);
        let amount = |_, at: Move| at.sign * (start[at.pixel] - centre[at.pixel]);
        let used = self.moves.best_missing(0.0, usize::MAX, amount);
        self.moves.add(&mut self.lp, &used, gradient, |_| []);
        self.work.columns += promising.len() + used.len();
    }

    /// Adds these moves as columns.
    fn add_moves(&mut self, wanted: &[usize], gradient: &[f64]) {
        if wanted.is_empty() {
            return;
        }
        let pixels = self.moves.pixels(wanted);
        let slopes = self.problem.network.slopes(&self.rows.slopes, &pixels);
        let signs: Vec<f64> = wanted.iter().map(|&index| self.moves.get(index).sign).collect();
        let rows: Vec<Row> = self.rows.rows().map(|(_, row)| row).collect();
        self.moves.add(&mut self.lp, wanted, gradient, |j| {
            let (sign, slopes) = (signs[j], &slopes);
            rows.iter().enumerate().map(move |(r, &row)| (row, sign * slopes[(j, r)]))
        });
        self.work.columns += wanted.len();
    }

    /// Adds the sign rows of `neurons`: with the pattern held, `g = g(centre) + slopes · moves` keeps its sign.
    fn add_rows(&mut self, neurons: &[NeuronId], pattern: &ActivationPattern) {
        let new: Vec<NeuronId> =
            neurons.iter().copied().filter(|&neuron| !self.rows.contains(neuron)).collect();
        let network = &self.problem.network;
        let of_new = network.neuron_slopes(&new, pattern);
        let slopes = network.slopes(&of_new, &self.moves.column_pixels());
        self.rows.slopes.extend(of_new);
        let mut rows = NewRows::default();
        for (r, &neuron) in new.iter().enumerate() {
            let columns = self.moves.columns().zip(slopes.col_as_slice(r));
            let entries = columns.map(|(column, slope)| (column.col, column.at.sign * slope));
            let (lower, upper) = sign_sides(neuron, pattern, &self.at_centre);
            rows.push(lower, upper, entries);
            self.rows.push(neuron, Row(self.lp.rows() + r));
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
        let mut violated: Vec<(f64, NeuronId, ())> = Vec::new();
        for neuron @ NeuronId { layer, index } in self.problem.network.relus() {
            let g = self.held.pre_activations(layer)[index];
            let violation = if pattern.get(layer, index) { -g } else { g };
            if violation.is_nan() || violation <= tolerance::VIOLATION {
                continue;
            }
            if !self.rows.contains(neuron) {
                violated.push((violation, neuron, ()));
            } else if violation > tolerance::BROKEN_ROW {
                return Err(EncodeError::Trouble(format!(
                    "{neuron:?} breaks its row by {violation:.1e}"
                )));
            }
        }
        Ok(worst_first(violated, ADDED_ROWS).map(|(neuron, ())| neuron).collect())
    }

    /// The neurons with rows and their duals, where not zero.
    fn nonzero_duals<'s>(
        &'s self,
        solution: &'s LpSolution,
    ) -> impl Iterator<Item = (NeuronId, f64)> + 's {
        let duals = self.rows.rows().map(|(neuron, row)| (neuron, solution.duals[row.0]));
        duals.filter(|(_, dual)| dual.abs() > tolerance::DUAL)
    }

    /// The missing moves that would improve the objective, best first, a round's worth of them.
    fn priced(
        &self,
        solution: &LpSolution,
        gradient: &[f64],
        pattern: &ActivationPattern,
    ) -> Vec<usize> {
        let weights: Vec<(NeuronId, f64)> =
            self.nonzero_duals(solution).map(|(neuron, dual)| (neuron, -dual)).collect();
        let slopes = if weights.is_empty() {
            Cow::Borrowed(gradient)
        } else {
            // The gradient of the objective is there: few neurons have rows, so that most weights of the layers above them need not be read.
            let network = &self.problem.network;
            let nothing = vec![0.0; network.outputs()];
            let mut slopes = network.gradient_with(&nothing, &weights, pattern);
            slopes.iter_mut().zip(gradient).for_each(|(slope, own)| *slope += own);
            Cow::Owned(slopes)
        };
        let set_duals = self.moves.set_duals(solution);
        let reduced_cost = |_, at: Move| at.sign * slopes[at.pixel] - set_duals.price(at);
        self.moves.best_missing(tolerance::REDUCED_COST, ADDED_MOVES, reduced_cost)
    }
}

/// The sides of a sign row: `g = g(centre) + slopes · moves` stays non-negative or non-positive.
pub(super) fn sign_sides(
    neuron: NeuronId,
    pattern: &ActivationPattern,
    at_centre: &Trace,
) -> (f64, f64) {
    let constant = at_centre.pre_activations(neuron.layer)[neuron.index];
    if pattern.get(neuron.layer, neuron.index) {
        (-constant, f64::INFINITY)
    } else {
        (f64::NEG_INFINITY, -constant)
    }
}
