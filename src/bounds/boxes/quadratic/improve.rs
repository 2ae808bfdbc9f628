//! Multipliers of the quadratic relaxation, improved.
//!
//! The Lagrangian's largest value `φ` is a convex function of the multipliers wherever its matrix `P` is positive, and what a multiplier counts
//! for is its constraint's value where the Lagrangian is largest. With `− ε · log det P` added, points stay where `P` is positive: moments are then
//! `y·yᵀ + ε·P⁻¹` instead of `y·yᵀ`. Multipliers of squares are scaled by their moments, which is exact where `P` is diagonal; all others take steps
//! of Adam in units of what the neuron's output counts for.

use faer::Mat;

use super::cholesky::{Cholesky, gram, times_upper};
use super::collapse::CollapsedFunction;
use super::relaxation::{QuadraticRelaxation, RelaxedPoint, SquareMultipliers};

/// Decay of the mean gradient and of its mean square.
const MEMORY: (f64, f64) = (0.8, 0.95);

/// The barrier's share of what squares cost, at the first step and at the last.
const BARRIER: (f64, f64) = (0.2, 0.005);

/// Steps in units of what a neuron's output counts for, at the first step and at the last.
const PACE: (f64, f64) = (0.1, 0.01);

/// The share of a full step that rests take, and the pace of slopes in units of that of products.
const OF_REST: f64 = 0.3;
const OF_SLOPE: f64 = 0.3;

/// Squares to begin with, in units of what they have to hold if all products count for as much as the neurons' outputs.
const FLOOR: f64 = 0.02;

/// What steps are made longer by after one that went well, and shorter by after one that led to where the Lagrangian is not concave.
const LONGER: f64 = 1.5;
const SHORTER: f64 = 0.4;

/// What a square's multiplier is scaled by in one step, at most.
const MOST_SCALED: f64 = 4.0;

/// What squares' multipliers are scaled by where the Lagrangian is not concave.
const MORE: f64 = 1.5;

/// A neuron's output counts for at least this share of the largest one's.
const LEAST_UNIT: f64 = 0.001;

/// What is known of a function before.
pub struct FirstLines {
    /// For each neuron what its output counts for in a linear bound, and the slope of its line below.
    pub outputs: Vec<(f64, f64)>,
}

/// Moments at some multipliers.
#[derive(Clone)]
struct Moments {
    value: f64,
    point: RelaxedPoint,
    /// Of `ξ²`, `η²`, and `η·z`.
    inputs: Vec<f64>,
    neurons: Vec<f64>,
    products: Vec<f64>,
    /// The diagonal of the matrix's inverse, of neurons.
    inverse: Vec<f64>,
}

/// Multipliers on their way.
pub struct Improved {
    pub multipliers: SquareMultipliers,
    pub point: RelaxedPoint,
    /// The Lagrangian's largest value, without promise.
    pub value: f64,
}

/// Improves multipliers for a function. `is_enough` is told the least value so far.
pub fn improve(
    relaxation: &QuadraticRelaxation,
    function: &CollapsedFunction,
    first: &FirstLines,
    steps: usize,
    mut is_enough: impl FnMut(f64) -> bool,
) -> Option<Improved> {
    let n = relaxation.len();
    let mut lines = BalancedLines::new(first, n);
    let mut m = SquareMultipliers { products: vec![0.0; n], ..SquareMultipliers::default() };
    let mut scratch = MomentScratch::new(relaxation);
    let mut best: Option<Improved> = None;
    let mut good: Option<(SquareMultipliers, BalancedLines, Moments)> = None;
    let mut haste = 1.0_f64;
    for step in 0..steps {
        let progress = step as f64 / steps as f64;
        let between = |(first, last): (f64, f64)| first * (last / first).powf(progress);
        lines.balance(relaxation, function, &mut m);
        if step == 0 {
            begin_squares(relaxation, function, &lines, &mut m);
        }
        let squares: f64 = m.inputs.iter().chain(&m.neurons).sum();
        let count = (m.inputs.len() + m.neurons.len()) as f64;
        let barrier = between(BARRIER) * squares / count;
        let moments = match (scratch.moments(relaxation, function, &m, barrier), good.take()) {
            (Some(moments), _) => {
                haste = (haste * LONGER).min(1.0);
                good = Some((m.clone(), lines.clone(), moments.clone()));
                moments
            }
            (None, Some(last)) => {
                haste *= SHORTER;
                let moments = last.2.clone();
                (m, lines) = (last.0.clone(), last.1.clone());
                good = Some(last);
                moments
            }
            (None, None) => {
                m.inputs.iter_mut().chain(&mut m.neurons).for_each(|m| *m *= MORE);
                continue;
            }
        };
        if best.as_ref().is_none_or(|best| moments.value < best.value) {
            let (point, value) = (moments.point.clone(), moments.value);
            best = Some(Improved { multipliers: m.clone(), point, value });
        }
        if is_enough(best.as_ref().map_or(f64::INFINITY, |best| best.value)) {
            break;
        }
        scale(&mut m.inputs, &moments.inputs, haste);
        scale(&mut m.neurons, &moments.neurons, haste);
        let pace = haste * between(PACE);
        lines.step(relaxation, &moments, pace, haste, &mut m);
    }
    best
}

