//! Where inputs may lie: a box around a centre, and a budget for all moves together or linear constraints.
//!
//! The set is `{c + p − q : 0 ≤ p ≤ up, 0 ≤ q ≤ down, Σ(p + q) ≤ budget}`. An L1 ball cut by the pixel box has this
//! form, an L∞ ball and a box have it without a budget, and so has every part that branching on the
//! budget makes of them. A box may be cut by [constraints](Constraint) instead. All later work knows the set only
//! through the functions here.

use std::cmp::Ordering;
use std::sync::Arc;

use super::ball::{Ball, PixelRange};
use super::constraint::Constraint;
use super::domain::Domain;
use super::norm::Norm;
use super::split::{Divide, Half, PixelSplit, exact_sum};
use crate::tolerance;

/// Pulls of a point towards the centre: one does, but for rounding.
const MOST_PULLS: usize = 8;

/// How much of the tolerance a pulled point uses: between what the centre may use, a half, and all.
const PULLED_TO: f64 = 0.75;

/// A box with an optional budget or constraints. Closed: the strict `< Δ` of the problem is settled when a point is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSet {
    centre: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
    budget: Option<f64>,
    /// The bounds and constraints as they were given. A part still has those of the whole set.
    domain: Arc<Domain>,
    ball: Option<Ball>,
}

/// How far one pixel may move in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The pixel.
    pub pixel: usize,
    /// +1 or −1.
    pub sign: f64,
    /// The largest amount, positive.
    pub cap: f64,
}

/// A point of the set where a linear function is largest.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// The point.
    pub point: Vec<f64>,
    /// The function's value there.
    pub value: f64,
}

impl InputSet {
    /// `‖x − centre‖ ≤ radius`, cut by the values that an input may have.
    ///
    /// ```
    /// use rw_adv::sets::{InputSet, Norm, PixelRange};
    /// let image: [f32; 3] = [0.0, 0.25, 1.0];
    /// let set = InputSet::ball(Norm::L1, &image, 0.5, PixelRange::UNIT);
    /// assert!(set.contains(&[0.125, 0.25, 0.75], 0.0));
    /// assert!(!set.contains(&[0.5, 0.0, 1.0], 0.0));
    /// assert_eq!(set.as_ball().map(|ball| ball.radius), Some(0.5));
    /// ```
    pub fn ball(
        norm: Norm,
        centre: &[impl Copy + Into<f64>],
        radius: f64,
        range: PixelRange,
    ) -> Self {
        let centre: Vec<f64> = centre.iter().map(|&x| x.into()).collect();
        let PixelRange { lower, upper } = range;
        // An L1 ball is held back by its budget alone.
        let (reach, budget) = match norm {
            Norm::L1 => (upper - lower, Some(radius)),
            Norm::Linf => (radius, None),
        };
        Self {
            up: centre.iter().map(|x| (upper - x).min(reach)).collect(),
            down: centre.iter().map(|x| (x - lower).min(reach)).collect(),
            budget,
            domain: Arc::new(Domain::new_box(centre.len(), lower, upper)),
            ball: Some(Ball { norm, radius }),
            centre,
        }
    }

    /// `‖x − centre‖₁ ≤ radius` without the pixel box: what tools assume that concretise by the dual norm.
    pub fn whole_l1_ball(centre: &[f64], radius: f64) -> Self {
        let far = vec![f64::INFINITY; centre.len()];
        let domain = Domain {
            lower: far.iter().map(|far| -far).collect(),
            upper: far,
            constraints: Vec::new(),
        };
        // No move can spend more than the budget.
        let caps = vec![radius; centre.len()];
        Self {
            centre: centre.to_vec(),
            up: caps.clone(),
            down: caps,
            budget: Some(radius),
            domain: Arc::new(domain),
            ball: Some(Ball { norm: Norm::L1, radius }),
        }
    }

