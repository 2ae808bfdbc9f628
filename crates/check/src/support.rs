//! At least the largest value of a linear function of the moves, by weak duality: any price and any multipliers give a bound.

use crate::number::Number;
use crate::set::{Room, Row};

/// Rounds through the multipliers of several constraints, and when to stop: a round that changes them by less, relative to the largest.
const ROUNDS: usize = 20;
const CONVERGED: f64 = 1e-6;

/// A constraint is broken everywhere if it is by more than this share of what its terms may add up to; how far it is followed then.
const BROKEN: f64 = 1e-9;
const FAR: f64 = 1e6;

impl<N: Number> Room<N> {
    /// At least the largest value of `slopes · p`: `λ·budget + Σ cap·max(slope − λ, 0)` for a good price `λ ≥ 0`, or the same with constraints.
    pub fn support(&self, slopes: &[N]) -> N {
        if !self.rows.is_empty() {
            return self.support_at(slopes, &self.multipliers(slopes));
        }
        self.support_of_box_and_budget(slopes)
    }

    /// The same, the constraints left out.
    pub fn support_of_box_and_budget(&self, slopes: &[N]) -> N {
        let price = N::of(self.price(slopes));
        let mut value = price.mul_up(&self.budget);
        for (slope, cap) in slopes.iter().zip(&self.caps) {
            if *slope > price {
                value = value.add_up(&slope.sub_up(&price).mul_up(cap));
            }
        }
        value
    }

    /// The slope of the last move that the budget is spent on, the steepest moves first; 0 if it is not all spent. Only a proposal.
    fn price(&self, slopes: &[N]) -> f64 {
        if self.tightness >= 1.0 {
            return 0.0;
        }
        let budget = self.budget.nearest();
        let few = 8 + (3.0 * budget).min(100.0) as usize;
        let mut steepest: Vec<(f64, f64)> = Vec::with_capacity(few + 1);
        let mut floor = 0.0;
        for (slope, cap) in slopes.iter().zip(&self.caps) {
            let slope = slope.nearest();
            if slope > floor {
                let cap = cap.nearest();
                if cap == 0.0 {
                    continue;
                }
                let place = steepest.partition_point(|(steeper, _)| *steeper >= slope);
                steepest.insert(place, (slope, cap));
                steepest.truncate(few);
                if steepest.len() == few {
                    floor = steepest[few - 1].0;
                }
            }
        }
        if let Some(price) = spent(&steepest, budget) {
            return price;
        }
        if steepest.len() < few {
            return 0.0;
        }
        let all = slopes.iter().zip(&self.caps).map(|(s, cap)| (s.nearest(), cap.nearest()));
        let mut all: Vec<(f64, f64)> = all.filter(|(slope, _)| *slope > 0.0).collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        spent(&all, budget).unwrap_or(0.0)
    }

    /// The bound by multipliers `μ` of the constraints, positive against upper sides and negative against lower ones:
    /// `Σ μ side + Σ cap·max(slope − Σ μ entry, 0)`.
    pub fn support_at(&self, slopes: &[N], multipliers: &[f64]) -> N {
        let mut left = slopes.to_vec();
        let mut value = N::zero();
        for (row, &multiplier) in self.rows.iter().zip(multipliers) {
            let side = if multiplier > 0.0 { &row.upper } else { &row.lower };
            // Against a side that is not there nothing is proven: leave the constraint out.
            let (Some(side), true) = (side, multiplier != 0.0) else { continue };
            let multiplier = N::of(multiplier);
            value = value.add_up(&multiplier.mul_up(side));
            for (k, entry) in &row.entries {
                left[*k] = left[*k].sub_up(&multiplier.mul_down(entry));
            }
        }
        for (slope, cap) in left.iter().zip(&self.caps).filter(|(slope, _)| **slope > N::zero()) {
            value = value.add_up(&slope.mul_up(cap));
        }
        value
    }

    /// Good multipliers: one after the other is set to its best value, a few times around. Only a proposal.
    fn multipliers(&self, slopes: &[N]) -> Vec<f64> {
        let mut multipliers = vec![0.0_f64; self.rows.len()];
        let mut left: Vec<f64> = slopes.iter().map(N::nearest).collect();
        for _ in 0..ROUNDS {
            let mut furthest = 0.0_f64;
            for (row, multiplier) in self.rows.iter().zip(&mut multipliers) {
                let mut add = |factor: f64| {
                    row.entries.iter().for_each(|(k, e)| left[*k] += factor * e.nearest());
                };
                add(*multiplier);
                let best = self.best_multiplier(row, &left);
                row.entries.iter().for_each(|(k, e)| left[*k] -= best * e.nearest());
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

    /// The multiplier of one constraint at which the bound is smallest, the others fixed: the bound is convex, with a kink for every move.
    fn best_multiplier(&self, row: &Row<N>, left: &[f64]) -> f64 {
        let upper = row.upper.as_ref().map(N::nearest);
        let lower = row.lower.as_ref().map(N::nearest);
        for (side, sign) in [(upper, 1.0), (lower.map(|side| -side), -1.0)] {
            let Some(mut slope) = side else { continue };
            let mut magnitude = slope.abs();
            let mut kinks = Vec::new();
            for (k, entry) in &row.entries {
                let entry = sign * entry.nearest();
                let weight = entry * self.caps[*k].nearest();
                magnitude += weight.abs();
                if left[*k] > 0.0 || (left[*k] == 0.0 && entry < 0.0) {
                    slope -= weight;
                }
                if left[*k] / entry > 0.0 {
                    kinks.push((left[*k] / entry, weight.abs()));
                }
            }
            if slope >= 0.0 {
                continue;
            }
            kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for &(kink, weight) in &kinks {
                slope += weight;
                if slope >= 0.0 {
                    return sign * kink;
                }
            }
            // No point of the part keeps it: the bound falls without end.
            if slope < -BROKEN * magnitude {
                return sign * FAR * kinks.last().map_or(1.0, |(kink, _)| kink.max(1.0));
            }
        }
        0.0
    }
}

/// The slope at which a budget is spent, if these moves, the steepest first, can spend it.
fn spent(steepest: &[(f64, f64)], budget: f64) -> Option<f64> {
    let mut left = budget;
    steepest.iter().find_map(|(slope, cap)| {
        left -= cap;
        (left <= 0.0).then_some(*slope)
    })
}
