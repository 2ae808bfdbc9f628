//! The input set told in moves: `x = c + Σ p_k d_k` with `0 ≤ p_k ≤ cap_k` and `Σ p_k ≤ budget`, or with
//! [constraints](super::constrained).
//!
//! In these words the set's centre is the origin and every amount is positive, so the largest value of a linear
//! function is a continuous knapsack, and the *price* of a unit of budget is one number.

use faer::Mat;

use super::constrained::Constrained;
use super::rounding::Allowance;
use crate::network::Network;
use crate::sets::{InputSet, Move};

/// Moves that a first look keeps: so many and a few for each pixel that the budget can turn from black to white, which is mostly more than it
/// can use.
const KEPT: usize = 8;
const KEPT_FOR_PIXEL: f64 = 3.0;

/// Moves that tell how steep the steepest are.
const SAMPLE: usize = 96;

/// Moves that stand for all while slopes are improved.
const STEEPEST: usize = 96;

/// The set in moves.
pub struct MoveSet {
    moves: Vec<Move>,
    /// Largest amounts, rounded up.
    caps: Vec<f64>,
    /// What all moves together can spend, rounded up. Without a budget this is the sum of all caps.
    budget: f64,
    all: f64,
    constrained: Option<Constrained>,
    allowance: Allowance,
}

/// A part of a set, told in the moves of the bounds that were made for all of it: some moves are made to a certain amount
/// already, caps and budget are for what is left. All numbers are rounded so that the part is covered.
#[derive(Clone, Debug)]
pub struct MovePart {
    /// The moves that are made already, and how much of them.
    pub(super) taken: Vec<(usize, f64)>,
    caps: Vec<f64>,
    budget: f64,
}

impl MovePart {
    /// The part in which at least `amount` more of move `k` is made. Its pixel then does not move the other way (`opposite`).
    fn at_least(&self, k: usize, amount: f64, opposite: Option<usize>) -> Self {
        let mut part = self.clone();
        match part.taken.iter_mut().find(|(taken, _)| *taken == k) {
            // Shares are whole grains: their sums are exact.
            Some((_, taken)) => *taken += amount,
            None => part.taken.push((k, amount)),
        }
        part.caps[k] = (part.caps[k] - amount).next_up().max(0.0);
        part.budget = (part.budget - amount).next_up().max(0.0);
        if let Some(opposite) = opposite {
            part.caps[opposite] = 0.0;
        }
        part
    }

    /// The part in which at most `amount` more of move `k` is made.
    fn at_most(&self, k: usize, amount: f64) -> Self {
        let mut part = self.clone();
        part.caps[k] = part.caps[k].min(amount);
        part
    }
}

impl MoveSet {
    pub fn new(set: &InputSet) -> Self {
        let moves = set.moves();
        let allowance = Allowance::f64(moves.len());
        let caps: Vec<f64> = moves.iter().map(|m| allowance.up(m.cap)).collect();
        let all = allowance.up(caps.iter().sum());
        let budget = set.budget().map_or(all, |budget| budget.min(all));
        let constrained = Constrained::new(set, &moves, &caps);
        Self { moves, caps, budget, all, constrained, allowance }
    }

    /// Number of moves.
    pub fn len(&self) -> usize {
        self.moves.len()
    }

    /// The moves.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// All of the set.
    pub fn whole(&self) -> MovePart {
        MovePart { taken: Vec::new(), caps: self.caps.clone(), budget: self.budget }
    }

    /// What a portion is divided into by making at least, or at most, `amount` more of move `k`.
    pub fn divide(&self, portion: &MovePart, k: usize, amount: f64) -> [MovePart; 2] {
        let pixel = self.moves[k].pixel;
        let neighbours = [k.checked_sub(1), Some(k + 1)].into_iter().flatten();
        let mut neighbours = neighbours.filter(|&other| other < self.moves.len());
        let opposite = neighbours.find(|&other| self.moves[other].pixel == pixel);
        [portion.at_least(k, amount, opposite), portion.at_most(k, amount)]
    }

    /// The same moves over a portion, without constraints: what is left out only makes bounds larger.
    pub fn within(&self, portion: &MovePart) -> Self {
        let all = self.allowance.up(portion.caps.iter().sum());
        Self {
            moves: self.moves.clone(),
            caps: portion.caps.clone(),
            budget: portion.budget.min(all),
            all,
            constrained: None,
            allowance: self.allowance,
        }
    }

    /// The moves that a function with these slopes is steepest in, in order: more than the budget can use. `None` where nothing, or
    /// more than a budget, holds moves back, or there are few anyway.
    pub fn steepest(&self, slopes: &[f64]) -> Option<Vec<usize>> {
        let few = self.len() < 4 * STEEPEST;
        if few || self.constrained.is_some() || self.budget >= self.all {
            return None;
        }
        let mut moves: Vec<usize> = (0..self.len()).collect();
        let steeper = |a: &usize, b: &usize| slopes[*b].total_cmp(&slopes[*a]).then(a.cmp(b));
        moves.select_nth_unstable_by(STEEPEST - 1, steeper);
        moves.truncate(STEEPEST);
        let room: f64 = moves.iter().map(|&k| self.caps[k]).sum();
        moves.sort_unstable();
        (room > 2.0 * self.budget).then_some(moves)
    }

