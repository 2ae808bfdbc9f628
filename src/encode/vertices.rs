//! Where a linear function is largest over a set: a knapsack, or with constraints an LP, kept live from one function to the
//! next.

use super::error::EncodeError;
use super::move_columns::MoveColumns;
use super::solve::{LpWork, solve};
use crate::budget::Budget;
use crate::lp::{LpModel, Simplex};
use crate::sets::{InputSet, Vertex};

/// The linear maximiser over a set, for as long as the budget lasts.
pub struct Vertices<'s> {
    set: &'s InputSet,
    budget: Budget<'s>,
    /// Made for the first function.
    lp: Option<(LpModel, MoveColumns)>,
    work: LpWork,
}

impl<'s> Vertices<'s> {
    /// Nothing is solved yet.
    pub fn new(set: &'s InputSet, budget: Budget<'s>) -> Self {
        Self { set, budget, lp: None, work: LpWork::default() }
    }

    /// The set.
    pub fn set(&self) -> &'s InputSet {
        self.set
    }

    /// What has been spent since [`Vertices::new`].
    pub fn work(&self) -> LpWork {
        self.work
    }

    /// A point of the set where `w · x` is largest.
    ///
    /// # Errors
    /// Only with constraints: when the time is up or the solver fails.
    pub fn maximise(&mut self, w: &[f64]) -> Result<Vertex, EncodeError> {
        let set = self.set;
        if set.constraints().is_empty() {
            return Ok(set.maximise(w));
        }
        let (lp, moves) = self.lp.get_or_insert_with(|| {
            let (mut lp, mut moves) = (LpModel::new(), MoveColumns::new(set));
            moves.begin(&mut lp);
            moves.add_all(&mut lp, &vec![0.0; set.dimension()]);
            (lp, moves)
        });
        let costs: Vec<f64> = moves.columns().map(|c| c.at.sign * w[c.at.pixel]).collect();
        lp.set_costs(&costs);
        let solution = solve(lp, Simplex::Primal, &self.budget, &mut self.work)?;
        let point = moves.point(set, &solution.cols);
        let value = w.iter().zip(&point).map(|(w, x)| w * x).sum();
        Ok(Vertex { point, value })
    }
}
