//! How the margins of all searches grew: at times evenly spaced on a logarithmic axis, the quantiles of the best margins so far.

/// The shares of searches below the lines.
pub const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Times.
const STEPS: usize = 60;
/// Seconds where the axis begins: what was faster is counted there.
const SHORTEST: f64 = 1e-3;

/// Each row is a time and the quantiles then. Curves are seconds and margins, ascending; before its first point a curve has that
/// point's margin, after its last the last one's. Empty when there are no curves.
pub fn quantiles(curves: &[&[(f64, f64)]], longest: f64) -> Vec<[f64; 1 + SHARES.len()]> {
    let curves: Vec<&[(f64, f64)]> = curves.iter().copied().filter(|c| !c.is_empty()).collect();
    if curves.is_empty() {
        return Vec::new();
    }
    let last = curves.iter().map(|curve| curve[curve.len() - 1].0).fold(longest, f64::max);
    let first = curves.iter().map(|curve| curve[0].0).fold(f64::INFINITY, f64::min).max(SHORTEST);
    let (low, high) = (first.ln(), last.max(2.0 * first).ln());
    let time = |k: usize| (low + (high - low) * k as f64 / (STEPS - 1) as f64).exp();
    (0..STEPS).map(|k| row(&curves, time(k))).collect()
}

fn row(curves: &[&[(f64, f64)]], time: f64) -> [f64; 1 + SHARES.len()] {
    let margin = |curve: &&[(f64, f64)]| {
        let passed = curve.partition_point(|&(when, _)| when <= time);
        curve[passed.saturating_sub(1)].1
    };
    let mut margins: Vec<f64> = curves.iter().map(margin).collect();
    margins.sort_unstable_by(f64::total_cmp);
    let mut row = [time; 1 + SHARES.len()];
    for (value, share) in row[1..].iter_mut().zip(SHARES) {
        let place = share * (margins.len() - 1) as f64;
        let below = place.floor() as usize;
        let above = (below + 1).min(margins.len() - 1);
        *value = margins[below] + (place - below as f64) * (margins[above] - margins[below]);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        assert!(quantiles(&[&[]], 1.0).is_empty());
        let one: &[(f64, f64)] = &[(0.01, -2.0), (0.1, -1.0), (1.0, 3.0)];
        let rows = quantiles(&[one], 10.0);
        assert_eq!(rows.len(), STEPS);
        assert_eq!(rows[0][1..], [-2.0; 5]);
        assert_eq!(rows[STEPS - 1][1..], [3.0; 5]);
        assert!((rows[STEPS - 1][0] - 10.0).abs() < 1e-9);
        let many: Vec<Vec<(f64, f64)>> =
            (0..=20).map(|k| vec![(0.5, f64::from(k)), (1.0, f64::from(k) + 100.0)]).collect();
        let curves: Vec<&[(f64, f64)]> = many.iter().map(Vec::as_slice).collect();
        let rows = quantiles(&curves, 2.0);
        assert_eq!(rows[0][1..], [1.0, 5.0, 10.0, 15.0, 19.0]);
        assert_eq!(rows[STEPS - 1][1..], [101.0, 105.0, 110.0, 115.0, 119.0]);
        assert!(rows.is_sorted_by(|a, b| a[0] < b[0] && a[3] <= b[3]));
    }
}
