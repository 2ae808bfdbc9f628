//! How much work goes into bounds with improved slopes.

use super::descent::DescentOptions;

/// How much work goes into bounds of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    /// Evaluations of the functions of each unstable neuron. None: their intervals stay as they are.
    pub neurons: usize,
    /// Evaluations of the functions of each row.
    pub rows: usize,
    /// The first step of slopes.
    pub step: f64,
}

impl Effort {
    /// For rows.
    pub fn of_rows(self) -> DescentOptions {
        DescentOptions { evaluations: self.rows, step: self.step, cuts: false }
    }
}

/// For the whole box: all parts begin with its slopes.
pub(super) const WHOLE: Effort = Effort { neurons: 20, rows: 50, step: 0.2 };

/// For a part.
pub(super) const PART: Effort = Effort { neurons: 3, rows: 20, step: 0.05 };

/// For a look at what a split would bring.
pub(super) const LOOK: Effort = Effort { neurons: 1, rows: 4, step: 0.05 };
