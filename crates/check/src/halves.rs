//! Proofs in two halves: a hidden layer of which few neurons can be on, the layers behind it as a function of these neurons' values, and
//! an inequality for values that the layers up to it do not reach.
//!
//! Let `h` be the values of the listed neurons. At every point of the box that counts: all other neurons of the layer are 0, and `h` is within the stated
//! intervals, by the bounds of the whole box. So the tail's outputs at `h` are the outputs. The tail's tree shows that `h` with the property has
//! `Σ weight · h ≤ most`, the head's tree that no point of the box has such `h`.

use std::sync::Arc;

use crate::affine::{Matrix, Step, Uncertain};
use crate::boxes::BoxPart;
use crate::cells::{LayerOperation, LayerPlan, Plan};
use crate::number::Number;
use crate::property::{PropertyCase, Row, Tree, TreeHalves};
use crate::region::Failure;
use crate::tree::Case;

impl<N: Number> Case<'_, N> {
    /// Shows that no point of the case's box has its property, by two halves of the network. The number of leaves of both.
    ///
    /// # Errors
    /// The first thing found that is wrong.
    pub fn refute_in_halves(
        &self,
        plan: &Plan,
        f32: bool,
        halves: &TreeHalves,
    ) -> Result<usize, String> {
        let TreeHalves { layer, neurons, lower, upper, weights, most, tail, head } = halves;
        check_lists(plan, halves)?;
        if !self.is_within(halves)? {
            return Ok(0);
        }
        let any_of = self.stated().any_of.clone();
        let of_tail = PropertyCase { lower: lower.clone(), upper: upper.clone(), any_of };
        let in_tail = |what: String| format!("tail: {what}");
        let case = Case::<N>::new(&tail_plan(plan, *layer, neurons), &of_tail, f32, tail);
        let is_left = |part: &BoxPart<N>| !weights.is_empty() && is_below(part, weights, *most);
        let leaves = case.and_then(|case| case.refute_by(&tail.nodes, is_left));
        let leaves = leaves.map_err(in_tail)?;
        let Some(head) = head.as_ref().filter(|_| !weights.is_empty()) else {
            return Ok(leaves);
        };
        let terms: Vec<(usize, f64)> =
            neurons.iter().copied().zip(weights.iter().copied()).collect();
        let terms: Vec<(usize, f64)> = terms.into_iter().filter(|(_, a)| *a != 0.0).collect();
        let of_head =
            PropertyCase { any_of: vec![vec![reached(&terms, *most)]], ..self.stated().clone() };
        let case = Case::<N>::new(&head_plan(plan, *layer, &terms), &of_head, f32, head);
        let more = case.and_then(|case| case.refute_by(&head.nodes, |_| false));
        Ok(leaves + more.map_err(|what| format!("head: {what}"))?)
    }

    /// Whether any point counts. Then the layer's values have to be within what is stated.
    fn is_within(&self, halves: &TreeHalves) -> Result<bool, String> {
        let TreeHalves { layer, neurons, lower, upper, .. } = halves;
        let region = match self.whole(&self.whole_box()) {
            Ok(region) => region,
            Err(Failure::Empty) => return Ok(false),
            Err(Failure::Wrong(what)) => return Err(what),
        };
        let network = &self.problem.network;
        let values = network.activated(*layer, &region.intervals[*layer]);
        for (j, value) in values.iter().enumerate() {
            let (least, largest) = match neurons.binary_search(&j) {
                Ok(k) => (lower[k], upper[k]),
                Err(_) => (0.0, 0.0),
            };
            if !(value.lower >= N::of(least) && value.upper <= N::of(largest)) {
                let (l, u) = (value.lower.nearest(), value.upper.nearest());
                return Err(format!(
                    "neuron {j} of layer {layer} may be in [{l:e}, {u:e}], which is not within [{least:e}, {largest:e}]"
                ));
            }
        }
        Ok(true)
    }
}

