//! A linear constraint on the input.

/// `lower ≤ Σ weight · x_i ≤ upper`; a side without a limit is infinite. Kept divided by the largest weight, so that a violation of `d` says
/// that some input would have to move by about `d`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    terms: Vec<(usize, f64)>,
    lower: f64,
    upper: f64,
}

impl Constraint {
    /// Inputs with their weights, each input at most once, and the two sides.
    ///
    /// # Panics
    /// When a weight is not finite, or all are zero.
    pub fn new(terms: &[(usize, f64)], lower: f64, upper: f64) -> Self {
        let largest = terms.iter().fold(0.0_f64, |most, (_, weight)| most.max(weight.abs()));
        assert!(largest > 0.0 && largest.is_finite(), "a constraint is about some input");
        let terms = terms.iter().filter(|(_, weight)| *weight != 0.0);
        let terms = terms.map(|&(input, weight)| (input, weight / largest)).collect();
        Self { terms, lower: lower / largest, upper: upper / largest }
    }

    /// The inputs and their weights, the largest of which is 1 or −1.
    pub fn terms(&self) -> &[(usize, f64)] {
        &self.terms
    }

    /// The lower side.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper side.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// `Σ weight · x_i`.
    pub fn activity(&self, x: &[f64]) -> f64 {
        self.terms.iter().map(|&(input, weight)| weight * x[input]).sum()
    }

    /// How far `x` is beyond a side; 0 where it is between them.
    pub fn violation(&self, x: &[f64]) -> f64 {
        let activity = self.activity(x);
        (self.lower - activity).max(activity - self.upper).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_are_in_units_of_the_largest_weight() {
        let constraint = Constraint::new(&[(0, 2.0), (2, -4.0)], f64::NEG_INFINITY, 8.0);
        assert_eq!(constraint.terms(), [(0, 0.5), (2, -1.0)]);
        assert_eq!(constraint.upper(), 2.0);
        assert_eq!(constraint.violation(&[4.0, 9.0, 0.0]), 0.0);
        assert_eq!(constraint.violation(&[6.0, 9.0, 0.0]), 1.0);
        assert_eq!(Constraint::new(&[(0, 1.0)], 2.0, 3.0).violation(&[0.5]), 1.5);
    }
}