/// Where the Lagrangian is largest. `None` if it is not concave.
pub fn best_point(
    relaxation: &QuadraticRelaxation,
    function: &CollapsedFunction,
    m: &SquareMultipliers,
) -> Option<RelaxedPoint> {
    let moments = MomentScratch::new(relaxation).moments(relaxation, function, m, 0.0);
    moments.map(|moments| moments.point)
}

/// Squares to begin with: what is best where the matrix is diagonal, and enough for some products.
fn begin_squares(
    relaxation: &QuadraticRelaxation,
    function: &CollapsedFunction,
    lines: &BalancedLines,
    m: &mut SquareMultipliers,
) {
    let (mut inputs, mut neurons) = relaxation.linear(function, m);
    inputs.iter_mut().chain(&mut neurons).for_each(|b| *b = 0.5 * b.abs() + f64::MIN_POSITIVE);
    for i in 0..relaxation.len() {
        let unit = lines.units[i];
        let of_inputs = relaxation.inputs.col_as_slice(i);
        inputs.iter_mut().zip(of_inputs).for_each(|(b, a)| *b += FLOOR * unit * a.abs());
        let of_neurons = relaxation.neurons.col_as_slice(i);
        neurons.iter_mut().zip(of_neurons).for_each(|(b, a)| *b += FLOOR * unit * a.abs());
        neurons[i] += FLOOR * unit * relaxation.halves[i];
    }
    (m.inputs, m.neurons) = (inputs, neurons);
}

fn scale(multipliers: &mut [f64], moments: &[f64], haste: f64) {
    for (m, moment) in multipliers.iter_mut().zip(moments) {
        *m *= moment.powf(haste * 0.5).clamp(1.0 / MOST_SCALED, MOST_SCALED);
    }
}

/// Multipliers of lines as a backward pass gives them: what a neuron counts for goes to its line above or to those below, but for a rest that
/// its square has to hold. So a step for one neuron does not unbalance all before it.
#[derive(Clone)]
struct BalancedLines {
    /// What is left for the square of each neuron.
    rests: Vec<f64>,
    /// Slopes of the lines below.
    slopes: Vec<f64>,
    /// What goes to the lines: above if it is positive.
    shares: Vec<f64>,
    units: Vec<f64>,
    time: i32,
    /// Of products, slopes.
    means: [Vec<(f64, f64)>; 2],
}

impl BalancedLines {
    fn new(first: &FirstLines, n: usize) -> Self {
        let most = first.outputs.iter().map(|(q, _)| q.abs()).fold(0.0, f64::max);
        let unit = |(q, _): &(f64, f64)| q.abs().max(LEAST_UNIT * most);
        Self {
            rests: vec![0.0; n],
            slopes: first.outputs.iter().map(|(_, slope)| *slope).collect(),
            shares: vec![0.0; n],
            units: first.outputs.iter().map(unit).collect(),
            time: 0,
            means: std::array::from_fn(|_| vec![(0.0, 0.0); n]),
        }
    }

