//! The relaxation LR: the whole network over the whole input set, each unstable ReLU as its convex hull.
//!
//! Stable neurons are substituted away. An unstable one is a column `h` in `[0, u]` with `h ≥ g` and the chord
//! `h ≤ u (g − l) / (u − l)`, where `g` is affine in the columns below. These rows, and the pixels' moves, join only when a
//! solution violates or wants them. Fixing a neuron is an edit of bounds: *off* is `h ≤ 0` (with the row `h ≥ g`), *on* makes that row
//! an equation; both can be taken back.
//!
//! Trap: `g` of a neuron runs through stable-on neurons below it, so rows reach further down than one layer.

mod milp;
mod objective;

use std::collections::{BTreeMap, HashSet};

use self::objective::Costs;
use super::error::EncodeError;
use super::moves::Moves;
use super::solve::{Work, solve};
use crate::bounds::{
    Interval, LinearBounds, Multipliers, NeuronBounds, NeuronDuals, Sign, Stability,
};
use crate::budget::Budget;
use crate::lp::{Basis, BasisStatus, Col, LpModel, LpSolution, NewRows, Row, Simplex};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;
use crate::sets::Move;
use crate::tolerance;

pub use milp::MilpAnswer;

/// Moves in the first LP: all of them for small inputs.
const FIRST_MOVES: usize = 100;
const ADDED_MOVES: usize = 60;
/// Moves added for a fixing: more than a budget of a few pixels can use.
const MOVES_TOWARDS: usize = 30;
/// Rows added in one round; a relaxation needs hundreds in all.
const ADDED_ROWS: usize = 150;
const MOST_ROUNDS: usize = 500;
/// What a demanded sign may cost at most, per unit that is missing, in units of the objective's largest weight. With it every part has
/// an optimum and duals, also an empty one.
const PENALTY: f64 = 1e3;

/// A solution of the relaxation.
#[derive(Clone, Debug)]
pub struct RelaxationSolution {
    /// The input part, inside the set.
    pub point: Vec<f64>,
    /// The LP's value: a claim of an upper bound, never a certificate.
    pub claimed_bound: f64,
    /// `z̄` of every unstable neuron: 0 is off, 1 is on, in the order of [`Relaxation::neurons`].
    pub z: Vec<f64>,
    /// How far the output of each of them is above what its ReLU gives, in the same order.
    pub excess: Vec<f64>,
    /// Where the LP ended, for an LP of a part to begin from.
    pub warm_start: WarmStart,
    /// The duals as multipliers, for [`LinearBounds::dual_bound`].
    pub multipliers: Multipliers,
}

/// Where an LP ended, told in neurons and moves.
#[derive(Clone, Debug, Default)]
pub struct WarmStart {
    moves: Vec<(usize, BasisStatus)>,
    neurons: Vec<(NeuronId, BasisStatus)>,
    rows: Vec<(NeuronId, RowKind, BasisStatus)>,
    of_set: Vec<BasisStatus>,
}

/// The rows of an unstable neuron, once they exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    /// `h ≥ g`.
    Lower,
    /// `h ≤ u (g − l) / (u − l)`.
    Chord,
    /// `h ≤ g − l (1 − z)`, in a MILP; the column `z` joins afterwards.
    BigM,
    /// `g ≥ 0` or `g ≤ 0`, for a pinned neuron.
    Sign,
    /// `h` at most its envelope, which is a function of the moves.
    Envelope,
}

