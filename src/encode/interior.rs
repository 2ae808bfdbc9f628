//! A point deep inside a domain, or the news that there is none.

use super::solve::{RegionError, Work, solve};
use crate::budget::Budget;
use crate::input::{Constraint, Domain};
use crate::lp::{Col, LpModel, Simplex};
use crate::tolerance;

/// The point whose slack in all bounds and constraints is largest, each measured by the most slack that it could have: one LP, in the spirit
/// of the Chebyshev centre. Inputs without constraints are in the middle of their bounds.
///
/// # Errors
/// [`RegionError::Empty`] when no point keeps all bounds and constraints; otherwise when the time is up or the solver fails.
pub fn interior_point(domain: &Domain, budget: &Budget) -> Result<Vec<f64>, RegionError> {
    let bounds = domain.lower.iter().zip(&domain.upper);
    let mut point: Vec<f64> = bounds.map(|(lower, upper)| lower + 0.5 * (upper - lower)).collect();
    if domain.constraints.is_empty() {
        return Ok(point);
    }
    let mut lp = LpModel::new();
    let slack = lp.add_col(1.0, 0.0, 0.5, &[]);
    // Inputs of no constraint stay where they are.
    let mut col_from_input: Vec<Option<Col>> = vec![None; point.len()];
    for &(input, _) in domain.constraints.iter().flat_map(Constraint::terms) {
        if col_from_input[input].is_none() {
            let (lower, upper) = (domain.lower[input], domain.upper[input]);
            let col = lp.add_col(0.0, lower, upper, &[]);
            lp.add_row(lower, f64::INFINITY, &[(col, 1.0), (slack, lower - upper)]);
            lp.add_row(f64::NEG_INFINITY, upper, &[(col, 1.0), (slack, upper - lower)]);
            col_from_input[input] = Some(col);
        }
    }
    for constraint in &domain.constraints {
        let (lower, upper) = (constraint.lower(), constraint.upper());
        let width = |input: usize| domain.upper[input] - domain.lower[input];
        let most: f64 = constraint.terms().iter().map(|&(i, weight)| weight.abs() * width(i)).sum();
        let most = most.min(upper - lower).max(0.0);
        let mut entries: Vec<(Col, f64)> = Vec::new();
        for &(input, weight) in constraint.terms() {
            entries.extend(col_from_input[input].map(|col| (col, weight)));
        }
        for (side, sign) in [(lower, -1.0), (upper, 1.0)] {
            if side.is_infinite() {
                continue;
            }
            let with_slack: Vec<(Col, f64)> =
                entries.iter().copied().chain([(slack, sign * most)]).collect();
            let (low, high) =
                if sign > 0.0 { (f64::NEG_INFINITY, side) } else { (side, f64::INFINITY) };
            lp.add_row(low, high, &with_slack);
        }
    }
    let solution = solve(&mut lp, Simplex::Choose, budget, &mut Work::default())?;
    for (x, col) in point.iter_mut().zip(col_from_input) {
        if let Some(Col(col)) = col {
            *x = solution.cols[col];
        }
    }
    let point = domain.clamped(&point);
    let violation = domain.violation(&point);
    if violation > tolerance::CONSTRAINT {
        return Err(RegionError::Trouble(format!("a constraint is broken by {violation:.1e}")));
    }
    Ok(point)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn interior(
        lower: f64,
        upper: f64,
        constraints: Vec<Constraint>,
    ) -> Result<Vec<f64>, RegionError> {
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
        assert!(matches!(empty, Err(RegionError::Empty)), "{empty:?}");
        let crossed = Constraint::new(&[(0, 1.0), (1, -1.0)], 0.5, 0.25);
        assert!(matches!(interior(0.0, 1.0, vec![crossed]), Err(RegionError::Empty)));
    }
}
