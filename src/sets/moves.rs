//! The input set told in moves: `x = c + Σ p_k d_k` with `0 ≤ p_k ≤ cap_k` and `Σ p_k ≤ budget`, or with
//! [constraints](super::move_constraints).
//!
//! In these words the set's centre is the origin and every amount is positive, so the largest value of a linear
//! function is a continuous knapsack, and the *price* of a unit of budget is one number.
//!
//! The promise: caps and budgets are rounded up, so that no point of the set is left out, and [`MoveSet::support`] is never too low.

use std::sync::Arc;

use super::move_constraints::MoveConstraints;
use super::rounding::Allowance;
use super::set::{InputSet, Move};
use super::split::{Divide, PixelSplit, exact_sum};
use super::steepest::{self, Steepest};

/// Moves that a first look at a linear function remembers: so many and a few for each pixel that the budget can turn from black to
/// white, which is mostly more than it can use.
const MOVES: usize = 8;
const MOVES_FOR_PIXEL: f64 = 3.0;

/// The set in moves.
pub struct MoveSet {
    moves: Arc<[Move]>,
    /// Largest amounts, rounded up.
    caps: Vec<f64>,
    /// What all moves together can spend, rounded up. Without a budget this is the sum of all caps.
    budget: f64,
    /// The sum of all caps, rounded up.
    all: f64,
    constraints: Option<MoveConstraints>,
    allowance: Allowance,
}

/// A part of a set, told in the moves of all of it: some moves are made to a certain amount already, caps and budget are for
/// what is left. All numbers are rounded so that the part is covered.
#[derive(Clone, Debug)]
pub struct MovePart {
    moves: Arc<[Move]>,
    /// The moves that are made already, and how much of them.
    taken: Vec<(usize, f64)>,
    caps: Vec<f64>,
    budget: f64,
}

impl MovePart {
    /// The moves that are made already, and how much of them.
    pub fn taken(&self) -> &[(usize, f64)] {
        &self.taken
    }

    /// The part in which the split's move is made to at least its amount, and that in which it is made to at most its amount. `None` where
    /// the pixel does not move there, or a sum of amounts would be rounded.
    pub fn split(&self, split: PixelSplit) -> Option<[Self; 2]> {
        self.halves(split)
    }
}

impl Divide for MovePart {
    fn cap_mut(&mut self, pixel: usize, up: bool) -> Option<&mut f64> {
        place_of(&self.moves, pixel, up).map(|k| &mut self.caps[k])
    }

    fn is_integer(&self, pixel: usize) -> bool {
        let place = self.moves.partition_point(|m| m.pixel < pixel);
        self.moves.get(place).is_some_and(|m| m.pixel == pixel && m.is_integer)
    }

    fn budget_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.budget)
    }

    fn advance(&mut self, split: PixelSplit) -> Option<()> {
        let PixelSplit { pixel, up, amount } = split;
        let k = place_of(&self.moves, pixel, up)?;
        match self.taken.iter_mut().find(|(taken, _)| *taken == k) {
            Some((_, taken)) => *taken = exact_sum(*taken, amount)?,
            None => self.taken.push((k, amount)),
        }
        Some(())
    }
}

/// The place of a pixel's move in a list that is sorted by pixel, upward moves before downward ones.
fn place_of(moves: &[Move], pixel: usize, up: bool) -> Option<usize> {
    let place = moves.partition_point(|m| (m.pixel, m.sign < 0.0) < (pixel, !up));
    moves.get(place).filter(|m| m.pixel == pixel && (m.sign > 0.0) == up).map(|_| place)
}

impl MoveSet {
    /// A set in moves.
    pub fn new(set: &InputSet) -> Self {
        let moves: Arc<[Move]> = set.moves().into();
        let allowance = Allowance::f64(moves.len());
        let caps: Vec<f64> = moves.iter().map(|m| allowance.up(m.cap)).collect();
        let all = allowance.up(caps.iter().sum());
        let budget = set.budget().map_or(all, |budget| budget.min(all));
        let constraints = MoveConstraints::new(set, &moves, &caps);
        Self { moves, caps, budget, all, constraints, allowance }
    }

    /// Number of moves.
    pub fn len(&self) -> usize {
        self.moves.len()
    }

    /// Whether nothing can move.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// The moves, sorted by pixel, upward moves before downward ones.
    pub fn moves(&self) -> &Arc<[Move]> {
        &self.moves
    }

    /// All of the set.
    pub fn whole(&self) -> MovePart {
        let (moves, caps) = (Arc::clone(&self.moves), self.caps.clone());
        MovePart { moves, taken: Vec::new(), caps, budget: self.budget }
    }

    /// The same moves over a part, without constraints: what is left out only makes bounds larger.
    ///
    /// # Panics
    /// When it is a part of another set.
    pub fn within(&self, part: &MovePart) -> Self {
        assert!(Arc::ptr_eq(&self.moves, &part.moves), "a part of this set");
        let all = self.allowance.up(part.caps.iter().sum());
        Self {
            moves: Arc::clone(&self.moves),
            caps: part.caps.clone(),
            budget: part.budget.min(all),
            all,
            constraints: None,
            allowance: self.allowance,
        }
    }

