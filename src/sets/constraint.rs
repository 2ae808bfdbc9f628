//! A linear constraint on the input.

/// Rounds through all constraints in [`Constraint::correct_all`]: one or two do unless constraints meet at a sharp angle.
const MOST_ROUNDS: usize = 100;

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

    /// Moves `x` within its bounds, by little if little is wrong, until it breaks no constraint by more than `allowed`: onto one
    /// constraint after the other, again and again (Bregman 1965). May end before that, where constraints and bounds leave
    /// little room.
    pub(crate) fn correct_all(
        constraints: &[Self],
        x: &mut [f64],
        bounds: impl Fn(usize) -> (f64, f64),
        allowed: f64,
    ) {
        for _ in 0..MOST_ROUNDS {
            if constraints.iter().all(|constraint| constraint.violation(x) <= allowed) {
                break;
            }
            for constraint in constraints {
                constraint.correct(x, &bounds);
            }
        }
    }

    /// Moves `x` straight towards the side that it is beyond, and onto it if no bound is in the way.
    fn correct(&self, x: &mut [f64], bounds: &impl Fn(usize) -> (f64, f64)) {
        let activity = self.activity(x);
        let beyond = activity - activity.min(self.upper).max(self.lower);
        // Only the inputs that can go that way count; the others stay at their bounds.
        let free = |&&(input, weight): &&(usize, f64)| {
            let (lower, upper) = bounds(input);
            if weight * beyond > 0.0 { x[input] > lower } else { x[input] < upper }
        };
        let squares: f64 = self.terms.iter().filter(free).map(|(_, weight)| weight * weight).sum();
        if beyond == 0.0 || !beyond.is_finite() || squares == 0.0 {
            return;
        }
        for &(input, weight) in &self.terms {
            let (lower, upper) = bounds(input);
            x[input] = (x[input] - beyond * weight / squares).clamp(lower, upper);
        }
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

    fn corrected(constraints: &[Constraint], x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        Constraint::correct_all(constraints, &mut x, |_| (0.0, 1.0), 1e-9);
        x
    }

    #[test]
    fn corrections_go_straight_to_the_side_and_around_bounds() {
        let sum = &[Constraint::new(&[(0, 1.0), (1, 1.0)], 0.5, 1.0)];
        assert_eq!(corrected(sum, &[0.25, 0.5]), [0.25, 0.5]);
        assert_eq!(corrected(sum, &[1.0, 0.5]), [0.75, 0.25]);
        assert_eq!(corrected(sum, &[0.25, 0.0]), [0.375, 0.125]);
        // The second input cannot go below 0: the first goes all the way.
        let twice = Constraint::new(&[(0, 1.0), (1, 2.0)], f64::NEG_INFINITY, 0.25);
        assert_eq!(corrected(&[twice], &[1.0, 0.0]), [0.25, 0.0]);
        // Two at once: x0 + x1 = 1 and x0 = 3 x1 meet at (3/4, 1/4).
        let one = Constraint::new(&[(0, 1.0), (1, 1.0)], 1.0, 1.0);
        let three = Constraint::new(&[(0, 1.0), (1, -3.0)], 0.0, 0.0);
        let both = corrected(&[one, three], &[0.0, 0.0]);
        assert!((both[0] - 0.75).abs() < 1e-8 && (both[1] - 0.25).abs() < 1e-8, "{both:?}");
    }
}