    /// `lower ≤ x ≤ upper`.
    ///
    /// # Panics
    /// When the lengths differ or a lower bound exceeds its upper bound.
    pub fn new_box(lower: &[f64], upper: &[f64]) -> Self {
        assert_eq!(lower.len(), upper.len(), "one upper bound for each lower bound");
        let up: Vec<f64> = lower.iter().zip(upper).map(|(l, u)| u - l).collect();
        assert!(up.iter().all(|&width| width >= 0.0), "lower bounds are below upper bounds");
        let down = vec![0.0; lower.len()];
        let (lower, upper) = (lower.to_vec(), upper.to_vec());
        let domain = Arc::new(Domain { lower: lower.clone(), upper, constraints: Vec::new() });
        Self { centre: lower, up, down, budget: None, domain, ball: None }
    }

    /// All of a domain, told from a point within its bounds. Where there is to be a search the point has to keep the
    /// constraints too, the deeper inside, the better ([`interior_point`](crate::encode::interior_point) finds one).
    ///
    /// # Panics
    /// When `centre` is not within the bounds.
    pub fn of_domain(domain: &Domain, centre: Vec<f64>) -> Self {
        let up: Vec<f64> = domain.upper.iter().zip(&centre).map(|(u, c)| u - c).collect();
        let down: Vec<f64> = centre.iter().zip(&domain.lower).map(|(c, l)| c - l).collect();
        assert!(up.iter().chain(&down).all(|&cap| cap >= 0.0), "the centre is within the bounds");
        Self { centre, up, down, budget: None, domain: Arc::new(domain.clone()), ball: None }
    }

    /// Number of pixels.
    pub fn dimension(&self) -> usize {
        self.centre.len()
    }

    /// The point that costs nothing.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// What all moves together may spend, if that is limited.
    pub fn budget(&self) -> Option<f64> {
        self.budget
    }

    /// The ball around the centre that the set is cut from, if it is. A part of such a set has none: its centre is another.
    pub fn as_ball(&self) -> Option<Ball> {
        self.ball
    }

    /// The bounds and constraints as they were given, unrounded. A part still has those of the whole set.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Is it a box and nothing else?
    pub fn is_box(&self) -> bool {
        self.budget.is_none() && self.constraints().is_empty()
    }

    /// The same box with another budget.
    pub fn with_budget(&self, budget: f64) -> Self {
        let l1 = |ball: Ball| ball.norm == Norm::L1;
        let ball = self.ball.filter(|&ball| l1(ball)).map(|ball| Ball { radius: budget, ..ball });
        Self { budget: Some(budget), ball, ..self.clone() }
    }

    /// The part in which the split's move is made to at least its amount, and that in which it is made to at most its amount. `None` where the
    /// new centre would be rounded.
    pub fn split(&self, split: PixelSplit) -> Option<[Self; 2]> {
        Self { ball: None, ..self.clone() }.halves(split)
    }

    /// One of these parts. `None` where the two would not cover the set.
    pub fn half(mut self, split: PixelSplit, half: Half) -> Option<Self> {
        self.keep(split, half)?;
        Some(Self { ball: None, ..self })
    }

    /// Between which values pixel `i` stays, the budget aside.
    pub fn range(&self, i: usize) -> (f64, f64) {
        (self.centre[i] - self.down[i], self.centre[i] + self.up[i])
    }

    /// What else has to hold between inputs.
    pub fn constraints(&self) -> &[Constraint] {
        &self.domain.constraints
    }

    /// Every direction in which a pixel can move at all.
    pub fn moves(&self) -> Vec<Move> {
        let pixels = self.up.iter().zip(&self.down).enumerate();
        let both = pixels.flat_map(|(pixel, (&up, &down))| {
            [Move { pixel, sign: 1.0, cap: up }, Move { pixel, sign: -1.0, cap: down }]
        });
        both.filter(|m| m.cap > 0.0).collect()
    }

    /// How far pixel `i` can move the way that raises a function with slope `w`.
    fn cap(&self, i: usize, w: f64) -> f64 {
        if w > 0.0 { self.up[i] } else { self.down[i] }
    }

    /// The largest value of `w · x` over box and budget, whatever the constraints: a continuous knapsack, the steepest
    /// pixels first.
    pub fn support(&self, w: &[f64]) -> f64 {
        self.spend(w, |_, _| ())
    }

