//! Bounds of every input, and linear constraints between inputs.

use super::constraint::Constraint;

/// Bounds of every input, and what has to hold between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// The least value of each input.
    pub lower: Vec<f64>,
    /// The largest value of each input.
    pub upper: Vec<f64>,
    /// What else has to hold.
    pub constraints: Vec<Constraint>,
}

impl Domain {
    /// Bounds that people give lie no further out: from here on f64 has no digits left to keep constraints to
    /// [`tolerance::CONSTRAINT`](crate::tolerance::CONSTRAINT), and LP solvers lose their way.
    pub const FARTHEST: f64 = 1e9;

    /// The same bounds for all inputs.
    ///
    /// # Panics
    /// When they are not finite or cross.
    pub fn new_box(inputs: usize, lower: f64, upper: f64) -> Self {
        assert!(lower <= upper && lower.is_finite() && upper.is_finite(), "bounds in order");
        Self { lower: vec![lower; inputs], upper: vec![upper; inputs], constraints: Vec::new() }
    }

    /// `x` with every input between its bounds, exactly, and on the one that it misses by a rounding.
    pub fn clamped(&self, x: &[f64]) -> Vec<f64> {
        let clamped = |(x, (&lower, &upper)): (&f64, (&f64, &f64))| {
            let rounding = 4.0 * f64::EPSILON * lower.abs().max(upper.abs());
            match *x {
                x if x <= lower + rounding => lower,
                x if x >= upper - rounding => upper,
                x => x,
            }
        };
        x.iter().zip(self.lower.iter().zip(&self.upper)).map(clamped).collect()
    }

    /// The largest violation of a constraint at `x`.
    pub fn violation(&self, x: &[f64]) -> f64 {
        self.constraints.iter().map(|c| c.violation(x)).fold(0.0, f64::max)
    }
}
