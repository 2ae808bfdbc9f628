//! Where inputs may lie: a box around a centre, and a budget for all moves together or linear constraints.
//!
//! The set is `{c + p − q : 0 ≤ p ≤ up, 0 ≤ q ≤ down, Σ(p + q) ≤ budget}`. An L1 ball cut by the pixel box has this
//! form, an L∞ ball and a box have it without a budget, and so has every part that branching on the
//! budget makes of them. A box may be cut by [constraints](Constraint) instead. All later work knows the set only
//! through its functions.

use std::sync::Arc;

use super::ball::{Ball, PixelRange};
use super::constraint::Constraint;
use super::domain::Domain;
use super::norm::Norm;
use super::split::{Divide, Half, PixelSplit, exact_sum};

/// A box with an optional budget or constraints. Closed: the strict `< Δ` of the problem is a matter of the judge.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSet {
    pub(super) centre: Vec<f64>,
    /// How far each pixel can move up, and down.
    pub(super) up: Vec<f64>,
    pub(super) down: Vec<f64>,
    pub(super) budget: Option<f64>,
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
    /// Whether the pixel takes whole numbers only.
    pub is_integer: bool,
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
        // In an L1 ball only the budget and the range limit a pixel.
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
            integers: Vec::new(),
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
        let (constraints, integers) = (Vec::new(), Vec::new());
        let domain = Arc::new(Domain { lower: lower.clone(), upper, constraints, integers });
        Self { centre: lower, up, down, budget: None, domain, ball: None }
    }

    /// All of a domain, told from a point within its bounds. Where there is to be a search the point has to keep the
    /// constraints too, the deeper inside, the better ([`interior_point`](crate::encode::interior_point) finds one).
    ///
    /// # Panics
    /// When `centre` is not within the bounds, or has no whole number where one has to be.
    pub fn of_domain(domain: &Domain, centre: Vec<f64>) -> Self {
        let up: Vec<f64> = domain.upper.iter().zip(&centre).map(|(u, c)| u - c).collect();
        let down: Vec<f64> = centre.iter().zip(&domain.lower).map(|(c, l)| c - l).collect();
        assert!(up.iter().chain(&down).all(|&cap| cap >= 0.0), "the centre is within the bounds");
        assert!(domain.is_integral(&centre), "the centre has whole numbers where they have to be");
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

    /// Whether pixel `i` takes whole numbers only.
    pub fn is_integer(&self, i: usize) -> bool {
        self.domain.is_integer(i)
    }

    /// The pixels that take whole numbers only and have more than one left.
    pub fn open_integers(&self) -> impl Iterator<Item = usize> + '_ {
        self.domain.integers.iter().copied().filter(|&i| self.up[i] + self.down[i] > 0.0)
    }

    /// The part in which the pixels that take whole numbers only have those of `point`, told from that point.
    ///
    /// # Panics
    /// When `point` has other numbers there, or the set has a budget.
    pub fn with_integers_of(&self, point: &[f64]) -> Self {
        assert!(self.budget.is_none() && self.domain.is_integral(point), "a box, whole numbers");
        let mut fixed = Self { ball: None, ..self.clone() };
        for (i, &x) in point.iter().enumerate() {
            let (lower, upper) = if self.is_integer(i) { (x, x) } else { self.range(i) };
            let x = x.clamp(lower, upper);
            (fixed.centre[i], fixed.up[i], fixed.down[i]) = (x, upper - x, x - lower);
        }
        fixed
    }

    /// What else has to hold between inputs.
    pub fn constraints(&self) -> &[Constraint] {
        &self.domain.constraints
    }

    /// Every direction in which a pixel can move at all.
    pub fn moves(&self) -> Vec<Move> {
        let pixels = self.up.iter().zip(&self.down).enumerate();
        let both = pixels.flat_map(|(pixel, (&up, &down))| {
            let is_integer = self.is_integer(pixel);
            [(1.0, up), (-1.0, down)].map(|(sign, cap)| Move { pixel, sign, cap, is_integer })
        });
        both.filter(|m| m.cap > 0.0).collect()
    }

    /// How far pixel `i` can move the way that raises a function with slope `w`.
    pub(super) fn cap(&self, i: usize, w: f64) -> f64 {
        if w > 0.0 { self.up[i] } else { self.down[i] }
    }
}

impl Divide for InputSet {
    fn cap_mut(&mut self, pixel: usize, up: bool) -> Option<&mut f64> {
        if up { self.up.get_mut(pixel) } else { self.down.get_mut(pixel) }
    }

    fn is_integer(&self, pixel: usize) -> bool {
        self.domain.is_integer(pixel)
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
