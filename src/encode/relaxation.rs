//! The relaxation LR: the whole network over the whole input set, each unstable ReLU as its convex hull.
//!
//! Stable neurons are substituted away. An unstable one is a column `h` in `[0, u]` with `h ≥ g` and the chord
//! `h ≤ u (g − l) / (u − l)`, where `g` is affine in the columns below. These rows, and the pixels' moves, join only when a
//! solution violates or wants them. Fixing a neuron is an edit of bounds: *off* is `h ≤ 0` (with the row `h ≥ g`), *on* makes that row
//! an equation; both can be taken back.
//!
//! Trap: `g` of a neuron runs through stable-on neurons below it, so rows reach further down than one layer.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::region::{RegionError, Work};
use crate::bounds::{Interval, NeuronBounds, Stability};
use crate::budget::Budget;
use crate::input::Move;
use crate::lp::{Basis, Col, Limits, LpModel, LpOutcome, LpSolution, Place, Row, Simplex};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::query::Query;
use crate::tolerance;

/// Moves in the first LP: all of them for small inputs.
const FIRST_MOVES: usize = 100;
const ADDED_MOVES: usize = 60;
/// Moves added for a fixing: more than a budget of a few pixels can use.
const MOVES_TOWARDS: usize = 30;
/// Rows added in one round; a relaxation needs hundreds in all.
const ADDED_ROWS: usize = 150;
const MOST_ROUNDS: usize = 500;

/// A solution of the relaxation.
#[derive(Clone, Debug)]
pub struct Relaxed {
    /// The input part, inside the set.
    pub point: Vec<f64>,
    /// The LP's value: a claim of an upper bound, never a certificate.
    pub claimed_bound: f64,
    /// `z̄` of every unstable neuron: 0 is off, 1 is on, in the order of [`Relaxation::neurons`].
    pub z: Vec<f64>,
}

/// The rows of an unstable neuron, once they exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// `h ≥ g`.
    Lower,
    /// `h ≤ u (g − l) / (u − l)`.
    Chord,
    /// `h ≤ g − l (1 − z)`, in a MILP; the column `z` joins afterwards.
    BigM,
}

/// What branch and bound says.
#[derive(Clone, Debug)]
pub struct MilpAnswer {
    /// The best point it found, if any.
    pub point: Option<Vec<f64>>,
    /// What it claims no point can exceed.
    pub claimed_bound: f64,
    /// Whether it claims that its best point is optimal.
    pub finished: bool,
}

#[derive(Clone, Copy, Debug)]
struct Neuron {
    id: NeuronId,
    interval: Interval,
    lower: Option<Row>,
    chord: Option<Row>,
    fixed: Option<bool>,
    /// A neuron of the last layer that the objective wants large sits on its chord in any optimum: it needs no
    /// column of its own, what it is made of is paid instead.
    substituted: bool,
}

impl Neuron {
    /// Slope and intercept of the line that a substituted neuron follows.
    fn line(&self) -> (f64, f64) {
        let Interval { lower, upper } = self.interval;
        match self.fixed {
            Some(true) => (1.0, 0.0),
            Some(false) => (0.0, 0.0),
            None => (upper / (upper - lower), -upper * lower / (upper - lower)),
        }
    }
}

/// The objective, told in columns.
struct Costs {
    neurons: Vec<f64>,
    pixels: Vec<f64>,
    constant: f64,
}

/// One live LP for the relaxation and all its restrictions.
pub struct Relaxation<'q, 'n> {
    query: &'q Query<'n>,
    bounds: &'q NeuronBounds,
    lp: LpModel,
    /// On where a neuron is stably on: through these `g` reaches down.
    stable: ActivationPattern,
    neurons: Vec<Neuron>,
    /// Place in `neurons`, by layer and index.
    place: Vec<Vec<Option<usize>>>,
    /// The neurons' columns come first, in their order; then the moves that joined.
    moves: Vec<Move>,
    columns: Vec<usize>,
    is_column: Vec<bool>,
    /// What each row behind the budget's belongs to, and the factor of `g` in it.
    rows: Vec<(usize, f64)>,
    /// The network at the set's centre with every unstable neuron at 0: the constants of `g` and of the objective.
    at_centre: Trace,
    /// The objective's weights of the last hidden layer's outputs.
    weights: Vec<f64>,
    costs: Costs,
    work: Work,
}

