//! The quadratic relaxation of a network over a box, and certified values of its dual.
//!
//! For an unstable neuron with pre-activation `z` and output `v`, all of these hold:
//! `v ≥ 0`, `v ≥ z`, `v ≤ above · (z + lift)`, `v·(z − v) ≥ 0`, `1 − η² ≥ 0`; and for each input `1 − ξ² ≥ 0`. A function plus non-negative multiples
//! of them is never below the function. It is quadratic, and where it is concave its largest value is a bound (Raghunathan, Steinhardt and Liang
//! 2018: the dual of their semidefinite relaxation, with the line above as in Batten et al. 2021). Lines alone say of every neuron that it may
//! be in the middle of its interval; squares say that not all can be at once.
//!
//! Any multipliers give a bound: [`QuadraticRelaxation::certify`] evaluates it at a point, and adds what the gradient that is left there, the rounding of
//! all sums, and a matrix that is positive only up to rounding could hide.

use faer::Mat;

use super::cholesky::{Cholesky, gram};
use super::collapse::{CollapsedBox, CollapsedFunction, CollapsedNeuron};
use crate::sets::Allowance;

/// The constraints of all neurons, as matrices.
pub struct QuadraticRelaxation {
    /// Coefficients of inputs, one column for each neuron.
    pub inputs: Mat<f64>,
    /// Coefficients of earlier neurons, one column for each neuron.
    pub neurons: Mat<f64>,
    pub constants: Vec<f64>,
    pub halves: Vec<f64>,
    pub above: Vec<f64>,
    pub lifts: Vec<f64>,
    errors: Vec<f64>,
}

/// One for each constraint: at least 0.
#[derive(Clone, Debug, Default)]
pub struct SquareMultipliers {
    /// Of `1 − ξ²`.
    pub inputs: Vec<f64>,
    /// Of `1 − η²`.
    pub neurons: Vec<f64>,
    /// Of `v·(z − v)`, times the half.
    pub products: Vec<f64>,
    /// Of `v`.
    pub signs: Vec<f64>,
    /// Of `v − z`.
    pub passes: Vec<f64>,
    /// Of the line above less `v`.
    pub lines: Vec<f64>,
}

/// A point: inputs, neurons, and the pre-activations there.
#[derive(Clone, Debug, Default)]
pub struct RelaxedPoint {
    pub inputs: Vec<f64>,
    pub neurons: Vec<f64>,
    pub pre_activations: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

impl QuadraticRelaxation {
    /// That of the neurons of a box.
    pub fn new(of: &CollapsedBox) -> Self {
        let (p, n) = (of.inputs(), of.neurons.len());
        let coefficients = |i: usize| &of.neurons[i].function.coefficients;
        let list = |get: &dyn Fn(&CollapsedNeuron) -> f64| of.neurons.iter().map(get).collect();
        Self {
            inputs: Mat::from_fn(p, n, |j, i| coefficients(i)[j]),
            neurons: Mat::from_fn(n, n, |k, i| coefficients(i).get(p + k).copied().unwrap_or(0.0)),
            constants: list(&|of| of.function.constant),
            halves: list(&|of| of.half),
            above: list(&|of| of.above),
            lifts: list(&|of| of.lift),
            errors: list(&|of| of.function.error),
        }
    }

    /// Unstable neurons.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// What each pre-activation counts for.
    fn weight(&self, m: &SquareMultipliers, i: usize) -> f64 {
        m.lines[i] * self.above[i] - m.passes[i] + m.products[i]
    }

    /// The coefficients of the linear part: inputs, neurons.
    pub fn linear(
        &self,
        function: &CollapsedFunction,
        m: &SquareMultipliers,
    ) -> (Vec<f64>, Vec<f64>) {
        let (p, n) = (self.inputs.nrows(), self.len());
        let mut inputs = function.coefficients[..p].to_vec();
        let mut neurons = function.coefficients[p..].to_vec();
        neurons.resize(n, 0.0);
        for i in 0..n {
            let weight = self.weight(m, i);
            add(&mut inputs, weight, self.inputs.col_as_slice(i));
            add(&mut neurons, weight, self.neurons.col_as_slice(i));
            let own = m.signs[i] + m.passes[i] - m.lines[i] - 2.0 * m.products[i];
            neurons[i] += own * self.halves[i] + m.products[i] * self.constants[i];
        }
        (inputs, neurons)
    }

    /// The constant part of the Lagrangian.
    pub fn constant(&self, function: &CollapsedFunction, m: &SquareMultipliers) -> f64 {
        let squares: f64 = m.inputs.iter().chain(&m.neurons).sum();
        let of = |i: usize| {
            let (c, h) = (self.constants[i], self.halves[i]);
            m.signs[i] * h
                + m.passes[i] * (h - c)
                + m.lines[i] * (self.above[i] * (c + self.lifts[i]) - h)
                + m.products[i] * (c - h)
        };
        function.constant + squares + (0..self.len()).map(of).sum::<f64>()
    }

