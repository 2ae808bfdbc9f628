//! The function that a file computes: layers of affine operations, not folded, and behind each neuron a ReLU or nothing.

use crate::affine::{Affine, Arithmetic, FLUSHED, OVERFLOW, Results, StepErrors};
use crate::cells::{LayerPlan, Plan};
use crate::number::Number;
use crate::relax::{Interval, State};

/// The layers with numbers of one kind.
#[derive(Clone, Debug)]
pub struct Network<N> {
    /// Number of inputs.
    pub inputs: usize,
    /// All layers, the one of the outputs last.
    pub layers: Vec<Layer<N>>,
    /// Results of each layer.
    pub widths: Vec<usize>,
    arithmetic: Arithmetic,
}

/// Operations, the last of which gives the pre-activations.
#[derive(Clone, Debug)]
pub struct Layer<N> {
    pub inputs: usize,
    pub operations: Vec<Operation<N>>,
    relu: Vec<bool>,
}

/// An operation of some of the values so far: the layer's inputs, then results of earlier operations.
#[derive(Clone, Debug)]
pub struct Operation<N> {
    pub affine: Affine<N>,
    pub from: Vec<usize>,
}

impl<N> Operation<N> {
    /// Its inputs among all values so far.
    pub fn gather<T: Clone>(&self, values: &[T]) -> Vec<T> {
        self.from.iter().map(|&at| values[at].clone()).collect()
    }
}

impl<N: Number> Layer<N> {
    fn new(plan: &LayerPlan, arithmetic: Arithmetic) -> Result<Self, String> {
        let mut terms = vec![0; plan.inputs];
        let mut uses = vec![0; plan.inputs];
        let mut operations = Vec::new();
        for operation in &plan.operations {
            let from = operation.from.clone();
            let before = from.iter().map(|&at| terms[at]).max().unwrap_or(0);
            from.iter().for_each(|&at| uses[at] += 1);
            let own = if operation.exact { Arithmetic::Exact } else { arithmetic };
            let affine = Affine::new(&operation.step, from.len(), before, own);
            if affine.magnitudes().is_some_and(|matrix| matrix.inputs != from.len()) {
                return Err("an operation does not fit its inputs".into());
            }
            terms.resize(terms.len() + affine.outputs, affine.terms(before));
            uses.resize(terms.len(), 0);
            operations.push(Operation { affine, from });
        }
        // Of what comes back to a value, each use is added.
        let most = uses.into_iter().max().unwrap_or(0);
        operations.iter_mut().for_each(|operation| operation.affine.uses = most);
        Ok(Self { inputs: plan.inputs, operations, relu: plan.relu.clone() })
    }
}

impl<N: Number> Network<N> {
    /// The network of a file.
    ///
    /// # Errors
    /// When operations do not fit, or nothing can be said about a run in f32.
    pub fn new(plan: &Plan, arithmetic: Arithmetic) -> Result<Self, String> {
        if arithmetic == Arithmetic::F32 && plan.layers.iter().any(|layer| layer.loses) {
            return Err("multiplies values by 0 that may overflow in f32".into());
        }
        let layers = plan.layers.iter().map(|layer| Layer::new(layer, arithmetic));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let widths: Vec<usize> = layers.iter().map(|layer| layer.relu.len()).collect();
        let takes = layers.iter().map(|layer| layer.inputs);
        if !takes.eq([plan.inputs].into_iter().chain(widths.iter().copied().take(layers.len() - 1)))
        {
            return Err("layers do not fit each other".into());
        }
        Ok(Self { inputs: plan.inputs, layers, widths, arithmetic })
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len() - 1
    }

    /// Whether a neuron has a ReLU.
    pub fn has_relu(&self, layer: usize, j: usize) -> bool {
        self.layers[layer].relu[j]
    }

    /// What a neuron with this interval does. Without a ReLU it is always on.
    pub fn state(&self, layer: usize, j: usize, interval: &Interval<N>) -> State {
        if self.has_relu(layer, j) { interval.state() } else { State::On }
    }

