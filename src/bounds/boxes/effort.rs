//! How much work goes into bounds with improved slopes.

use super::descent::DescentOptions;
use super::sign_trees::TreeEffort;
use crate::budget::Budget;

/// When work on bounds may end.
#[derive(Clone, Copy, Debug)]
pub struct BoundLimits<'b> {
    /// What is below this needs no better bound.
    pub cutoff: f64,
    /// Once it is spent, bounds are left as they are.
    pub budget: Option<&'b Budget<'b>>,
}

impl BoundLimits<'_> {
    /// Whether all values are below the cutoff, or time is up.
    pub(super) fn are_met(&self, values: &[f64]) -> bool {
        values.iter().all(|value| *value < self.cutoff) || self.is_spent()
    }

    /// Whether time is up.
    pub(super) fn is_spent(&self) -> bool {
        self.budget.is_some_and(Budget::is_spent)
    }
}

/// Without a clock.
impl From<f64> for BoundLimits<'_> {
    fn from(cutoff: f64) -> Self {
        Self { cutoff, budget: None }
    }
}

/// How much work goes into bounds of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    /// Evaluations of the functions of each unstable neuron. None: their intervals stay as they are.
    pub neurons: usize,
    /// Evaluations of the functions of each row.
    pub rows: usize,
    /// The first step of slopes.
    pub step: f64,
    /// Steps of a quadratic relaxation for each unstable neuron. None: it is left out.
    pub neuron_squares: Option<usize>,
    /// Trees over signs for each unstable neuron, and for each row. None: they are left out.
    pub neuron_trees: Option<TreeEffort>,
    pub row_trees: Option<TreeEffort>,
}

impl Effort {
    /// For rows.
    pub fn of_rows(self) -> DescentOptions {
        DescentOptions { evaluations: self.rows, step: self.step, cuts: false }
    }
}

/// For the whole box: all parts begin with its slopes.
pub(super) const WHOLE: Effort = Effort {
    neurons: 20,
    rows: 50,
    step: 0.2,
    neuron_squares: None,
    neuron_trees: None,
    row_trees: None,
};

/// For the whole box once more, where that did not do.
pub(super) const WHOLE_AGAIN: Effort = Effort {
    neuron_squares: Some(40),
    neuron_trees: Some(TreeEffort { splits: 30, at_once: 80, evaluations: 6, step: 0.1 }),
    row_trees: Some(TreeEffort { splits: 400, at_once: 64, evaluations: 8, step: 0.05 }),
    ..WHOLE
};

/// For the rows of a part.
const ROW_TREES: TreeEffort = TreeEffort { splits: 100, at_once: 64, evaluations: 8, step: 0.05 };

/// For a part.
pub(super) const PART: Effort = Effort {
    neurons: 3,
    rows: 20,
    step: 0.05,
    neuron_squares: None,
    neuron_trees: None,
    row_trees: Some(ROW_TREES),
};

/// For a look at what a split would bring.
pub(super) const LOOK: Effort = Effort {
    neurons: 1,
    rows: 4,
    step: 0.05,
    neuron_squares: None,
    neuron_trees: None,
    row_trees: None,
};