    /// A point where `w · x` is largest over box and budget. It need not keep the constraints: that takes an LP,
    /// [`Vertices`](crate::encode::Vertices).
    pub fn maximise(&self, w: &[f64]) -> Vertex {
        let mut point = self.centre.clone();
        let value = self.spend(w, |i, amount| {
            // Exactly onto the box's side when the whole cap is spent.
            point[i] = if amount >= 0.0 {
                (self.centre[i] + amount).min(self.centre[i] + self.up[i])
            } else {
                (self.centre[i] + amount).max(self.centre[i] - self.down[i])
            };
        });
        Vertex { point, value }
    }

    /// Spends the budget on the steepest pixels; tells `taken` each pixel and its signed amount.
    fn spend(&self, w: &[f64], mut taken: impl FnMut(usize, f64)) -> f64 {
        let mut value: f64 = w.iter().zip(&self.centre).map(|(w, c)| w * c).sum();
        let useful = |&i: &usize| w[i] != 0.0 && self.cap(i, w[i]) > 0.0;
        let Some(budget) = self.budget else {
            for i in (0..w.len()).filter(useful) {
                let cap = self.cap(i, w[i]);
                value += w[i].abs() * cap;
                taken(i, cap.copysign(w[i]));
            }
            return value;
        };
        let mut pixels: Vec<usize> = (0..w.len()).filter(useful).collect();
        let steeper = |a: &usize, b: &usize| -> Ordering {
            w[*b].abs().total_cmp(&w[*a].abs()).then(a.cmp(b))
        };
        // Few pixels are ever used: select and sort just enough of them, instead of all.
        let mut left = budget;
        let mut rest = &mut pixels[..];
        let mut portion = 16;
        while left > 0.0 && !rest.is_empty() {
            let many = portion.min(rest.len());
            if many < rest.len() {
                rest.select_nth_unstable_by(many - 1, steeper);
            }
            let (steepest, others) = rest.split_at_mut(many);
            steepest.sort_unstable_by(steeper);
            for &i in &*steepest {
                let amount = self.cap(i, w[i]).min(left);
                value += w[i].abs() * amount;
                taken(i, amount.copysign(w[i]));
                left -= amount;
                if left <= 0.0 {
                    break;
                }
            }
            rest = others;
            portion *= 4;
        }
        value
    }

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
        let settled = wish.iter().enumerate().map(|(i, wish)| {
            let amount = (wish.abs() - lambda).clamp(0.0, cap(i));
            self.centre[i] + amount.copysign(*wish)
        });
        settled.collect()
    }
}

impl Divide for InputSet {
    fn cap_mut(&mut self, pixel: usize, up: bool) -> Option<&mut f64> {
        if up { self.up.get_mut(pixel) } else { self.down.get_mut(pixel) }
    }

    fn budget_mut(&mut self) -> Option<&mut f64> {
        self.budget.as_mut()
    }

