//! A point of a domain with whole numbers where they have to be, near a point without them.

use super::error::EncodeError;
use super::solve::{LpWork, solve};
use crate::budget::Budget;
use crate::lp::{Col, LpModel, Simplex};
use crate::sets::{Constraint, Domain};
use crate::tolerance;

/// How far the point may break a constraint. Half of the tolerance is left to the points between this one and others.
const ALLOWED: f64 = 0.5 * tolerance::CONSTRAINT;

/// What moving an input without whole numbers costs against moving one with them, each by its width.
const CONTINUOUS_PRICE: f64 = 1e-3;

/// A point of the domain, within its bounds and constraints, with whole numbers where they have to be. Rounding `x` does if constraints allow
/// it; otherwise a MILP finds the nearest point, in the sum of all changes as shares of the inputs' widths.
///
/// # Errors
/// [`EncodeError::Infeasible`] when there is none; otherwise when the time is up or the solver fails.
pub fn nearest_integral(
    domain: &Domain,
    x: &[f64],
    budget: &Budget,
) -> Result<Vec<f64>, EncodeError> {
    if let Some(point) = rounded_integral(domain, x) {
        return Ok(point);
    }
    let mut lp = DistanceLp::new(domain, x);
    let solution = solve(&mut lp.lp, Simplex::Choose, budget, &mut LpWork::default())?;
    let values: Vec<f64> = lp.col_from_input.iter().map(|col| solution.cols[col.0]).collect();
    rounded_integral(domain, &values).ok_or_else(|| {
        EncodeError::Trouble("a point with whole numbers breaks a constraint".into())
    })
}

/// `x` with whole numbers where they have to be, and the others moved until all constraints hold, without a solver. `None` if that does not do.
pub fn rounded_integral(domain: &Domain, x: &[f64]) -> Option<Vec<f64>> {
    let mut point = domain.clamped(x);
    for &input in &domain.integers {
        point[input] = point[input].round().clamp(domain.lower[input], domain.upper[input]) + 0.0;
    }
    if domain.violation(&point) > ALLOWED {
        let fixed = point.clone();
        let bounds = |input: usize| match domain.is_integer(input) {
            true => (fixed[input], fixed[input]),
            false => (domain.lower[input], domain.upper[input]),
        };
        Constraint::correct_all(&domain.constraints, &mut point, bounds, ALLOWED);
    }
    (domain.violation(&point) <= ALLOWED).then_some(point)
}

/// The MILP that minimises the distance from a point.
struct DistanceLp {
    lp: LpModel,
    col_from_input: Vec<Col>,
}

impl DistanceLp {
    fn new(domain: &Domain, x: &[f64]) -> Self {
        let mut lp = LpModel::new();
        let mut col_from_input = Vec::with_capacity(x.len());
        for (input, &x) in x.iter().enumerate() {
            let (lower, upper) = (domain.lower[input], domain.upper[input]);
            let col = lp.add_col(0.0, lower, upper, &[]);
            let width = (upper - lower).max(1e-9);
            let price = if domain.is_integer(input) { 1.0 } else { CONTINUOUS_PRICE };
            let distance = lp.add_col(-price / width, 0.0, f64::INFINITY, &[]);
            lp.add_row(x, f64::INFINITY, &[(col, 1.0), (distance, 1.0)]);
            lp.add_row(f64::NEG_INFINITY, x, &[(col, 1.0), (distance, -1.0)]);
            col_from_input.push(col);
        }
        for constraint in &domain.constraints {
            let entry = |&(input, weight): &(usize, f64)| (col_from_input[input], weight);
            let entries: Vec<(Col, f64)> = constraint.terms().iter().map(entry).collect();
            lp.add_row(constraint.lower(), constraint.upper(), &entries);
        }
        for &input in &domain.integers {
            lp.set_integer(col_from_input[input]);
        }
        Self { lp, col_from_input }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn nearest(text: &str, x: &[f64]) -> Result<Vec<f64>, EncodeError> {
        let domain = Domain::new_box(x.len(), -3.0, 3.0).with_text(text).unwrap();
        nearest_integral(&domain, x, &Budget::unlimited())
    }

    #[test]
    fn what_rounding_breaks_the_others_make_good() {
        assert_eq!(nearest("int x0", &[0.6, 0.6]).unwrap(), [1.0, 0.6]);
        let point = nearest("int x0\nx0 + x1 <= 1", &[0.6, 0.4]).unwrap();
        assert!(point[0] == 1.0 && point[1].abs() < 1e-6, "{point:?}");
    }

    #[test]
    fn the_nearest_point_is_found_where_all_are_whole_numbers() {
        // Rounding gives 1 + 1 + 1 > 2.
        let point = nearest("int x0..x2\nx0 + x1 + x2 <= 2", &[0.9, 0.6, 0.8]).unwrap();
        assert_eq!(point, [1.0, 0.0, 1.0]);
        let answer = nearest("int x0..x1\n2*x0 + 2*x1 = 1", &[0.0, 0.0]);
        assert!(matches!(answer, Err(EncodeError::Infeasible)), "{answer:?}");
    }
}
