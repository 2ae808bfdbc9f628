//! The whole problem for branch and bound: the relaxation with binaries instead of chords.

use super::{Neuron, Relaxation, Side};
use crate::bounds::Interval;
use crate::encode::RegionError;
use crate::lp::{Col, Limits, LpOutcome, Row, Simplex};

/// What branch and bound says.
#[derive(Clone, Debug)]
pub struct MilpAnswer {
    /// The best point it found, if any.
    pub point: Option<Vec<f64>>,
    /// What it claims no point can exceed.
    pub claimed_bound: f64,
    /// Whether it claims that its best point is optimal.
    pub finished: bool,
}

impl Relaxation<'_, '_> {
    /// Solves the whole problem by branch and bound: one binary per unstable neuron, big-M from the bounds, starting from
    /// `incumbent`.
    ///
    /// # Errors
    /// When the solver fails.
    pub fn solve_milp(
        mut self,
        incumbent: &[f64],
        limits: &Limits,
    ) -> Result<MilpAnswer, RegionError> {
        let outside = self.moves.best_outside(f64::NEG_INFINITY, usize::MAX, |_| 0.0);
        self.add_columns(&outside);
        let missing = (0..self.neurons.len()).filter(|&place| self.neurons[place].lower.is_none());
        let missing: Vec<(usize, Side)> = missing.map(|place| (place, Side::Lower)).collect();
        self.add_rows(&missing);
        for place in 0..self.neurons.len() {
            let Interval { lower, upper } = self.neurons[place].interval;
            let big_m = Row(self.lp.rows());
            self.add_rows(&[(place, Side::BigM)]);
            let off = self.lp.add_row(f64::NEG_INFINITY, 0.0, &[(Col(place), 1.0)]);
            let z = self.lp.add_col(0.0, 0.0, 1.0, &[(big_m, -lower), (off, -upper)]);
            self.lp.set_integer(z, true);
        }
        self.lp.set_start(&self.milp_point(incumbent));
        let base = self.costs.constant;
        let (solution, bound, finished) = match self.lp.solve(limits, Simplex::Choose)? {
            LpOutcome::Optimal(solution) => {
                let bound = solution.bound.value();
                (Some(solution), bound, true)
            }
            LpOutcome::Limit(stopped) => {
                let bound = stopped.bound.map_or(f64::INFINITY, |bound| bound.value());
                (stopped.incumbent, bound, false)
            }
            other => return Err(RegionError::unexpected(&other)),
        };
        let point = solution.map(|solution| self.point(&solution));
        Ok(MilpAnswer { point, claimed_bound: base + bound, finished })
    }

    /// `x` told in all columns of the MILP.
    fn milp_point(&self, x: &[f64]) -> Vec<f64> {
        let mut trace = self.at_centre.clone();
        self.query.network.forward(x, &mut trace);
        let outputs = self.neurons.iter().map(|n| trace.activations(n.id.layer)[n.id.index]);
        let moves = self.moves.amounts(&self.query.set, x);
        let on =
            |n: &Neuron| f64::from(u8::from(trace.pre_activations(n.id.layer)[n.id.index] > 0.0));
        outputs.chain(moves).chain(self.neurons.iter().map(on)).collect()
    }
}