    /// The set with some of its moves only.
    pub fn with_moves(&self, moves: &[usize]) -> Self {
        let caps: Vec<f64> = moves.iter().map(|&k| self.caps[k]).collect();
        Self {
            all: self.allowance.up(caps.iter().sum()),
            moves: moves.iter().map(|&k| self.moves[k]).collect(),
            caps,
            budget: self.budget,
            constrained: None,
            allowance: self.allowance,
        }
    }

    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// The budget as a share of what it would take to make all moves.
    pub fn tightness(&self) -> f64 {
        self.budget / self.all
    }

    /// The first layer's rows in moves: one column per neuron, exact.
    pub fn first_layer(&self, network: &Network) -> Mat<f64> {
        let map = network.affine(0);
        let mut rows = Mat::zeros(self.len(), map.outputs());
        for j in 0..map.outputs() {
            let row = map.dense_row(j);
            for (slope, m) in rows.col_as_slice_mut(j).iter_mut().zip(&self.moves) {
                *slope = m.sign * row[m.pixel];
            }
        }
        rows
    }

    /// At least the magnitude of every input.
    pub fn largest_input(&self, centre: &[f64]) -> f64 {
        let furthest = self.caps.iter().fold(0.0_f64, |most, cap| most.max(*cap)).min(self.budget);
        self.allowance.up(centre.iter().fold(0.0_f64, |most, x| most.max(x.abs())) + furthest)
    }

    /// At least `Σ |v_k| p_k` anywhere in the set.
    pub fn reach(&self, v: &[f64]) -> f64 {
        let steepest = v.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let all: f64 = v.iter().zip(&self.caps).map(|(v, cap)| v.abs() * cap).sum();
        self.allowance.up((steepest * self.budget).min(all))
    }

    /// The same, where somebody has multipliers for the constraints to propose.
    pub fn support_at(&self, v: &[f64], prices: &[f64]) -> f64 {
        let own = self.support(v, |_, _| ());
        match &self.constrained {
            Some(constrained) if !prices.is_empty() => {
                own.min(constrained.support_at(v, prices, |_, _| ()))
            }
            _ => own,
        }
    }

    /// A slope that about twice as many moves exceed as are kept, by a look at a few.
    fn guess(v: &[f64], kept: usize) -> f64 {
        if v.len() < 4 * SAMPLE {
            return 0.0;
        }
        let mut sample = [0.0; SAMPLE];
        for (sampled, slope) in sample.iter_mut().zip(v.iter().step_by(v.len() / SAMPLE)) {
            *sampled = *slope;
        }
        let rank = (2 * kept * SAMPLE).div_ceil(v.len());
        if rank >= SAMPLE {
            return 0.0;
        }
        let (_, guess, _) = sample.select_nth_unstable_by(rank, |a, b| b.total_cmp(a));
        guess.max(0.0)
    }

    /// Moves that a first look keeps.
    fn kept(&self) -> usize {
        KEPT + (KEPT_FOR_PIXEL * self.budget).clamp(0.0, 1e3) as usize
    }

    /// At least the largest value of `v · p`: the knapsack's dual `λ·budget + Σ cap·max(v − λ, 0)`, which is valid for every
    /// price `λ ≥ 0`, at the best price; `taken` is told the moves of the vertex and their amounts. With constraints, the same by
    /// their multipliers.
    pub fn support(&self, v: &[f64], mut taken: impl FnMut(usize, f64)) -> f64 {
        if let Some(constrained) = &self.constrained {
            return constrained.support(v, taken);
        }
        let steeper = |a: &usize, b: &usize| v[*b].total_cmp(&v[*a]).then(a.cmp(b));
        // Few moves are ever used: one pass keeps the steepest, and only if these leave budget over, all are looked at.
        let kept = self.kept();
        let mut order: Vec<usize> = Vec::with_capacity(2 * kept);
        let mut least = Self::guess(v, kept);
        for (k, &slope) in v.iter().enumerate() {
            if slope > least {
                order.push(k);
                if order.len() == 2 * kept {
                    order.select_nth_unstable_by(kept - 1, steeper);
                    order.truncate(kept);
                    least = v[order[kept - 1]];
                }
            }
        }
        let room: f64 = order.iter().map(|&k| self.caps[k]).sum();
        if least > 0.0 && room < self.budget {
            order = (0..v.len()).filter(|&k| v[k] > 0.0).collect();
        }
        // A budget for everything has no price, and the order does not matter.
        let binds = self.budget < self.all;
        if binds {
            order.sort_unstable_by(steeper);
        }
        let (mut left, mut price, mut gain) = (self.budget, 0.0, 0.0);
        let mut used = 0;
        for &k in &order {
            let amount = self.caps[k].min(left);
            taken(k, amount);
            left -= amount;
            used += 1;
            if binds && left <= 0.0 {
                price = v[k];
                break;
            }
        }
        if price >= least {
            // Whatever is steeper than the price has been used.
            for &k in &order[..used] {
                gain += (v[k] - price) * self.caps[k];
            }
            return self.allowance.up(price * self.budget + gain);
        }
        let excess = v.iter().zip(&self.caps).map(|(v, cap)| (v - price).max(0.0) * cap);
        self.allowance.up(price * self.budget + excess.sum::<f64>())
    }
}
