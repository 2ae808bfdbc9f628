//! A linear function of the moves above a ReLU, better than the chord when the budget is what keeps the neuron back.
//!
//! Let `g ≤ c + v·p` and `−g ≤ d + w·p` over the set, whose moves satisfy `p ≥ 0` and `Σ p ≤ D`. For every `θ ∈ [0, 1]`,
//! `relu(g) − θ g = max((1−θ) g, −θ g)` is at most the larger one of two linear functions of the moves. That maximum is convex, so over the
//! simplex it is at most the linear function through its values at the corners `0` and `D e_k`. With `e = max((1−θ) c, θ d)`:
//!
//! `relu(g) ≤ θ g + e + Σ (max((1−θ)(v_k + c/D), θ (w_k + d/D)) − e/D) p_k`
//!
//! The part `θ g` goes on through the layers below. With `θ = 0` the line above is enough, and nothing goes on. In the first layer `g` is linear in
//! the moves already, and `θ` makes no difference.
//!
//! Rounding: a slope is made of at most eight operations on `v_k`, `w_k`, `c/D` and `d/D`, and `Σ p ≤ D`. So the computed function is off by at
//! most eight roundings of `Σ |v_k| p_k + Σ |w_k| p_k + 2 |c| + 2 |d|`, which is less than the [`Allowance`] that its constant gets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use faer::Mat;
use pulp::{Arch, NullaryFnOnce};

use super::relaxation::NeuronEnvelope;
use super::slopes::{SlopeColumns, SparseColumn, add_product};
use crate::sets::{Allowance, MoveSet};

/// With a smaller budget the corners of the simplex are not told apart: slopes are the larger ones of both lines, which is above them.
const SMALLEST_BUDGET: f64 = 1e-9;

/// The envelopes of a layer's unstable neurons.
#[derive(Clone)]
pub struct Envelopes {
    envelopes: Vec<Envelope>,
    /// The slopes at `θ = 0`, one column per envelope and one row per move. Without it they are worked out when they are needed: for a
    /// few evaluations, and where lines have few slopes of their own, that is less work.
    dense: Option<Mat<f64>>,
    column_from_neuron: Vec<Option<usize>>,
}

/// A line `c + v·p` above a neuron, or above its negative.
#[derive(Clone)]
pub struct EnvelopeLine {
    /// `v` is a column of this.
    pub slopes: Arc<SlopeColumns>,
    pub column: usize,
    /// `c`.
    pub constant: f64,
    /// At least `Σ |v| p` anywhere in the set.
    pub reach: f64,
}

impl EnvelopeLine {
    fn slopes(&self) -> Cow<'_, [f64]> {
        self.slopes.column(self.column)
    }

    fn slope(&self, k: usize) -> f64 {
        self.slopes.get(k, self.column)
    }

    fn sparse_slopes(&self) -> Option<SparseColumn<'_>> {
        self.slopes.sparse_column(self.column)
    }

    /// How many numbers its slopes take.
    pub fn numbers(&self) -> usize {
        self.slopes.numbers(self.column)
    }

    /// What rounding errors of it are proportional to.
    fn magnitude(&self) -> f64 {
        self.constant.abs() + self.reach
    }
}

/// The lines that an envelope is made of.
pub struct LinePair {
    pub neuron: usize,
    pub above: EnvelopeLine,
    /// Above the neuron's negative. Without it `θ` is 0.
    pub below: Option<EnvelopeLine>,
}

#[derive(Clone)]
struct Envelope {
    above: EnvelopeLine,
    below: Option<EnvelopeLine>,
    /// `1 / D`, or 0 where that is too large.
    inverse_budget: f64,
    /// What rounding may add to its value.
    rounding: f64,
    /// At least `Σ |slope| p` anywhere in the set.
    reach: f64,
}

/// An envelope at one `θ`: its slopes are `max(a·v + a0, b·w + b0)`.
struct SlopeRule {
    a: f64,
    a0: f64,
    b: f64,
    b0: f64,
}

