//! What is known of a program without its matrix: enough to check each answer of the solver.

use std::collections::BTreeSet;

use super::highs::RunValues;
use super::outcome::{ClaimedBound, LpOutcome, LpSolution};
use crate::tolerance;

/// Bounds of a column or sides of a row.
#[derive(Clone, Copy)]
pub(super) struct LpBounds {
    pub lower: f64,
    pub upper: f64,
}

impl LpBounds {
    fn is_crossed(self) -> bool {
        self.lower - self.upper > tolerance::LP_CROSSING
    }

    /// Whether `value` keeps the bounds to [`tolerance::LP_FEASIBLE`], relative where they are large; false for NaN.
    fn contains(self, value: f64) -> bool {
        let slack = |bound: f64| tolerance::LP_FEASIBLE * bound.abs().max(1.0);
        let above = self.lower == f64::NEG_INFINITY || value >= self.lower - slack(self.lower);
        let below = self.upper == f64::INFINITY || value <= self.upper + slack(self.upper);
        above && below && !value.is_nan()
    }
}

/// Costs, bounds and kinds.
#[derive(Default)]
pub(super) struct Program {
    pub costs: Vec<f64>,
    pub cols: Vec<LpBounds>,
    pub rows: Vec<LpBounds>,
    /// The columns that take whole numbers only.
    pub integers: BTreeSet<usize>,
}

impl Program {
    /// Removes all rows and columns.
    pub fn clear(&mut self) {
        self.costs.clear();
        self.cols.clear();
        self.rows.clear();
        self.integers.clear();
    }

    /// Some column takes whole numbers only.
    pub fn is_milp(&self) -> bool {
        !self.integers.is_empty()
    }

    /// Some lower bound is above its upper bound.
    pub fn is_crossed(&self) -> bool {
        self.cols.iter().chain(&self.rows).any(|bounds| bounds.is_crossed())
    }

    /// The outcome of a program without columns: every activity is 0.
    pub fn solve_without_cols(&self) -> LpOutcome {
        let crossing = tolerance::LP_CROSSING;
        if self.rows.iter().any(|row| row.lower > crossing || row.upper < -crossing) {
            return LpOutcome::Infeasible;
        }
        LpOutcome::Optimal(LpSolution {
            objective: 0.0,
            cols: Vec::new(),
            reduced_costs: Vec::new(),
            duals: vec![0.0; self.rows.len()],
            iterations: 0,
            bound: ClaimedBound::new(0.0),
        })
    }

    /// Returns `c·x` if the solver's point keeps all bounds and has the objective that it claims, else what is wrong. Whether
    /// the activities belong to the point is left to the caller, who knows what the rows mean.
    pub fn check(&self, values: &RunValues) -> Result<f64, String> {
        if values.cols.len() != self.cols.len() {
            return Err("the solver has no point to show".into());
        }
        if !self.is_milp() && values.duals.len() != self.rows.len() {
            return Err("the solver has no duals to show".into());
        }
        let outside = |bounds: &[LpBounds], values: &[f64]| {
            bounds.iter().zip(values).position(|(bounds, &value)| !bounds.contains(value))
        };
        if let Some(col) = outside(&self.cols, &values.cols) {
            return Err(format!("column {col} of the solver's point is outside its bounds"));
        }
        if let Some(row) = outside(&self.rows, &values.rows) {
            return Err(format!("row {row} of the solver's point is outside its bounds"));
        }
        let product: f64 = self.costs.iter().zip(&values.cols).map(|(c, x)| c * x).sum();
        let size: f64 = self.costs.iter().zip(&values.cols).map(|(c, x)| (c * x).abs()).sum();
        let claimed = values.objective;
        let same = (product - claimed).abs() <= tolerance::LP_OBJECTIVE * size.max(1.0);
        if !same {
            return Err(format!("the solver's objective {claimed} is not c·x = {product}"));
        }
        Ok(product)
    }
}
