//! The pixels' moves, some of which are columns of an LP.

use crate::input::{InputSet, Move};
use crate::tolerance;

/// All moves of a set, and those that have joined an LP, in column order.
pub(super) struct Moves {
    all: Vec<Move>,
    joined: Vec<usize>,
    has_joined: Vec<bool>,
}

impl Moves {
    pub fn new(set: &InputSet) -> Self {
        let all = set.moves();
        Self { has_joined: vec![false; all.len()], joined: Vec::new(), all }
    }

    /// No move is a column any more.
    pub fn clear(&mut self) {
        self.joined.clear();
        self.has_joined.fill(false);
    }

    /// Makes a move the next column.
    pub fn join(&mut self, k: usize) {
        self.joined.push(k);
        self.has_joined[k] = true;
    }

    pub fn get(&self, k: usize) -> Move {
        self.all[k]
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
