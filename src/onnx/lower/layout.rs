//! Neurons become layers.
//!
//! A neuron belongs to the layer of its depth. A variable that a later layer needs is carried there by neurons without a ReLU,
//! one in each layer between. Carrying is no operation of the file, so nothing is rounded on the way.

use std::collections::HashMap;

use super::affine::AffineRow;
use super::double_double::DoubleDouble;
use super::limits::check_weights;
use super::neurons::{Block, Neurons};
use super::stack::LayerStack;
use crate::network::{Activation, AffineMap, Layer, LayerRounding};

/// The layers that compute `logits`.
///
/// # Errors
/// When a layer is too large.
pub(super) fn lay_out(
    mut neurons: Neurons,
    mut logits: Vec<AffineRow>,
    output_shape: Vec<usize>,
) -> Result<LayerStack, String> {
    let depth = |neurons: &Neurons, rows: &[AffineRow]| {
        rows.iter().map(|row| neurons.depth_of(row)).max().unwrap_or(0)
    };
    if depth(&neurons, &logits) == 0 {
        // Without a ReLU the hidden layer is the whole network, and the last one hands it on.
        logits = neurons.push(Activation::Identity, logits);
    }
    let last = depth(&neurons, &logits);
    let places = Places::new(&neurons, &logits, last);
    let mut layers = Vec::new();
    for depth in 1..=last {
        let rows = places.at[depth].iter().map(|&variable| match neurons.block_of(variable) {
            Some(block) if neurons.depth(variable) == depth => {
                let Block { first, activation, rows, .. } = &neurons.blocks()[block];
                (rows[variable - first].clone(), *activation)
            }
            _ => (AffineRow::variable(variable), Activation::Identity),
        });
        let (rows, activations): (Vec<AffineRow>, Vec<Activation>) = rows.unzip();
        let (map, rounding) = places.map(depth - 1, &rows)?;
        layers.push(Layer::mixed(map, &activations).with_rounding(rounding));
    }
    let (map, rounding) = places.map(last, &logits)?;
    layers.push(Layer::linear(map).with_rounding(rounding));
    Ok(LayerStack { layers, output_shape, depths: HashMap::new() })
}

/// Which variables every layer gives.
struct Places {
    /// By depth, 0 being the input: neurons of that depth in the order of their blocks, then what is carried.
    at: Vec<Vec<usize>>,
    /// By variable.
    depths: Vec<usize>,
}

impl Places {
    fn new(neurons: &Neurons, logits: &[AffineRow], last: usize) -> Self {
        let until = last_uses(neurons, logits, last);
        let mut at = vec![Vec::new(); last + 1];
        at[0] = (0..neurons.inputs()).collect();
        let depths: Vec<usize> = (0..neurons.variables()).map(|v| neurons.depth(v)).collect();
        for block in neurons.blocks() {
            let uses = &until[block.first..][..block.rows.len()];
            // All of a ReLU operator is kept, so that layers are as wide as in the file.
            let is_kept = uses.iter().any(Option::is_some);
            let every = is_kept && block.activation == Activation::Relu;
            let wanted = |i: &usize| every || uses[*i].is_some();
            at[block.depth.min(last)]
                .extend((0..block.rows.len()).filter(wanted).map(|i| block.first + i));
        }
        for (variable, until) in until.iter().enumerate() {
            let first = depths[variable] + 1;
            (first..until.map_or(first, |until| until.max(first)))
                .for_each(|depth| at[depth].push(variable));
        }
        Self { at, depths }
    }

    /// The map from what the layer of this depth gives to these rows.
    fn map(&self, depth: usize, rows: &[AffineRow]) -> Result<(AffineMap, LayerRounding), String> {
        let inputs = &self.at[depth];
        check_weights(Some(rows.iter().map(|row| row.terms.len()).sum()))?;
        let mut column_of = vec![u32::MAX; self.depths.len()];
        inputs
            .iter()
            .enumerate()
            .for_each(|(column, &variable)| column_of[variable] = column as u32);
        let weights = |row: &AffineRow| -> Vec<(u32, f64)> {
            let terms = row.terms.iter();
            let column = |variable: u32| column_of[variable as usize];
            let mut weights: Vec<(u32, f64)> =
                terms.map(|&(variable, c)| (column(variable), c.to_f64())).collect();
            // What is carried comes behind a layer's own neurons, whatever its index.
            weights.sort_unstable_by_key(|&(column, _)| column);
            weights
        };
        let weights: Vec<Vec<(u32, f64)>> = rows.iter().map(weights).collect();
        let bias = rows.iter().map(|row| row.constant.to_f64()).collect();
        let map = AffineMap::from_sparse_rows(
            inputs.len(),
            weights.iter().map(|row| row.iter().copied()),
            bias,
        );
        Ok((map, rounding(rows)))
    }
}