    /// The lines that balance what all neurons count for.
    fn balance(
        &mut self,
        relaxation: &QuadraticRelaxation,
        function: &CollapsedFunction,
        m: &mut SquareMultipliers,
    ) {
        let (p, n) = (relaxation.inputs.nrows(), relaxation.len());
        let mut counts = function.coefficients[p..].to_vec();
        counts.resize(n, 0.0);
        for list in [&mut m.signs, &mut m.passes, &mut m.lines] {
            list.clear();
            list.resize(n, 0.0);
        }
        for i in (0..n).rev() {
            let (h, g) = (relaxation.halves[i], m.products[i]);
            counts[i] += g * (relaxation.constants[i] - 2.0 * h);
            let share = (counts[i] - self.rests[i]) / h;
            self.shares[i] = share;
            if share > 0.0 {
                m.lines[i] = share;
            } else {
                m.passes[i] = -share * self.slopes[i];
                m.signs[i] = -share * (1.0 - self.slopes[i]);
            }
            let weight = m.lines[i] * relaxation.above[i] - m.passes[i] + g;
            let earlier = relaxation.neurons.col_as_slice(i);
            counts[..i].iter_mut().zip(earlier).for_each(|(count, b)| *count += weight * b);
        }
    }

    /// One step. What a linear term counts for is told where all neurons follow their lines.
    fn step(
        &mut self,
        relaxation: &QuadraticRelaxation,
        moments: &Moments,
        pace: f64,
        haste: f64,
        m: &mut SquareMultipliers,
    ) {
        self.time += 1;
        let of = [1.0 - MEMORY.0.powi(self.time), 1.0 - MEMORY.1.powi(self.time)];
        let advance = |gradient: f64, (mean, square): &mut (f64, f64)| {
            *mean = MEMORY.0 * *mean + (1.0 - MEMORY.0) * gradient;
            *square = MEMORY.1 * *square + (1.0 - MEMORY.1) * gradient * gradient;
            *mean / of[0] / ((*square / of[1]).sqrt() + 1e-30)
        };
        let n = relaxation.len();
        let mut followed: Vec<f64> = Vec::with_capacity(n);
        for i in 0..n {
            let (h, c, eta) =
                (relaxation.halves[i], relaxation.constants[i], moments.point.neurons[i]);
            let column = relaxation.inputs.col_as_slice(i).iter().zip(&moments.point.inputs);
            let z = c
                + column.map(|(a, xi)| a * xi).sum::<f64>()
                + relaxation
                    .neurons
                    .col_as_slice(i)
                    .iter()
                    .zip(&followed)
                    .map(|(b, y)| b * y)
                    .sum::<f64>();
            let is_above = self.shares[i] > 0.0;
            let v = if is_above {
                relaxation.above[i] * (z + relaxation.lifts[i])
            } else {
                self.slopes[i] * z
            };
            let on_line = v / h - 1.0;
            followed.push(on_line);
            let [products, slopes] = &mut self.means;
            let gradient = z + (c - 2.0 * h) * on_line - h - h * moments.neurons[i]
                + moments.products[i]
                - c * eta;
            let by = advance(gradient, &mut products[i]);
            m.products[i] = (m.products[i] - pace * self.units[i] * by).max(0.0);
            self.rests[i] += haste * OF_REST * 2.0 * (on_line - eta) / moments.inverse[i];
            if !is_above {
                let by = advance(self.shares[i] * z, &mut slopes[i]);
                self.slopes[i] = (self.slopes[i] - OF_SLOPE * pace * by).clamp(0.0, 1.0);
            }
        }
    }
}

/// Memory.
struct MomentScratch {
    scaled: Mat<f64>,
    products: Mat<f64>,
    schur: Mat<f64>,
    factors: Mat<f64>,
    spread: Mat<f64>,
}

impl MomentScratch {
    fn new(relaxation: &QuadraticRelaxation) -> Self {
        let (p, n) = (relaxation.inputs.nrows(), relaxation.len());
        Self {
            scaled: Mat::zeros(p, n),
            products: Mat::zeros(n, n),
            schur: Mat::zeros(n, n),
            factors: Mat::zeros(n, n),
            spread: Mat::zeros(p, n),
        }
    }

