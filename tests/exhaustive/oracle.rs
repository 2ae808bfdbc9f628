//! What is best, found by trying every activation pattern.
//!
//! The oracle shares nothing with the code under test but the LP solver: it has its own forward pass, writes every
//! region as one whole LP with all sign rows, and the L1 ball with its auxiliary variables. Constraints on the input are rows
//! as they were drawn.

use rw_adv::lp::{Col, LpModel, LpOutcome, Simplex};
use rw_adv::network::NeuronId;

use crate::problem::{States, TinyProblem, dot};

/// The best point of all regions, or of one.
#[derive(Clone, Debug)]
pub struct Optimum {
    pub value: f64,
    pub point: Vec<f64>,
    pub states: States,
}

impl TinyProblem {
    /// The objective at `x`, by the textbook loop.
    pub fn value(&self, x: &[f64]) -> f64 {
        let mut h = x.to_vec();
        for (l, layer) in self.layers.iter().enumerate() {
            let last = l + 1 == self.layers.len();
            let g = layer.iter().map(|(weights, bias)| bias + dot(weights, &h));
            let value = |(i, g)| if last || self.passes(l, i, g) { g } else { 0.0 };
            h = g.enumerate().map(value).collect();
        }
        dot(&self.objective, &h)
    }

    /// The largest violation of a constraint as it was drawn.
    pub fn violation(&self, x: &[f64]) -> f64 {
        let of_row = |(weights, lower, upper): &(Vec<f64>, f64, f64)| {
            let activity = dot(weights, x);
            (lower - activity).max(activity - upper)
        };
        self.constraints.iter().map(of_row).fold(0.0, f64::max)
    }

    /// Whether a neuron gives its pre-activation `g` as it is.
    pub fn passes(&self, layer: usize, index: usize, g: f64) -> bool {
        g > 0.0 || self.identities.contains(&NeuronId { layer, index })
    }

    pub fn hidden(&self) -> &[Vec<(Vec<f64>, f64)>] {
        &self.layers[..self.layers.len() - 1]
    }

    /// The best point over all patterns.
    pub fn best(&self) -> Optimum {
        self.best_if_any().expect("every point of the set has a pattern")
    }

