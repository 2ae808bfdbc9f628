//! Numbers that go wrong, and numbers that cannot.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use rand::{Rng, RngExt};

/// `mantissa · 2^exponent`: sums and products are exact. (Fractions were, too, but spent nine tenths of a hunt on common divisors.)
#[derive(Clone, Debug)]
pub struct Exact {
    mantissa: BigInt,
    exponent: i64,
}

/// Binary places of quotients and square roots, which are rounded down: far more than what is compared has.
const PLACES: i64 = 600;

/// The number that a float is.
///
/// # Panics
/// When it is not finite.
pub fn exact(value: f64) -> Exact {
    assert!(value.is_finite(), "a finite number");
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let magnitude = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let sign = if value < 0.0 { Sign::Minus } else { Sign::Plus };
    Exact {
        mantissa: BigInt::from_biguint(sign, magnitude.into()),
        exponent: exponent.max(1) - 1075,
    }
    .reduced()
}

impl Exact {
    /// 0.
    pub fn zero() -> Self {
        Self { mantissa: BigInt::zero(), exponent: 0 }
    }

    /// Whether it is below 0.
    pub fn is_negative(&self) -> bool {
        self.mantissa.is_negative()
    }

    /// Without its sign.
    pub fn abs(&self) -> Self {
        Self { mantissa: self.mantissa.abs(), ..*self }
    }

    /// The same number with an odd mantissa.
    fn reduced(self) -> Self {
        match self.mantissa.trailing_zeros() {
            None => Self::zero(),
            Some(0) => self,
            Some(zeros) => {
                Self { mantissa: self.mantissa >> zeros, exponent: self.exponent + zeros as i64 }
            }
        }
    }

    /// Its mantissa for a smaller exponent.
    fn shifted(&self, exponent: i64) -> BigInt {
        &self.mantissa << (self.exponent - exponent)
    }

    /// Divided by another number, to at least 600 digits.
    pub fn over(&self, other: &Self) -> Self {
        let places = PLACES + other.mantissa.bits() as i64;
        let mantissa = (&self.mantissa << places) / &other.mantissa;
        Self { mantissa, exponent: self.exponent - places - other.exponent }
    }

    /// The nearest f64, nearly.
    pub fn to_f64(&self) -> f64 {
        let drop = (self.mantissa.bits() as i64 - 64).max(0);
        let top = (&self.mantissa >> drop).to_f64().unwrap_or(f64::NAN);
        // Two steps: the power of two alone may be out of range.
        let exponent = (self.exponent + drop).clamp(-2200, 2200);
        let half = (exponent / 2) as i32;
        top * 2f64.powi(half) * 2f64.powi(exponent as i32 - half)
    }
}

impl<'a> Add<&'a Exact> for Exact {
    type Output = Self;
    fn add(self, other: &'a Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self { mantissa: self.shifted(exponent) + other.shifted(exponent), exponent }
    }
}

impl<'a> Sub<&'a Exact> for Exact {
    type Output = Self;
    fn sub(self, other: &'a Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self { mantissa: self.shifted(exponent) - other.shifted(exponent), exponent }
    }
}

impl<'a> Mul<&'a Exact> for &Exact {
    type Output = Exact;
    fn mul(self, other: &'a Exact) -> Exact {
        let mantissa = &self.mantissa * &other.mantissa;
        Exact { mantissa, exponent: self.exponent + other.exponent }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Exact {}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.clone() - other).mantissa.sign().cmp(&Sign::NoSign)
    }
}

/// The square root, rounded down.
pub fn square_root(value: &Exact) -> Exact {
    let exponent = (value.exponent - 2 * PLACES).div_euclid(2) * 2;
    Exact { mantissa: value.shifted(exponent).sqrt(), exponent: exponent / 2 }
}

/// The larger of a number and 0.
pub fn relu(value: Exact) -> Exact {
    if value.is_negative() { Exact::zero() } else { value.reduced() }
}

/// Roughly what size the weights of a layer have.
#[derive(Clone, Copy, Debug)]
pub struct Scale(pub f32);

impl Scale {
    /// Mostly ordinary, sometimes far off.
    pub fn draw(rng: &mut impl Rng) -> Self {
        Self(match rng.random_range(0..12) {
            0 => 10f32.powi(rng.random_range(-30..=30)),
            1 => 10f32.powi(rng.random_range(-6..=6)),
            2 => 2f32.powi(rng.random_range(-20..=20)),
            _ => 1.0,
        })
    }
}

/// A weight: often simple, so that ties and cancellations happen.
pub fn weight(rng: &mut (impl Rng + ?Sized), Scale(scale): Scale) -> f32 {
    scale
        * match rng.random_range(0..10) {
            0 => 0.0,
            1 => 1.0,
            2 => -1.0,
            3 => 0.5,
            4 => 1.0 + f32::EPSILON,
            _ => rng.random_range(-1.0..1.0),
        }
}

/// A pixel.
pub fn pixel(rng: &mut impl Rng) -> f32 {
    match rng.random_range(0..12) {
        0 | 1 => 0.0,
        2 => 1.0,
        3 => f32::from(rng.random_range(0..=255_u8)) / 255.0,
        4 => 1.3e-38,
        5 => 1e-44,
        _ => rng.random_range(0.0..=1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact() {
        let numbers = [0.0, 1.0, -3.5, 0.1, 1e-300, -1e300, 5e-324, 1e-45, 3.4e38];
        for a in numbers {
            assert_eq!(exact(a).to_f64(), a);
            assert_eq!(exact(a).is_negative(), a < 0.0);
            for b in numbers {
                assert_eq!(exact(a).cmp(&exact(b)), a.total_cmp(&(b + 0.0)), "{a} {b}");
                assert_eq!(exact(a) + &exact(b) - &exact(b), exact(a));
                let product = &exact(a) * &exact(b);
                assert_eq!(
                    product.is_negative(),
                    a * b < 0.0 || (a < 0.0) != (b < 0.0) && a != 0.0 && b != 0.0
                );
                if b != 0.0 && (1e-60..1e60).contains(&b.abs()) && (1e-60..1e60).contains(&a.abs())
                {
                    let off = (&exact(a).over(&exact(b)) * &exact(b) - &exact(a)).abs();
                    assert!(off < exact(1e-100), "{a} {b}");
                }
            }
        }
        let root = square_root(&exact(2.0));
        // The divisor has far more digits than the number.
        let quotient = exact(3.0).over(&root);
        assert!((&quotient * &root - &exact(3.0)).abs() < exact(1e-170));
        assert!((&root * &root - &exact(2.0)).abs() < exact(1e-170));
        assert!(&root * &root <= exact(2.0));
    }
}
