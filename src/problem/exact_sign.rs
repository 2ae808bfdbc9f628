//! The sign of a sum of products, exactly. Borders are where verdicts are wrong by a rounding.

/// Products below this may have lost digits.
const SMALLEST: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// Whether `Σ a · b` is at least 0, or, if `strict`, above 0: in exact arithmetic. False also where that cannot be told: where a number
/// is not finite, or a product overflows or loses digits to underflow.
pub(super) fn is_positive(products: impl Iterator<Item = (f64, f64)>, strict: bool) -> bool {
    // A sum without rounding: partial sums that do not overlap, the largest last (Shewchuk 1997).
    let mut partials: Vec<f64> = Vec::new();
    for (a, b) in products.filter(|&(a, b)| a != 0.0 && b != 0.0) {
        let product = a * b;
        if !(product.is_finite() && product.abs() >= SMALLEST) {
            return false;
        }
        for term in [a.mul_add(b, -product), product] {
            add(&mut partials, term);
        }
    }
    match partials.last() {
        None => !strict,
        Some(sum) => sum.is_finite() && *sum > 0.0,
    }
}

/// Adds a number to partial sums. None of them is 0.
fn add(partials: &mut Vec<f64>, mut x: f64) {
    let mut kept = 0;
    for i in 0..partials.len() {
        let y = partials[i];
        let (large, small) = if x.abs() < y.abs() { (y, x) } else { (x, y) };
        let sum = large + small;
        let rest = small - (sum - large);
        if rest != 0.0 {
            partials[kept] = rest;
            kept += 1;
        }
        x = sum;
    }
    partials.truncate(kept);
    if x != 0.0 {
        partials.push(x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn signs(products: &[(f64, f64)]) -> (bool, bool) {
        let is = |strict| is_positive(products.iter().copied(), strict);
        (is(false), is(true))
    }

    #[test]
    fn signs_that_rounded_sums_lose() {
        assert_eq!(signs(&[]), (true, false));
        assert_eq!(signs(&[(1.0, 1e16), (1.0, 1.0), (-1.0, 1e16)]), (true, true));
        assert_eq!(signs(&[(1.0, 1e16), (-1.0, 1.0), (-1.0, 1e16)]), (false, false));
        // 0.1 + 0.2 is not 0.3, and not 0.30000000000000004 either.
        assert_eq!(signs(&[(1.0, 0.1), (1.0, 0.2), (-1.0, 0.3)]), (true, true));
        assert_eq!(signs(&[(1.0, 0.1), (1.0, 0.2), (-1.0, 0.1 + 0.2)]), (false, false));
        assert_eq!(signs(&[(3.0, 0.1), (-1.0, 0.1), (-2.0, 0.1)]), (true, false));
        let third = 1.0 / 3.0;
        assert_eq!(signs(&[(3.0, third), (-1.0, 1.0)]), (false, false));
    }

    #[test]
    fn what_cannot_be_told_is_false() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(signs(&[(1.0, bad)]), (false, false));
            assert_eq!(signs(&[(1.0, 1.0), (bad, 1.0)]), (false, false));
        }
        assert_eq!(signs(&[(1e200, 1e200)]), (false, false));
        assert_eq!(signs(&[(1e-200, 1e-200)]), (false, false));
        assert_eq!(signs(&[(0.0, f64::NAN)]), (true, false), "what does not count may be anything");
    }

    proptest! {
        /// Multiples of 2⁻²⁰ below 2²⁰: their products are sums of integers.
        #[test]
        fn the_sign_is_that_of_integers(terms in prop::collection::vec((-1i64 << 40..1i64 << 40, -1i64 << 40..1i64 << 40), 0..8)) {
            let scale = |k: i64| k as f64 * 2f64.powi(-20);
            let products: Vec<(f64, f64)> = terms.iter().map(|&(a, b)| (scale(a), scale(b))).collect();
            let sum: i128 = terms.iter().map(|&(a, b)| i128::from(a) * i128::from(b)).sum();
            prop_assert_eq!(signs(&products), (sum >= 0, sum > 0));
        }
    }
}
