//! Constraints in proofs, by weak duality.
//!
//! For multipliers `μ`, positive against upper sides and negative against lower ones, no feasible point has a larger
//! `v·p` than `Σ μ_r side_r + Σ cap_k max(v_k − Σ μ_r a_rk, 0)`. That is a proof whatever `μ` is, so it may be found in any way: here, one
//! multiplier after the other is set to its best value, which is the minimum of a convex function with a kink for every move.
//! On several constraints this may end above the smallest bound.

use super::constraint::Constraint;
use super::rounding::Allowance;
use super::set::{InputSet, Move};
use crate::tolerance;

/// Rounds through all multipliers; most functions need two or three.
const MOST_ROUNDS: usize = 20;

/// A round that moves no multiplier by more than this part of the largest is the last.
const CONVERGED: f64 = 1e-6;

/// A constraint that no point keeps lets the bound fall without end. It is followed so far, in units of the slopes that it begins with.
const FAR: f64 = 1e6;

/// A constraint is broken everywhere if it is by more than this share of what its terms may add up to.
const BROKEN: f64 = 1e-9;

/// The constraints told in moves.
pub struct MoveConstraints {
    rows: Vec<ConstraintRow>,
    caps: Vec<f64>,
    allowance: Allowance,
}

/// `lower ≤ Σ entry · p ≤ upper`.
struct ConstraintRow {
    entries: Vec<(usize, f64)>,
    /// The sides, with [`tolerance::CONSTRAINT`] and all rounding on top.
    lower: f64,
    upper: f64,
}