impl<'q, 'n> Relaxation<'q, 'n> {
    /// The relaxation, with the rows that the objective pushes against.
    pub fn new(query: &'q Query<'n>, bounds: &'q NeuronBounds) -> Self {
        Self::build(query, bounds, true)
    }

    /// The same with a column for every unstable neuron, ready for [`Relaxation::solve_milp`].
    pub fn for_milp(query: &'q Query<'n>, bounds: &'q NeuronBounds) -> Self {
        Self::build(query, bounds, false)
    }

    fn build(query: &'q Query<'n>, bounds: &'q NeuronBounds, substitute: bool) -> Self {
        let network = query.network;
        let output = network.output();
        let mut weights = vec![0.0; output.inputs()];
        output.apply_transposed(&query.objective, &mut weights);
        let last = bounds.hidden() - 1;
        let trace = Trace::new(network);
        let mut stable = ActivationPattern::at(&trace);
        let mut place: Vec<Vec<Option<usize>>> = Vec::new();
        let mut neurons = Vec::new();
        for layer in 0..bounds.hidden() {
            let mut of_layer = Vec::new();
            for (index, interval) in bounds.layer(layer).iter().enumerate() {
                let id = NeuronId { layer, index };
                let stability = interval.stability();
                if stability == Stability::On {
                    stable.set(id, true);
                }
                of_layer.push((stability == Stability::Unstable).then_some(neurons.len()));
                if stability == Stability::Unstable {
                    let interval = *interval;
                    let substituted = substitute && layer == last && weights[index] > 0.0;
                    neurons.push(Neuron {
                        id,
                        interval,
                        lower: None,
                        chord: None,
                        fixed: None,
                        substituted,
                    });
                }
            }
            place.push(of_layer);
        }
        let moves = query.set.moves();
        let mut relaxation = Self {
            query,
            bounds,
            lp: LpModel::new(),
            stable,
            neurons,
            place,
            is_column: vec![false; moves.len()],
            moves,
            columns: Vec::new(),
            rows: Vec::new(),
            at_centre: trace,
            weights,
            costs: Costs { neurons: Vec::new(), pixels: Vec::new(), constant: 0.0 },
            work: Work::default(),
        };
        network.forward_held(query.set.centre(), &relaxation.stable, &mut relaxation.at_centre);
        relaxation.costs = relaxation.price_objective(None);
        relaxation.begin();
        relaxation
    }

    /// What has been spent since [`Relaxation::new`].
    pub fn work(&self) -> Work {
        self.work
    }