/// By variable, the depth of the last layer that needs its value, plus 1; `None` if nothing does.
fn last_uses(neurons: &Neurons, logits: &[AffineRow], last: usize) -> Vec<Option<usize>> {
    let mut until: Vec<Option<usize>> = vec![None; neurons.variables()];
    let mark = |until: &mut Vec<Option<usize>>, row: &AffineRow, depth: usize| {
        for &(variable, _) in &row.terms {
            let use_of = &mut until[variable as usize];
            *use_of = (*use_of).max(Some(depth));
        }
    };
    logits.iter().for_each(|row| mark(&mut until, row, last + 1));
    for block in neurons.blocks().iter().rev() {
        let uses: Vec<bool> =
            until[block.first..][..block.rows.len()].iter().map(Option::is_some).collect();
        let is_relu = block.activation == Activation::Relu;
        let is_kept = uses.contains(&true);
        for (row, is_used) in block.rows.iter().zip(uses) {
            if is_used || (is_kept && is_relu) {
                mark(&mut until, row, block.depth);
            }
        }
    }
    until
}

/// How much larger than the coefficients the numbers were that made them.
fn rounding(rows: &[AffineRow]) -> LayerRounding {
    let cancelled = |row: &AffineRow| {
        let sum: f64 = row.terms.iter().map(|(_, c): &(u32, DoubleDouble)| c.abs()).sum();
        if sum > 0.0 { (row.errors.gain / sum).max(1.0) } else { 1.0 }
    };
    // Only a variable that is handed on is not rounded at all.
    let operations = |row: &AffineRow| match row.as_variable() {
        Some(_) => 0,
        None => row.errors.operations.max(1),
    };
    LayerRounding {
        amplification: rows.iter().map(cancelled).collect(),
        gain: rows.iter().map(|row| row.errors.gain).collect(),
        offset: rows.iter().map(|row| row.errors.offset).collect(),
        reach_gain: rows.iter().map(|row| row.errors.reach_gain).collect(),
        reach_offset: rows.iter().map(|row| row.errors.reach_offset).collect(),
        operations: rows.iter().map(operations).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::affine::{AffineTensor, FactorShift, LinearCombination};
    use super::super::constant::Constant;
    use super::super::piecewise::{self, Extreme};
    use super::*;

    fn inputs(n: usize) -> (Neurons, AffineTensor) {
        (Neurons::new(n), AffineTensor::of_variables(0, &[n]))
    }

    /// The one map of rows without neurons.
    fn map(data: &AffineTensor) -> (AffineMap, LayerRounding) {
        let rows = data.rows.clone();
        let stack = lay_out(Neurons::new(data.variables), rows, data.shape.clone());
        let layer = stack.expect("small").layers.swap_remove(0);
        (layer.affine().clone(), layer.rounding().clone())
    }

    fn widths(neurons: Neurons, data: AffineTensor) -> Vec<usize> {
        let stack = lay_out(neurons, data.rows, data.shape).expect("small");
        stack.layers.iter().map(Layer::outputs).collect()
    }

    fn scaled(data: &AffineTensor, factor: f64, shift: f64) -> AffineTensor {
        data.clone().scale_shift(|_| FactorShift::plain(factor, shift))
    }

    fn number(value: f64) -> Constant {
        Constant { shape: vec![], values: vec![value] }
    }

    #[test]
    fn chained_maps_fold_into_one_matrix() {
        // x -> 2x + 1 -> (x0 + x1, x0 - x1)
        let x = scaled(&inputs(2).1, 2.0, 1.0);
        let mut sum = LinearCombination::new(2);
        let rows = [1.0, -1.0].map(|sign| {
            sum.add(&x.rows[0], 1.0);
            sum.add(&x.rows[1], sign);
            sum.finish()
        });
        let (map, rounding) = map(&AffineTensor { rows: rows.to_vec(), ..x });
        assert_eq!(map.dense_row(0)[..], [2.0, 2.0]);
        assert_eq!(map.dense_row(1)[..], [2.0, -2.0]);
        assert_eq!(map.bias(), [2.0, 0.0]);
        assert_eq!(rounding.amplification, [1.0, 1.0]);
        assert_eq!(rounding.offset, [2.0, 2.0]);
    }

    #[test]
    fn cancellation_is_remembered() {
        let x = inputs(1).1;
        let little = scaled(&x, 1000.0, 0.0).add_scaled(&scaled(&x, 999.0, 0.0), -1.0);
        let (map, rounding) = map(&little);
        assert_eq!(map.weight(0, 0), 1.0);
        assert_eq!(rounding.amplification, [1999.0]);
    }

    #[test]
    fn matrices_that_undo_each_other_leave_the_identity() {
        // In f64 the second one would lose what the first one added.
        let large = 2f64.powi(40);
        let x = inputs(2).1;
        let mut sum = LinearCombination::new(2);
        let mut product = |x: &AffineTensor, weights: [[f64; 2]; 2]| {
            let rows = weights.map(|[a, b]| {
                sum.add(&x.rows[0], a);
                sum.add(&x.rows[1], b);
                sum.finish()
            });
            AffineTensor { rows: rows.to_vec(), ..x.clone() }
        };
        let mixed = product(&x, [[large, large - 1.0], [large + 1.0, large]]);
        let back = product(&mixed, [[large, 1.0 - large], [-large - 1.0, large]]);
        let (map, rounding) = map(&back);
        assert_eq!([map.weight(0, 0), map.weight(0, 1)], [1.0, 0.0]);
        assert_eq!([map.weight(1, 0), map.weight(1, 1)], [0.0, 1.0]);
        assert!(rounding.gain.iter().all(|&gain| gain > large * large));
        assert!(rounding.operations.iter().all(|&operations| operations > 0));
    }

    #[test]
    fn what_may_overflow_or_underflow_on_the_way_is_remembered() {
        let (_, rounding) = map(&scaled(&scaled(&inputs(1).1, 1e-30, 0.0), 1e30, 0.0));
        assert!(rounding.gain[0] < 1.1);
        assert!(rounding.reach_gain[0] >= 1e30);
    }

    #[test]
    fn gathering_moves_and_repeats() {
        let (map, rounding) = map(&inputs(3).1.gather(&[2, 2], &[2, 0, 0, 1]));
        let expected = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(expected.iter().enumerate().all(|(i, row)| map.dense_row(i)[..] == *row));
        assert_eq!(rounding.operations, [0; 4]);
    }

    #[test]
    fn what_is_clipped_twice_stays_in_one_layer() {
        let (mut neurons, x) = inputs(2);
        let above =
            piecewise::with_constant(&mut neurons, Extreme::Largest, x, &number(-0.5), &[2]);
        let both =
            piecewise::with_constant(&mut neurons, Extreme::Smallest, above, &number(0.75), &[2]);
        let stack = lay_out(neurons, both.rows, vec![2]).expect("small");
        assert_eq!(stack.layers.len(), 2);
        let network = crate::network::Network::from_layers(stack.layers).expect("a network");
        for x in [-2.0, -0.5, 0.25, 0.75, 3.0_f64] {
            assert_eq!(network.logits(&[x, 0.0])[0], x.clamp(-0.5, 0.75));
        }
    }

    #[test]
    fn limits_that_never_bind_cost_nothing() {
        let (mut neurons, x) = inputs(1);
        let clip = |neurons: &mut Neurons, extreme, data, limit| {
            piecewise::with_constant(neurons, extreme, data, &number(limit), &[1])
        };
        let positive = clip(&mut neurons, Extreme::Largest, x, 0.0);
        let same = clip(&mut neurons, Extreme::Largest, positive.clone(), -1.0);
        assert_eq!(same.rows[0].as_variable(), positive.rows[0].as_variable());
        let constant = clip(&mut neurons, Extreme::Smallest, positive, -1.0);
        assert_eq!(constant.rows[0].as_constant().map(DoubleDouble::to_f64), Some(-1.0));
    }

    #[test]
    fn a_window_of_five_takes_three_layers_and_carries_what_waits() {
        let (mut neurons, x) = inputs(5);
        let largest = piecewise::tournament(&mut neurons, Extreme::Largest, vec![x.rows], vec![1]);
        let stack = lay_out(neurons, largest.rows, vec![1]).expect("small");
        assert_eq!(stack.layers.len(), 4);
        let network = crate::network::Network::from_layers(stack.layers).expect("a network");
        for winner in 0..5 {
            let mut x = [0.5, -1.0, 0.25, 0.0, -3.0];
            x[winner] = 2.0;
            assert_eq!(network.logits(&x), [2.0]);
        }
    }

    #[test]
    fn values_are_carried_only_as_far_as_they_are_needed() {
        // relu(relu(x)) + x: x is carried over both layers.
        let (mut neurons, x) = inputs(2);
        let once = neurons.push(Activation::Relu, scaled(&x, 2.0, 1.0).rows);
        let once = AffineTensor { rows: once, shape: vec![2], variables: neurons.variables() };
        let twice = neurons.push(Activation::Relu, scaled(&once, -1.0, 1.0).rows);
        let twice = AffineTensor { rows: twice, shape: vec![2], variables: neurons.variables() };
        assert_eq!(widths(neurons, twice.add_scaled(&x, 1.0)), [4, 4, 2]);
    }
}