#[derive(Clone, Copy, Debug)]
struct Neuron {
    id: NeuronId,
    interval: Interval,
    lower: Option<Row>,
    chord: Option<Row>,
    envelope: Option<Row>,
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

/// What the LP is made for.
#[derive(Default)]
struct Kind<'q, 'k> {
    /// Whether neurons may be [substituted](Neuron::substituted).
    substitute: bool,
    envelopes: Option<&'q LinearBounds>,
    signs: &'k [Sign],
    warm_start: Option<&'k WarmStart>,
}

/// One live LP for the relaxation and all its restrictions.
pub struct Relaxation<'q> {
    problem: &'q Problem,
    bounds: &'q NeuronBounds,
    envelopes: Option<&'q LinearBounds>,
    lp: LpModel,
    /// On where a neuron is stably on: through these `g` reaches down.
    stable: ActivationPattern,
    neurons: Vec<Neuron>,
    /// Place in `neurons`, by layer and index.
    place: Vec<Vec<Option<usize>>>,
    /// The neurons' columns come first, in their order; then what is missing of signs that are not demanded at any price; then the moves
    /// that joined.
    moves: Moves,
    /// How many columns those in the middle are: all pinned neurons, or none.
    elastic: usize,
    /// Whether it began where another LP ended.
    warm: bool,
    /// What each row behind the set's own belongs to, and the factor of `g` in it.
    rows: Vec<(NeuronId, RowKind, f64)>,
    /// Neurons held in the state that `stable` gives them although they could change it, and whether the row that
    /// demands it is there.
    pinned: BTreeMap<NeuronId, bool>,
    /// The network at the set's centre with every unstable neuron at 0: the constants of `g` and of the objective.
    at_centre: Trace,
    /// The objective's weights of the last hidden layer's outputs.
    weights: Vec<f64>,
    costs: Costs,
    work: Work,
}

impl<'q> Relaxation<'q> {
    /// The relaxation, with the rows that the objective pushes against.
    pub fn new(problem: &'q Problem, bounds: &'q NeuronBounds) -> Self {
        Self::build(problem, bounds, Kind { substitute: true, ..Kind::default() }, |_| None)
    }

    /// The relaxation, with envelopes too, over the part of the set in which neurons have these signs, as far as a `PENALTY` keeps them; `bounds`
    /// are those of the part. The first basis is that of `warm_start`, where an LP of the same set ended.
    pub fn of_part(
        problem: &'q Problem,
        bounds: &'q LinearBounds,
        signs: &[Sign],
        warm_start: Option<&WarmStart>,
    ) -> Self {
        let kind = Kind { substitute: false, envelopes: Some(bounds), signs, warm_start };
        Self::build(problem, bounds.neurons(), kind, |_| None)
    }

    /// The same with a column for every unstable neuron, ready for [`Relaxation::solve_milp`].
    pub fn for_milp(problem: &'q Problem, bounds: &'q NeuronBounds) -> Self {
        Self::build(problem, bounds, Kind::default(), |_| None)
    }

    /// As [`Relaxation::for_milp`], with every neuron but the `free` ones held in its state of `pattern`.
    pub fn around(
        problem: &'q Problem,
        bounds: &'q NeuronBounds,
        pattern: &ActivationPattern,
        free: &HashSet<NeuronId>,
    ) -> Self {
        let pin = |id: NeuronId| (!free.contains(&id)).then(|| pattern.get(id.layer, id.index));
        Self::build(problem, bounds, Kind::default(), pin)
    }