    fn advance(&mut self, split: PixelSplit) -> Option<()> {
        let centre = self.centre.get_mut(split.pixel)?;
        *centre = exact_sum(*centre, split.sign() * split.amount)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn sets() -> impl Strategy<Value = (InputSet, Vec<f64>, u64)> {
        (1usize..40, 0u8..3, 0.01f64..6.0, any::<u64>()).prop_map(|(n, kind, delta, seed)| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            // Many pixels of an image are exactly black or white.
            let centre: Vec<f64> = (0..n)
                .map(|_| match rng.random_range(0..3) {
                    0 => 0.0,
                    1 => 1.0,
                    _ => rng.random_range(0.0..1.0),
                })
                .collect();
            let set = match kind {
                0 => InputSet::ball(Norm::L1, &centre, delta, PixelRange::UNIT),
                1 => InputSet::ball(Norm::Linf, &centre, delta / 6.0, PixelRange::UNIT),
                _ => InputSet::new_box(&vec![-1.0; n], &centre),
            };
            let w = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
            (set, w, seed)
        })
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn some_point(set: &InputSet, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let anywhere: Vec<f64> =
            set.centre().iter().map(|c| c + rng.random_range(-2.0..2.0)).collect();
        set.project(&anywhere)
    }

    #[test]
    fn a_knapsack_by_hand() {
        // Budget 1.5: the steepest pixel goes up by its whole 0.75, the next down by the 0.75 that is left.
        let set = InputSet::ball(Norm::L1, &[0.25, 1.0, 0.5], 1.5, PixelRange::UNIT);
        let vertex = set.maximise(&[2.0, -1.5, 1.0]);
        assert_eq!(vertex.point, [1.0, 0.25, 0.5]);
        assert_eq!(vertex.value, 2.0 - 0.375 + 0.5);
        assert_eq!(set.support(&[2.0, -1.5, 1.0]), vertex.value);
    }

    #[test]
    fn a_projection_by_hand() {
        // (1, 1) from 0 with budget 1: each gives up the same.
        let set = InputSet::ball(Norm::L1, &[0.0, 0.0], 1.0, PixelRange::UNIT);
        assert_eq!(set.project(&[1.0, 1.0]), [0.5, 0.5]);
        assert_eq!(set.project(&[2.0, -3.0]), [1.0, 0.0]);
        assert_eq!(set.project(&[0.25, 0.25]), [0.25, 0.25]);
    }

    fn constrained(constraints: Vec<Constraint>, centre: &[f64]) -> InputSet {
        let domain = Domain { constraints, ..Domain::new_box(centre.len(), 0.0, 1.0) };
        InputSet::of_domain(&domain, centre.to_vec())
    }

    #[test]
    fn what_breaks_a_constraint_is_moved_onto_it() {
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 1.0);
        let set = constrained(vec![sum], &[0.25, 0.25]);
        assert_eq!(set.project(&[0.5, 0.25]), [0.5, 0.25]);
        assert_eq!(set.project(&[0.5, -2.0]), [0.5, 0.0]);
        assert_eq!(set.project(&[3.0, 3.0]), [0.5, 0.5]);
        // Not towards the centre: straight.
        assert_eq!(set.project(&[1.0, 0.25]), [0.875, 0.125]);
        assert!(!set.contains(&[0.6, 0.5], 1e-9));
    }

    #[test]
    fn a_point_just_off_an_equation_stays_near() {
        let equal = Constraint::new(&[(0, 1.0), (1, -1.0)], 0.0, 0.0);
        let set = constrained(vec![equal], &[0.5, 0.5]);
        // What the set contains is left alone.
        for off in [1.5e-7, 1.9e-7] {
            assert_eq!(set.project(&[0.75 + off, 0.75]), [0.75 + off, 0.75]);
        }
        for off in [3e-7, 1e-3, 0.1] {
            let near = set.project(&[0.75 + off, 0.75]);
            assert!(near.iter().all(|x| (x - 0.75).abs() <= off), "{off}: {near:?}");
            assert!(set.contains(&near, 0.0), "{off}: {near:?}");
        }
    }

