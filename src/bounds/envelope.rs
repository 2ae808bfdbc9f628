//! A linear function of the moves above a ReLU, better than the chord when the budget is what keeps the neuron back.
//!
//! Let `g ≤ c + v·p` with `c < 0`: the neuron is off at the centre, and to switch it on costs budget. For any price `λ`,
//! `v·p ≤ Σ max(v_k − λ, 0) p_k + λ·budget`; at `λ = −c / budget` the last term cancels `c`, and
//! `relu(g) ≤ Σ max(v_k − λ, 0) p_k`: no constant is left, and only moves that are worth more than the price count.
//! With `c ≥ 0` the same holds for `relu(g) − g = relu(−g)`, which gives `relu(g) ≤ c + Σ max(v_k, −c / budget) p_k`.

use std::sync::Arc;

use faer::Mat;

use super::functions::add_product;
use super::relaxation::NeuronEnvelope;
use crate::sets::{Allowance, MoveSet};

/// Envelopes are left out where they would fill more than this many numbers of a layer: 256 MB.
const MOST_NUMBERS: usize = 32 << 20;

/// The envelopes of a layer's unstable neurons.
pub struct Envelopes {
    slopes: Slopes,
    /// The values at the centre, rounding included.
    at_centre: Vec<f64>,
    /// At least `Σ |slope| p` anywhere in the set.
    reach: Vec<f64>,
    column_from_neuron: Vec<Option<usize>>,
}

enum Slopes {
    /// One column per envelope, one row per move.
    Dense(Mat<f64>),
    /// Worked out from the lines when they are needed: for a few evaluations that is less work.
    Lazy(Vec<ClippedLine>),
}

/// A line `c + v·p` above a neuron, whose slopes are clipped at a price.
struct ClippedLine {
    slopes: Arc<Mat<f64>>,
    column: usize,
    price: f64,
    /// Whether `c < 0`.
    off_at_centre: bool,
}

impl ClippedLine {
    fn slope(&self, v: f64) -> f64 {
        if self.off_at_centre { (v - self.price).max(0.0) } else { v.max(-self.price) }
    }

    fn slopes(&self) -> impl Iterator<Item = f64> + '_ {
        self.slopes.col_as_slice(self.column).iter().map(|&v| self.slope(v))
    }
}

/// A line `c + v·p` above a neuron.
pub struct EnvelopeLine<'l> {
    pub neuron: usize,
    /// `v` is a column of this.
    pub slopes: &'l Arc<Mat<f64>>,
    pub column: usize,
    /// `c`.
    pub constant: f64,
    /// At least `Σ |v| p` anywhere in the set.
    pub reach: f64,
}

impl Envelopes {
    /// No envelopes for a layer of so many neurons.
    pub fn none(width: usize) -> Self {
        Self {
            slopes: Slopes::Lazy(Vec::new()),
            at_centre: Vec::new(),
            reach: Vec::new(),
            column_from_neuron: vec![None; width],
        }
    }

    /// Whether so many envelopes are few enough to be kept.
    pub fn fit(moves: &MoveSet, many: usize) -> bool {
        moves.len().saturating_mul(many) <= MOST_NUMBERS
    }

    /// The envelopes of some of a layer's neurons.
    pub fn of_lines<'l>(
        moves: &MoveSet,
        width: usize,
        lines: impl IntoIterator<Item = EnvelopeLine<'l>>,
    ) -> Self {
        let allowance = Allowance::f64(moves.len());
        let mut envelopes = Self::none(width);
        let mut clipped = Vec::new();
        for EnvelopeLine { neuron, slopes, column, constant: c, reach } in lines {
            let price = c.abs() / moves.budget();
            // Each slope is off by a rounding of v or of the price, and all amounts together are within the budget.
            let off = allowance.of(c.abs() + reach);
            envelopes.column_from_neuron[neuron] = Some(clipped.len());
            envelopes.at_centre.push(c.max(0.0) + off);
            // No slope is larger than that of the line or the price.
            envelopes.reach.push(allowance.up(reach + c.abs()));
            let (slopes, off_at_centre) = (Arc::clone(slopes), c < 0.0);
            clipped.push(ClippedLine { slopes, column, price, off_at_centre });
        }
        envelopes.slopes = Slopes::Lazy(clipped);
        if Self::fit(moves, envelopes.len()) { envelopes } else { Self::none(width) }
    }

    /// The same with all slopes worked out.
    pub fn with_dense_slopes(mut self, moves: &MoveSet) -> Self {
        if let Slopes::Lazy(lines) = &self.slopes {
            let mut slopes = Mat::zeros(moves.len(), lines.len());
            for (column, line) in lines.iter().enumerate() {
                let of_column = slopes.col_as_slice_mut(column).iter_mut();
                of_column.zip(line.slopes()).for_each(|(slope, clipped)| *slope = clipped);
            }
            self.slopes = Slopes::Dense(slopes);
        }
        self
    }

    /// The same over some moves only.
    pub fn with_moves(&self, moves: &[usize]) -> Self {
        let slopes =
            Mat::from_fn(moves.len(), self.len(), |k, column| self.slope(column, moves[k]));
        Self {
            slopes: Slopes::Dense(slopes),
            at_centre: self.at_centre.clone(),
            reach: self.reach.clone(),
            column_from_neuron: self.column_from_neuron.clone(),
        }
    }

    /// The column of neuron `j`'s envelope, if it has one.
    pub fn column(&self, j: usize) -> Option<usize> {
        self.column_from_neuron[j]
    }

    pub fn len(&self) -> usize {
        self.at_centre.len()
    }

    /// What the relaxation of a ReLU needs to know of an envelope.
    pub fn of_column(&self, column: usize) -> NeuronEnvelope {
        NeuronEnvelope { at_centre: self.at_centre[column], reach: self.reach[column] }
    }

    /// The slope of an envelope in a move.
    pub fn slope(&self, column: usize, k: usize) -> f64 {
        match &self.slopes {
            Slopes::Dense(slopes) => slopes[(k, column)],
            Slopes::Lazy(lines) => {
                let line = &lines[column];
                line.slope(line.slopes[(k, line.column)])
            }
        }
    }

    /// `out += slopes · weights`, a column of weights for each column of `out`.
    pub fn add_to(&self, out: &mut Mat<f64>, weights: &Mat<f64>) {
        match &self.slopes {
            Slopes::Dense(slopes) => add_product(out, slopes.as_ref(), weights),
            Slopes::Lazy(lines) => {
                for row in 0..weights.ncols() {
                    for (line, &weight) in lines.iter().zip(weights.col_as_slice(row)) {
                        if weight != 0.0 {
                            let out = out.col_as_slice_mut(row).iter_mut();
                            out.zip(line.slopes()).for_each(|(out, slope)| *out += weight * slope);
                        }
                    }
                }
            }
        }
    }
}