    fn build(
        problem: &'q Problem,
        bounds: &'q NeuronBounds,
        kind: Kind<'q, '_>,
        pin: impl Fn(NeuronId) -> Option<bool>,
    ) -> Self {
        let Kind { substitute, envelopes, signs, warm_start } = kind;
        let network = &problem.network;
        let output = network.output().affine();
        let mut weights = vec![0.0; output.inputs()];
        output.apply_transposed(problem.weights(), &mut weights);
        let last = bounds.hidden() - 1;
        let trace = Trace::new(network);
        let mut stable = ActivationPattern::at(&trace);
        let mut place: Vec<Vec<Option<usize>>> = Vec::new();
        let mut neurons = Vec::new();
        let mut pinned = BTreeMap::new();
        for layer in 0..bounds.hidden() {
            let mut of_layer = Vec::new();
            for (index, interval) in bounds.layer(layer).iter().enumerate() {
                let id = NeuronId { layer, index };
                let mut stability = interval.stability();
                if let (Stability::Unstable, Some(on)) = (stability, pin(id)) {
                    stability = if on { Stability::On } else { Stability::Off };
                    pinned.insert(id, false);
                }
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
                        envelope: None,
                        fixed: None,
                        substituted,
                    });
                }
            }
            place.push(of_layer);
        }
        pinned.extend(signs.iter().map(|sign| (sign.neuron, false)));
        let mut relaxation = Self {
            problem,
            envelopes,
            warm: warm_start.is_some(),
            elastic: if signs.is_empty() { 0 } else { pinned.len() },
            bounds,
            lp: LpModel::new(),
            stable,
            neurons,
            place,
            moves: Moves::new(&problem.set),
            rows: Vec::new(),
            pinned,
            at_centre: trace,
            weights,
            costs: Costs { neurons: Vec::new(), pixels: Vec::new(), constant: 0.0 },
            work: Work::default(),
        };
        network.forward_held(problem.set.centre(), &relaxation.stable, &mut relaxation.at_centre);
        relaxation.costs = relaxation.price_objective(None);
        relaxation.begin_columns();
        match warm_start {
            Some(warm_start) => relaxation.begin_on(warm_start),
            None => relaxation.begin_cold(),
        }
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
            self.add_rows(&[(self.neurons[place].id, RowKind::Lower)]);
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
            let moves = self.moves.joined().map(|m| m.sign * self.costs.pixels[m.pixel]);
            let missing = std::iter::repeat_n(self.penalty(), self.elastic);
            let neurons = self.costs.neurons.iter().copied();
            let all: Vec<f64> = neurons.chain(missing).chain(moves).collect();
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
        let wanted = self.moves.best_outside(0.0, MOVES_TOWARDS, |_, m| m.sign * slopes[m.pixel]);
        self.add_columns(&wanted);
    }

    fn begin_columns(&mut self) {
        self.moves.begin(&mut self.lp);
        for (neuron, cost) in self.neurons.iter().zip(&self.costs.neurons) {
            let upper = if neuron.substituted { 0.0 } else { neuron.interval.upper };
            self.lp.add_col(*cost, 0.0, upper, &[]);
        }
        for _ in 0..self.elastic {
            self.lp.add_col(self.penalty(), 0.0, f64::INFINITY, &[]);
        }
    }

    /// Begins with the moves and rows with which another LP ended, and its basis.
    fn begin_on(&mut self, warm_start: &WarmStart) {
        let moves: Vec<usize> = warm_start.moves.iter().map(|&(k, _)| k).collect();
        self.add_columns(&moves);
        let is_there = |&&(id, side, _): &&(NeuronId, RowKind, BasisStatus)| match side {
            RowKind::Sign => self.pinned.contains_key(&id),
            _ => self.place[id.layer][id.index].is_some_and(|at| !self.neurons[at].substituted),
        };
        let kept: Vec<(NeuronId, RowKind, BasisStatus)> =
            warm_start.rows.iter().filter(is_there).copied().collect();
        let signed =
            |id: &NeuronId| kept.iter().any(|(at, side, _)| at == id && *side == RowKind::Sign);
        let new: Vec<NeuronId> = self.pinned.keys().filter(|id| !signed(id)).copied().collect();
        let new = new.into_iter().map(|id| (id, RowKind::Sign, BasisStatus::Basic));
        let mut all: Vec<(NeuronId, RowKind, BasisStatus)> = kept.into_iter().chain(new).collect();
        // As `add_rows` orders them.
        all.sort_by_key(|(id, ..)| id.layer);
        let rows: Vec<(NeuronId, RowKind)> = all.iter().map(|&(id, side, _)| (id, side)).collect();
        self.add_rows(&rows);
        let mut cols = vec![BasisStatus::Lower; self.lp.cols()];
        for &(id, place) in &warm_start.neurons {
            if let Some(at) = self.place[id.layer][id.index] {
                cols[at] = place;
            }
        }
        for (col, &(_, place)) in cols[self.first_move()..].iter_mut().zip(&warm_start.moves) {
            *col = place;
        }
        let rows = warm_start.of_set.iter().copied().chain(all.iter().map(|&(_, _, place)| place));
        let basis = Basis { cols, rows: rows.collect() };
        if let Err(error) = self.lp.set_basis(&basis) {
            log::debug!("relaxation: starting cold: {error}");
        }
    }

    /// Begins with what the objective wants.
    fn begin_cold(&mut self) {
        // The rows that the objective itself pushes against, from the start.
        let mut trace = self.at_centre.clone();
        self.problem.network.forward(self.problem.set.centre(), &mut trace);
        let guess = self.price_objective(Some(&trace)).neurons;
        let pushed = guess.iter().zip(&self.neurons).filter_map(|(&cost, neuron)| match cost {
            0.0 => None,
            _ if cost > 0.0 => Some((neuron.id, RowKind::Chord)),
            _ => Some((neuron.id, RowKind::Lower)),
        });
        let pushed: Vec<(NeuronId, RowKind)> = pushed.collect();
        let gradient = self.problem.network.gradient(self.problem.weights(), &self.optimistic());
        let first = self
            .moves
            .best_outside(f64::NEG_INFINITY, FIRST_MOVES, |_, m| m.sign * gradient[m.pixel]);
        self.add_columns(&first);
        self.add_rows(&pushed);
        self.crash(&pushed, &trace);
    }

    /// A first basis: no pixel moves, and every neuron that the objective pushes against a row sits on it (`trace` is at the centre). That is
    /// nearly feasible and nearly optimal, where the solver's own first basis needs an iteration for each of them.
    fn crash(&mut self, pushed: &[(NeuronId, RowKind)], trace: &Trace) {
        let mut cols = vec![BasisStatus::Lower; self.lp.cols()];
        let mut rows = vec![BasisStatus::Basic; self.lp.rows()];
        for &(id, side) in pushed {
            let Some(place) = self.place[id.layer][id.index] else { continue };
            let Neuron { lower, chord, .. } = self.neurons[place];
            let on = trace.pre_activations(id.layer)[id.index] > 0.0;
            match (side, lower, chord) {
                (RowKind::Chord, _, Some(Row(row))) => {
                    (cols[place], rows[row]) = (BasisStatus::Basic, BasisStatus::Upper)
                }
                (RowKind::Lower, Some(Row(row)), _) if on => {
                    (cols[place], rows[row]) = (BasisStatus::Basic, BasisStatus::Lower)
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

    fn add_columns(&mut self, wanted: &[usize]) {
        let network = &self.problem.network;
        let pixels = self.moves.pixels(wanted);
        let of_rows: Vec<NeuronId> = self.rows.iter().map(|&(id, ..)| id).collect();
        let slopes = network.slopes(&of_rows, &pixels, &self.stable);
        for (j, &k) in wanted.iter().enumerate() {
            let rows = self.rows.iter().enumerate();
            let sign = self.moves.sign(k);
            let of_pixel = rows.map(|(r, &(id, side, factor))| match side {
                // Told in moves already: the sign cancels.
                RowKind::Envelope => -sign * self.envelope_slope(id, k),
                _ => factor * slopes[(j, r)],
            });
            let of_pixel: Vec<f64> = of_pixel.collect();
            self.moves.join(&mut self.lp, k, &self.costs.pixels, of_pixel.into_iter());
            self.work.columns += 1;
        }
    }

    /// Adds rows `h + factor · g`: `factor` is −1 for `h ≥ g` and minus the chord's slope for the chord.
    fn add_rows(&mut self, wanted: &[(NeuronId, RowKind)]) {
        for layer in 0..self.bounds.hidden() {
            let of_layer: Vec<(NeuronId, RowKind)> =
                wanted.iter().copied().filter(|(id, _)| id.layer == layer).collect();
            if !of_layer.is_empty() {
                self.add_rows_of_layer(layer, &of_layer);
            }
        }
    }

    fn add_rows_of_layer(&mut self, layer: usize, wanted: &[(NeuronId, RowKind)]) {
        let network = &self.problem.network;
        let ids: Vec<NeuronId> = wanted.iter().map(|&(id, _)| id).collect();
        let pixels: Vec<usize> = self.moves.joined().map(|m| m.pixel).collect();
        let slopes = network.slopes(&ids, &pixels, &self.stable);
        let spread = (layer > 0).then(|| {
            let outputs: Vec<usize> = ids.iter().map(|id| id.index).collect();
            self.spread(network.affine(layer).row_block(&outputs, 1.0), layer - 1)
        });
        let mut rows = NewRows::default();
        for (k, &(id, side)) in wanted.iter().enumerate() {
            let place = self.place[layer][id.index];
            let Interval { lower, upper } = self.bounds.layer(layer)[id.index];
            // `g` without the unstable neurons' columns and the moves.
            let constant = self.at_centre.pre_activations(layer)[ids[k].index];
            let slope = upper / (upper - lower);
            let factor = match side {
                RowKind::Chord => -slope,
                RowKind::Envelope => 0.0,
                _ => -1.0,
            };
            let mut entries: Vec<(Col, f64)> =
                place.iter().map(|&place| (Col(place), 1.0)).collect();
            if let Some(spread) = spread.as_ref().filter(|_| factor != 0.0) {
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
            let first_move = self.first_move();
            for (c, (at, m)) in self.moves.joined_places().zip(self.moves.joined()).enumerate() {
                let entry = match side {
                    RowKind::Envelope => -self.envelope_slope(id, at),
                    _ => factor * m.sign * slopes[(c, k)],
                };
                entries.push((Col(first_move + c), entry));
            }
            if side == RowKind::Sign && self.elastic > 0 {
                let missing = self.pinned.keys().position(|pinned| *pinned == id);
                let sign = if self.stable.get(layer, id.index) { -1.0 } else { 1.0 };
                entries.extend(missing.map(|k| (Col(self.neurons.len() + k), sign)));
            }
            let (low, high) = match side {
                RowKind::Lower => (constant, f64::INFINITY),
                RowKind::Chord => (f64::NEG_INFINITY, slope * (constant - lower)),
                RowKind::BigM => (f64::NEG_INFINITY, constant - lower),
                RowKind::Envelope => {
                    let envelope = self.envelopes.and_then(|bounds| bounds.envelope(id));
                    (f64::NEG_INFINITY, envelope.map_or(f64::INFINITY, |(constant, _)| constant))
                }
                RowKind::Sign if self.stable.get(layer, id.index) => (f64::NEG_INFINITY, constant),
                RowKind::Sign => (constant, f64::INFINITY),
            };
            let row = Row(self.lp.rows() + k);
            rows.push(low, high, entries);
            self.rows.push((id, side, factor));
            match (side, place) {
                (RowKind::Lower, Some(place)) => self.neurons[place].lower = Some(row),
                (RowKind::Chord, Some(place)) => self.neurons[place].chord = Some(row),
                (RowKind::Envelope, Some(place)) => self.neurons[place].envelope = Some(row),
                (RowKind::Sign, _) => _ = self.pinned.insert(id, true),
                _ => {}
            }
            self.work.rows += 1;
        }
        self.lp.add_rows(&rows);
    }

    /// Solves the relaxation as it is now fixed. `Ok(None)`: no point was found that fits the fixings.
    ///
    /// # Errors
    /// When the time is up or the solver fails.
    pub fn solve(&mut self, budget: &Budget) -> Result<Option<RelaxationSolution>, EncodeError> {
        // The crash basis suits the primal simplex; edits of bounds and costs afterwards, and the basis of another LP, whatever HiGHS thinks.
        let mut simplex =
            if self.work.lps == 0 && !self.warm { Simplex::Primal } else { Simplex::Choose };
        for _ in 0..MOST_ROUNDS {
            let solution = match solve(&mut self.lp, simplex, budget, &mut self.work) {
                // With moves left out this may still be wrong; it costs a start, nothing else depends on it.
                Err(EncodeError::Infeasible) => return Ok(None),
                solved => solved?,
            };
            let point = self.point(&solution);
            let g = self.pre_activations(&point, &solution);
            let missing = self.violated(&g, &solution);
            let wanted = self.priced(&solution);
            if missing.is_empty() && wanted.is_empty() {
                return Ok(Some(self.answer(&solution, point, &g)));
            }
            simplex = if missing.is_empty() { Simplex::Primal } else { Simplex::Dual };
            self.add_columns(&wanted);
            self.add_rows(&missing);
        }
        Err(EncodeError::Trouble(format!("no end after {MOST_ROUNDS} rounds")))
    }

    fn point(&self, solution: &LpSolution) -> Vec<f64> {
        self.moves.point(&self.problem.set, &solution.cols[self.first_move()..])
    }

    /// The cost of what is missing of a sign.
    fn penalty(&self) -> f64 {
        -PENALTY * self.weights.iter().fold(0.0_f64, |most, weight| most.max(weight.abs()))
    }

    /// The column of the first move that joined.
    fn first_move(&self) -> usize {
        self.neurons.len() + self.elastic
    }

    fn answer(&self, solution: &LpSolution, point: Vec<f64>, g: &[Vec<f64>]) -> RelaxationSolution {
        let values = || {
            let g = |neuron: &Neuron| g[neuron.id.layer][neuron.id.index];
            self.neurons.iter().zip(&solution.cols).map(move |(n, &h)| (n, g(n), h))
        };
        let excess = |(neuron, g, h): (&Neuron, f64, f64)| {
            let (slope, intercept) = neuron.line();
            (if neuron.substituted { slope * g + intercept } else { h }) - g.max(0.0)
        };
        RelaxationSolution {
            point,
            claimed_bound: self.costs.constant + solution.objective,
            z: values().map(|(neuron, g, h)| z_value(neuron, g, h)).collect(),
            excess: values().map(excess).collect(),
            warm_start: self.warm_start(solution),
            multipliers: self.multipliers(solution),
        }
    }

    fn warm_start(&self, solution: &LpSolution) -> WarmStart {
        let Some(Basis { cols, rows }) = self.lp.basis() else { return WarmStart::default() };
        let first = self.first_move();
        let (of_set, of_rows) = rows.split_at(rows.len() - self.rows.len());
        let places =
            self.moves.joined_places().zip(&cols[first..]).zip(&solution.reduced_costs[first..]);
        let mut moves: Vec<(usize, BasisStatus, f64)> =
            places.map(|((k, &place), &cost)| (k, place, cost)).collect();
        // Of the moves that are not made, those that nearly were.
        moves.sort_by(|a, b| {
            let idle = |place| place == BasisStatus::Lower;
            idle(a.1).cmp(&idle(b.1)).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0))
        });
        let made = moves.iter().filter(|(_, place, _)| *place != BasisStatus::Lower).count();
        moves.truncate(made + MOVES_TOWARDS);
        WarmStart {
            moves: moves.into_iter().map(|(k, place, _)| (k, place)).collect(),
            neurons: self.neurons.iter().zip(&cols).map(|(n, &place)| (n.id, place)).collect(),
            rows: self
                .rows
                .iter()
                .zip(of_rows)
                .map(|(&(id, side, _), &at)| (id, side, at))
                .collect(),
            of_set: of_set.to_vec(),
        }
    }

    /// What the duals charge for constraints, and for each neuron, on top of what a stable one passes on anyway.
    fn multipliers(&self, solution: &LpSolution) -> Multipliers {
        let zeros = |layer: usize| vec![NeuronDuals::default(); self.bounds.layer(layer).len()];
        let mut weights: Vec<Vec<NeuronDuals>> = (0..self.bounds.hidden()).map(zeros).collect();
        let (prices, duals) = self.moves.split_duals(&solution.duals);
        for (&(id, side, factor), dual) in self.rows.iter().zip(duals) {
            let of_neuron = &mut weights[id.layer][id.index];
            match side {
                RowKind::Envelope => of_neuron.envelope = dual.max(0.0),
                _ => of_neuron.multiplier -= dual * factor,
            }
        }
        for neuron in self.neurons.iter().filter(|neuron| neuron.substituted) {
            let NeuronId { layer, index } = neuron.id;
            weights[layer][index].multiplier += self.weights[index] * neuron.line().0;
        }
        Multipliers { neurons: weights, prices: prices.of_constraints().to_vec() }
    }

    /// `g` of every neuron, layer by layer, given the LP's `h` below it.
    fn pre_activations(&self, point: &[f64], solution: &LpSolution) -> Vec<Vec<f64>> {
        let network = &self.problem.network;
        let mut values = Vec::with_capacity(self.bounds.hidden());
        let mut input = point.to_vec();
        for layer in 0..self.bounds.hidden() {
            let map = network.affine(layer);
            let mut g = vec![0.0; map.outputs()];
            map.apply(&input, &mut g);
            let h = g.iter().enumerate().map(|(index, &g)| match self.place[layer][index] {
                Some(place) => solution.cols[place],
                None if self.stable.get(layer, index) => g,
                None => 0.0,
            });
            input = h.collect();
            values.push(g);
        }
        values
    }

    /// The rows that the solution breaks and that are not there yet, worst first, a round's worth.
    fn violated(&self, g: &[Vec<f64>], solution: &LpSolution) -> Vec<(NeuronId, RowKind)> {
        let mut wrong: Vec<(f64, NeuronId, RowKind)> = self.unsigned(g).collect();
        for (neuron, &h) in self.neurons.iter().zip(&solution.cols) {
            let id = neuron.id;
            let g = g[id.layer][id.index];
            let Interval { lower, upper } = neuron.interval;
            let chord = upper * (g - lower) / (upper - lower);
            if neuron.substituted {
                continue;
            }
            if neuron.lower.is_none() && g - h > tolerance::VIOLATION {
                wrong.push((g - h, id, RowKind::Lower));
            }
            if neuron.chord.is_none() && h - chord > tolerance::VIOLATION {
                wrong.push((h - chord, id, RowKind::Chord));
            }
            if let (Some(bounds), None) = (self.envelopes, neuron.envelope)
                && let Some((constant, slopes)) = bounds.envelope(id)
            {
                let amounts = self.moves.joined_places().zip(&solution.cols[self.first_move()..]);
                let moved: f64 = amounts.map(|(k, amount)| slopes(k) * amount).sum();
                let excess = h - constant - moved;
                if excess > tolerance::VIOLATION {
                    wrong.push((excess, id, RowKind::Envelope));
                }
            }
        }
        wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        wrong.into_iter().take(ADDED_ROWS).map(|(_, id, side)| (id, side)).collect()
    }

    /// The slope of a neuron's envelope in a move.
    fn envelope_slope(&self, id: NeuronId, k: usize) -> f64 {
        self.envelopes.and_then(|bounds| bounds.envelope(id)).map_or(0.0, |(_, slopes)| slopes(k))
    }

    /// The pinned neurons with the wrong sign whose row is not there yet.
    fn unsigned<'s>(
        &'s self,
        g: &'s [Vec<f64>],
    ) -> impl Iterator<Item = (f64, NeuronId, RowKind)> + 's {
        let without_row = self.pinned.iter().filter(|(_, has_row)| !**has_row);
        let violation = |(&id, _): (&NeuronId, _)| {
            let g = g[id.layer][id.index];
            (if self.stable.get(id.layer, id.index) { -g } else { g }, id, RowKind::Sign)
        };
        without_row.map(violation).filter(|(violation, ..)| *violation > tolerance::VIOLATION)
    }

    fn priced(&self, solution: &LpSolution) -> Vec<usize> {
        let (prices, duals) = self.moves.split_duals(&solution.duals);
        let used = self.rows.iter().zip(duals).filter(|(_, dual)| dual.abs() > tolerance::DUAL);
        let weights: Vec<(NeuronId, f64)> =
            used.map(|(&(id, _, factor), dual)| (id, -dual * factor)).collect();
        let of_rows = self.pixel_slopes(&[], &weights);
        let slopes: Vec<f64> =
            self.costs.pixels.iter().zip(of_rows).map(|(cost, row)| cost + row).collect();
        let of_envelopes = self.rows.iter().zip(duals).filter(|((_, side, _), dual)| {
            *side == RowKind::Envelope && dual.abs() > tolerance::DUAL
        });
        let of_envelopes: Vec<_> = of_envelopes
            .filter_map(|(&(id, ..), dual)| Some((self.envelopes?.envelope(id)?.1, *dual)))
            .collect();
        let gain = |k: usize, m: Move| {
            let of_envelopes: f64 =
                of_envelopes.iter().map(|(slopes, dual)| dual * slopes(k)).sum();
            m.sign * slopes[m.pixel] + of_envelopes - prices.of(m)
        };
        self.moves.best_outside(tolerance::REDUCED_COST, ADDED_MOVES, gain)
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