    /// The pre-activations at a point.
    pub fn pre_activations(&self, point: &mut RelaxedPoint) {
        point.pre_activations.clear();
        point.pre_activations.extend((0..self.len()).map(|i| {
            self.constants[i]
                + dot(self.inputs.col_as_slice(i), &point.inputs)
                + dot(self.neurons.col_as_slice(i), &point.neurons)
        }));
    }

    /// The lower half of the matrix of `−L` for the neurons, once the inputs are at their best: `products` are `A Λ⁻¹ Aᵀ`.
    pub fn schur(&self, m: &SquareMultipliers, products: &Mat<f64>, out: &mut Mat<f64>) {
        for k in 0..self.len() {
            let g = &m.products;
            out[(k, k)] =
                m.neurons[k] + g[k] * self.halves[k] - 0.25 * g[k] * g[k] * products[(k, k)];
            for i in k + 1..self.len() {
                out[(i, k)] =
                    -0.5 * g[i] * self.neurons[(k, i)] - 0.25 * g[i] * g[k] * products[(i, k)];
            }
        }
    }

    /// `A Λ^(−1/2)`, one column for each neuron, and the lower half of `A Λ⁻¹ Aᵀ`.
    pub fn scale(&self, m: &SquareMultipliers, scaled: &mut Mat<f64>, products: &mut Mat<f64>) {
        let roots: Vec<f64> = m.inputs.iter().map(|lambda| 1.0 / lambda.sqrt()).collect();
        for i in 0..self.len() {
            let (from, to) = (self.inputs.col_as_slice(i), scaled.col_as_slice_mut(i));
            for ((to, from), root) in to.iter_mut().zip(from).zip(&roots) {
                *to = from * root;
            }
        }
        gram(scaled, products);
    }

    /// How large a function can be, by these multipliers, told at a point that should be about where the Lagrangian is largest. Infinite if
    /// that is not concave.
    pub fn certify(
        &self,
        allowance: Allowance,
        function: &CollapsedFunction,
        m: &SquareMultipliers,
        point: &RelaxedPoint,
    ) -> f64 {
        let value = match self.defect(allowance, m) {
            None => f64::INFINITY,
            Some(defect) => {
                let far: f64 = point.neurons.iter().map(|eta| (1.0 + eta.abs()).powi(2)).sum();
                let (value, off) = self.value(function, m, point);
                let (slack, slack_off) = self.slack(function, m, point);
                let off = allowance.of(8.0 * (off + slack_off + slack + defect * far));
                value + slack + defect * far + off + function.error + self.error(m)
            }
        };
        if value.is_nan() { f64::INFINITY } else { value }
    }

    /// The Lagrangian at a point, and the magnitudes that were added up.
    fn value(
        &self,
        function: &CollapsedFunction,
        m: &SquareMultipliers,
        at: &RelaxedPoint,
    ) -> (f64, f64) {
        let (mut sum, mut size) = (function.constant, function.constant.abs());
        let mut push = |term: f64, magnitude: f64| {
            sum += term;
            size += magnitude;
        };
        let all = at.inputs.iter().zip(&m.inputs).chain(at.neurons.iter().zip(&m.neurons));
        all.for_each(|(y, m)| push(m * (1.0 - y * y), m * (1.0 + y * y)));
        let all = at.inputs.iter().chain(&at.neurons).zip(&function.coefficients);
        all.for_each(|(y, coefficient)| push(coefficient * y, (coefficient * y).abs()));
        for i in 0..self.len() {
            let (h, eta, z) = (self.halves[i], at.neurons[i], at.pre_activations[i]);
            let v = h * (1.0 + eta);
            let line = self.above[i] * (z + self.lifts[i]) - v;
            let product = (1.0 + eta) * (z - v);
            // What was added up for the pre-activation.
            let of_z = self.constants[i].abs()
                + magnitudes(self.inputs.col_as_slice(i), &at.inputs)
                + magnitudes(self.neurons.col_as_slice(i), &at.neurons);
            let of_v = h * (1.0 + eta.abs());
            push(m.signs[i] * v, m.signs[i] * of_v);
            push(m.passes[i] * (v - z), m.passes[i] * (of_v + of_z));
            push(m.lines[i] * line, m.lines[i] * (of_z + self.lifts[i] + of_v));
            push(m.products[i] * product, m.products[i] * (1.0 + eta.abs()) * (of_z + of_v));
        }
        (sum, size)
    }

