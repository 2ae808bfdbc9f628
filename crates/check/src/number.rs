//! Numbers that proofs are evaluated with: `f64` rounded outward, or exact ones.
//!
//! `add` and `mul` round to nearest where they round at all; every method that ends in `_up` or `_down` gives a number that is not below, or
//! not above, the exact result. Sums of many products round to nearest, and [`Number::gamma`] says how far they may be off.

use std::fmt::Debug;

/// A number with operations that round in a known direction.
pub trait Number: Clone + PartialOrd + Debug + Send + Sync {
    /// Exactly `x`, which is finite.
    fn of(x: f64) -> Self;
    /// About the same as f64.
    fn nearest(&self) -> f64;
    /// The sum, rounded to nearest.
    fn add(&self, other: &Self) -> Self;
    /// The product, rounded to nearest.
    fn mul(&self, other: &Self) -> Self;
    /// `-self`.
    fn negated(&self) -> Self;
    /// At least the exact result of the one operation that gave this number.
    fn up(self) -> Self;
    /// At most the exact result of the one operation that gave this number.
    fn down(self) -> Self;
    /// Whether it is a finite number.
    fn is_finite(&self) -> bool;
    /// A sum of at most `n` products, in any order, fused or not, is within `gamma(n) · Σ|products| + n · TINY` of the exact one (Higham,
    /// *Accuracy and Stability of Numerical Algorithms*, §3.1).
    fn gamma(n: usize) -> f64;
    /// What a product may lose by underflow.
    const TINY: f64;

    /// `out += left · right`, all by rows: `left` has `inner` columns, `right` and `out` have `width`.
    fn add_product(out: &mut [Self], left: &[Self], right: &[Self], inner: usize, width: usize) {
        for (out, left) in out.chunks_mut(width).zip(left.chunks(inner)) {
            for (factor, right) in left.iter().zip(right.chunks(width)) {
                if *factor != Self::zero() {
                    add_multiple(out, factor, right);
                }
            }
        }
    }

    /// 0.
    fn zero() -> Self {
        Self::of(0.0)
    }
    /// The sum, rounded up.
    fn add_up(&self, other: &Self) -> Self {
        self.add(other).up()
    }
    /// The sum, rounded down.
    fn add_down(&self, other: &Self) -> Self {
        self.add(other).down()
    }
    /// The difference, rounded up.
    fn sub_up(&self, other: &Self) -> Self {
        self.add(&other.negated()).up()
    }
    /// The difference, rounded down.
    fn sub_down(&self, other: &Self) -> Self {
        self.add(&other.negated()).down()
    }
    /// The product, rounded up.
    fn mul_up(&self, other: &Self) -> Self {
        self.mul(other).up()
    }
    /// The product, rounded down.
    fn mul_down(&self, other: &Self) -> Self {
        self.mul(other).down()
    }
    /// `|self|`.
    fn magnitude(&self) -> Self {
        if *self < Self::zero() { self.negated() } else { self.clone() }
    }
    /// The larger one; not a number if one of them is not.
    fn larger(&self, other: &Self) -> Self {
        if self >= other {
            self.clone()
        } else if other > self {
            other.clone()
        } else {
            Self::of(f64::NAN)
        }
    }
    /// The smaller one; not a number if one of them is not.
    fn smaller(&self, other: &Self) -> Self {
        self.negated().larger(&other.negated()).negated()
    }
    /// A number that fits f64 and is at least `self / divisor`, which is positive: checked by multiplication.
    fn quotient_up(&self, divisor: &Self) -> Self {
        // What is below all numbers of f64 is below the smallest of them.
        let mut quotient = (self.nearest() / divisor.nearest()).max(f64::MIN);
        while quotient.is_finite() && Self::of(quotient).mul_down(divisor) < *self {
            quotient = quotient.next_up();
        }
        Self::of(quotient)
    }
    /// The smallest number of f64 that is at least this one, or nearly.
    fn rounded_up(&self) -> f64 {
        let mut near = self.nearest();
        while near.is_finite() && Self::of(near) < *self {
            near = near.next_up();
        }
        near
    }
    /// At least `Σ left · right`, all of which are at least 0.
    fn sum_up(left: &[Self], right: &[Self]) -> Self {
        let terms = left.iter().zip(right);
        let sum = terms.fold(Self::zero(), |sum, (left, right)| sum.add(&left.mul(right)));
        let gamma = Self::of(Self::gamma(2 * left.len() + 2));
        sum.add_up(&sum.mul_up(&gamma)).add_up(&Self::of(Self::TINY * left.len() as f64))
    }
}

/// `out += factor · right`.
pub fn add_multiple<N: Number>(out: &mut [N], factor: &N, right: &[N]) {
    for (out, right) in out.iter_mut().zip(right) {
        *out = out.add(&factor.mul(right));
    }
}

/// `γ_n = n u / (1 − n u)` for unit roundoff `u`, rounded up; infinite where the theorem says nothing.
pub fn gamma(n: usize, roundoff: f64) -> f64 {
    let share = n as f64 * roundoff;
    if share < 0.5 { (share / (1.0 - share)).next_up().next_up() } else { f64::INFINITY }
}

impl Number for f64 {
    const TINY: f64 = f64::MIN_POSITIVE;

    fn of(x: f64) -> Self {
        x
    }
    fn nearest(&self) -> f64 {
        *self
    }
    #[inline(always)]
    fn add(&self, other: &Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn mul(&self, other: &Self) -> Self {
        self * other
    }
    fn negated(&self) -> Self {
        -self
    }
    fn up(self) -> Self {
        self.next_up()
    }
    fn down(self) -> Self {
        self.next_down()
    }
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }
    fn gamma(n: usize) -> f64 {
        gamma(n, f64::EPSILON / 2.0)
    }
    fn add_product(out: &mut [Self], left: &[Self], right: &[Self], inner: usize, width: usize) {
        crate::product::add_product(out, left, right, inner, width);
    }
}
