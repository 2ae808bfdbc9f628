//! The pixels' moves, some of which are columns of an LP, and what they share: the rows of the set's budget and
//! constraints, where it has any, are the LP's first.

use crate::lp::{LpModel, Row};
use crate::sets::{InputSet, Move};
use crate::tolerance;

/// All moves of a set, and those that have joined an LP, in column order.
pub(super) struct Moves {
    all: Vec<Move>,
    joined: Vec<usize>,
    has_joined: Vec<bool>,
    /// The sides of the set's own rows.
    sides: Vec<(f64, f64)>,
    /// Whether the first of them is the budget's, in which every move has the entry 1.
    budget: bool,
    /// The entries of each pixel in the rows of the constraints.
    entries: Vec<Vec<(Row, f64)>>,
}

/// What the set's own rows charge for moves.
pub(super) struct Prices<'m, 'd> {
    moves: &'m Moves,
    duals: &'d [f64],
}

impl Prices<'_, '_> {
    /// Those of the constraints.
    pub fn of_constraints(&self) -> &[f64] {
        &self.duals[usize::from(self.moves.budget)..]
    }

    /// What a unit of a move costs.
    pub fn of(&self, m: Move) -> f64 {
        self.moves.set_entries(m).map(|(Row(row), entry)| self.duals[row] * entry).sum()
    }
}

impl Moves {
    pub fn new(set: &InputSet) -> Self {
        let all = set.moves();
        let (joined, has_joined) = (Vec::new(), vec![false; all.len()]);
        let budget = set.budget().map(|budget| (f64::NEG_INFINITY, budget));
        let mut sides: Vec<(f64, f64)> = budget.into_iter().collect();
        let mut entries = vec![Vec::new(); set.dimension()];
        for constraint in set.constraints() {
            for &(pixel, weight) in constraint.terms() {
                entries[pixel].push((Row(sides.len()), weight));
            }
            let at_centre = constraint.activity(set.centre());
            sides.push((constraint.lower() - at_centre, constraint.upper() - at_centre));
        }
        Self { all, joined, has_joined, sides, budget: budget.is_some(), entries }
    }

    /// Begins an LP without rows: no move is a column yet, the set's own rows are there.
    pub fn begin(&mut self, lp: &mut LpModel) {
        self.joined.clear();
        self.has_joined.fill(false);
        for &(lower, upper) in &self.sides {
            lp.add_row(lower, upper, &[]);
        }
    }

    /// Makes a move the LP's next column. `gradient` is that of the objective; `slopes` are those of the rows behind the
    /// set's own with respect to the move's pixel.
    pub fn join(
        &mut self,
        lp: &mut LpModel,
        k: usize,
        gradient: &[f64],
        slopes: impl Iterator<Item = f64>,
    ) {
        let m @ Move { pixel, sign, cap } = self.all[k];
        let behind = slopes.enumerate().map(|(r, slope)| (Row(self.sides.len() + r), sign * slope));
        let entries: Vec<(Row, f64)> = self.set_entries(m).chain(behind).collect();
        lp.add_col(sign * gradient[pixel], 0.0, cap, &entries);
        self.joined.push(k);
        self.has_joined[k] = true;
    }

    /// Makes every move a column of an LP that has no other rows than the set's own.
    pub fn join_all(&mut self, lp: &mut LpModel, gradient: &[f64]) {
        for k in 0..self.all.len() {
            self.join(lp, k, gradient, std::iter::empty());
        }
    }

    /// The entries of a move in the set's own rows.
    fn set_entries(&self, m: Move) -> impl Iterator<Item = (Row, f64)> + '_ {
        let of_budget = self.budget.then_some((Row(0), 1.0));
        let of_constraints = self.entries[m.pixel].iter().map(move |&(row, v)| (row, m.sign * v));
        of_budget.into_iter().chain(of_constraints)
    }

    /// The prices of the set's own rows, and the duals of the rows behind them.
    pub fn split_duals<'m, 'd>(&'m self, duals: &'d [f64]) -> (Prices<'m, 'd>, &'d [f64]) {
        let (duals, behind) = duals.split_at(self.sides.len());
        (Prices { moves: self, duals }, behind)
    }

    /// The moves that are columns, in column order.
    pub fn joined(&self) -> impl Iterator<Item = Move> + '_ {
        self.joined.iter().map(|&k| self.all[k])
    }

    /// Their places among all moves, in column order.
    pub fn joined_places(&self) -> impl Iterator<Item = usize> + '_ {
        self.joined.iter().copied()
    }

    /// The sign of a move.
    pub fn sign(&self, k: usize) -> f64 {
        self.all[k].sign
    }

    /// The pixels of these moves.
    pub fn pixels(&self, moves: &[usize]) -> Vec<usize> {
        moves.iter().map(|&k| self.all[k].pixel).collect()
    }

    /// The moves that are no columns and are worth more than `least` (told their place and themselves), best first, at most `most` of them.
    pub fn best_outside(
        &self,
        least: f64,
        most: usize,
        worth: impl Fn(usize, Move) -> f64,
    ) -> Vec<usize> {
        let outside = (0..self.all.len()).filter(|&k| !self.has_joined[k]);
        let mut wanted: Vec<(f64, usize)> = outside.map(|k| (worth(k, self.all[k]), k)).collect();
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
