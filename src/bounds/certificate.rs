//! Upper bounds of `objective · y` over a part of the set that hold whatever rounding does, from lines or from multipliers that are given.

use super::certified::{BoundMethod, CertifiedBound, PartBound};
use super::functions::MoveFunctions;
use super::linear::LinearBounds;
use super::relaxation::{Multipliers, ReluRelaxation};
use crate::network::NeuronId;
use crate::sets::Move;

/// A bound by lines, and where it is attained.
#[derive(Clone, Debug)]
pub struct LineBound {
    /// The bound.
    pub bound: PartBound,
    /// The moves that lead from the centre to where the linear function behind the bound is largest.
    pub spending: Vec<SpentMove>,
    /// The lines it was made of, for [`LinearBounds::bound_from_lines`]: those of each hidden layer's unstable neurons.
    pub lines: Vec<Vec<ReluLine>>,
}

/// How one unstable neuron was bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReluLine {
    /// Its place in the layer.
    pub index: usize,
    /// Slope of the line below, in [0, 1].
    pub below: f64,
    /// Share of the envelope above, in [0, 1]; the chord gets the rest.
    pub envelope: f64,
}

impl ReluLine {
    /// The line with what it may be: a number outside [0, 1] is 0.
    pub(super) fn valid(self) -> Self {
        let share = |v: f64| if (0.0..=1.0).contains(&v) { v } else { 0.0 };
        Self { below: share(self.below), envelope: share(self.envelope), ..self }
    }
}

/// One move of them.
#[derive(Clone, Copy, Debug)]
pub struct SpentMove {
    /// The move's place among the moves of the bounds.
    pub index: usize,
    /// The move.
    pub at: Move,
    /// How much of it is made.
    pub amount: f64,
    /// What that adds to the bound.
    pub worth: f64,
}

/// A bound by multipliers.
#[derive(Clone, Debug)]
pub struct DualBound {
    /// The bound.
    pub bound: PartBound,
    /// What each hidden neuron's output counts for in it, by layer.
    pub coefficients: Vec<Vec<f64>>,
}

/// A linear function of the moves above the objective.
pub(super) struct ObjectiveFunction {
    function: MoveFunctions,
    /// What each neuron's output counts for, by layer.
    pub coefficients: Vec<Vec<f64>>,
}

impl ObjectiveFunction {
    pub fn slopes(&self) -> &[f64] {
        self.function.slopes.col_as_slice(0)
    }
}

impl LinearBounds {
    /// The objective pushed back to the moves.
    pub(super) fn objective_function(
        &self,
        objective: &[f64],
        relaxation: impl Fn(NeuronId) -> ReluRelaxation,
    ) -> ObjectiveFunction {
        let mut coefficients: Vec<Vec<f64>> = vec![Vec::new(); self.neurons.hidden()];
        let row = self.objective_row(objective);
        let function = self.push_back(row, relaxation, |layer, of_layer| {
            coefficients[layer] = of_layer.col_as_slice(0).to_vec();
        });
        ObjectiveFunction { function, coefficients }
    }

    /// The largest value of a function with this support, rounded up.
    pub(super) fn largest_value(&self, above: &ObjectiveFunction, support: f64) -> f64 {
        self.rounded_up(above.function.constants[0] + support)
    }

    pub(super) fn part_bound(
        &self,
        objective: &[f64],
        value: f64,
        method: BoundMethod,
    ) -> PartBound {
        let bound = CertifiedBound::new(value, self.for_f32(), method);
        PartBound::new(self.part(), objective, bound)
    }

    /// The bound that these lines give: once more what [`LinearBounds::prove`] found out. Neurons without a line have 0 below and the
    /// chord above.
    pub fn bound_from_lines(&self, objective: &[f64], lines: &[Vec<ReluLine>]) -> PartBound {
        let mut relaxations: Vec<Vec<ReluRelaxation>> = Vec::new();
        for layer in 0..self.neurons.hidden() {
            let chord = ReluRelaxation::Lines { below: 0.0, envelope: 0.0 };
            let mut of_layer = vec![chord; self.neurons.layer(layer).len()];
            for line in lines.get(layer).into_iter().flatten() {
                let ReluLine { index, below, envelope } = line.valid();
                if let Some(relaxation) = of_layer.get_mut(index) {
                    *relaxation = ReluRelaxation::Lines { below, envelope };
                }
            }
            relaxations.push(of_layer);
        }
        let relaxation = |NeuronId { layer, index }| relaxations[layer][index];
        let above = self.objective_function(objective, relaxation);
        let support = self.moves.support(above.slopes(), |_, _| ());
        let value = self.largest_value(&above, support);
        self.part_bound(objective, value, BoundMethod::Envelope)
    }

    /// Bounds `objective · y` by multipliers of all neurons and constraints: weak duality. Whatever they are, the
    /// bound holds; from the optimal duals of the relaxation it is the relaxation's optimum.
    pub fn dual_bound(&self, objective: &[f64], multipliers: &Multipliers) -> DualBound {
        let Multipliers { neurons, prices } = multipliers;
        let duals = |NeuronId { layer, index }| ReluRelaxation::Duals(neurons[layer][index]);
        let above = self.objective_function(objective, duals);
        let support = self.moves.support_at(above.slopes(), prices);
        let value = self.largest_value(&above, support);
        let bound = self.part_bound(objective, value, BoundMethod::Branch);
        DualBound { bound, coefficients: above.coefficients }
    }
}
