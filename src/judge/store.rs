//! Candidates in `f32`, inside their set.
//!
//! In a ball every changed value is rounded *towards* the centre, which can only bring the point nearer, and a perturbation that still
//! reaches the surface is made shorter by a hair. In a box every value is rounded to the nearest `f32` between its bounds.

use super::error::JudgeError;
use crate::network::widened;
use crate::problem::{InputCondition, Property};
use crate::sets::{Ball, InputSet, Norm};
use crate::tolerance::{CONSTRAINT, HAIR};

/// How far a point is pulled towards the centre, in turn: from a few roundings of `f32` on.
const PULLS: [f64; 6] = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// A set as the judge sees it: bounds of every value and, if it is one, the ball.
pub(super) struct Storage<'s> {
    set: &'s InputSet,
    lower: Vec<f64>,
    upper: Vec<f64>,
    ball: Option<Ball>,
}

impl<'s> Storage<'s> {
    /// # Errors
    /// When the set is a ball with a radius that is none, or a centre that cannot be stored.
    pub fn new(set: &'s InputSet) -> Result<Self, JudgeError> {
        let (lower, upper): (Vec<f64>, Vec<f64>) =
            (0..set.dimension()).map(|i| (set.domain().lower[i], set.domain().upper[i])).unzip();
        let ball = set.as_ball();
        if let Some(Ball { radius, .. }) = ball {
            let is_stored = |i: usize| {
                let centre = set.centre()[i];
                (lower[i]..=upper[i]).contains(&centre) && f64::from(centre as f32) == centre
            };
            if let Some(position) = (0..set.dimension()).find(|&i| !is_stored(i)) {
                let (lower, upper) = (lower[position], upper[position]);
                let value = set.centre()[position];
                return Err(JudgeError::CentreOutside { position, value, lower, upper });
            }
            if !(radius > 0.0 && radius.is_finite()) {
                return Err(JudgeError::Radius(radius));
            }
        }
        Ok(Self { set, lower, upper, ball })
    }

    /// The same, and within the bounds that conditions on single inputs give.
    pub fn within(mut self, conditions: &[InputCondition]) -> Self {
        for condition in conditions {
            let &[(input, weight)] = condition.terms.as_slice() else { continue };
            // What is not as plain as this is looked at when the point is stored.
            if weight.abs() != 1.0 || condition.slack != 0.0 {
                continue;
            }
            let bound = -weight * condition.constant;
            if weight > 0.0 {
                let bound = if condition.strict { bound.next_up() } else { bound };
                self.lower[input] = self.lower[input].max(bound).min(self.upper[input]);
            } else {
                let bound = if condition.strict { bound.next_down() } else { bound };
                self.upper[input] = self.upper[input].min(bound).max(self.lower[input]);
            }
        }
        self
    }

    /// The candidate in `f32`. Where rounding breaks what is asked of inputs, a point a little nearer to the centre, if that keeps it.
    pub fn store_admitted(&self, candidate: &[f64], property: &Property) -> Vec<f32> {
        let stored = self.store(candidate);
        if property.admits(&widened(&stored)) {
            return stored;
        }
        let pulled = PULLS.iter().map(|pull| {
            let pairs = candidate.iter().zip(self.set.centre());
            let nearer: Vec<f64> = pairs.map(|(x, centre)| x + pull * (centre - x)).collect();
            self.store(&nearer)
        });
        pulled.into_iter().find(|x| property.admits(&widened(x))).unwrap_or(stored)
    }

    /// The candidate in `f32`, in the set if there is such a point nearby.
    pub fn store(&self, candidate: &[f64]) -> Vec<f32> {
        let within = |(i, &x): (usize, &f64)| {
            let x = if self.set.is_integer(i) { x.round() } else { x };
            // + 0.0 turns −0 into 0.
            x.clamp(self.lower[i], self.upper[i]) + 0.0
        };
        let clamped: Vec<f64> = candidate.iter().enumerate().map(within).collect();
        match self.ball {
            Some(ball) => self.store_in_ball(ball, &clamped),
            None => self.store_in_box(&clamped),
        }
    }

    /// Whether a stored point lies in the set: strictly, in a ball.
    pub fn holds(&self, x: &[f32]) -> bool {
        let in_box = x.iter().enumerate().all(|(i, &x)| {
            let x = f64::from(x);
            self.lower[i] <= x && x <= self.upper[i]
        });
        let wide = widened(x);
        in_box
            && self.set.domain().is_integral(&wide)
            && self.ball.is_none_or(|_| self.distance_inside(x).is_some())
            && self.set.constraints().iter().all(|c| c.violation(&wide) <= CONSTRAINT)
    }

