//! Upper bounds of `objective · y` over a part of the set that hold whatever rounding does, from lines or from multipliers that are given.

use super::certified::{BoundMethod, CertifiedBound, PartBound};
use super::functions::MoveFunctions;
use super::interval::Interval;
use super::linear::LinearBounds;
use super::relaxation::{Multipliers, ReluLine, ReluRelaxation, default_slope};
use crate::network::NeuronId;
use crate::sets::{InputSet, Move};

/// A bound by lines, and where it is attained.
#[derive(Clone, Debug)]
pub struct LineBound {
    /// The bound.
    pub bound: PartBound,
    /// The moves that lead from the centre to where the linear function behind the bound is largest: the mean of what was seen on the way to it.
    pub spending: Vec<SpentMove>,
    /// The lines it was made of, for [`LinearBounds::bound_from_lines`]: those of each hidden layer's unstable neurons.
    pub lines: Vec<Vec<ReluLine>>,
    /// The linear function that they give.
    pub(super) function: MoveFunction,
}

impl LineBound {
    /// How far the bound is above the linear function's value at the centre.
    pub fn gain(&self) -> f64 {
        self.bound.value() - self.function.constant
    }

    /// Where it is attained. `set` is what it is a bound over.
    pub fn point(&self, set: &InputSet) -> Vec<f64> {
        let mut point = set.centre().to_vec();
        for SpentMove { at, amount, .. } in &self.spending {
            point[at.pixel] += at.sign * amount;
        }
        point
    }
}

/// A linear function of the moves, rounding included in its constant.
#[derive(Clone, Debug)]
pub(super) struct MoveFunction {
    pub slopes: Vec<f64>,
    pub constant: f64,
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

    pub fn function(&self) -> MoveFunction {
        MoveFunction { slopes: self.slopes().to_vec(), constant: self.function.constants[0] }
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
        // Points below the goal may be above what was worked out for the others.
        let value = self.neurons.goal().map_or(value, |goal| goal.bound(objective, value));
        let bound = CertifiedBound::new(value, self.for_f32(), method);
        PartBound::new(self.part(), objective, bound)
    }

    /// The linear function that these lines give. Neurons without a line have the default slope below and the chord above.
    pub(super) fn function_from_lines(
        &self,
        objective: &[f64],
        lines: &[Vec<ReluLine>],
    ) -> ObjectiveFunction {
        let mut relaxations: Vec<Vec<ReluRelaxation>> = Vec::new();
        for layer in 0..self.neurons.hidden() {
            let chord = |interval: &Interval| {
                let below = default_slope(*interval);
                ReluRelaxation::Lines { below, envelope: 0.0, theta: 0.0 }
            };
            let mut of_layer: Vec<_> = self.neurons.layer(layer).iter().map(chord).collect();
            for line in lines.get(layer).into_iter().flatten() {
                if let Some(relaxation) = of_layer.get_mut(line.index) {
                    *relaxation = line.relaxation();
                }
            }
            relaxations.push(of_layer);
        }
        let relaxation = |NeuronId { layer, index }| relaxations[layer][index];
        self.objective_function(objective, relaxation)
    }

    /// The bound that these lines give: once more what [`LinearBounds::prove`] found out.
    pub fn bound_from_lines(&self, objective: &[f64], lines: &[Vec<ReluLine>]) -> PartBound {
        let above = self.function_from_lines(objective, lines);
        let support = self.moves.support(above.slopes(), |_, _| ());
        let value = self.largest_value(&above, support);
        self.part_bound(objective, value, BoundMethod::Envelope)
    }

    /// The linear function that these multipliers give.
    pub(super) fn function_from_duals(
        &self,
        objective: &[f64],
        multipliers: &Multipliers,
    ) -> ObjectiveFunction {
        let neurons = &multipliers.neurons;
        let duals = |NeuronId { layer, index }| ReluRelaxation::Duals(neurons[layer][index]);
        self.objective_function(objective, duals)
    }

    /// Bounds `objective · y` by multipliers of all neurons and constraints: weak duality. Whatever they are, the
    /// bound holds; from the optimal duals of the relaxation it is the relaxation's optimum.
    pub fn dual_bound(&self, objective: &[f64], multipliers: &Multipliers) -> DualBound {
        let above = self.function_from_duals(objective, multipliers);
        let support = self.moves.support_at(above.slopes(), &multipliers.prices);
        let value = self.largest_value(&above, support);
        let bound = self.part_bound(objective, value, BoundMethod::Branch);
        DualBound { bound, coefficients: above.coefficients }
    }
}