/// The larger one: one instruction, where `max` takes care of NaN, too.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl SlopeRule {
    fn slope(&self, v: f64, w: f64) -> f64 {
        (self.a * v + self.a0).max(self.b * w + self.b0)
    }

    /// Adds the slopes made of two columns with few slopes of their own: in the moves of either.
    fn add_sparse(
        &self,
        out: &mut [f64],
        rest: &mut f64,
        above: SparseColumn,
        below: SparseColumn,
    ) {
        let common = self.slope(above.rest, below.rest);
        *rest += common;
        let (mut i, mut j) = (0, 0);
        loop {
            let (of_above, of_below) = (above.places.get(i), below.places.get(j));
            let place = match (of_above, of_below) {
                (None, None) => return,
                (Some(&a), Some(&b)) => a.min(b),
                (Some(&a), None) => a,
                (None, Some(&b)) => b,
            };
            let (mut v, mut w) = (above.rest, below.rest);
            if of_above == Some(&place) {
                v = above.slopes[i];
                i += 1;
            }
            if of_below == Some(&place) {
                w = below.slopes[j];
                j += 1;
            }
            out[place as usize] += self.slope(v, w) - common;
        }
    }
}

/// `out += max(a·v + a0, b·w + b0)`, compiled for the machine at hand; numbers do not depend on it. (A closure is only where it happens to be
/// inlined.)
struct AddSlopes<'s> {
    out: &'s mut [f64],
    rule: SlopeRule,
    above: &'s [f64],
    below: Option<&'s [f64]>,
}

impl NullaryFnOnce for AddSlopes<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { out, rule: SlopeRule { a, a0, b, b0 }, above, below } = self;
        match below {
            Some(below) => {
                for ((out, v), w) in out.iter_mut().zip(above).zip(below) {
                    *out += larger(a * v + a0, b * w + b0);
                }
            }
            None => {
                for (out, v) in out.iter_mut().zip(above) {
                    *out += larger(a * v + a0, b0);
                }
            }
        }
    }
}

impl Envelope {
    fn new(moves: &MoveSet, allowance: Allowance, LinePair { above, below, .. }: LinePair) -> Self {
        let magnitude = above.magnitude() + below.as_ref().map_or(0.0, EnvelopeLine::magnitude);
        let budget = moves.budget();
        Self {
            inverse_budget: if budget < SMALLEST_BUDGET { 0.0 } else { 1.0 / budget },
            rounding: allowance.of(2.0 * magnitude),
            reach: allowance.up(2.0 * magnitude),
            above,
            below,
        }
    }

    fn theta(&self, theta: f64) -> f64 {
        if self.below.is_some() { theta } else { 0.0 }
    }

    /// `d`.
    fn below_constant(&self) -> f64 {
        self.below.as_ref().map_or(0.0, |below| below.constant)
    }

    /// `e`.
    fn at_centre(&self, theta: f64) -> f64 {
        ((1.0 - theta) * self.above.constant).max(theta * self.below_constant())
    }

    fn rule(&self, theta: f64) -> SlopeRule {
        let (a, b) = (1.0 - theta, theta);
        let e = self.at_centre(theta);
        SlopeRule {
            a,
            a0: (a * self.above.constant - e) * self.inverse_budget,
            b,
            b0: (b * self.below_constant() - e) * self.inverse_budget,
        }
    }

    /// The slopes at `θ = 0`.
    fn slopes(&self) -> impl Fn(usize) -> f64 + '_ {
        let SlopeRule { a0, b0, .. } = self.rule(0.0);
        move |k| larger(self.above.slope(k) + a0, b0)
    }

    /// `out += weight · slopes`, but for what is the same in all moves: that is added to `rest`. The weight is not negative.
    fn add_to(&self, out: &mut [f64], rest: &mut f64, theta: f64, weight: f64) {
        let SlopeRule { a, a0, b, b0 } = self.rule(theta);
        let rule = SlopeRule { a: weight * a, a0: weight * a0, b: weight * b, b0: weight * b0 };
        let below = self.below.as_ref().filter(|_| rule.b != 0.0);
        let sparse_below = below.map_or(Some(SparseColumn::ZERO), EnvelopeLine::sparse_slopes);
        if let (Some(above), Some(below)) = (self.above.sparse_slopes(), sparse_below) {
            return rule.add_sparse(out, rest, above, below);
        }
        let above = self.above.slopes();
        let below = below.map(|below| below.slopes());
        let (above, below) = (&above[..], below.as_deref());
        Arch::new().dispatch(AddSlopes { out, rule, above, below });
    }

    /// The value at some moves, `θ g` left out, and its derivative in `θ`.
    fn value_at(&self, theta: f64, vertex: &[(usize, f64)]) -> (f64, f64) {
        let SlopeRule { a, a0, b, b0 } = self.rule(theta);
        let (c, d) = (self.above.constant, self.below_constant());
        let of_centre = if theta * d > (1.0 - theta) * c { d } else { -c };
        let (mut value, mut derivative) = (self.at_centre(theta), of_centre);
        for &(k, p) in vertex {
            let v = self.above.slope(k);
            let w = self.below.as_ref().map_or(0.0, |below| below.slope(k));
            let (of_above, of_below) = (a * v + a0, b * w + b0);
            value += p * of_above.max(of_below);
            let slope = if of_below > of_above {
                w + d * self.inverse_budget
            } else {
                -v - c * self.inverse_budget
            };
            derivative += p * (slope - of_centre * self.inverse_budget);
        }
        (value, derivative)
    }
}

