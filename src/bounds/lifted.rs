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
        let mut order: Vec<usize> = (0..v.len()).filter(|&k| v[k] > 0.0).collect();
        let steeper = |a: &usize, b: &usize| v[*b].total_cmp(&v[*a]).then(a.cmp(b));
        let (mut left, mut price) = (self.budget, 0.0);
        let mut rest = &mut order[..];
        // Few moves are ever used: select and sort just enough of them.
        let mut portion = 16;
        'spend: while !rest.is_empty() {
            let many = portion.min(rest.len());
            if many < rest.len() {
                rest.select_nth_unstable_by(many - 1, steeper);
            }
            let (steepest, others) = rest.split_at_mut(many);
            steepest.sort_unstable_by(steeper);
            for &k in &*steepest {
                let amount = self.caps[k].min(left);
                taken(k, amount);
                left -= amount;
                if left <= 0.0 {
                    price = v[k];
                    break 'spend;
                }
            }
            rest = others;
            portion *= 4;
        }
        let excess = v.iter().zip(&self.caps).map(|(v, cap)| (v - price).max(0.0) * cap);
        self.allowance.up(price * self.budget + excess.sum::<f64>())
    }
}