    /// The distance from the centre, if it is strictly below the radius for whoever adds it up in `f64`.
    ///
    /// Each difference of two `f32` has a relative error of at most 2⁻⁵³, a sum of n of them, in any order, at most n·2⁻⁵³
    /// to first order. Two people who add up may therefore differ by 2(n + 1)·2⁻⁵³; twice that is allowed for.
    pub fn distance_inside(&self, x: &[f32]) -> Option<f64> {
        let Ball { norm, radius, .. } = self.ball?;
        let distance = norm.distance(&widened(x), self.set.centre());
        (distance * (1.0 + allowance(x.len())) < radius).then_some(distance)
    }

    /// Every value rounded to the nearest `f32` between its bounds, or to the nearest one at all if there is none between them.
    fn store_in_box(&self, clamped: &[f64]) -> Vec<f32> {
        let stored = |(i, &x): (usize, &f64)| {
            let nearest = x as f32;
            if f64::from(nearest) > self.upper[i] {
                Some(nearest.next_down()).filter(|&x| f64::from(x) >= self.lower[i])
            } else if f64::from(nearest) < self.lower[i] {
                Some(nearest.next_up()).filter(|&x| f64::from(x) <= self.upper[i])
            } else {
                None
            }
            .unwrap_or(nearest)
        };
        clamped.iter().enumerate().map(stored).collect()
    }

    /// The point pulled straight towards the centre until it is strictly in the ball.
    fn store_in_ball(&self, ball: Ball, clamped: &[f64]) -> Vec<f32> {
        let centre = self.set.centre();
        let towards = |share: f64| -> Vec<f32> {
            let pairs = clamped.iter().zip(centre);
            pairs.map(|(&x, &centre)| stored_value(centre, x, share)).collect()
        };
        let inside = |x: &Vec<f32>| self.distance_inside(x).is_some();
        let unshrunk = towards(1.0);
        if inside(&unshrunk) {
            return unshrunk;
        }
        if let Some(trimmed) = self.trim(ball, &unshrunk).filter(inside) {
            return trimmed;
        }
        let length = ball.norm.distance(clamped, centre);
        let mut hair = HAIR;
        // Ends at the latest with the centre itself, whose distance is 0.
        loop {
            let share = (ball.radius / length).min(1.0) * (1.0 - hair).max(0.0);
            let shrunk = towards(share);
            if inside(&shrunk) {
                return shrunk;
            }
            hair *= 2.0;
        }
    }

    /// A point that is on the surface of the L1 ball, or hardly beyond, with the excess taken from its largest change.
    ///
    /// Shrinking the whole perturbation would move every pixel off 0 and 1, each by a whole step of `f32`; this costs one
    /// step at most.
    fn trim(&self, Ball { norm, radius, .. }: Ball, x: &[f32]) -> Option<Vec<f32>> {
        let centre = self.set.centre();
        let excess = norm.distance(&widened(x), centre) - radius;
        if norm != Norm::L1 || excess > HAIR * radius {
            return None;
        }
        let change = |i: usize| f64::from(x[i]) - centre[i];
        let largest = (0..x.len()).max_by(|&i, &j| change(i).abs().total_cmp(&change(j).abs()))?;
        let cut = excess + 2.0 * allowance(x.len()) * radius;
        let share = 1.0 - cut / change(largest).abs();
        let mut trimmed = x.to_vec();
        trimmed[largest] = stored_value(centre[largest], x[largest].into(), share.max(0.0));
        Some(trimmed)
    }
}

/// The value that lies `share` of the way from the centre to `x`, rounded towards the centre.
fn stored_value(from: f64, x: f64, share: f64) -> f32 {
    // The sum is rounded too, so it is kept on the way from the centre to x.
    let (low, high) = (from.min(x), from.max(x));
    let wanted = if share < 1.0 { (from + share * (x - from)).clamp(low, high) } else { x };
    let nearest = wanted as f32;
    let rounded = f64::from(nearest);
    if wanted > from && rounded > wanted {
        nearest.next_down()
    } else if wanted < from && rounded < wanted {
        nearest.next_up()
    } else {
        nearest
    }
}

/// Relative rounding of a distance over so many values.
pub(super) fn allowance(values: usize) -> f64 {
    2.0 * (values as f64 + 2.0) * f64::EPSILON
}