/// How much of each envelope goes into each of some functions, and with which `θ`: one column per function.
pub struct EnvelopeShares {
    shares: Mat<f64>,
    /// `None` if all are 0.
    thetas: Option<Mat<f64>>,
}

impl EnvelopeShares {
    /// Nothing of so many envelopes in so many functions.
    pub fn none(envelopes: usize, functions: usize) -> Self {
        Self { shares: Mat::zeros(envelopes, functions), thetas: None }
    }

    /// Sets one share.
    pub fn set(&mut self, envelope: usize, function: usize, share: f64, theta: f64) {
        self.shares[(envelope, function)] = share;
        if theta != 0.0 {
            self.set_theta(envelope, function, theta);
        }
    }

    fn set_theta(&mut self, envelope: usize, function: usize, theta: f64) {
        let (rows, columns) = (self.shares.nrows(), self.shares.ncols());
        let thetas = self.thetas.get_or_insert_with(|| Mat::zeros(rows, columns));
        thetas[(envelope, function)] = theta;
    }

    /// Sets the shares of some functions, one behind the other. The `θ` is set for all of them; it is read only where there is a share.
    #[inline(always)]
    pub fn set_some<const SOME: usize>(
        &mut self,
        envelope: usize,
        first: usize,
        shares: [f64; SOME],
        theta: f64,
    ) {
        for (function, share) in (first..).zip(shares) {
            self.shares[(envelope, function)] = share;
        }
        if theta != 0.0 && shares.iter().any(|share| *share != 0.0) {
            (first..first + SOME).for_each(|function| self.set_theta(envelope, function, theta));
        }
    }
}

impl Envelopes {
    /// No envelopes for a layer of so many neurons.
    pub fn none(width: usize) -> Self {
        Self { envelopes: Vec::new(), dense: None, column_from_neuron: vec![None; width] }
    }

    /// The envelopes of some of a layer's neurons.
    pub fn of_lines(
        moves: &MoveSet,
        width: usize,
        lines: impl IntoIterator<Item = LinePair>,
    ) -> Self {
        let allowance = Allowance::f64(moves.len());
        let mut all = Self::none(width);
        // A line that overflowed says nothing.
        let is_finite = |line: &EnvelopeLine| line.constant.is_finite();
        for mut pair in lines.into_iter().filter(|pair| is_finite(&pair.above)) {
            pair.below = pair.below.filter(is_finite);
            all.column_from_neuron[pair.neuron] = Some(all.len());
            all.envelopes.push(Envelope::new(moves, allowance, pair));
        }
        all
    }

    /// The same with the slopes at `θ = 0` worked out.
    pub fn with_dense_slopes(mut self, moves: &MoveSet) -> Self {
        self.dense = self.dense_slopes(moves.len());
        self
    }

    /// `None` where lines have few slopes of their own.
    fn dense_slopes(&self, moves: usize) -> Option<Mat<f64>> {
        if self.envelopes.iter().any(|envelope| envelope.above.sparse_slopes().is_some()) {
            return None;
        }
        let mut slopes = Mat::zeros(moves, self.len());
        for (column, envelope) in self.envelopes.iter().enumerate() {
            // Nothing is apart from columns like these.
            envelope.add_to(slopes.col_as_slice_mut(column), &mut 0.0, 0.0, 1.0);
        }
        Some(slopes)
    }