    /// What a hidden layer gives, if its pre-activations are within intervals.
    pub fn activated(&self, layer: usize, intervals: &[Interval<N>]) -> Vec<Interval<N>> {
        let relu = |x: &N| x.larger(&N::zero());
        let output = |(j, g): (usize, &Interval<N>)| match self.has_relu(layer, j) {
            true => Interval { lower: relu(&g.lower), upper: relu(&g.upper) },
            false => g.clone(),
        };
        intervals.iter().enumerate().map(output).collect()
    }

    /// What numbers below 2⁻¹²⁶ that an f32 run takes for 0 can change in each pre-activation of a layer, if its inputs have at most these
    /// magnitudes: each operation loses at most six such numbers, which are amplified to no more than the layer's reach.
    ///
    /// # Errors
    /// When the run may overflow.
    pub fn flushed(&self, layer: usize, inputs: &[N]) -> Result<Vec<N>, String> {
        let width = self.widths[layer];
        if self.arithmetic == Arithmetic::Exact {
            return Ok(vec![N::zero(); width]);
        }
        let largest = inputs.iter().fold(N::of(1.0), |most, x| most.larger(x));
        // Of each value: what is reached on the way to it, and the number of operations.
        let mut reach = vec![largest; inputs.len()];
        let mut many = vec![0; inputs.len()];
        for operation in &self.layers[layer].operations {
            let (of_step, more) = operation.affine.reach(&operation.gather(&reach));
            let before = |j: usize| match operation.affine.moved(j) {
                Some(at) => many[operation.from[at]],
                None => operation.from.iter().map(|&at| many[at]).max().unwrap_or(0) + more,
            };
            let of_step_many: Vec<usize> = (0..of_step.len()).map(before).collect();
            reach.extend(of_step);
            many.extend(of_step_many);
        }
        if !reach.iter().all(|reach| *reach < N::of(OVERFLOW)) {
            return Err("a run in f32 may overflow".into());
        }
        let last = reach.len() - width;
        let lost = |(reach, many): (&N, &usize)| match many {
            0 => N::zero(),
            _ => reach.mul_up(&N::of(8.0 * (many + 4) as f64 * FLUSHED)),
        };
        Ok(reach[last..].iter().zip(&many[last..]).map(lost).collect())
    }

    /// What is lost where functions are pulled back through a layer whose inputs have at most these magnitudes, with or without the noise of
    /// its arithmetic.
    ///
    /// # Errors
    /// When a run in f32 may overflow.
    pub fn errors(
        &self,
        layer: usize,
        inputs: &[N],
        noise: bool,
    ) -> Result<Vec<StepErrors<N>>, String> {
        let operations = &self.layers[layer].operations;
        let flushed = if noise { self.flushed(layer, inputs)? } else { Vec::new() };
        let mut magnitudes = inputs.to_vec();
        let mut errors = Vec::new();
        for (k, operation) in operations.iter().enumerate() {
            let inputs = operation.gather(&magnitudes);
            let mut results = operation.affine.results(&inputs, None, noise);
            if k + 1 == operations.len() {
                for number in [&mut results.magnitudes, &mut results.off] {
                    number.iter_mut().zip(&flushed).for_each(|(x, more)| *x = x.add_up(more));
                }
            }
            errors.push(operation.affine.errors(&inputs, &results));
            let Results { magnitudes: of_step, .. } = results;
            magnitudes.extend(of_step);
        }
        Ok(errors)
    }