impl MoveConstraints {
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
        let mut furthest: Vec<f64> = centre.iter().map(|c| c.abs()).collect();
        for (m, cap) in moves.iter().zip(caps) {
            furthest[m.pixel] = furthest[m.pixel].max(centre[m.pixel].abs() + cap);
        }
        let row = |constraint: &Constraint| {
            let terms = constraint.terms();
            let moved = |&(pixel, weight): &(usize, f64)| {
                moves_from_pixel[pixel].iter().map(move |&(k, sign)| (k, sign * weight))
            };
            let at_centre = constraint.activity(centre);
            // Between a point that keeps the constraint as it was given, or keeps this one to the tolerance as far as
            // `violation` can tell, and the row are: a rounding of each weight and each side, all divided by the
            // largest weight; the sum in `violation`; the sum at the centre; and the differences of sides and sums. None
            // is off by more than a few roundings of the largest `Σ |weight · x|` in the set and of the side.
            let magnitude: f64 = terms.iter().map(|&(pixel, w)| w.abs() * furthest[pixel]).sum();
            let more = |side: f64| tolerance::CONSTRAINT + allowance.of(magnitude + side.abs());
            let lower = constraint.lower() - at_centre - more(constraint.lower());
            let upper = constraint.upper() - at_centre + more(constraint.upper());
            // The centre of a part may be beyond a side. What overflowed limits nothing.
            ConstraintRow {
                entries: terms.iter().flat_map(moved).collect(),
                lower: if lower.is_nan() { f64::NEG_INFINITY } else { lower },
                upper: if upper.is_nan() { f64::INFINITY } else { upper },
            }
        };
        let rows = set.constraints().iter().map(row).collect();
        Some(Self { rows, caps: caps.to_vec(), allowance })
    }

    /// At least the largest value of `v · p`; `spend` is told the moves that are worth more than the multipliers charge for them.
    pub fn support(&self, v: &[f64], spend: impl FnMut(usize, f64)) -> f64 {
        self.support_at(v, &self.multipliers(v), spend)
    }

    /// The same with these multipliers: whatever they are, and as many as there are.
    pub fn support_at(
        &self,
        v: &[f64],
        multipliers: &[f64],
        mut spend: impl FnMut(usize, f64),
    ) -> f64 {
        // Once more from the start: what was added and taken away on the way has rounded.
        let mut left = v.to_vec();
        let mut magnitudes: Vec<f64> = v.iter().map(|v| v.abs()).collect();
        let (mut value, mut magnitude) = (0.0, 0.0);
        for (row, &multiplier) in self.rows.iter().zip(multipliers) {
            if multiplier == 0.0 {
                continue;
            }
            // Against a side that is not there this is infinite, and proves nothing.
            let side = multiplier * if multiplier > 0.0 { row.upper } else { row.lower };
            (value, magnitude) = (value + side, magnitude + side.abs());
            for &(k, entry) in &row.entries {
                left[k] -= multiplier * entry;
                magnitudes[k] += (multiplier * entry).abs();
            }
        }
        for (k, &cap) in self.caps.iter().enumerate() {
            if left[k] > 0.0 {
                spend(k, cap);
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
            if furthest <= CONVERGED * largest || self.rows.len() == 1 {
                break;
            }
        }
        multipliers
    }

    /// The multiplier of one row at which the bound is smallest, the others fixed: `left` is what they leave of the function.
    fn best_multiplier(
        &self,
        row: &ConstraintRow,
        left: &[f64],
        kinks: &mut Vec<(f64, f64)>,
    ) -> f64 {
        // From 0 upwards the slope begins with the upper side minus what the worthwhile moves add to the row. If that is negative, the bound falls up to
        // the kink at which the slope turns. Downwards is the same with everything in the row mirrored.
        for (side, sign) in [(row.upper, 1.0), (-row.lower, -1.0)] {
            let mut slope = side;
            let mut magnitude = side.abs();
            kinks.clear();
            for &(k, entry) in &row.entries {
                let entry = sign * entry;
                let weight = entry * self.caps[k];
                magnitude += weight.abs();
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
            if slope < -BROKEN * magnitude {
                let last = kinks.last().map_or(1.0, |(kink, _)| kink.max(1.0));
                return sign * FAR * last;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::{Domain, MoveSet};

    fn rows(domain: &Domain, centre: Vec<f64>) -> Vec<ConstraintRow> {
        let set = InputSet::of_domain(domain, centre);
        let moves = set.moves();
        let caps: Vec<f64> = moves.iter().map(|m| m.cap.next_up()).collect();
        MoveConstraints::new(&set, &moves, &caps).expect("there are constraints").rows
    }

    #[test]
    fn rounded_weights_shut_no_point_of_a_wide_box_out() {
        // `k, 3k` keeps `3 x0 − x1 = 0`. A third is rounded down, to (1 − 2⁻⁵⁴) / 3, so that the row is `k 2⁻⁵⁴` there, exactly.
        for exponent in [0, 6, 10, 13] {
            let k = 10f64.powi(exponent);
            let equation = Constraint::new(&[(0, 3.0), (1, -1.0)], 0.0, 0.0);
            let domain = Domain { constraints: vec![equation], ..Domain::new_box(2, 0.0, 3.0 * k) };
            let rows = rows(&domain, vec![0.0; 2]);
            let off = k * 0.5f64.powi(54);
            assert!(rows[0].upper >= 2e-7 + off, "1e{exponent}: {} {off}", rows[0].upper);
            assert!(rows[0].lower <= -2e-7 - off, "1e{exponent}: {} {off}", rows[0].lower);
            // And no more than needed.
            assert!(rows[0].upper <= 2e-7 + 1e5 * off, "1e{exponent}: {} {off}", rows[0].upper);
        }
    }

    #[test]
    fn what_overflows_is_no_limit() {
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], -1.0, 1.0);
        let domain = Domain { constraints: vec![sum], ..Domain::new_box(2, -1.5e308, 1.5e308) };
        let rows = rows(&domain, vec![0.0; 2]);
        assert_eq!((rows[0].lower, rows[0].upper), (f64::NEG_INFINITY, f64::INFINITY));
        let set = InputSet::of_domain(&domain, vec![0.0; 2]);
        let bound = MoveSet::new(&set).support(&[1.0; 4], |_, _| ());
        assert!(bound.is_nan() || bound == f64::INFINITY, "{bound}");
    }
}
