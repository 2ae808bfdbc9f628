//! Numbers of twice the precision of f64, for folding: weights that cancel lose nothing that counts.
//!
//! A number is the unevaluated sum of two f64, the second at most half an ulp of the first (Dekker, *A floating-point technique for
//! extending the available precision*, 1971). Every operation here is off by less than 2⁻¹⁰² of the magnitudes that go into it
//! (Joldes, Muller and Popescu, *Tight and rigorous error bounds for basic building blocks of double-word arithmetic*, 2017), as
//! long as nothing overflows or underflows f64.

/// `high + low`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::onnx) struct DoubleDouble {
    high: f64,
    low: f64,
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl DoubleDouble {
    pub const ONE: Self = Self { high: 1.0, low: 0.0 };

    /// The nearest f64.
    pub fn to_f64(self) -> f64 {
        self.high
    }

    pub fn abs(self) -> f64 {
        self.high.abs()
    }

    pub fn is_zero(self) -> bool {
        self.high == 0.0
    }

    /// `self + other`.
    #[inline]
    pub fn plus(self, other: Self) -> Self {
        let (sum, error) = two_sum(self.high, other.high);
        let (low, low_error) = two_sum(self.low, other.low);
        let (sum, error) = quick_two_sum(sum, error + low);
        let (high, low) = quick_two_sum(sum, error + low_error);
        Self { high, low }
    }

    /// `self · other`.
    #[inline]
    pub fn times(self, other: Self) -> Self {
        let (product, error) = two_product(self.high, other.high);
        let error = error + (self.high * other.low + self.low * other.high);
        let (high, low) = quick_two_sum(product, error);
        Self { high, low }
    }

    pub fn negated(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }

    /// `self / other`: a quotient, corrected twice by its remainder.
    pub fn over(self, other: Self) -> Self {
        let mut quotient = Self::from(self.high / other.high);
        for _ in 0..2 {
            let rest = self.plus(quotient.times(other).negated());
            quotient = quotient.plus((rest.high / other.high).into());
        }
        quotient
    }

    /// The square root of a positive number: that of f64, corrected twice.
    pub fn square_root(self) -> Self {
        let mut root = Self::from(self.high.sqrt());
        for _ in 0..2 {
            let rest = self.plus(root.times(root).negated());
            root = root.plus((rest.high / (2.0 * root.high)).into());
        }
        root
    }
}

/// `a + b`, and what rounding took from it.
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// The same where `a` is not the smaller one.
#[inline]
fn quick_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// `a · b`, and what rounding took from it.
#[inline]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (product, error)
}

/// A number as the sum of two with half as many bits.
#[inline]
fn halves(a: f64) -> (f64, f64) {
    /// 2²⁷ + 1.
    const SPLITTER: f64 = 134_217_729.0;
    let scaled = SPLITTER * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_f64_loses_is_kept() {
        let large = DoubleDouble::from(2f64.powi(80));
        let sum = large.plus(1.0.into()).plus(large.negated());
        assert_eq!(sum.to_f64(), 1.0);
        let (a, b) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
        let product = DoubleDouble::from(a).times(b.into()).plus((-1.0).into());
        assert_eq!(product.to_f64(), -f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn quotients_and_roots_are_undone_to_the_last_bits() {
        for number in [3.0, 0.1, 7e20, 1.3e-15] {
            let value = DoubleDouble::from(number);
            let one = DoubleDouble::ONE.over(value).times(value).plus((-1.0).into());
            assert!(one.abs() < 2f64.powi(-102), "{number}: {one:?}");
            let root = value.square_root();
            let rest = root.times(root).plus(value.negated());
            assert!(rest.abs() < 2f64.powi(-102) * number, "{number}: {rest:?}");
        }
    }
}
