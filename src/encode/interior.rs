//! A point deep inside a domain with linear constraints, or the answer that the domain is empty.

use super::error::EncodeError;
use super::solve::{LpWork, solve};
use crate::budget::Budget;
use crate::lp::{Col, LpModel, Simplex};
use crate::sets::{Constraint, Domain};
use crate::tolerance;

/// How far the point may break a constraint. Half of the tolerance is left to the points between this one and others.
const ALLOWED: f64 = 0.5 * tolerance::CONSTRAINT;

/// The point whose slack in all bounds and constraints is largest, each measured by the most slack that it could have: one LP, in the spirit
/// of the Chebyshev centre. Inputs without constraints are in the middle of their bounds.
///
/// # Errors
/// [`EncodeError::Infeasible`] when no point keeps all bounds and constraints; otherwise when the time is up or the solver fails.
pub fn interior_point(domain: &Domain, budget: &Budget) -> Result<Vec<f64>, EncodeError> {
    let bounds = domain.lower.iter().zip(&domain.upper);
    let mut point: Vec<f64> = bounds.map(|(lower, upper)| lower + 0.5 * (upper - lower)).collect();
    if domain.constraints.is_empty() {
        return Ok(point);
    }
    if domain.constraints.iter().any(|constraint| is_out_of_reach(domain, constraint)) {
        return Err(EncodeError::Infeasible);
    }
    let mut slack_lp = SlackLp::new(domain);
    let solution = solve(&mut slack_lp.lp, Simplex::Choose, budget, &mut LpWork::default())?;
    for (x, col) in point.iter_mut().zip(slack_lp.col_from_input) {
        if let Some(Col(col)) = col {
            *x = solution.cols[col];
        }
    }
    let mut point = domain.clamped(&point);
    let bounds = |input: usize| (domain.lower[input], domain.upper[input]);
    Constraint::correct_all(&domain.constraints, &mut point, bounds, ALLOWED);
    let violation = domain.violation(&point);
    if violation > ALLOWED {
        return Err(EncodeError::Trouble(format!("a constraint is broken by {violation:.1e}")));
    }
    Ok(point)
}

/// The LP that maximises the slack: a column for it, and one for each input that a constraint mentions.
struct SlackLp<'d> {
    domain: &'d Domain,
    lp: LpModel,
    slack: Col,
    /// The slack is counted in the widest input's width: as a share of it, it would have that width as a coefficient.
    unit: f64,
    /// Inputs of no constraint are not in the LP.
    col_from_input: Vec<Option<Col>>,
}

impl<'d> SlackLp<'d> {
    fn new(domain: &'d Domain) -> Self {
        let inputs = || domain.constraints.iter().flat_map(Constraint::terms).map(|&(i, _)| i);
        let width = |input: usize| domain.upper[input] - domain.lower[input];
        let widest = inputs().map(width).fold(0.0, f64::max);
        let unit = if widest > 0.0 { widest } else { 1.0 };
        let mut lp = LpModel::new();
        let slack = lp.add_col(1.0, 0.0, 0.5 * unit, &[]);
        let col_from_input = vec![None; domain.lower.len()];
        let mut new = Self { domain, lp, slack, unit, col_from_input };
        for input in inputs() {
            new.add_input(input);
        }
        for constraint in &domain.constraints {
            new.add_constraint(constraint);
        }
        new
    }

    fn width(&self, input: usize) -> f64 {
        self.domain.upper[input] - self.domain.lower[input]
    }

    /// A column for an input, with its bounds as rows too, so that they have slack.
    fn add_input(&mut self, input: usize) {
        if self.col_from_input[input].is_some() {
            return;
        }
        let (lower, upper) = (self.domain.lower[input], self.domain.upper[input]);
        let share = self.width(input) / self.unit;
        let col = self.lp.add_col(0.0, lower, upper, &[]);
        self.lp.add_row(lower, f64::INFINITY, &[(col, 1.0), (self.slack, -share)]);
        self.lp.add_row(f64::NEG_INFINITY, upper, &[(col, 1.0), (self.slack, share)]);
        self.col_from_input[input] = Some(col);
    }

    /// A row for each side of a constraint.
    fn add_constraint(&mut self, constraint: &Constraint) {
        let (lower, upper) = (constraint.lower(), constraint.upper());
        let terms = || constraint.terms().iter();
        let most: f64 = terms().map(|&(i, weight)| weight.abs() * self.width(i)).sum();
        let share = most.min(upper - lower).max(0.0) / self.unit;
        let mut entries: Vec<(Col, f64)> = Vec::new();
        for &(input, weight) in terms() {
            entries.extend(self.col_from_input[input].map(|col| (col, weight)));
        }
        for (side, sign) in [(lower, -1.0), (upper, 1.0)] {
            if side.is_infinite() {
                continue;
            }
            let slack = (self.slack, sign * share);
            let with_slack: Vec<(Col, f64)> = entries.iter().copied().chain([slack]).collect();
            let (low, high) =
                if sign > 0.0 { (f64::NEG_INFINITY, side) } else { (side, f64::INFINITY) };
            self.lp.add_row(low, high, &with_slack);
        }
    }
}

