//! The pixels' moves, some of which are columns of an LP, and the budget they share: its row, where the set has one, is
//! the LP's first.

use crate::input::{InputSet, Move};
use crate::lp::{LpModel, Row};
use crate::tolerance;

/// All moves of a set, and those that have joined an LP, in column order.
pub(super) struct Moves {
    all: Vec<Move>,
    joined: Vec<usize>,
    has_joined: Vec<bool>,
    budget: Option<f64>,
}

impl Moves {
    pub fn new(set: &InputSet) -> Self {
        let all = set.moves();
        let (joined, has_joined) = (Vec::new(), vec![false; all.len()]);
        Self { all, joined, has_joined, budget: set.budget() }
    }

    /// Begins an LP without rows: no move is a column yet, the budget's row is there.
    pub fn begin(&mut self, lp: &mut LpModel) {
        self.joined.clear();
        self.has_joined.fill(false);
        if let Some(budget) = self.budget {
            lp.add_row(f64::NEG_INFINITY, budget, &[]);
        }
    }

    /// Makes a move the LP's next column. `gradient` is that of the objective; `slopes` are those of the rows behind the
    /// budget's with respect to the move's pixel.
    pub fn join(
        &mut self,
        lp: &mut LpModel,
        k: usize,
        gradient: &[f64],
        slopes: impl Iterator<Item = f64>,
    ) {
        let Move { pixel, sign, cap } = self.all[k];
        let of_budget = self.budget.map(|_| 1.0);
        let signed = slopes.map(|slope| sign * slope);
        let entries = of_budget.into_iter().chain(signed).enumerate();
        let entries: Vec<(Row, f64)> = entries.map(|(row, value)| (Row(row), value)).collect();
        lp.add_col(sign * gradient[pixel], 0.0, cap, &entries);
        self.joined.push(k);
        self.has_joined[k] = true;
    }

    /// The price of the budget (0 where there is none), and the duals of the rows behind it.
    pub fn split_duals<'d>(&self, duals: &'d [f64]) -> (f64, &'d [f64]) {
        if self.budget.is_some() { (duals[0], &duals[1..]) } else { (0.0, duals) }
    }

    /// The moves that are columns, in column order.
    pub fn joined(&self) -> impl Iterator<Item = Move> + '_ {
        self.joined.iter().map(|&k| self.all[k])
    }

    /// The pixels of these moves.
    pub fn pixels(&self, moves: &[usize]) -> Vec<usize> {
        moves.iter().map(|&k| self.all[k].pixel).collect()
    }

    /// The moves that are no columns and are worth more than `least`, best first, at most `most` of them.
    pub fn best_outside(&self, least: f64, most: usize, worth: impl Fn(Move) -> f64) -> Vec<usize> {
        let outside = (0..self.all.len()).filter(|&k| !self.has_joined[k]);
        let mut wanted: Vec<(f64, usize)> = outside.map(|k| (worth(self.all[k]), k)).collect();
        wanted.retain(|(worth, _)| *worth > least);
        let better = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if wanted.len() > most {
            wanted.select_nth_unstable_by(most, better);
            wanted.truncate(most);
        }
        wanted.sort_unstable_by(better);
        wanted.into_iter().map(|(_, k)| k).collect()
    }

    /// The point that the columns' amounts lead to, put back into the set where the solver's tolerance left it.
    pub fn point(&self, set: &InputSet, amounts: &[f64]) -> Vec<f64> {
        let mut point = set.centre().to_vec();
        for (Move { pixel, sign, cap }, amount) in self.joined().zip(amounts) {
            point[pixel] += sign * amount.clamp(0.0, cap);
        }
        if set.contains(&point, tolerance::INSIDE) { point } else { set.project(&point) }
    }

    /// How much of each joined move leads from the centre to `x`.
    pub fn amounts(&self, set: &InputSet, x: &[f64]) -> impl Iterator<Item = f64> {
        let centre = set.centre();
        self.joined()
            .map(move |Move { pixel, sign, .. }| (sign * (x[pixel] - centre[pixel])).max(0.0))
    }
}
