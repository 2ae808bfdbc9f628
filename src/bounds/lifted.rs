//! The input set told in moves: `x = c + Σ p_k d_k` with `0 ≤ p_k ≤ cap_k` and `Σ p_k ≤ budget`, or with
//! [constraints](super::constrained).
//!
//! In these words the set's centre is the origin and every amount is positive, so the largest value of a linear
//! function is a continuous knapsack, and the *price* of a unit of budget is one number.

use faer::Mat;

use super::constrained::Constrained;
use super::rounding::Allowance;
use crate::input::{InputSet, Move};
use crate::network::Network;

/// Moves that a first look keeps: more than a budget of a few pixels can use.
const KEPT: usize = 32;

/// The set in moves.
pub struct Lifted {
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
pub struct Portion {
    /// The moves that are made already, and how much of them.
    pub(super) taken: Vec<(usize, f64)>,
    caps: Vec<f64>,
    budget: f64,
}

impl Portion {
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

impl Lifted {
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
    pub fn whole(&self) -> Portion {
        Portion { taken: Vec::new(), caps: self.caps.clone(), budget: self.budget }
    }

    /// What a portion is divided into by making at least, or at most, `amount` more of move `k`.
    pub fn divide(&self, portion: &Portion, k: usize, amount: f64) -> [Portion; 2] {
        let pixel = self.moves[k].pixel;
        let neighbours = [k.checked_sub(1), Some(k + 1)].into_iter().flatten();
        let mut neighbours = neighbours.filter(|&other| other < self.moves.len());
        let opposite = neighbours.find(|&other| self.moves[other].pixel == pixel);
        [portion.at_least(k, amount, opposite), portion.at_most(k, amount)]
    }

    /// The same moves over a portion, without constraints: what is left out only makes bounds larger.
    pub fn within(&self, portion: &Portion) -> Self {
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

    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// The budget as a share of what it would take to make all moves.
    pub fn tightness(&self) -> f64 {
        self.budget / self.all
    }

    /// The first layer's rows in moves: one column per neuron, exact.
    pub fn first_layer(&self, network: &Network) -> Mat<f64> {
        let width = network.layers()[0].outputs();
        Mat::from_fn(self.len(), width, |k, j| {
            self.moves[k].sign * network.row(0, j)[self.moves[k].pixel]
        })
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

    /// At least the largest value of `v · p`: the knapsack's dual `λ·budget + Σ cap·max(v − λ, 0)`, which is valid for every
    /// price `λ ≥ 0`, at the best price; `taken` is told the moves of the vertex and their amounts. With constraints, the same by
    /// their multipliers.
    pub fn support(&self, v: &[f64], mut taken: impl FnMut(usize, f64)) -> f64 {
        if let Some(constrained) = &self.constrained {
            return constrained.support(v, taken);
        }
        let steeper = |a: &usize, b: &usize| v[*b].total_cmp(&v[*a]).then(a.cmp(b));
        // Few moves are ever used: one pass keeps the steepest, and only if these leave budget over, all are looked at.
        let mut order: Vec<usize> = Vec::with_capacity(2 * KEPT);
        let mut least = 0.0;
        for (k, &slope) in v.iter().enumerate() {
            if slope > least {
                order.push(k);
                if order.len() == 2 * KEPT {
                    order.select_nth_unstable_by(KEPT - 1, steeper);
                    order.truncate(KEPT);
                    least = v[order[KEPT - 1]];
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
        let (mut left, mut price) = (self.budget, 0.0);
        for k in order {
            let amount = self.caps[k].min(left);
            taken(k, amount);
            left -= amount;
            if binds && left <= 0.0 {
                price = v[k];
                break;
            }
        }
        let excess = v.iter().zip(&self.caps).map(|(v, cap)| (v - price).max(0.0) * cap);
        self.allowance.up(price * self.budget + excess.sum::<f64>())
    }
}
