//! What floating-point arithmetic may be off by. Every certified number goes through here.
//!
//! A sum of `n` products, in any order, fused or not, is within `gamma(n) · Σ|terms|` of the exact one (Higham, *Accuracy
//! and Stability of Numerical Algorithms*, §3.1). The sums of magnitudes are themselves rounded, which [`SAFETY`]
//! covers with room to spare; in f32 the f64 sums of magnitudes are as good as exact.

/// Unit roundoff of f64.
const F64: f64 = f64::EPSILON / 2.0;

/// Unit roundoff of f32.
const F32: f64 = f32::EPSILON as f64 / 2.0;

/// Allowances in f64 are this many times what the theorem asks for: it costs nothing.
const SAFETY: f64 = 16.0;

/// What one operation on numbers of twice the precision of f64 is off by, relative to the magnitudes that go into it: 2⁻¹⁰².
const DOUBLE_DOUBLE: f64 = 4.0 * F64 * F64;

/// Products may underflow; each then loses less than this.
const UNDERFLOW: f64 = 1e-300;

/// An operation in f32 may read two operands and give one result below the smallest normal number, and take each of them for 0; so may the
/// addition behind a product. Six such numbers, and a third more for the rounding of what is lost.
const FLUSHED_NUMBERS: f64 = 8.0;

/// The allowance for sums of at most so many terms.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    relative: f64,
    absolute: f64,
}

impl Allowance {
    /// In f64.
    pub fn f64(terms: usize) -> Self {
        Self::new(F64, SAFETY * (terms as f64 + 16.0), UNDERFLOW)
    }

    /// In f32, for so many operations one after the other.
    pub fn f32(operations: usize) -> Self {
        Self::new(F32, operations as f64 + 4.0, FLUSHED_NUMBERS * f64::from(f32::MIN_POSITIVE))
    }

    /// In twice the precision of f64, for so many operations one after the other.
    pub fn folded(operations: usize) -> Self {
        Self::new(DOUBLE_DOUBLE, operations as f64 + 4.0, UNDERFLOW)
    }

    fn new(roundoff: f64, operations: f64, underflow: f64) -> Self {
        let share = operations * roundoff;
        let relative = if share < 0.5 { share / (1.0 - share) } else { f64::INFINITY };
        Self { relative, absolute: operations * underflow }
    }

    /// How far a sum may be off whose terms' magnitudes add up to `magnitude`.
    pub fn of(&self, magnitude: f64) -> f64 {
        self.relative * magnitude + self.absolute
    }

    /// The same where numbers lost to underflow are amplified, each by at most `reach`.
    pub fn of_folding(&self, magnitude: f64, reach: f64) -> f64 {
        self.relative * magnitude + self.absolute * reach
    }

    /// At least the exact value of a sum of terms of one sign that came out as `sum`.
    pub fn up(&self, sum: f64) -> f64 {
        sum + self.of(sum.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_covers_sums_in_two_orders() {
        // 1 + 1e16 − 1e16 is 1 or 0, depending on the order; the magnitudes add up to 2e16.
        let allowance = Allowance::f64(3).of(2e16);
        assert!(allowance >= 1.0, "{allowance}");
        assert!(allowance < 2e5, "and is not absurd: {allowance}");
    }

    #[test]
    fn too_many_terms_allow_anything() {
        assert_eq!(Allowance::f32(1 << 26).of(1.0), f64::INFINITY);
    }
}