    /// Functions of a layer's pre-activations become functions of its inputs.
    pub fn pull_back(
        &self,
        layer: usize,
        errors: &[StepErrors<N>],
        rows: Vec<N>,
        constants: &mut [N],
    ) -> Vec<N> {
        let Layer { inputs, operations, .. } = &self.layers[layer];
        let many = constants.len();
        // What has come back so far: to the layer's inputs, and to the results of each operation.
        let starts: Vec<usize> = operations
            .iter()
            .scan(*inputs, |next, operation| {
                *next += operation.affine.outputs;
                Some(*next - operation.affine.outputs)
            })
            .collect();
        let mut back: Vec<Option<Vec<N>>> = vec![None; operations.len() + 1];
        *back.last_mut().expect("one for the inputs") = Some(rows);
        for (k, operation) in operations.iter().enumerate().rev() {
            let Some(rows) = back[k + 1].take() else { continue };
            let below = operation.affine.pull_back(&errors[k], rows, constants);
            let width = |block: usize| match block {
                0 => *inputs,
                _ => operations[block - 1].affine.outputs,
            };
            let start = |block: usize| if block == 0 { 0 } else { starts[block - 1] };
            let block_of = |at: usize| starts.partition_point(|&start| start <= at);
            let first = operation.from.first().map_or(0, |&at| block_of(at));
            let whole = start(first)..start(first) + width(first);
            if back[first].is_none() && operation.from.iter().copied().eq(whole) {
                back[first] = Some(below);
                continue;
            }
            for (at, &value) in operation.from.iter().enumerate() {
                let block = block_of(value);
                let (width, column) = (width(block), value - start(block));
                let rows = back[block].get_or_insert_with(|| vec![N::zero(); many * width]);
                for r in 0..many {
                    let more = &below[r * operation.from.len() + at];
                    if *more != N::zero() {
                        rows[r * width + column] = rows[r * width + column].add(more);
                    }
                }
            }
        }
        back.swap_remove(0).unwrap_or_else(|| vec![N::zero(); many * inputs])
    }

    /// A layer's pre-activations by interval arithmetic, where its inputs are within intervals and [`Network::errors`] are those of that.
    pub fn intervals(
        &self,
        layer: usize,
        errors: &[StepErrors<N>],
        inputs: &[Interval<N>],
    ) -> Vec<Interval<N>> {
        let width = self.widths[layer];
        // At least each pre-activation, or its negative: as functions of the layer's inputs.
        let largest = |sign: f64| -> Vec<N> {
            let mut rows = vec![N::zero(); width * width];
            (0..width).for_each(|j| rows[j * width + j] = N::of(sign));
            let mut constants = vec![N::zero(); width];
            let rows = self.pull_back(layer, errors, rows, &mut constants);
            let value = |(constant, row): (N, &[N])| {
                let terms = row.iter().zip(inputs).filter(|(q, _)| **q != N::zero());
                terms.fold(constant, |sum, (q, Interval { lower, upper })| {
                    sum.add_up(&q.mul_up(if *q > N::zero() { upper } else { lower }))
                })
            };
            constants.into_iter().zip(rows.chunks(inputs.len())).map(value).collect()
        };
        let (above, below) = (largest(1.0), largest(-1.0));
        let interval = |(upper, below): (N, N)| Interval { lower: below.negated(), upper };
        above.into_iter().zip(below).map(interval).collect()
    }

    /// The same, operation by operation where no more than one of them adds up.
    pub fn ranges(
        &self,
        layer: usize,
        errors: &[StepErrors<N>],
        inputs: &[Interval<N>],
    ) -> Vec<Interval<N>> {
        let operations = &self.layers[layer].operations;
        if operations.iter().filter(|operation| operation.affine.is_sum()).count() > 1 {
            return self.intervals(layer, errors, inputs);
        }
        let mut ranges = inputs.to_vec();
        for (operation, errors) in operations.iter().zip(errors) {
            ranges.extend(operation.affine.ranges(errors, &operation.gather(&ranges)));
        }
        ranges.split_off(ranges.len() - self.widths[layer])
    }

    /// Intervals of the outputs at a point.
    ///
    /// # Errors
    /// When a run in f32 may overflow.
    pub fn values(&self, point: &[f64]) -> Result<Vec<Interval<N>>, String> {
        let exactly = |x: &f64| Interval { lower: N::of(*x), upper: N::of(*x) };
        let mut values: Vec<_> = point.iter().map(exactly).collect();
        for layer in 0..self.layers.len() {
            let magnitudes: Vec<N> = values.iter().map(Interval::magnitude).collect();
            values = self.intervals(layer, &self.errors(layer, &magnitudes, true)?, &values);
            if layer < self.hidden() {
                values = self.activated(layer, &values);
            }
        }
        Ok(values)
    }
}