/// Whether all lists fit the network and each other.
fn check_lists(plan: &Plan, halves: &TreeHalves) -> Result<(), String> {
    let TreeHalves { layer, neurons, lower, upper, weights, tail, head, .. } = halves;
    // There is another hidden layer behind it.
    if layer.checked_add(2).is_none_or(|behind| behind >= plan.layers.len()) {
        return Err(format!("there is no bottleneck in hidden layer {layer}"));
    }
    // Its neurons have to be computed there, so that some of them can be picked.
    let computed = plan.layers[*layer].operations.last();
    let computed = computed.map(|last| last.step.outputs(last.from.len()));
    if computed != Some(plan.layers[*layer].relu.len()) {
        return Err(format!(
            "hidden layer {layer} is not computed as one: no bottleneck can be there"
        ));
    }
    let width = plan.layers[*layer].relu.len();
    let is_ascending = neurons.windows(2).all(|pair| pair[0] < pair[1]);
    if neurons.is_empty() || !is_ascending || neurons.iter().any(|&j| j >= width) {
        return Err("the bottleneck's neurons make no sense".into());
    }
    let many = neurons.len();
    let fits = |list: &[f64]| list.len() == many;
    if !fits(lower) || !fits(upper) || !(weights.is_empty() || fits(weights)) {
        return Err("the bottleneck has not as many numbers as neurons".into());
    }
    if !weights.is_empty() && (head.is_none() || weights.iter().all(|weight| *weight == 0.0)) {
        return Err("nothing shows what the bottleneck does not get".into());
    }
    let is_simple = |tree: &Tree| tree.bottleneck.is_none();
    let are_simple = is_simple(tail) && head.as_ref().is_none_or(is_simple);
    if are_simple { Ok(()) } else { Err("a bottleneck is within another".into()) }
}

/// Whether `Σ weight · value ≤ most` in all of a part of the tail's box.
fn is_below<N: Number>(part: &BoxPart<N>, weights: &[f64], most: f64) -> bool {
    let sides = part.lower.iter().zip(&part.upper);
    let sum = weights.iter().zip(sides).fold(N::zero(), |sum, (weight, (lower, upper))| {
        let value = if *weight > 0.0 { upper } else { lower };
        sum.add_up(&N::of(*weight).mul_up(&N::of(*value)))
    });
    sum <= N::of(most)
}

/// `most − Σ weight · value ≥ 0` for the outputs of [`head_plan`].
fn reached(terms: &[(usize, f64)], most: f64) -> Row {
    let terms = terms.iter().enumerate().map(|(k, (_, weight))| (k, -weight)).collect();
    Row { terms, constant: most, strict: false }
}

/// The layers behind a hidden layer, as a function of some of its neurons' values, where all others are 0.
fn tail_plan(plan: &Plan, layer: usize, neurons: &[usize]) -> Plan {
    let mut layers = plan.layers[layer + 1..].to_vec();
    let (first, few) = (&mut layers[0], neurons.len());
    // The values of all neurons come after those of the listed ones.
    let mut rows = vec![Vec::new(); first.inputs];
    for (k, &j) in neurons.iter().enumerate() {
        rows[j].push((k, Uncertain::exact(1.0)));
    }
    for operation in &mut first.operations {
        operation.from.iter_mut().for_each(|at| *at += few);
    }
    first.operations.insert(0, exactly(few, &rows));
    first.inputs = few;
    Plan { inputs: few, layers }
}

/// The layers up to a hidden layer, with outputs that are not above `value` for neurons with a positive weight, whose pre-activation is not above it, and
/// are it for all others.
fn head_plan(plan: &Plan, layer: usize, terms: &[(usize, f64)]) -> Plan {
    let mut layers = plan.layers[..=layer].to_vec();
    let last = &mut layers[layer];
    let neurons: Vec<usize> = terms.iter().map(|(j, _)| *j).collect();
    if let Some(operation) = last.operations.last_mut() {
        let all = vec![true; operation.from.len()];
        let (step, used) = operation.step.part(&neurons, &all);
        operation.from = used.into_iter().map(|at| operation.from[at]).collect();
        operation.step = Arc::new(step);
    }
    last.relu = terms.iter().map(|(j, weight)| last.relu[*j] && *weight < 0.0).collect();
    let rows: Vec<_> = (0..terms.len()).map(|k| vec![(k, Uncertain::exact(1.0))]).collect();
    layers.push(LayerPlan {
        inputs: terms.len(),
        operations: vec![exactly(terms.len(), &rows)],
        relu: vec![false; terms.len()],
        loses: false,
    });
    Plan { inputs: plan.inputs, layers }
}

/// An operation of a layer's inputs that is none of the file.
fn exactly(inputs: usize, rows: &[Vec<(usize, Uncertain)>]) -> LayerOperation {
    let step = Step::Matrix(Matrix::sparse(inputs, rows));
    LayerOperation { step: Arc::new(step), from: (0..inputs).collect(), exact: true }
}