    /// How much the Lagrangian's gradient at a point can still add to it within the box, and the magnitudes that were added up.
    fn slack(
        &self,
        function: &CollapsedFunction,
        m: &SquareMultipliers,
        at: &RelaxedPoint,
    ) -> (f64, f64) {
        let n = self.len();
        let (mut inputs, mut neurons) = self.linear(function, m);
        let (mut of_inputs, mut of_neurons) = self.linear_magnitudes(function, m);
        for i in 0..n {
            let by = m.products[i] * at.neurons[i];
            let (row, of_row) = (self.inputs.col_as_slice(i), self.neurons.col_as_slice(i));
            add(&mut inputs, by, row);
            add(&mut neurons, by, of_row);
            add_magnitudes(&mut of_inputs, by.abs(), row);
            add_magnitudes(&mut of_neurons, by.abs(), of_row);
            let own = 2.0 * (m.neurons[i] + m.products[i] * self.halves[i]) * at.neurons[i];
            let z = at.pre_activations[i] - self.constants[i];
            neurons[i] += m.products[i] * z - own;
            let of_z = 2.0 * self.constants[i].abs()
                + magnitudes(row, &at.inputs)
                + magnitudes(of_row, &at.neurons);
            of_neurons[i] += m.products[i] * of_z + own.abs();
        }
        for (j, (xi, lambda)) in at.inputs.iter().zip(&m.inputs).enumerate() {
            inputs[j] -= 2.0 * lambda * xi;
            of_inputs[j] += (2.0 * lambda * xi).abs();
        }
        let (mut sum, mut size) = (0.0, 0.0);
        let inputs = inputs.iter().zip(&of_inputs).zip(&at.inputs);
        for ((gradient, magnitude), y) in
            inputs.chain(neurons.iter().zip(&of_neurons).zip(&at.neurons))
        {
            sum += gradient.abs() * (1.0 + y.abs());
            size += magnitude * (1.0 + y.abs());
        }
        (sum, size)
    }

    fn linear_magnitudes(
        &self,
        function: &CollapsedFunction,
        m: &SquareMultipliers,
    ) -> (Vec<f64>, Vec<f64>) {
        let p = self.inputs.nrows();
        let mut inputs: Vec<f64> = function.coefficients[..p].iter().map(|c| c.abs()).collect();
        let mut neurons: Vec<f64> = function.coefficients[p..].iter().map(|c| c.abs()).collect();
        neurons.resize(self.len(), 0.0);
        for i in 0..self.len() {
            let weight = m.lines[i] * self.above[i] + m.passes[i] + m.products[i];
            add_magnitudes(&mut inputs, weight, self.inputs.col_as_slice(i));
            add_magnitudes(&mut neurons, weight, self.neurons.col_as_slice(i));
            let own = m.signs[i] + m.passes[i] + m.lines[i] + 2.0 * m.products[i];
            neurons[i] += own * self.halves[i] + m.products[i] * self.constants[i].abs();
        }
        (inputs, neurons)
    }

    /// What the errors of pre-activations can add.
    fn error(&self, m: &SquareMultipliers) -> f64 {
        let of = |i: usize| {
            let product = 2.0 * m.products[i];
            self.errors[i] * (m.passes[i] + m.lines[i] * self.above[i] + product)
        };
        (0..self.len()).map(of).sum()
    }

    /// The matrix of `−L` is at least minus this, times the squares of the neurons. `None` if it does not seem to be positive.
    fn defect(&self, allowance: Allowance, m: &SquareMultipliers) -> Option<f64> {
        let (p, n) = (self.inputs.nrows(), self.len());
        let is_positive = |list: &[f64]| list.iter().all(|m| *m > 0.0 && m.is_finite());
        if !(is_positive(&m.inputs) && is_positive(&m.neurons)) {
            return None;
        }
        let (mut scaled, mut products) = (Mat::zeros(p, n), Mat::zeros(n, n));
        self.scale(m, &mut scaled, &mut products);
        let mut schur = Mat::zeros(n, n);
        self.schur(m, &products, &mut schur);
        Cholesky::new(&schur)?;
        // Entries are off by a share of what was added up for them: for products that is at most what Cauchy and Schwarz allow.
        let g = &m.products;
        let mut size: f64 = (0..n).map(|i| schur[(i, i)].abs()).sum();
        for i in 0..n {
            size += m.neurons[i] + g[i] * self.halves[i] + g[i] * g[i] * products[(i, i)];
            let of_neurons = self.neurons.col_as_slice(i);
            size += g[i] * of_neurons.iter().map(|b| b.abs()).sum::<f64>();
        }
        Some(allowance.of(8.0 * size))
    }
}

fn magnitudes(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
}

fn add_magnitudes(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from.abs());
}