/// Whether the bounds alone show that no point keeps the constraint. A side may be further out than the LP solver takes.
fn is_out_of_reach(domain: &Domain, constraint: &Constraint) -> bool {
    let (mut least, mut most, mut rounding) = (0.0, 0.0, 1.0);
    for &(input, weight) in constraint.terms() {
        let (a, b) = (weight * domain.lower[input], weight * domain.upper[input]);
        (least, most) = (least + a.min(b), most + a.max(b));
        rounding += 1e-9 * (a.abs() + b.abs());
    }
    constraint.lower() > most + rounding || constraint.upper() < least - rounding
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn interior(
        lower: f64,
        upper: f64,
        constraints: Vec<Constraint>,
    ) -> Result<Vec<f64>, EncodeError> {
        let domain = Domain { constraints, ..Domain::new_box(3, lower, upper) };
        interior_point(&domain, &Budget::unlimited())
    }

    #[test]
    fn the_middle_of_a_box_and_of_what_a_constraint_leaves() {
        assert_eq!(interior(-1.0, 3.0, vec![]).unwrap(), [1.0; 3]);
        // x0 + x1 ≤ 1 in the unit box: slack t each at 0, and 1 − 2 t = 2 t in the sum, so t is a quarter.
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 1.0);
        let point = interior(0.0, 1.0, vec![sum]).unwrap();
        assert!(
            point.iter().zip([0.25, 0.25, 0.5]).all(|(x, y)| (x - y).abs() < 1e-9),
            "{point:?}"
        );
    }

    #[test]
    fn an_equation_has_no_slack_to_give() {
        let equal = Constraint::new(&[(0, 1.0), (2, -1.0)], 0.0, 0.0);
        let point = interior(0.0, 1.0, vec![equal]).unwrap();
        assert!(point.iter().all(|x| (x - 0.5).abs() < 1e-9), "{point:?}");
    }

    #[test]
    fn contradictions_leave_nothing() {
        let small = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 0.5);
        let large = Constraint::new(&[(0, 1.0), (1, 1.0)], 0.75, f64::INFINITY);
        let empty = interior(0.0, 1.0, vec![small, large]);
        assert!(matches!(empty, Err(EncodeError::Infeasible)), "{empty:?}");
        let crossed = Constraint::new(&[(0, 1.0), (1, -1.0)], 0.5, 0.25);
        assert!(matches!(interior(0.0, 1.0, vec![crossed]), Err(EncodeError::Infeasible)));
    }

    #[test]
    fn sides_that_no_solver_takes_are_told_apart() {
        // Divided by their weights these sides are 1e310, infinite, and 1e30, infinite for the LP solver.
        for (weight, side) in [(1e-300, 1e10), (1e-10, 1e20)] {
            let terms = [(0, weight), (1, weight)];
            let (none, all) = (f64::NEG_INFINITY, f64::INFINITY);
            for (lower, upper) in [(side, side), (side, all), (none, -side)] {
                let empty = interior(0.0, 1.0, vec![Constraint::new(&terms, lower, upper)]);
                assert!(
                    matches!(empty, Err(EncodeError::Infeasible)),
                    "{lower} {upper}: {empty:?}"
                );
            }
            for (lower, upper) in [(-side, side), (-side, all), (none, side)] {
                let point = interior(0.0, 1.0, vec![Constraint::new(&terms, lower, upper)]);
                assert_eq!(point.unwrap(), [0.5; 3], "{lower} {upper}");
            }
        }
    }

    #[test]
    fn wide_boxes_have_an_inside() {
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0), (2, 1.0)], f64::NEG_INFINITY, 1.0);
        for far in [Domain::FARTHEST, 1e14, 1e15] {
            let point = interior(-far, far, vec![sum.clone()]).unwrap();
            assert!(point.iter().all(|x| (x / far + 0.5).abs() < 1e-6), "{far}: {point:?}");
        }
        let equal = Constraint::new(&[(0, 1.0), (2, -1.0)], 0.0, 0.0);
        let far = Domain::FARTHEST;
        let point = interior(-far, far, vec![sum.clone(), equal.clone()]).unwrap();
        assert!(sum.violation(&point).max(equal.violation(&point)) <= ALLOWED, "{point:?}");
    }

    #[test]
    fn fixed_inputs_have_no_slack_to_give() {
        let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], 0.5, 1.0);
        assert_eq!(interior(0.25, 0.25, vec![sum]).unwrap(), [0.25; 3]);
    }
}