    /// The moments at some multipliers. `None` if the Lagrangian is not concave there.
    fn moments(
        &mut self,
        relaxation: &QuadraticRelaxation,
        function: &CollapsedFunction,
        m: &SquareMultipliers,
        barrier: f64,
    ) -> Option<Moments> {
        let n = relaxation.len();
        relaxation.scale(m, &mut self.scaled, &mut self.products);
        relaxation.schur(m, &self.products, &mut self.schur);
        let inverse_of_lower = Cholesky::new(&self.schur)?.inverse_of_lower();
        let mut inverse = Mat::zeros(n, n);
        gram(&inverse_of_lower, &mut inverse);
        let (of_inputs, of_neurons) = relaxation.linear(function, m);
        let mut point = RelaxedPoint::default();
        let roots: Vec<f64> = m.inputs.iter().map(|lambda| 1.0 / lambda.sqrt()).collect();
        let scaled_inputs: Vec<f64> = of_inputs.iter().zip(&roots).map(|(b, r)| b * r).collect();
        let right: Vec<f64> = (0..n)
            .map(|i| {
                let column = self.scaled.col_as_slice(i).iter().zip(&scaled_inputs);
                let sum: f64 = column.map(|(a, b)| a * b).sum();
                0.5 * (of_neurons[i] + 0.5 * m.products[i] * sum)
            })
            .collect();
        point.neurons = symmetric_product(&inverse, &right);
        let mut sums: Vec<f64> = of_inputs.iter().map(|b| 0.5 * b).collect();
        for i in 0..n {
            let by = 0.5 * m.products[i] * point.neurons[i];
            let column = relaxation.inputs.col_as_slice(i);
            sums.iter_mut().zip(column).for_each(|(sum, a)| *sum += by * a);
        }
        point.inputs = sums.iter().zip(&m.inputs).map(|(sum, lambda)| sum / lambda).collect();
        relaxation.pre_activations(&mut point);
        let linear = |b: &[f64], y: &[f64]| -> f64 { b.iter().zip(y).map(|(b, y)| b * y).sum() };
        let value = 0.5 * (linear(&of_inputs, &point.inputs) + linear(&of_neurons, &point.neurons))
            + relaxation.constant(function, m);
        let inputs = self.input_moments(m, &point, barrier, &inverse_of_lower);
        let square = |i: usize| point.neurons[i].powi(2) + barrier * inverse[(i, i)];
        let mut products = self.cross_moments(relaxation, m, &inverse);
        let at_point = point.neurons.iter().zip(&point.pre_activations).map(|(eta, z)| eta * z);
        products.iter_mut().zip(at_point).for_each(|(of, at)| *of = barrier * *of + at);
        let neurons = (0..n).map(square).collect();
        let inverse = (0..n).map(|i| inverse[(i, i)]).collect();
        Some(Moments { value, inputs, neurons, products, inverse, point })
    }

    fn input_moments(
        &mut self,
        m: &SquareMultipliers,
        point: &RelaxedPoint,
        barrier: f64,
        inverse_of_lower: &Mat<f64>,
    ) -> Vec<f64> {
        let n = inverse_of_lower.nrows();
        for i in 0..n {
            for k in 0..=i {
                self.factors[(k, i)] = 0.5 * m.products[k] * inverse_of_lower[(i, k)];
            }
        }
        times_upper(&self.scaled, &self.factors, &mut self.spread);
        let mut sums = vec![1.0; m.inputs.len()];
        for i in 0..n {
            let column = self.spread.col_as_slice(i);
            sums.iter_mut().zip(column).for_each(|(sum, a)| *sum += a * a);
        }
        let all = sums.iter().zip(&m.inputs).zip(&point.inputs);
        all.map(|((sum, lambda), xi)| xi * xi + barrier * sum / lambda).collect()
    }

    /// What `P⁻¹` says of `η` and `z` of each neuron.
    fn cross_moments(
        &self,
        relaxation: &QuadraticRelaxation,
        m: &SquareMultipliers,
        inverse: &Mat<f64>,
    ) -> Vec<f64> {
        let n = relaxation.len();
        let mut sums = vec![0.0; n];
        for k in 0..n {
            let (inverse, products) = (inverse.col_as_slice(k), self.products.col_as_slice(k));
            sums[k] += 0.5 * inverse[k] * m.products[k] * products[k];
            for i in k + 1..n {
                let both = 0.5 * inverse[i] * products[i];
                sums[i] += both * m.products[k] + inverse[i] * relaxation.neurons[(k, i)];
                sums[k] += both * m.products[i];
            }
        }
        sums
    }
}

/// The product with a symmetric matrix of which the lower half is there.
fn symmetric_product(lower: &Mat<f64>, by: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; by.len()];
    for k in 0..by.len() {
        let column = lower.col_as_slice(k);
        out[k] += column[k] * by[k];
        for i in k + 1..by.len() {
            out[i] += column[i] * by[k];
            out[k] += column[i] * by[i];
        }
    }
    out
}
