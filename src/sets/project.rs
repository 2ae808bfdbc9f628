//! Whether a point is in a set, and which point of the set is near one that is not.

use super::constraint::Constraint;
use super::set::InputSet;
use crate::tolerance;

/// Pulls of a point towards the centre: one does, but for rounding.
const MOST_PULLS: usize = 8;

/// How much of the tolerance a pulled point uses: between what the centre may use, a half, and all.
const PULLED_TO: f64 = 0.75;

impl InputSet {
    /// What it costs to go from the centre to `x`.
    pub fn cost(&self, x: &[f64]) -> f64 {
        x.iter().zip(&self.centre).map(|(x, c)| (x - c).abs()).sum()
    }

    /// Is `x` in the set, up to `tolerance` per pixel and in the budget, and up to [`tolerance::CONSTRAINT`] in the
    /// constraints?
    pub fn contains(&self, x: &[f64], tolerance: f64) -> bool {
        let inside = |(i, x): (usize, &f64)| {
            let d = x - self.centre[i];
            d <= self.up[i] + tolerance && -d <= self.down[i] + tolerance
        };
        x.iter().enumerate().all(inside)
            && self.budget.is_none_or(|budget| self.cost(x) <= budget + tolerance)
            && self.constraints().iter().all(|c| c.violation(x) <= tolerance::CONSTRAINT)
    }

    /// The point of the set nearest to `y` (Euclidean). With constraints only a point not far away: the nearest one of the box,
    /// moved onto the constraints that it breaks one after the other. Where many of them meet, that may not do; then it is pulled straight
    /// towards the centre until they hold. If the centre breaks none by more than half of [`tolerance::CONSTRAINT`], the point
    /// breaks none by more than all of it.
    pub fn project(&self, y: &[f64]) -> Vec<f64> {
        let mut point = self.nearest_in_box(y);
        let range = |i: usize| self.range(i);
        Constraint::correct_all(self.constraints(), &mut point, range, tolerance::CONSTRAINT);
        for _ in 0..MOST_PULLS {
            let share = |constraint: &Constraint| self.share_to_pull(constraint, &point);
            let share = self.constraints().iter().map(share).fold(0.0, f64::max);
            if share == 0.0 {
                return point;
            }
            for (x, c) in point.iter_mut().zip(&self.centre) {
                *x += share * (c - *x);
            }
        }
        // Numbers so large that rounding breaks constraints again.
        self.centre.clone()
    }

    /// How much of the way from `point` to the centre it takes to keep a constraint.
    fn share_to_pull(&self, constraint: &Constraint, point: &[f64]) -> f64 {
        let (here, centre) = (constraint.activity(point), constraint.activity(&self.centre));
        // On the way violations shrink linearly, from `beyond` at the point to minus the room at the centre, which is
        // negative there if the centre makes use of the tolerance too.
        let (beyond, room) = if here > constraint.upper() {
            (here - constraint.upper(), constraint.upper() - centre)
        } else {
            (constraint.lower() - here, centre - constraint.lower())
        };
        if beyond <= tolerance::CONSTRAINT {
            return 0.0;
        }
        let excess = beyond - PULLED_TO * tolerance::CONSTRAINT;
        let share = excess / (beyond + room) + f64::EPSILON;
        if (0.0..1.0).contains(&share) { share } else { 1.0 }
    }

    /// The point of box and budget nearest to `y`.
    ///
    /// With a multiplier `λ` for the budget the answer is `d_i = clip(soft(y_i − c_i, λ))`, and what it costs falls
    /// piecewise linearly in `λ`; its breakpoints are `|d_i|` and `|d_i| − cap_i`, so `λ` is found exactly.
    fn nearest_in_box(&self, y: &[f64]) -> Vec<f64> {
        let wish: Vec<f64> = y.iter().zip(&self.centre).map(|(y, c)| y - c).collect();
        let cap = |i: usize| self.cap(i, wish[i]);
        let cost_at = |lambda: f64| -> f64 {
            (0..wish.len()).map(|i| (wish[i].abs() - lambda).clamp(0.0, cap(i))).sum()
        };
        let lambda = match self.budget {
            Some(budget) if cost_at(0.0) > budget => {
                let of_pixel = |i: usize| [wish[i].abs(), wish[i].abs() - cap(i)];
                let mut breaks: Vec<f64> =
                    (0..wish.len()).flat_map(of_pixel).filter(|&b| b > 0.0).collect();
                breaks.push(0.0);
                breaks.sort_unstable_by(f64::total_cmp);
                // The last breakpoint at which the cost is still over the budget.
                let over = breaks.partition_point(|&b| cost_at(b) > budget) - 1;
                let (low, high) = (breaks[over], breaks[over + 1]);
                let (at_low, at_high) = (cost_at(low), cost_at(high));
                low + (high - low) * (at_low - budget) / (at_low - at_high)
            }
            _ => 0.0,
        };
        let nearest = wish.iter().enumerate().map(|(i, wish)| {
            let amount = (wish.abs() - lambda).clamp(0.0, cap(i));
            self.centre[i] + amount.copysign(*wish)
        });
        nearest.collect()
    }
}