    /// The same over some moves only.
    pub fn with_moves(&self, moves: &[usize]) -> Self {
        let lines = |of: &dyn Fn(&Envelope) -> Option<&EnvelopeLine>| {
            narrowed_lines(self.envelopes.iter().map(of).collect(), moves)
        };
        let above = lines(&|envelope| Some(&envelope.above));
        let below = lines(&|envelope| envelope.below.as_ref());
        let narrowed = |(envelope, (above, below)): (&Envelope, (Option<_>, Option<_>))| {
            Some(Envelope { above: above?, below, ..*envelope })
        };
        let column_from_neuron = self.column_from_neuron.clone();
        let lines = above.into_iter().zip(below);
        let envelopes = self.envelopes.iter().zip(lines).filter_map(narrowed).collect();
        let few = Self { envelopes, dense: None, column_from_neuron };
        let has_theta = few.envelopes.iter().any(|envelope| envelope.below.is_some());
        let dense = if has_theta { None } else { few.dense_slopes(moves.len()) };
        Self { dense, ..few }
    }

    /// The column of neuron `j`'s envelope, if it has one.
    pub fn column(&self, j: usize) -> Option<usize> {
        self.column_from_neuron[j]
    }

    pub fn len(&self) -> usize {
        self.envelopes.len()
    }

    /// How many numbers the slopes of one of them take, on average.
    pub fn mean_numbers(&self) -> f64 {
        let numbers: usize = self.envelopes.iter().map(|envelope| envelope.above.numbers()).sum();
        if self.len() == 0 { 0.0 } else { numbers as f64 / self.len() as f64 }
    }

    /// What the relaxation of a ReLU needs to know of an envelope at a `θ`.
    pub fn of_column(&self, column: usize, theta: f64) -> NeuronEnvelope {
        let envelope = &self.envelopes[column];
        let theta = envelope.theta(theta);
        let at_centre = envelope.at_centre(theta) + envelope.rounding;
        NeuronEnvelope { theta, at_centre, reach: envelope.reach }
    }

    /// The slopes of an envelope in moves, at `θ = 0`.
    pub fn slopes(&self, column: usize) -> impl Fn(usize) -> f64 + '_ {
        self.envelopes[column].slopes()
    }

    /// The value of an envelope at some moves, `θ g` left out, and its derivative in `θ`.
    pub fn value_at(&self, column: usize, theta: f64, vertex: &[(usize, f64)]) -> (f64, f64) {
        let envelope = &self.envelopes[column];
        envelope.value_at(envelope.theta(theta), vertex)
    }

    /// `out += slopes · shares`, but for what is the same in all moves: that is added to `rests`.
    pub fn add_to(
        &self,
        out: &mut Mat<f64>,
        rests: &mut [f64],
        EnvelopeShares { shares, thetas }: &EnvelopeShares,
    ) {
        if let (Some(slopes), None) = (&self.dense, thetas) {
            return add_product(out, slopes.as_ref(), shares);
        }
        for (row, rest) in rests.iter_mut().enumerate() {
            let out = out.col_as_slice_mut(row);
            for (column, envelope) in self.envelopes.iter().enumerate() {
                let weight = shares[(column, row)];
                if weight != 0.0 {
                    let theta = thetas.as_ref().map_or(0.0, |thetas| thetas[(column, row)]);
                    envelope.add_to(out, rest, theta, weight);
                }
            }
        }
    }
}

/// The same lines over some moves only.
fn narrowed_lines(lines: Vec<Option<&EnvelopeLine>>, moves: &[usize]) -> Vec<Option<EnvelopeLine>> {
    let is_dense = |line: &EnvelopeLine| line.sparse_slopes().is_none();
    let dense = lines.iter().map(|line| line.filter(|line| is_dense(line)));
    let mut rows = Mat::zeros(
        moves.len(),
        if dense.clone().any(|line| line.is_some()) { lines.len() } else { 0 },
    );
    for (column, line) in dense.enumerate() {
        if let Some(line) = line {
            let (slopes, few) = (line.slopes(), rows.col_as_slice_mut(column));
            few.iter_mut().zip(moves).for_each(|(few, &k)| *few = slopes[k]);
        }
    }
    let rows = Arc::new(SlopeColumns::Dense(rows));
    // Many lines are columns of the same block.
    let mut sparse: HashMap<*const SlopeColumns, Arc<SlopeColumns>> = HashMap::new();
    let mut narrowed = |(column, line): (usize, Option<&EnvelopeLine>)| {
        let line = line?;
        let (slopes, column) = if is_dense(line) {
            (Arc::clone(&rows), column)
        } else {
            let few = sparse.entry(Arc::as_ptr(&line.slopes));
            let few = few.or_insert_with(|| Arc::new(line.slopes.with_moves(moves)));
            (Arc::clone(few), line.column)
        };
        Some(EnvelopeLine { slopes, column, ..*line })
    };
    lines.into_iter().enumerate().map(&mut narrowed).collect()
}
