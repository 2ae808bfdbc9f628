//! A linear function of the moves above a ReLU, better than the chord when the budget is what keeps the neuron back.
//!
//! Let `g ≤ c + v·p` with `c < 0`: the neuron is off at the centre, and to switch it on costs budget. For any price `λ`,
//! `v·p ≤ Σ max(v_k − λ, 0) p_k + λ·budget`; at `λ = −c / budget` the last term cancels `c`, and
//! `relu(g) ≤ Σ max(v_k − λ, 0) p_k`: no constant is left, and only moves that are worth more than the price count.
//! With `c ≥ 0` the same holds for `relu(g) − g = relu(−g)`, which gives `relu(g) ≤ c + Σ max(v_k, −c / budget) p_k`.

use faer::Mat;

use super::lifted::Lifted;
use super::rounding::Allowance;

/// Envelopes are left out where they would fill more than this many numbers of a layer: 256 MB.
const MOST_NUMBERS: usize = 32 << 20;

/// The envelopes of a layer's unstable neurons.
pub struct Envelopes {
    /// One column per envelope, one row per move.
    slopes: Mat<f64>,
    /// The values at the centre, rounding included.
    at_centre: Vec<f64>,
    /// At least `Σ |slope| p` anywhere in the set.
    reach: Vec<f64>,
    column_from_neuron: Vec<Option<usize>>,
}

impl Envelopes {
    /// No envelopes for a layer of so many neurons.
    pub fn none(width: usize) -> Self {
        Self {
            slopes: Mat::new(),
            at_centre: Vec::new(),
            reach: Vec::new(),
            column_from_neuron: vec![None; width],
        }
    }

    /// Whether so many envelopes are few enough to be kept.
    pub fn fit(lifted: &Lifted, many: usize) -> bool {
        lifted.len().saturating_mul(many) <= MOST_NUMBERS
    }

    /// The envelopes of some of a layer's neurons: `(j, k)` says that neuron `j` is below `constants[k] + slopes[·, k] · p`.
    pub fn new(
        lifted: &Lifted,
        width: usize,
        chosen: &[(usize, usize)],
        slopes: &Mat<f64>,
        constants: &[f64],
    ) -> Self {
        let line = |&(j, k): &(usize, usize)| (j, slopes.col_as_slice(k), constants[k]);
        let lines: Vec<(usize, &[f64], f64)> = chosen.iter().map(line).collect();
        Self::of_lines(lifted, width, &lines)
    }

    /// The envelopes of some of a layer's neurons: `(j, slopes, constant)` says that neuron `j` is below `constant + slopes · p`.
    pub fn of_lines(lifted: &Lifted, width: usize, lines: &[(usize, &[f64], f64)]) -> Self {
        if lines.is_empty() || !Self::fit(lifted, lines.len()) {
            return Self::none(width);
        }
        let allowance = Allowance::f64(lifted.len());
        let mut envelopes = Self {
            slopes: Mat::zeros(lifted.len(), lines.len()),
            at_centre: Vec::new(),
            reach: Vec::new(),
            column_from_neuron: vec![None; width],
        };
        for (column, &(j, v, c)) in lines.iter().enumerate() {
            let envelope = envelopes.slopes.col_as_slice_mut(column);
            let price = c.abs() / lifted.budget();
            for (slope, &v) in envelope.iter_mut().zip(v) {
                *slope = if c < 0.0 { (v - price).max(0.0) } else { v.max(-price) };
            }
            // Each slope is off by a rounding of v or of the price, and all amounts together are within the budget.
            let off = allowance.of(c.abs() + lifted.reach(v));
            envelopes.at_centre.push(c.max(0.0) + off);
            envelopes.reach.push(lifted.reach(envelope));
            envelopes.column_from_neuron[j] = Some(column);
        }
        envelopes
    }

    /// The column of neuron `j`'s envelope, if it has one.
    pub fn column(&self, j: usize) -> Option<usize> {
        self.column_from_neuron[j]
    }

    pub fn len(&self) -> usize {
        self.at_centre.len()
    }

    pub fn at_centre(&self, column: usize) -> f64 {
        self.at_centre[column]
    }

    pub fn reach(&self, column: usize) -> f64 {
        self.reach[column]
    }

    pub fn slopes(&self) -> &Mat<f64> {
        &self.slopes
    }
}