    /// The same where constraints may leave no point.
    fn best_if_any(&self) -> Option<Optimum> {
        let neurons: usize = self.hidden().iter().map(Vec::len).sum();
        let mut lp = LpModel::new();
        let regions = (0..1u32 << neurons).filter_map(|bits| {
            let mut place = 0..;
            let mut on = |_: &_| place.next().is_some_and(|k: u32| bits >> k & 1 == 1);
            let states = self.hidden().iter().map(|l| l.iter().map(&mut on).collect()).collect();
            self.region(&mut lp, states)
        });
        regions.max_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// The best point over all patterns and all whole numbers of the inputs that take no others.
    pub fn best_of_integers(&self) -> Optimum {
        let mut best: Option<Optimum> = None;
        let mut fixed = self.clone();
        let integers = &self.set.domain().integers;
        let mut numbers: Vec<f64> = integers.iter().map(|&i| self.lower[i]).collect();
        loop {
            for (&i, &number) in integers.iter().zip(&numbers) {
                (fixed.lower[i], fixed.upper[i]) = (number, number);
            }
            let found = if integers.len() < self.lower.len() {
                fixed.best_if_any()
            } else {
                let keeps = self.violation(&numbers) <= 1e-9;
                keeps.then(|| Optimum {
                    value: self.value(&numbers),
                    point: numbers.clone(),
                    states: self.states_at(&numbers),
                })
            };
            if let Some(found) = found.filter(|f| best.as_ref().is_none_or(|b| f.value > b.value)) {
                best = Some(found);
            }
            // The next numbers, as a clock counts.
            let Some(k) = (0..numbers.len()).find(|&k| numbers[k] < self.upper[integers[k]]) else {
                return best.expect("a point with whole numbers is inside");
            };
            numbers[k] += 1.0;
            (0..k).for_each(|j| numbers[j] = self.lower[integers[j]]);
        }
    }

    /// The best point of one closed region, `None` if it is empty or has a neuron off that has no ReLU: one LP with
    /// everything in it.
    pub fn region(&self, lp: &mut LpModel, states: States) -> Option<Optimum> {
        if self.identities.iter().any(|id| !states[id.layer][id.index]) {
            return None;
        }
        // The rows of the layer at hand as affine functions of x.
        let inputs = self.lower.len();
        let unit = |i: usize| (0..inputs).map(|j| f64::from(u8::from(i == j))).collect();
        let mut below: Vec<(Vec<f64>, f64)> = (0..inputs).map(|i| (unit(i), 0.0)).collect();
        let mut signs: Vec<(Vec<f64>, f64, bool)> = Vec::new();
        for (l, layer) in self.layers.iter().enumerate() {
            let mut rows: Vec<(Vec<f64>, f64)> =
                layer.iter().map(|(w, b)| combined(w, *b, &below, inputs)).collect();
            if let Some(of_layer) = states.get(l) {
                for (index, (row, &on)) in rows.iter_mut().zip(of_layer).enumerate() {
                    if !self.identities.contains(&NeuronId { layer: l, index }) {
                        signs.push((row.0.clone(), row.1, on));
                    }
                    if !on {
                        *row = (vec![0.0; inputs], 0.0);
                    }
                }
            }
            below = rows;
        }
        let (costs, constant) = combined(&self.objective, 0.0, &below, inputs);

        lp.clear();
        let x: Vec<Col> =
            (0..inputs).map(|i| lp.add_col(costs[i], self.lower[i], self.upper[i], &[])).collect();
        if let Some((centre, radius)) = &self.ball {
            let mut spent = Vec::new();
            for (&x, &c) in x.iter().zip(centre) {
                let p = lp.add_col(0.0, 0.0, f64::INFINITY, &[]);
                let q = lp.add_col(0.0, 0.0, f64::INFINITY, &[]);
                lp.add_row(c, c, &[(x, 1.0), (p, -1.0), (q, 1.0)]);
                spent.extend([(p, 1.0), (q, 1.0)]);
            }
            lp.add_row(f64::NEG_INFINITY, *radius, &spent);
        }
        for (weights, lower, upper) in &self.constraints {
            let entries: Vec<(Col, f64)> = x.iter().copied().zip(weights.iter().copied()).collect();
            lp.add_row(*lower, *upper, &entries);
        }
        for (row, constant, on) in signs {
            let entries: Vec<(Col, f64)> = x.iter().copied().zip(row).collect();
            let (low, high) =
                if on { (-constant, f64::INFINITY) } else { (f64::NEG_INFINITY, -constant) };
            lp.add_row(low, high, &entries);
        }
        match lp.solve(None, Simplex::Choose).expect("a linear program") {
            LpOutcome::Optimal(solution) => {
                let point = solution.cols[..inputs].to_vec();
                Some(Optimum { value: constant + solution.objective, point, states })
            }
            LpOutcome::Infeasible => None,
            other => panic!("seed {}: {other:?}", self.seed),
        }
    }

    pub fn states_at(&self, x: &[f64]) -> States {
        let mut h = x.to_vec();
        let states = self.hidden().iter().enumerate().map(|(l, layer)| {
            let g: Vec<f64> = layer.iter().map(|(w, bias)| bias + dot(w, &h)).collect();
            let on: Vec<bool> = g.iter().enumerate().map(|(i, &g)| self.passes(l, i, g)).collect();
            h = g.iter().zip(&on).map(|(&g, &on)| if on { g } else { 0.0 }).collect();
            on
        });
        states.collect()
    }
}

/// `weights · rows + bias` as one affine function.
fn combined(
    weights: &[f64],
    bias: f64,
    rows: &[(Vec<f64>, f64)],
    inputs: usize,
) -> (Vec<f64>, f64) {
    let slope = |i: usize| weights.iter().zip(rows).map(|(w, row)| w * row.0[i]).sum();
    let constant: f64 = weights.iter().zip(rows).map(|(w, row)| w * row.1).sum();
    ((0..inputs).map(slope).collect(), bias + constant)
}
