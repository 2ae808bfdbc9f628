//! The LP of a part in branch and bound: the relaxation over the points at which some neurons have given signs, with envelopes on top, begun where the
//! LP of the parent ended. Its duals are proposals for a certified bound.

use super::error::EncodeError;
use super::network_lp::{
    DemandedSigns, NetworkLp, NetworkOptimum, NeuronSplit, RowKind, WarmStart,
};
use crate::bounds::{LinearBounds, Multipliers, NeuronDuals, Sign};
use crate::budget::Budget;
use crate::lp::LpSolution;
use crate::network::NeuronId;
use crate::problem::Problem;

/// What a missing unit of a sign costs, in units of the objective's largest weight. With it every part has an optimum and duals, also an empty one.
const PENALTY: f64 = 1e3;

/// The same for a constraint of the set, in units of its largest weight: it is kept to a small tolerance.
const CONSTRAINT_PENALTY: f64 = 1e5;

/// A solution of the relaxation over a part.
#[derive(Clone, Debug)]
pub struct PartSolution {
    /// The input, inside the set.
    pub point: Vec<f64>,
    /// How far the output of each unstable neuron is above what its ReLU gives, layer by layer.
    pub excesses: Vec<(NeuronId, f64)>,
    /// Where the LP ended, for the LP of a part of this part.
    pub warm_start: WarmStart,
    /// The duals, for [`LinearBounds::dual_bound`].
    pub multipliers: Multipliers,
}

/// The relaxation over a part.
pub struct PartRelaxation<'p> {
    lp: NetworkLp<'p>,
}

impl<'p> PartRelaxation<'p> {
    /// The relaxation with envelopes over the part of the set in which neurons have these signs, as far as a penalty enforces them. `bounds` are
    /// those of the part; `warm_start` is where an LP of the same set ended. If `soft`, the hulls of unstable neurons and the set's constraints may
    /// be missed at a price, too: intervals that are narrowed by a cut may leave no point, and a part may have none that keeps the constraints.
    pub fn new(
        problem: &'p Problem,
        bounds: &'p LinearBounds,
        signs: &[Sign],
        warm_start: Option<&WarmStart>,
        soft: bool,
    ) -> Self {
        let split = NeuronSplit::by_stability(&problem.network, bounds.neurons());
        let mut lp = NetworkLp::new(problem, split);
        lp.envelopes = Some(bounds);
        lp.signs = DemandedSigns::new(signs.iter().map(|sign| sign.neuron));
        let weights = lp.affine.output_weights().iter();
        let largest = weights.fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        lp.signs.soften(&mut lp.lp, PENALTY * largest);
        if soft {
            lp.soften_hulls(PENALTY * largest);
            lp.moves.soften_constraints(&mut lp.lp, CONSTRAINT_PENALTY * largest);
        }
        match warm_start {
            Some(warm_start) => lp.start_warm(warm_start),
            None => lp.start_cold(),
        }
        Self { lp }
    }

    /// Solves the relaxation. `Ok(None)`: the solver calls it infeasible, which no part is, unless it is behind a cut or breaks a constraint.
    ///
    /// # Errors
    /// When the time is up or the solver fails.
    pub fn solve(&mut self, budget: &Budget) -> Result<Option<PartSolution>, EncodeError> {
        let optimum = self.lp.solve(budget)?;
        Ok(optimum.map(|NetworkOptimum { solution, point, pre_activations }| {
            let excesses = self.lp.neurons.iter().map(|(col, neuron)| {
                let g = pre_activations[neuron.id.layer][neuron.id.index];
                (neuron.id, solution.cols[col.0] - g.max(0.0))
            });
            PartSolution {
                point,
                excesses: excesses.collect(),
                warm_start: self.lp.warm_start(&solution),
                multipliers: self.multipliers(&solution),
            }
        }))
    }

    /// What the duals charge for constraints, and for each neuron on top of what a stable one passes on anyway.
    fn multipliers(&self, solution: &LpSolution) -> Multipliers {
        let layers = self.lp.problem.network.hidden().iter();
        let mut neurons: Vec<Vec<NeuronDuals>> =
            layers.map(|layer| vec![NeuronDuals::default(); layer.outputs()]).collect();
        for (row, dual) in self.lp.rows.with_duals(&solution.duals) {
            let duals = &mut neurons[row.neuron.layer][row.neuron.index];
            match row.kind {
                RowKind::Envelope => duals.envelope = dual.max(0.0),
                _ => duals.multiplier -= dual * row.factor,
            }
        }
        Multipliers { neurons, prices: self.lp.moves.set_duals(solution).of_constraints().to_vec() }
    }
}