    /// The moves that a function with these slopes is steepest in, sorted: more than the budget can use. `None` where nothing, or
    /// more than a budget, holds moves back, or there are few anyway.
    pub fn steepest(&self, slopes: &[f64]) -> Option<Vec<usize>> {
        if self.constraints.is_some() || self.budget >= self.all {
            return None;
        }
        let moves = steepest::few_of_many(slopes)?;
        let room: f64 = moves.iter().map(|&k| self.caps[k]).sum();
        (room > 2.0 * self.budget).then_some(moves)
    }

    /// The set with some of its moves only, in the same order.
    pub fn with_moves(&self, moves: &[usize]) -> Self {
        let caps: Vec<f64> = moves.iter().map(|&k| self.caps[k]).collect();
        Self {
            all: self.allowance.up(caps.iter().sum()),
            moves: moves.iter().map(|&k| self.moves[k]).collect(),
            caps,
            budget: self.budget,
            constraints: None,
            allowance: self.allowance,
        }
    }

    /// What all moves together can spend, rounded up.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// Whether constraints keep moves back.
    pub fn has_constraints(&self) -> bool {
        self.constraints.is_some()
    }

    /// Whether the budget is all that keeps moves back, and does.
    pub fn budget_binds(&self) -> bool {
        self.constraints.is_none() && self.budget < self.all
    }

    /// The budget as a share of what it would take to make all moves.
    pub fn tightness(&self) -> f64 {
        self.budget / self.all
    }

    /// At least the magnitude of every input.
    pub fn largest_input(&self, centre: &[f64]) -> f64 {
        let furthest = self.caps.iter().fold(0.0_f64, |most, cap| most.max(*cap)).min(self.budget);
        self.allowance.up(centre.iter().fold(0.0_f64, |most, x| most.max(x.abs())) + furthest)
    }

    /// At least `Σ |v_k| p_k` anywhere in the set.
    pub fn reach(&self, v: &[f64]) -> f64 {
        let (steepest, all) = steepest::magnitudes(v, &self.caps);
        self.allowance.up((steepest * self.budget).min(all))
    }

    /// At least the largest value of `v · p`, by a price for the budget or, where there are constraints, by their multipliers. `spend` is told
    /// the moves of the vertex where `v · p` is about that large, and their amounts.
    pub fn support(&self, v: &[f64], spend: impl FnMut(usize, f64)) -> f64 {
        if let Some(constraints) = &self.constraints {
            return constraints.support(v, spend);
        }
        let mut steepest = Steepest::new(v, self.worth_a_look());
        let room: f64 = steepest.moves.iter().map(|&k| self.caps[k]).sum();
        if steepest.floor > 0.0 && room < self.budget {
            steepest.look_at_all(v);
        }
        let price = self.propose_price(v, &mut steepest, spend);
        self.dual_value(v, price, &steepest)
    }

    /// Moves that a first look remembers.
    fn worth_a_look(&self) -> usize {
        MOVES + (MOVES_FOR_PIXEL * self.budget).clamp(0.0, 1e3) as usize
    }

    /// Spends the budget on the steepest moves. The slope of the last one is the best price for a unit of it.
    fn propose_price(
        &self,
        v: &[f64],
        steepest: &mut Steepest,
        mut spend: impl FnMut(usize, f64),
    ) -> f64 {
        // A budget for everything has no price, and the order does not matter.
        let binds = self.budget < self.all;
        if binds {
            steepest.sort(v);
        }
        let mut left = self.budget;
        for &k in &steepest.moves {
            let amount = self.caps[k].min(left);
            spend(k, amount);
            left -= amount;
            if binds && left <= 0.0 {
                return v[k];
            }
        }
        0.0
    }

    /// The knapsack's dual `λ·budget + Σ cap·max(v − λ, 0)`, rounded up: at least the largest value of `v · p`, whatever the price `λ ≥ 0` is.
    fn dual_value(&self, v: &[f64], price: f64, steepest: &Steepest) -> f64 {
        let term = |v: f64, cap: f64| (v - price).max(0.0) * cap;
        let excess: f64 = if price >= steepest.floor {
            // Whatever is steeper than the price is among these.
            steepest.moves.iter().fold(0.0, |sum, &k| sum + term(v[k], self.caps[k]))
        } else {
            v.iter().zip(&self.caps).map(|(&v, &cap)| term(v, cap)).sum()
        };
        self.allowance.up(price * self.budget + excess)
    }

    /// The same, where multipliers for the constraints are proposed.
    pub fn support_at(&self, v: &[f64], prices: &[f64]) -> f64 {
        let own = self.support(v, |_, _| ());
        match &self.constraints {
            Some(constraints) if !prices.is_empty() => {
                own.min(constraints.support_at(v, prices, |_, _| ()))
            }
            _ => own,
        }
    }
}