    /// The unstable neurons, layer by layer.
    pub fn neurons(&self) -> impl Iterator<Item = NeuronId> + '_ {
        self.neurons.iter().map(|n| n.id)
    }

    /// Fixes the unstable neuron at this place on or off, or lets it go again.
    pub fn fix(&mut self, place: usize, state: Option<bool>) {
        if self.neurons[place].lower.is_none() {
            self.add_rows(&[(place, Side::Lower)]);
        }
        if let Some(on) = state {
            self.add_moves_towards(place, if on { 1.0 } else { -1.0 });
        }
        let neuron = &mut self.neurons[place];
        neuron.fixed = state;
        let row = neuron.lower.expect("the row was just made");
        let constant = self.at_centre.pre_activations(neuron.id.layer)[neuron.id.index];
        if neuron.substituted {
            // Its column stays at 0, so the row is `−g`: only the sign is left to demand.
            let (lower, upper) = match state {
                Some(true) => (f64::NEG_INFINITY, constant),
                Some(false) => (constant, f64::INFINITY),
                None => (f64::NEG_INFINITY, f64::INFINITY),
            };
            self.lp.set_row_bounds(row, lower, upper);
            self.costs = self.price_objective(None);
            let moves = self
                .columns
                .iter()
                .map(|&k| self.moves[k].sign * self.costs.pixels[self.moves[k].pixel]);
            let all: Vec<f64> = self.costs.neurons.iter().copied().chain(moves).collect();
            self.lp.set_costs(&all);
            return;
        }
        let upper = if state == Some(false) { 0.0 } else { neuron.interval.upper };
        let equation = if state == Some(true) { constant } else { f64::INFINITY };
        self.lp.set_col_bounds(Col(place), 0.0, upper);
        self.lp.set_row_bounds(row, constant, equation);
    }

    /// Adds the moves that push a neuron's `g` furthest up or down: without them a fixing may look infeasible.
    fn add_moves_towards(&mut self, place: usize, direction: f64) {
        let slopes = self.pixel_slopes(&[], &[(self.neurons[place].id, direction)]);
        let helps = |k: usize| self.moves[k].sign * slopes[self.moves[k].pixel];
        let outside = (0..self.moves.len()).filter(|&k| !self.is_column[k]);
        let mut wanted: Vec<usize> = outside.filter(|&k| helps(k) > 0.0).collect();
        wanted.sort_by(|&a, &b| helps(b).total_cmp(&helps(a)).then(a.cmp(&b)));
        wanted.truncate(MOVES_TOWARDS);
        self.add_columns(&wanted);
    }

    /// The objective in columns, with the substituted neurons on their lines. With a trace, the other neurons of the
    /// last layer count as on or off as they are there: a guess at what the layers below will be worth.
    fn price_objective(&self, guess: Option<&Trace>) -> Costs {
        let network = self.query.network;
        let last = self.bounds.hidden() - 1;
        // Weights of the last layer's pre-activations, and the constants that lines bring along.
        let mut on_last = vec![0.0; self.weights.len()];
        let mut constant = self.query.value(&self.at_centre);
        for (index, &weight) in self.weights.iter().enumerate() {
            match self.place[last][index] {
                None if self.stable.get(last, index) => on_last[index] = weight,
                Some(place) if self.neurons[place].substituted => {
                    let (slope, intercept) = self.neurons[place].line();
                    on_last[index] = weight * slope;
                    let at_centre = self.at_centre.pre_activations(last)[index];
                    constant += weight * (slope * at_centre + intercept);
                }
                Some(_) if guess.is_some_and(|trace| trace.pre_activations(last)[index] > 0.0) => {
                    on_last[index] = weight;
                }
                _ => {}
            }
        }
        let below = (last > 0).then(|| {
            let mut row = vec![0.0; network.layers()[last].inputs()];
            network.layers()[last].apply_transposed(&on_last, &mut row);
            self.spread(Mat::from_fn(row.len(), 1, |j, _| row[j]), last - 1)
        });
        let cost = |neuron: &Neuron| match &below {
            _ if neuron.substituted => 0.0,
            _ if neuron.id.layer == last => self.weights[neuron.id.index],
            Some(below) => below[neuron.id.layer][(neuron.id.index, 0)],
            None => 0.0,
        };
        let neurons = self.neurons.iter().map(cost).collect();
        let pixels = self.pixel_slopes(&on_last, &[]);
        Costs { neurons, pixels, constant }
    }

    /// The slopes of `on_last · g(last layer) + Σ weight · g(neuron)` with respect to the pixels, unstable columns held.
    fn pixel_slopes(&self, on_last: &[f64], neurons: &[(NeuronId, f64)]) -> Vec<f64> {
        let layer = self.bounds.hidden() - 1;
        let of_last = on_last.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let mut all: Vec<(NeuronId, f64)> =
            of_last.map(|(index, weight)| (NeuronId { layer, index }, *weight)).collect();
        all.extend_from_slice(neurons);
        self.query.network.gradient_with(
            &vec![0.0; self.query.network.outputs()],
            &all,
            &self.stable,
        )
    }

    fn begin(&mut self) {
        if let Some(budget) = self.query.set.budget() {
            self.lp.add_row(f64::NEG_INFINITY, budget, &[]);
        }
        for (neuron, cost) in self.neurons.iter().zip(&self.costs.neurons) {
            let upper = if neuron.substituted { 0.0 } else { neuron.interval.upper };
            self.lp.add_col(*cost, 0.0, upper, &[]);
        }
        // The rows that the objective itself pushes against, from the start.
        let mut trace = self.at_centre.clone();
        self.query.network.forward(self.query.set.centre(), &mut trace);
        let guess = self.price_objective(Some(&trace)).neurons;
        let pushed = guess.iter().enumerate().filter_map(|(place, &cost)| match cost {
            0.0 => None,
            _ if cost > 0.0 => Some((place, Side::Chord)),
            _ => Some((place, Side::Lower)),
        });
        let pushed: Vec<(usize, Side)> = pushed.collect();
        let gradient = self.query.network.gradient(&self.query.objective, &self.optimistic());
        let worth = |m: &Move| m.sign * gradient[m.pixel];
        let mut first: Vec<usize> = (0..self.moves.len()).collect();
        first.sort_by(|&a, &b| {
            worth(&self.moves[b]).total_cmp(&worth(&self.moves[a])).then(a.cmp(&b))
        });
        first.truncate(FIRST_MOVES);
        self.add_columns(&first);
        self.add_rows(&pushed);
        self.crash(&pushed, &trace);
    }

    /// A first basis: no pixel moves, and every neuron that the objective pushes against a row sits on it (`trace` is at the centre). That is
    /// nearly feasible and nearly optimal, where the solver's own first basis needs an iteration for each of them.
    fn crash(&mut self, pushed: &[(usize, Side)], trace: &Trace) {
        let mut cols = vec![Place::Lower; self.lp.cols()];
        let mut rows = vec![Place::Basic; self.lp.rows()];
        for &(place, side) in pushed {
            let Neuron { id, lower, chord, .. } = self.neurons[place];
            let on = trace.pre_activations(id.layer)[id.index] > 0.0;
            match (side, lower, chord) {
                (Side::Chord, _, Some(Row(row))) => {
                    (cols[place], rows[row]) = (Place::Basic, Place::Upper)
                }
                (Side::Lower, Some(Row(row)), _) if on => {
                    (cols[place], rows[row]) = (Place::Basic, Place::Lower)
                }
                _ => {}
            }
        }
        if let Err(error) = self.lp.set_basis(&Basis { cols, rows }) {
            log::debug!("relaxation: starting cold: {error}");
        }
    }

    /// The pattern of the chords' slopes, rounded: a guess at what will matter.
    fn optimistic(&self) -> ActivationPattern {
        let mut pattern = self.stable.clone();
        for neuron in &self.neurons {
            pattern.set(neuron.id, neuron.interval.upper > -neuron.interval.lower);
        }
        pattern
    }

    /// Tells `columns · h`, `h` the outputs of `layer`, in the outputs of every layer up to it: stable-on neurons are
    /// replaced by what they are made of. One matrix per layer; its rows of unstable neurons are what counts.
    /// (The pixels' part is [`crate::network::Network::slopes`] with the stable pattern.)
    fn spread(&self, mut columns: Mat<f64>, layer: usize) -> Vec<Mat<f64>> {
        let network = self.query.network;
        let mut on_outputs = vec![Mat::zeros(0, 0); layer + 1];
        for below in (1..=layer).rev() {
            let through = Mat::from_fn(columns.nrows(), columns.ncols(), |j, k| {
                if self.stable.get(below, j) { columns[(j, k)] } else { 0.0 }
            });
            let mut next = Mat::zeros(network.layers()[below].inputs(), through.ncols());
            matmul(
                next.as_mut(),
                Accum::Replace,
                network.transposed(below),
                through.as_ref(),
                1.0,
                Par::Seq,
            );
            on_outputs[below] = std::mem::replace(&mut columns, next);
        }
        on_outputs[0] = columns;
        on_outputs
    }

    fn first_neuron_row(&self) -> usize {
        usize::from(self.query.set.budget().is_some())
    }

    fn add_columns(&mut self, wanted: &[usize]) {
        let network = self.query.network;
        let pixels: Vec<usize> = wanted.iter().map(|&k| self.moves[k].pixel).collect();
        let of_rows: Vec<NeuronId> =
            self.rows.iter().map(|&(place, _)| self.neurons[place].id).collect();
        let slopes = network.slopes(&of_rows, &pixels, &self.stable);
        let offset = self.first_neuron_row();
        for (j, &k) in wanted.iter().enumerate() {
            let Move { pixel, sign, cap } = self.moves[k];
            let budget = (offset > 0).then_some((Row(0), 1.0));
            let rows = self
                .rows
                .iter()
                .enumerate()
                .map(|(r, &(_, factor))| (Row(offset + r), factor * sign * slopes[(j, r)]));
            let entries: Vec<(Row, f64)> = budget.into_iter().chain(rows).collect();
            self.lp.add_col(sign * self.costs.pixels[pixel], 0.0, cap, &entries);
            self.columns.push(k);
            self.is_column[k] = true;
            self.work.columns += 1;
        }
    }

    /// Adds rows `h + factor · g`: `factor` is −1 for `h ≥ g` and minus the chord's slope for the chord.
    fn add_rows(&mut self, wanted: &[(usize, Side)]) {
        for layer in 0..self.bounds.hidden() {
            let of_layer: Vec<(usize, Side)> = wanted
                .iter()
                .copied()
                .filter(|&(place, _)| self.neurons[place].id.layer == layer)
                .collect();
            if !of_layer.is_empty() {
                self.add_rows_of_layer(layer, &of_layer);
            }
        }
    }

    fn add_rows_of_layer(&mut self, layer: usize, wanted: &[(usize, Side)]) {
        let network = self.query.network;
        let ids: Vec<NeuronId> = wanted.iter().map(|&(place, _)| self.neurons[place].id).collect();
        let pixels: Vec<usize> = self.columns.iter().map(|&k| self.moves[k].pixel).collect();
        let slopes = network.slopes(&ids, &pixels, &self.stable);
        let spread = (layer > 0).then(|| {
            let rows = Mat::from_fn(network.layers()[layer].inputs(), ids.len(), |j, k| {
                network.row(layer, ids[k].index)[j]
            });
            self.spread(rows, layer - 1)
        });
        for (k, &(place, side)) in wanted.iter().enumerate() {
            let Interval { lower, upper } = self.neurons[place].interval;
            // `g` without the unstable neurons' columns and the moves.
            let constant = self.at_centre.pre_activations(layer)[ids[k].index];
            let slope = upper / (upper - lower);
            let factor = if side == Side::Chord { -slope } else { -1.0 };
            let mut entries = vec![(Col(place), 1.0)];
            if let Some(spread) = &spread {
                for (below, coefficients) in spread.iter().enumerate() {
                    let column = coefficients.col_as_slice(k);
                    let unstable = self.place[below]
                        .iter()
                        .zip(column)
                        .filter_map(|(at, v)| at.map(|at| (at, *v)));
                    entries.extend(
                        unstable.filter(|(_, v)| *v != 0.0).map(|(at, v)| (Col(at), factor * v)),
                    );
                }
            }
            let first_move = self.neurons.len();
            for (c, &m) in self.columns.iter().enumerate() {
                entries.push((Col(first_move + c), factor * self.moves[m].sign * slopes[(c, k)]));
            }
            let (low, high) = match side {
                Side::Lower => (constant, f64::INFINITY),
                Side::Chord => (f64::NEG_INFINITY, slope * (constant - lower)),
                Side::BigM => (f64::NEG_INFINITY, constant - lower),
            };
            let row = self.lp.add_row(low, high, &entries);
            self.rows.push((place, factor));
            let neuron = &mut self.neurons[place];
            match side {
                Side::Lower => neuron.lower = Some(row),
                Side::Chord => neuron.chord = Some(row),
                Side::BigM => {}
            }
            self.work.rows += 1;
        }
    }

    /// Solves the relaxation as it is now fixed. `Ok(None)`: no point was found that fits the fixings.
    ///
    /// # Errors
    /// When the time is up or the solver fails.
    pub fn solve(&mut self, budget: &Budget) -> Result<Option<Relaxed>, RegionError> {
        // The crash basis suits the primal simplex; edits of bounds and costs afterwards, whatever HiGHS thinks.
        let mut simplex = if self.work.lps == 0 { Simplex::Primal } else { Simplex::Choose };
        for _ in 0..MOST_ROUNDS {
            if budget.is_spent() {
                return Err(RegionError::Budget);
            }
            self.work.lps += 1;
            let limits = Limits { time: budget.left(), ..Limits::default() };
            let solution = match self.lp.solve(&limits, simplex)? {
                LpOutcome::Optimal(solution) => solution,
                // With moves left out this may still be wrong; it costs a start, nothing else depends on it.
                LpOutcome::Infeasible => return Ok(None),
                LpOutcome::Limit(_) => return Err(RegionError::Budget),
                other => return Err(RegionError::Trouble(format!("{other:?}"))),
            };
            self.work.iterations += solution.iterations;
            let point = self.point(&solution);
            let g = self.pre_activations(&point, &solution);
            let missing = self.violated(&g, &solution);
            let wanted = self.priced(&solution);
            if missing.is_empty() && wanted.is_empty() {
                let z = self
                    .neurons
                    .iter()
                    .zip(&g)
                    .zip(&solution.cols)
                    .map(|((n, g), h)| z_value(n, *g, *h));
                let z = z.collect();
                let claimed_bound = self.costs.constant + solution.objective;
                return Ok(Some(Relaxed { point, claimed_bound, z }));
            }
            simplex = if missing.is_empty() { Simplex::Primal } else { Simplex::Dual };
            self.add_columns(&wanted);
            self.add_rows(&missing);
        }
        Err(RegionError::Trouble(format!("no end after {MOST_ROUNDS} rounds")))
    }

    /// Solves the whole problem by branch and bound: one binary per unstable neuron, big-M from the bounds, starting from
    /// `incumbent`.
    ///
    /// # Errors
    /// When the solver fails.
    pub fn solve_milp(
        mut self,
        incumbent: &[f64],
        limits: &Limits,
    ) -> Result<MilpAnswer, RegionError> {
        let outside: Vec<usize> = (0..self.moves.len()).filter(|&k| !self.is_column[k]).collect();
        self.add_columns(&outside);
        let missing = (0..self.neurons.len()).filter(|&place| self.neurons[place].lower.is_none());
        let missing: Vec<(usize, Side)> = missing.map(|place| (place, Side::Lower)).collect();
        self.add_rows(&missing);
        for place in 0..self.neurons.len() {
            let Interval { lower, upper } = self.neurons[place].interval;
            let big_m = Row(self.lp.rows());
            self.add_rows(&[(place, Side::BigM)]);
            let off = self.lp.add_row(f64::NEG_INFINITY, 0.0, &[(Col(place), 1.0)]);
            let z = self.lp.add_col(0.0, 0.0, 1.0, &[(big_m, -lower), (off, -upper)]);
            self.lp.set_integer(z, true);
        }
        self.lp.set_start(&self.milp_point(incumbent));
        let base = self.costs.constant;
        let (solution, bound, finished) = match self.lp.solve(limits, Simplex::Choose)? {
            LpOutcome::Optimal(solution) => (Some(solution.clone()), solution.objective, true),
            LpOutcome::Limit(stopped) => {
                let bound = stopped.bound.map_or(f64::INFINITY, |bound| bound.value());
                (stopped.incumbent, bound, false)
            }
            other => return Err(RegionError::Trouble(format!("{other:?}"))),
        };
        let point = solution.map(|solution| self.point(&solution));
        Ok(MilpAnswer { point, claimed_bound: base + bound, finished })
    }

    /// `x` told in all columns of the MILP.
    fn milp_point(&self, x: &[f64]) -> Vec<f64> {
        let mut trace = self.at_centre.clone();
        self.query.network.forward(x, &mut trace);
        let centre = self.query.set.centre();
        let outputs = self.neurons.iter().map(|n| trace.activations(n.id.layer)[n.id.index]);
        let moves = self.columns.iter().map(|&k| {
            let Move { pixel, sign, .. } = self.moves[k];
            (sign * (x[pixel] - centre[pixel])).max(0.0)
        });
        let on =
            |n: &Neuron| f64::from(u8::from(trace.pre_activations(n.id.layer)[n.id.index] > 0.0));
        outputs.chain(moves).chain(self.neurons.iter().map(on)).collect()
    }

    fn point(&self, solution: &LpSolution) -> Vec<f64> {
        let mut point = self.query.set.centre().to_vec();
        for (&k, amount) in self.columns.iter().zip(&solution.cols[self.neurons.len()..]) {
            let Move { pixel, sign, cap } = self.moves[k];
            point[pixel] += sign * amount.clamp(0.0, cap);
        }
        if self.query.set.contains(&point, tolerance::INSIDE) {
            point
        } else {
            self.query.set.project(&point)
        }
    }

    /// `g` of every unstable neuron, given the LP's `h` below it.
    fn pre_activations(&self, point: &[f64], solution: &LpSolution) -> Vec<f64> {
        let network = self.query.network;
        let mut values = Vec::with_capacity(self.neurons.len());
        let mut input = point.to_vec();
        for (layer, dense) in network.hidden().iter().enumerate() {
            let mut g = vec![0.0; dense.outputs()];
            dense.apply(&input, &mut g);
            let h = g.iter().enumerate().map(|(index, &g)| match self.place[layer][index] {
                Some(place) => {
                    values.push(g);
                    solution.cols[place]
                }
                None if self.stable.get(layer, index) => g,
                None => 0.0,
            });
            input = h.collect();
        }
        values
    }

    /// The rows that the solution breaks and that are not there yet, worst first, a round's worth.
    fn violated(&self, g: &[f64], solution: &LpSolution) -> Vec<(usize, Side)> {
        let mut wrong: Vec<(f64, usize, Side)> = Vec::new();
        for (place, neuron) in self.neurons.iter().enumerate() {
            let (g, h) = (g[place], solution.cols[place]);
            let Interval { lower, upper } = neuron.interval;
            let chord = upper * (g - lower) / (upper - lower);
            if neuron.substituted {
                continue;
            }
            if neuron.lower.is_none() && g - h > tolerance::VIOLATION {
                wrong.push((g - h, place, Side::Lower));
            }
            if neuron.chord.is_none() && h - chord > tolerance::VIOLATION {
                wrong.push((h - chord, place, Side::Chord));
            }
        }
        wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        wrong.into_iter().take(ADDED_ROWS).map(|(_, place, side)| (place, side)).collect()
    }

    fn priced(&self, solution: &LpSolution) -> Vec<usize> {
        let duals = &solution.duals[self.first_neuron_row()..];
        let used = self.rows.iter().zip(duals).filter(|(_, dual)| dual.abs() > tolerance::DUAL);
        let weights: Vec<(NeuronId, f64)> =
            used.map(|(&(place, factor), dual)| (self.neurons[place].id, -dual * factor)).collect();
        let of_rows = self.pixel_slopes(&[], &weights);
        let slopes: Vec<f64> =
            self.costs.pixels.iter().zip(of_rows).map(|(cost, row)| cost + row).collect();
        let price = if self.first_neuron_row() > 0 { solution.duals[0] } else { 0.0 };
        let gain = |k: usize| self.moves[k].sign * slopes[self.moves[k].pixel] - price;
        let outside = (0..self.moves.len()).filter(|&k| !self.is_column[k]);
        let mut wanted: Vec<usize> =
            outside.filter(|&k| gain(k) > tolerance::REDUCED_COST).collect();
        wanted.sort_by(|&a, &b| gain(b).total_cmp(&gain(a)).then(a.cmp(&b)));
        wanted.truncate(ADDED_MOVES);
        wanted
    }
}

/// The binary's relaxed value: any `z` in `[h/u, 1 − (h − g)/(−l)]` fits; the middle where there is a choice.
fn z_value(neuron: &Neuron, g: f64, h: f64) -> f64 {
    if let Some(on) = neuron.fixed {
        return f64::from(u8::from(on));
    }
    let Interval { lower, upper } = neuron.interval;
    if neuron.substituted {
        return ((g - lower) / (upper - lower)).clamp(0.0, 1.0);
    }
    let (low, high) = (h / upper, 1.0 - (h - g) / -lower);
    ((low + high) / 2.0).clamp(0.0, 1.0)
}
