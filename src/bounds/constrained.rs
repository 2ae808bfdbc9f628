//! Constraints in proofs, by weak duality.
//!
//! For multipliers `μ`, positive against upper sides and negative against lower ones, no feasible point has a larger
//! `v·p` than `Σ μ_r side_r + Σ cap_k max(v_k − Σ μ_r a_rk, 0)`. That is a proof whatever `μ` is, so it may be found in any way: here, one
//! multiplier after the other is set to its best value, which is the minimum of a convex function with a kink for every move.
//! On several constraints this may end above the smallest bound.

use super::rounding::Allowance;
use crate::input::{InputSet, Move};
use crate::tolerance;

/// Rounds through all multipliers; most functions need two or three.
const MOST_ROUNDS: usize = 20;

/// A round that moves no multiplier by more than this part of the largest is the last.
const SETTLED: f64 = 1e-6;

/// The constraints told in moves.
pub struct Constrained {
    rows: Vec<Row>,
    caps: Vec<f64>,
    allowance: Allowance,
}

/// `lower ≤ Σ entry · p ≤ upper`.
struct Row {
    entries: Vec<(usize, f64)>,
    /// The sides, with [`tolerance::CONSTRAINT`] and all rounding on top.
    lower: f64,
    upper: f64,
}

impl Constrained {
    /// `None` if the set has no constraints. `caps` are the moves' largest amounts, rounded up.
    pub fn new(set: &InputSet, moves: &[Move], caps: &[f64]) -> Option<Self> {
        if set.constraints().is_empty() {
            return None;
        }
        let allowance = Allowance::f64(moves.len() + set.dimension() + set.constraints().len());
        let mut moves_from_pixel = vec![Vec::new(); set.dimension()];
        for (k, m) in moves.iter().enumerate() {
            moves_from_pixel[m.pixel].push((k, m.sign));
        }
        let centre = set.centre();
        let row = |constraint: &crate::input::Constraint| {
            let terms = constraint.terms();
            let moved = |&(pixel, weight): &(usize, f64)| {
                moves_from_pixel[pixel].iter().map(move |&(k, sign)| (k, sign * weight))
            };
            let at_centre = constraint.activity(centre);
            let magnitude: f64 = terms.iter().map(|&(pixel, w)| (w * centre[pixel]).abs()).sum();
            let more = |side: f64| tolerance::CONSTRAINT + allowance.of(magnitude + side.abs());
            let (lower, upper) = (constraint.lower(), constraint.upper());
            // The centre is feasible, so that neither side is beyond it.
            Row {
                entries: terms.iter().flat_map(moved).collect(),
                lower: if lower.is_finite() { lower - at_centre - more(lower) } else { lower }
                    .min(0.0),
                upper: if upper.is_finite() { upper - at_centre + more(upper) } else { upper }
                    .max(0.0),
            }
        };
        let rows = set.constraints().iter().map(row).collect();
        Some(Self { rows, caps: caps.to_vec(), allowance })
    }

    /// At least the largest value of `v · p`; `taken` is told the moves that are worth more than the multipliers charge for them.
    pub fn support(&self, v: &[f64], mut taken: impl FnMut(usize, f64)) -> f64 {
        let multipliers = self.multipliers(v);
        // Once more from the start: what was added and taken away on the way has rounded.
        let mut left = v.to_vec();
        let mut magnitudes: Vec<f64> = v.iter().map(|v| v.abs()).collect();
        let (mut value, mut magnitude) = (0.0, 0.0);
        for (row, &multiplier) in self.rows.iter().zip(&multipliers) {
            if multiplier == 0.0 {
                continue;
            }
            let side = multiplier * if multiplier > 0.0 { row.upper } else { row.lower };
            (value, magnitude) = (value + side, magnitude + side.abs());
            for &(k, entry) in &row.entries {
                left[k] -= multiplier * entry;
                magnitudes[k] += (multiplier * entry).abs();
            }
        }
        for (k, &cap) in self.caps.iter().enumerate() {
            if left[k] > 0.0 {
                taken(k, cap);
                value += left[k] * cap;
            }
            magnitude += magnitudes[k] * cap;
        }
        value + self.allowance.of(magnitude)
    }

    fn multipliers(&self, v: &[f64]) -> Vec<f64> {
        let mut multipliers = vec![0.0_f64; self.rows.len()];
        let mut left = v.to_vec();
        let mut kinks = Vec::new();
        for _ in 0..MOST_ROUNDS {
            let mut furthest = 0.0_f64;
            for (row, multiplier) in self.rows.iter().zip(&mut multipliers) {
                for &(k, entry) in &row.entries {
                    left[k] += *multiplier * entry;
                }
                let best = self.best_multiplier(row, &left, &mut kinks);
                for &(k, entry) in &row.entries {
                    left[k] -= best * entry;
                }
                furthest = furthest.max((best - *multiplier).abs());
                *multiplier = best;
            }
            let largest = multipliers.iter().fold(0.0_f64, |most, m| most.max(m.abs()));
            if furthest <= SETTLED * largest || self.rows.len() == 1 {
                break;
            }
        }
        multipliers
    }

    /// The multiplier of one row at which the bound is smallest, the others held: `left` is what they leave of the function.
    fn best_multiplier(&self, row: &Row, left: &[f64], kinks: &mut Vec<(f64, f64)>) -> f64 {
        // From 0 upwards the slope begins with the upper side minus what the worthwhile moves add to the row. If that is negative, the bound falls up to
        // the kink at which the slope turns. Downwards is the same with everything in the row mirrored.
        for (side, sign) in [(row.upper, 1.0), (-row.lower, -1.0)] {
            let mut slope = side;
            kinks.clear();
            for &(k, entry) in &row.entries {
                let entry = sign * entry;
                let weight = entry * self.caps[k];
                if left[k] > 0.0 || (left[k] == 0.0 && entry < 0.0) {
                    slope -= weight;
                }
                let kink = left[k] / entry;
                if kink > 0.0 {
                    kinks.push((kink, weight.abs()));
                }
            }
            if slope >= 0.0 {
                continue;
            }
            kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for &(kink, weight) in &*kinks {
                slope += weight;
                if slope >= 0.0 {
                    return sign * kink;
                }
            }
        }
        0.0
    }
}
