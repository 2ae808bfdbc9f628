//! The function that a file computes: layers of affine operations, not folded, with a ReLU between two layers.

use crate::affine::{Affine, Arithmetic, Chain, FLUSHED, OVERFLOW, Results, StepErrors};
use crate::number::Number;
use crate::relax::Interval;

/// The layers with numbers of one kind.
#[derive(Clone, Debug)]
pub struct Network<N> {
    /// Number of inputs.
    pub inputs: usize,
    /// All layers, the one of the logits last.
    pub layers: Vec<Vec<Affine<N>>>,
    /// Results of each layer.
    pub widths: Vec<usize>,
    arithmetic: Arithmetic,
}

impl<N: Number> Network<N> {
    /// The network of a file.
    ///
    /// # Errors
    /// When operations do not fit, or there is no ReLU.
    pub fn new(chain: &Chain, arithmetic: Arithmetic) -> Result<Self, String> {
        let (mut width, mut layers, mut widths) = (chain.inputs, Vec::new(), Vec::new());
        for steps in &chain.layers {
            let (mut layer, mut terms) = (Vec::new(), 0);
            for step in steps {
                let affine = Affine::new(step, width, terms, arithmetic);
                terms = affine.terms(terms);
                let takes = affine.magnitudes().map_or(width, |matrix| matrix.inputs);
                if takes != width {
                    return Err(format!("a layer takes {takes} values and gets {width}"));
                }
                width = affine.outputs;
                layer.push(affine);
            }
            layers.push(layer);
            widths.push(width);
        }
        if layers.len() < 2 {
            return Err("has no ReLU".into());
        }
        Ok(Self { inputs: chain.inputs, layers, widths, arithmetic })
    }

    /// Number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len() - 1
    }

    /// What numbers below 2⁻¹²⁶ that an f32 run takes for 0 can change in each pre-activation of a layer, if its inputs have at most these
    /// magnitudes: each operation loses at most six such numbers, which are amplified to no more than the layer's reach.
    ///
    /// # Errors
    /// When the run may overflow.
    pub fn flushed(&self, layer: usize, inputs: &[N]) -> Result<Vec<N>, String> {
        let largest = inputs.iter().fold(N::of(1.0), |most, x| most.larger(x));
        let (mut reach, mut operations) = (vec![largest; inputs.len()], 4);
        if self.arithmetic == Arithmetic::Exact {
            return Ok(vec![N::zero(); self.widths[layer]]);
        }
        for step in &self.layers[layer] {
            let (of_step, more) = step.reach(&reach);
            (reach, operations) = (of_step, operations + more);
        }
        if !reach.iter().all(|reach| *reach < N::of(OVERFLOW)) {
            return Err("a run in f32 may overflow".into());
        }
        let each = N::of(8.0 * operations as f64 * FLUSHED);
        Ok(reach.iter().map(|reach| reach.mul_up(&each)).collect())
    }

    /// What the results of a layer's operations may be, and be off by.
    fn results(&self, layer: usize, inputs: &[N], noise: bool) -> Result<Vec<Results<N>>, String> {
        let mut all: Vec<Results<N>> = Vec::new();
        for step in &self.layers[layer] {
            let inputs = all.last().map_or(inputs, |results| &results.magnitudes);
            all.push(step.results(inputs, None, noise));
        }
        let flushed = if noise { self.flushed(layer, inputs)? } else { Vec::new() };
        if let Some(Results { magnitudes, off }) = all.last_mut() {
            for number in [magnitudes, off] {
                number.iter_mut().zip(&flushed).for_each(|(x, more)| *x = x.add_up(more));
            }
        }
        Ok(all)
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
        let results = self.results(layer, inputs, noise)?;
        let inputs_of = |k: usize| if k == 0 { inputs } else { &results[k - 1].magnitudes[..] };
        let steps = self.layers[layer].iter().enumerate();
        Ok(steps.map(|(k, step)| step.errors(inputs_of(k), &results[k])).collect())
    }

    /// Functions of a layer's pre-activations become functions of its inputs.
    pub fn pull_back(
        &self,
        layer: usize,
        errors: &[StepErrors<N>],
        mut rows: Vec<N>,
        constants: &mut [N],
    ) -> Vec<N> {
        for (step, errors) in self.layers[layer].iter().zip(errors).rev() {
            rows = step.pull_back(errors, rows, constants);
        }
        rows
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
        let steps = &self.layers[layer];
        if steps.iter().filter(|step| step.is_sum()).count() > 1 {
            return self.intervals(layer, errors, inputs);
        }
        let each = steps.iter().zip(errors);
        each.fold(inputs.to_vec(), |inputs, (step, errors)| step.ranges(errors, &inputs))
    }

    /// Intervals of the outputs at a point.
    ///
    /// # Errors
    /// When a run in f32 may overflow.
    pub fn values(&self, point: &[f64]) -> Result<Vec<Interval<N>>, String> {
        let exactly = |x: &f64| Interval { lower: N::of(*x), upper: N::of(*x) };
        let mut values: Vec<_> = point.iter().map(exactly).collect();
        for layer in 0..self.layers.len() {
            let relu = |x: &N| if layer == 0 { x.clone() } else { x.larger(&N::zero()) };
            let inputs =
                values.iter().map(|v| Interval { lower: relu(&v.lower), upper: relu(&v.upper) });
            let inputs: Vec<_> = inputs.collect();
            let largest = |i: &Interval<N>| i.lower.magnitude().larger(&i.upper.magnitude());
            let magnitudes: Vec<N> = inputs.iter().map(largest).collect();
            values = self.intervals(layer, &self.errors(layer, &magnitudes, true)?, &inputs);
        }
        Ok(values)
    }
}