    #[test]
    fn a_centre_that_uses_the_tolerance_does_not_use_it_up() {
        // An equation and a half-space at a sharp angle to it: corrections alone take too long.
        let equal = Constraint::new(&[(0, 1.0), (1, -1.0)], 0.0, 0.0);
        let sharp = Constraint::new(&[(0, 1.0), (1, -0.999)], f64::NEG_INFINITY, 0.0005);
        for off in [0.0, 0.9e-7, 1.5e-7] {
            let alone = constrained(vec![equal.clone()], &[0.25, 0.25 + off]);
            let both = constrained(vec![equal.clone(), sharp.clone()], &[0.25, 0.25 + off]);
            for y in [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.3, 0.7], [1.0, 0.99]] {
                for set in [&alone, &both] {
                    let point = set.project(&y);
                    assert!(set.contains(&point, 0.0), "{off} {y:?}: {point:?}");
                }
            }
        }
    }

    #[test]
    fn a_set_remembers_its_ball_and_its_bounds() {
        let range = PixelRange { lower: -1.0, upper: 3.0 };
        let set = InputSet::ball(Norm::Linf, &[2.5, 0.0], 1.0, range);
        assert_eq!((set.range(0), set.range(1)), ((1.5, 3.0), (-1.0, 1.0)));
        assert_eq!(set.as_ball(), Some(Ball { norm: Norm::Linf, radius: 1.0 }));
        let split = PixelSplit { pixel: 0, up: true, amount: 0.25 };
        let [_, part] = set.split(split).expect("the sum is exact");
        assert_eq!(part.as_ball(), None);
        assert_eq!(part.domain(), &Domain::new_box(2, -1.0, 3.0));
        let set = InputSet::ball(Norm::L1, &[0.5; 3], 1.0, PixelRange::UNIT);
        let wider = Ball { norm: Norm::L1, radius: 2.0 };
        assert_eq!(set.with_budget(2.0).as_ball(), Some(wider));
        assert_eq!(InputSet::new_box(&[0.0], &[1.0]).as_ball(), None);
    }

    proptest! {
        #[test]
        fn the_maximiser_is_in_the_set_and_no_other_point_is_better((set, w, seed) in sets()) {
            let vertex = set.maximise(&w);
            prop_assert!(set.contains(&vertex.point, 1e-12));
            prop_assert!((dot(&w, &vertex.point) - vertex.value).abs() < 1e-9);
            prop_assert!((set.support(&w) - vertex.value).abs() < 1e-12);
            for k in 0..20 {
                let other = some_point(&set, seed.wrapping_add(k));
                prop_assert!(dot(&w, &other) <= vertex.value + 1e-9);
            }
        }

        #[test]
        fn the_dual_bound_meets_the_knapsack((set, w, _) in sets()) {
            // min over λ of λΔ + Σ cap max(|w| − λ, 0); the best λ is one of the |w_i| or 0.
            let base = dot(&w, set.centre());
            let value = |lambda: f64| {
                let over: f64 = (0..w.len()).map(|i| set.cap(i, w[i]) * (w[i].abs() - lambda).max(0.0)).sum();
                base + over + lambda * set.budget().unwrap_or(0.0)
            };
            let lambdas = std::iter::once(0.0).chain(w.iter().map(|w| w.abs()).filter(|_| set.budget().is_some()));
            let best = lambdas.map(value).fold(f64::INFINITY, f64::min);
            prop_assert!((best - set.support(&w)).abs() < 1e-9);
        }

        #[test]
        fn a_projection_keeps_the_constraints_that_the_centre_keeps(
            n in 1usize..8,
            rows in 1usize..6,
            far in -8i32..2,
            seed in any::<u64>(),
        ) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut numbers = |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
            let centre: Vec<f64> = numbers(n).iter().map(|x| x.abs()).collect();
            let constraint = |k: usize| {
                let terms: Vec<(usize, f64)> = numbers(n).into_iter().enumerate().collect();
                let largest = terms.iter().fold(0.0_f64, |most, (_, w)| most.max(w.abs()));
                let at: f64 = terms.iter().map(|&(i, w)| w * centre[i]).sum();
                // Some are broken at the centre, by up to half of the tolerance.
                let off = 0.5 * tolerance::CONSTRAINT * largest * numbers(1)[0];
                let (lower, upper) = [(f64::NEG_INFINITY, 0.0), (-0.1, 0.0), (0.0, 0.0)][k % 3];
                Constraint::new(&terms, at + lower + off, at + upper + off)
            };
            let set = constrained((0..rows).map(constraint).collect(), &centre);
            for _ in 0..10 {
                let y: Vec<f64> =
                    numbers(n).iter().zip(&centre).map(|(d, c)| c + 10f64.powi(far) * d).collect();
                prop_assert!(set.contains(&set.project(&y), 1e-12));
            }
        }

        #[test]
        fn the_projection_is_in_the_set_and_nearest((set, _, seed) in sets()) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 1);
            let y: Vec<f64> = set.centre().iter().map(|c| c + rng.random_range(-2.0..2.0)).collect();
            let nearest = set.project(&y);
            prop_assert!(set.contains(&nearest, 1e-9));
            // Optimality: no point of the set lies further in the direction y − nearest.
            let direction: Vec<f64> = y.iter().zip(&nearest).map(|(y, p)| y - p).collect();
            prop_assert!(set.support(&direction) <= dot(&direction, &nearest) + 1e-7);
        }
    }
}
