//! Exact numbers `mantissa · 2^exponent`, for small networks. All numbers of a proof have this form, and nothing is ever divided:
//! quotients are proposed in f64 and checked by multiplication.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use crate::number::Number;

/// `mantissa · 2^exponent`; the mantissa is odd or zero.
#[derive(Clone, Debug)]
pub struct Exact {
    mantissa: BigInt,
    exponent: i64,
}

impl Exact {
    fn new(mantissa: BigInt, exponent: i64) -> Self {
        match mantissa.trailing_zeros() {
            None => Self { mantissa, exponent: 0 },
            Some(0) => Self { mantissa, exponent },
            Some(zeros) => Self { mantissa: mantissa >> zeros, exponent: exponent + zeros as i64 },
        }
    }

    /// Both mantissas for the smaller exponent.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        let shifted = |x: &Self| &x.mantissa << (x.exponent - exponent) as u64;
        (shifted(self), shifted(other), exponent)
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.mantissa == other.mantissa && self.exponent == other.exponent
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.mantissa.sign(), other.mantissa.sign()) {
            (a, b) if a != b => {
                Some((a as i8 - Sign::NoSign as i8).cmp(&(b as i8 - Sign::NoSign as i8)))
            }
            _ => {
                let (a, b, _) = self.aligned(other);
                Some(a.cmp(&b))
            }
        }
    }
}

impl Number for Exact {
    const TINY: f64 = 0.0;

    /// # Panics
    /// When `x` is not finite: there is no such exact number.
    fn of(x: f64) -> Self {
        assert!(x.is_finite(), "numbers overflow f64");
        let bits = x.to_bits();
        let (raw, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        let (mantissa, exponent) =
            if raw == 0 { (fraction, -1074) } else { (fraction | (1 << 52), raw as i64 - 1075) };
        let mantissa = BigInt::from(mantissa);
        Self::new(if x < 0.0 { -mantissa } else { mantissa }, exponent)
    }

    fn nearest(&self) -> f64 {
        let excess = self.mantissa.bits().saturating_sub(60);
        let leading: i64 = (&self.mantissa >> excess).try_into().unwrap_or(0);
        let exponent = self.exponent.saturating_add(excess as i64).clamp(-2200, 2200) as i32;
        // In two steps, so that neither power overflows or vanishes before the product does.
        leading as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
    }

    fn add(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self::new(a + b, exponent)
    }

    fn mul(&self, other: &Self) -> Self {
        Self::new(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }

    fn negated(&self) -> Self {
        Self { mantissa: -&self.mantissa, exponent: self.exponent }
    }

    fn up(self) -> Self {
        self
    }

    fn down(self) -> Self {
        self
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn gamma(_: usize) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_do_not_round() {
        let (tenth, big) = (Exact::of(0.1), Exact::of(1e300));
        assert_eq!(tenth.add(&big).add(&big.negated()), tenth);
        assert_eq!(tenth.mul(&Exact::of(4.0)).nearest(), 0.4);
        assert!(
            tenth.mul(&tenth) > Exact::of(0.01)
                && tenth.mul(&tenth).nearest() == 0.010000000000000002
        );
        assert!(Exact::of(-1.0) < Exact::zero() && Exact::zero() < Exact::of(5e-324));
        assert_eq!(Exact::of(-3.5e-310).nearest(), -3.5e-310);
    }

    #[test]
    fn quotients_are_rounded_up() {
        let (one, three) = (Exact::of(1.0), Exact::of(3.0));
        let third = one.quotient_up(&three);
        assert!(third.mul(&three) >= one && third.nearest() < 0.333334);
        assert!(one.negated().quotient_up(&three).mul(&three) >= one.negated());
    }
}
