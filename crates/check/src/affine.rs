//! Affine operations of a file, what they are off by in f32, and functions pulled back through them.

use crate::number::{Number, gamma};
use crate::relax::Interval;

/// Whose results are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// The function that the file defines, over the real numbers.
    Exact,
    /// The file run in f32: each operation rounds, sums are in any order, fused or not, and numbers below 2⁻¹²⁶ may become 0.
    F32,
}

/// Unit roundoff of f32, and its smallest normal number: what is smaller may be flushed to 0.
const F32_ROUNDOFF: f64 = 1.0 / (1u64 << 24) as f64;
pub const FLUSHED: f64 = f32::MIN_POSITIVE as f64;

/// Where the theorem on rounding says nothing, errors are taken to be so many times the magnitudes.
const HUGE: f64 = 1e30;

/// Magnitudes from here on may overflow f32.
pub const OVERFLOW: f64 = f32::MAX as f64 / 4.0;

/// A number that is known up to a rounding: the file's own number is at most `exact` away, the one that an f32 run uses at most `f32`.
#[derive(Clone, Copy, Debug)]
pub struct Uncertain {
    value: f64,
    exact: f64,
    f32: f64,
}

impl Uncertain {
    /// A number of the file.
    pub fn exact(value: f64) -> Self {
        Self { value, exact: 0.0, f32: 0.0 }
    }

    /// A number that is exact in f64, and that an f32 run rounds once.
    pub fn of_f32(value: f64) -> Self {
        Self { value, exact: 0.0, f32: value.abs() * F32_ROUNDOFF + FLUSHED }
    }

    /// `1 / x`. An f32 run may multiply by its rounded value.
    pub fn inverse(x: f64) -> Self {
        let power_of_two = x.to_bits() & ((1 << 52) - 1) == 0;
        let value = 1.0 / x;
        if power_of_two { Self::of_f32(value) } else { Self::rounded(value, value.abs()) }
    }

    /// A result of at most eight operations whose results add up to `magnitude`.
    pub fn rounded(value: f64, magnitude: f64) -> Self {
        let off = |roundoff: f64, tiny: f64| 16.0 * (magnitude * roundoff + tiny);
        Self { value, exact: off(f64::EPSILON, f64::MIN_POSITIVE), f32: off(F32_ROUNDOFF, FLUSHED) }
    }
}

/// A matrix by rows, one for each output.
#[derive(Clone, Debug)]
pub struct Matrix<T> {
    pub inputs: usize,
    pub outputs: usize,
    /// The weights of all rows.
    weights: Vec<T>,
    /// Where rows begin in it, and the inputs of its weights, if rows do not have all of them.
    sparse: Option<(Vec<usize>, Vec<usize>)>,
}

impl<T: Clone> Matrix<T> {
    /// All weights, row by row.
    pub fn dense(weights: Vec<T>, inputs: usize) -> Self {
        Self { inputs, outputs: weights.len() / inputs, weights, sparse: None }
    }

    /// Rows of some inputs with their weights.
    pub fn sparse(inputs: usize, rows: &[Vec<(usize, T)>]) -> Self {
        let starts = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        let starts = [0].into_iter().chain(starts).collect();
        let (columns, weights) = rows.iter().flatten().cloned().unzip();
        Self { inputs, outputs: rows.len(), weights, sparse: Some((starts, columns)) }
    }

    fn map<U>(&self, of: impl Fn(&T) -> U) -> Matrix<U> {
        let Self { inputs, outputs, weights, sparse } = self;
        let weights = weights.iter().map(of).collect();
        Matrix { inputs: *inputs, outputs: *outputs, weights, sparse: sparse.clone() }
    }

    /// The inputs of a row's weights, if they are not all of them, and the weights.
    fn row(&self, j: usize) -> (Option<&[usize]>, &[T]) {
        match &self.sparse {
            None => (None, &self.weights[j * self.inputs..][..self.inputs]),
            Some((starts, columns)) => {
                let here = starts[j]..starts[j + 1];
                (Some(&columns[here.clone()]), &self.weights[here])
            }
        }
    }

    /// The inputs of a row and their weights.
    pub fn terms(&self, j: usize) -> impl Iterator<Item = (usize, &T)> {
        let (columns, weights) = self.row(j);
        weights.iter().enumerate().map(move |(k, w)| (columns.map_or(k, |columns| columns[k]), w))
    }
}

impl<N: Number> Matrix<N> {
    /// At least `Σ weight · value` of a row, where nothing is negative.
    pub fn sum_up(&self, j: usize, values: &[N]) -> N {
        match self.row(j) {
            (None, row) => N::sum_up(row, values),
            (Some(columns), row) => {
                let values: Vec<N> = columns.iter().map(|&i| values[i].clone()).collect();
                N::sum_up(row, &values)
            }
        }
    }

    /// At most and at least `Σ weight · value` of a row, where values are within intervals, and have at most these magnitudes.
    fn range(&self, j: usize, inputs: &[Interval<N>], largest: &[N]) -> (N, N) {
        let (columns, row) = self.row(j);
        let (mut lower, mut upper, mut size) = (N::zero(), N::zero(), N::zero());
        for (k, weight) in row.iter().enumerate() {
            let i = columns.map_or(k, |columns| columns[k]);
            let Interval { lower: low, upper: high } = &inputs[i];
            let (low, high) = if *weight < N::zero() { (high, low) } else { (low, high) };
            lower = lower.add(&weight.mul(low));
            upper = upper.add(&weight.mul(high));
            size = size.add(&weight.magnitude().mul(&largest[i]));
        }
        // All three are rounded to nearest.
        let gamma = N::of(N::gamma(2 * row.len() + 2).min(HUGE));
        let size = size.add_up(&size.mul_up(&gamma));
        let off = size.mul_up(&gamma).add_up(&N::of(N::TINY * (row.len() as f64 + 1.0)));
        (lower.sub_down(&off), upper.add_up(&off))
    }

    /// Functions of its results become functions of its inputs.
    fn pull_back(&self, rows: &[N], count: usize) -> Vec<N> {
        let mut below = vec![N::zero(); count * self.inputs];
        if self.sparse.is_none() {
            N::add_product(&mut below, rows, &self.weights, self.outputs, self.inputs);
            return below;
        }
        for (below, row) in below.chunks_mut(self.inputs).zip(rows.chunks(self.outputs)) {
            for (j, q) in row.iter().enumerate().filter(|(_, q)| **q != N::zero()) {
                let (columns, weights) = self.row(j);
                for (&i, weight) in columns.unwrap_or_default().iter().zip(weights) {
                    below[i] = below[i].add(&q.mul(weight));
                }
            }
        }
        below
    }
}

/// An affine operation of a vector.
#[derive(Clone, Debug)]
pub enum Step<T> {
    Matrix(Matrix<T>),
    /// One factor for each value.
    Scale(Vec<T>),
    /// One number to add to each value.
    Shift(Vec<T>),
}

impl Step<Uncertain> {
    /// How many results it has, of so many inputs.
    pub fn outputs(&self, inputs: usize) -> usize {
        if let Self::Matrix(matrix) = self { matrix.outputs } else { inputs }
    }

    /// The inputs that a result is made of. A weight of 0 is no term.
    pub fn terms(&self, row: usize) -> impl Iterator<Item = usize> {
        self.weighted(row).filter(|(_, weight)| *weight != 0.0).map(|(at, _)| at)
    }

    /// The same with those of weight 0.
    pub fn inputs(&self, row: usize) -> impl Iterator<Item = usize> {
        self.weighted(row).map(|(at, _)| at)
    }

    fn weighted(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let (matrix, own) = match self {
            Self::Matrix(matrix) => (Some(matrix), None),
            Self::Scale(_) | Self::Shift(_) => (None, Some((row, 1.0))),
        };
        let terms = matrix.into_iter().flat_map(move |matrix| matrix.terms(row));
        terms.map(|(at, weight)| (at, weight.value)).chain(own)
    }

    /// Some of the results, made of those inputs that are known, which are given, too. None but those with weight 0 are missing.
    pub fn part(&self, rows: &[usize], is_known: &[bool]) -> (Self, Vec<usize>) {
        let pick = |list: &[Uncertain]| rows.iter().map(|&row| list[row]).collect();
        match self {
            Self::Scale(factors) => (Self::Scale(pick(factors)), rows.to_vec()),
            Self::Shift(by) => (Self::Shift(pick(by)), rows.to_vec()),
            Self::Matrix(matrix) => {
                let used: Vec<usize> = (0..matrix.inputs).filter(|&at| is_known[at]).collect();
                let mut place = vec![0; matrix.inputs];
                used.iter().enumerate().for_each(|(k, &at)| place[at] = k);
                let part = |&j: &usize| -> Vec<(usize, Uncertain)> {
                    let terms = matrix.terms(j).filter(|(at, _)| is_known[*at]);
                    terms.map(|(at, weight)| (place[at], *weight)).collect()
                };
                let rows: Vec<_> = rows.iter().map(part).collect();
                (Self::Matrix(Matrix::sparse(used.len(), &rows)), used)
            }
        }
    }
}

/// An operation with numbers of one kind.
#[derive(Clone, Debug)]
pub struct Affine<N> {
    step: Step<N>,
    /// A matrix with the magnitudes of its weights.
    magnitudes: Option<Matrix<N>>,
    /// How far factors or summands may be off.
    off: Vec<N>,
    /// Additions that a summand may go through: those of the sum before it, too, if a run begins with it.
    additions: usize,
    arithmetic: Arithmetic,
    /// Roundings of what comes back to an input, beside those of the products.
    pub uses: usize,
    pub outputs: usize,
}

/// What is lost where functions are pulled back through an operation: `each` for every unit of a result's coefficient, and `always`.
#[derive(Clone, Debug)]
pub struct StepErrors<N> {
    each: Vec<N>,
    always: N,
}

/// The largest magnitudes of an operation's results, and how far an f32 run or uncertain numbers may be off.
pub struct Results<N> {
    pub magnitudes: Vec<N>,
    pub off: Vec<N>,
}

impl<N: Number> Affine<N> {
    /// `before` is the number of terms of the sums that its inputs are, if they are any.
    pub fn new(
        step: &Step<Uncertain>,
        inputs: usize,
        before: usize,
        arithmetic: Arithmetic,
    ) -> Self {
        let values = |all: &[Uncertain]| all.iter().map(|u| N::of(u.value)).collect::<Vec<N>>();
        let off = |u: &Uncertain| {
            if arithmetic == Arithmetic::F32 { u.f32.max(u.exact) } else { u.exact }
        };
        let offs = |all: &[Uncertain]| all.iter().map(|u| N::of(off(u))).collect();
        let (step, off, outputs) = match step {
            Step::Matrix(matrix) => {
                (Step::Matrix(matrix.map(|u| N::of(u.value))), Vec::new(), matrix.outputs)
            }
            Step::Scale(factors) => (Step::Scale(values(factors)), offs(factors), inputs),
            Step::Shift(by) => (Step::Shift(values(by)), offs(by), inputs),
        };
        let magnitudes = match &step {
            Step::Matrix(matrix) => Some(matrix.map(N::magnitude)),
            _ => None,
        };
        Self { step, magnitudes, off, additions: before + 1, arithmetic, uses: 0, outputs }
    }

    /// The number of terms of its sums, if it has any: `before`, if they are those of an earlier operation.
    pub fn terms(&self, before: usize) -> usize {
        let Some(matrix) = &self.magnitudes else { return before };
        (0..self.outputs).map(|j| matrix.row(j).1.len()).max().unwrap_or(0)
    }

    /// The magnitudes of its weights, if it is a matrix.
    pub fn magnitudes(&self) -> Option<&Matrix<N>> {
        self.magnitudes.as_ref()
    }

    /// Whether nothing is rounded and no number is uncertain.
    pub fn is_exact(&self) -> bool {
        self.arithmetic == Arithmetic::Exact && self.off.iter().all(|off| *off == N::zero())
    }

    /// What its results may be, and be off by, if the inputs have at most these magnitudes. `sums` gives the sum of magnitudes of a row's products,
    /// where that is known better than from the magnitudes. Without `noise` the operation is taken for exact.
    pub fn results(&self, inputs: &[N], sums: Option<&[N]>, noise: bool) -> Results<N> {
        let (mut magnitudes, mut off) = (Vec::new(), Vec::new());
        for j in 0..self.outputs {
            // The sum of magnitudes, what may be off before rounding, and the number of operations.
            let (sum, own, operations) = match (&self.step, &self.magnitudes) {
                (Step::Matrix(_), matrix) => {
                    let matrix = matrix.as_ref().expect("made of the matrix");
                    let sum = sums.map_or_else(|| matrix.sum_up(j, inputs), |sums| sums[j].clone());
                    // A value that is only moved is not rounded.
                    let many = matrix.row(j).1.len();
                    (sum, N::zero(), if self.moved(j).is_some() { 0 } else { many })
                }
                (Step::Scale(factors), _) => {
                    let own = self.off[j].mul_up(&inputs[j]);
                    (factors[j].magnitude().mul_up(&inputs[j]).add_up(&own), own, 1)
                }
                (Step::Shift(by), _) => {
                    let by = by[j].magnitude();
                    let mut own = self.off[j].clone();
                    if self.arithmetic == Arithmetic::F32 {
                        let gamma = gamma(self.additions, F32_ROUNDOFF).min(HUGE);
                        own = own.add_up(&by.mul_up(&N::of(gamma)));
                    }
                    (inputs[j].add_up(&by).add_up(&own), own, 1)
                }
            };
            let mut own = if noise { own } else { N::zero() };
            if noise && self.arithmetic == Arithmetic::F32 {
                let gamma = gamma(operations, F32_ROUNDOFF).min(HUGE);
                own = own.add_up(&sum.mul_up(&N::of(gamma)));
            }
            magnitudes.push(sum.add_up(&own));
            off.push(own);
        }
        Results { magnitudes, off }
    }

    /// At least the magnitude of whatever an f32 run may compute on the way to each result, whichever of its constants it multiplies first, if
    /// the same is known of its inputs; and the number of operations. Factors below 1 count as 1.
    pub fn reach(&self, inputs: &[N]) -> (Vec<N>, usize) {
        let (one, at_least_one) = (N::of(1.0), |x: &N| x.magnitude().larger(&N::of(1.0)));
        let operations = |many| if self.arithmetic == Arithmetic::Exact { 0 } else { many };
        match &self.step {
            Step::Matrix(matrix) => {
                let most = (0..self.outputs).map(|j| matrix.row(j).1.len()).max().unwrap_or(0);
                let reach = |j: usize| {
                    let (columns, row) = matrix.row(j);
                    let input = |k: usize| &inputs[columns.map_or(k, |columns| columns[k])];
                    let terms = row.iter().enumerate();
                    let sum = terms
                        .fold(N::zero(), |sum, (k, w)| sum.add(&at_least_one(w).mul(input(k))));
                    // Rounded to nearest, and everything is positive.
                    let more = sum.mul_up(&N::of(N::gamma(2 * row.len() + 2).min(HUGE)));
                    sum.add_up(&more)
                };
                ((0..self.outputs).map(reach).collect(), operations(most + 1))
            }
            Step::Scale(factors) => {
                let factor = |j: usize| at_least_one(&factors[j]).add_up(&self.off[j]);
                let reach = |j: usize| factor(j).mul_up(&inputs[j]).add_up(&one);
                ((0..self.outputs).map(reach).collect(), operations(3))
            }
            Step::Shift(by) => {
                let more = |j: usize| at_least_one(&by[j]).add_up(&self.off[j]);
                ((0..self.outputs).map(|j| inputs[j].add_up(&more(j))).collect(), operations(3))
            }
        }
    }

    /// The only input that a result depends on, and the magnitude of its factor.
    pub fn only_input(&self, j: usize) -> Option<(usize, N)> {
        match &self.step {
            Step::Matrix(matrix) => match matrix.row(j) {
                (Some([input]), [weight]) => Some((*input, weight.magnitude())),
                _ => None,
            },
            Step::Scale(factors) => Some((j, factors[j].magnitude().add_up(&self.off[j]))),
            Step::Shift(_) => Some((j, N::of(1.0))),
        }
    }

    /// The input that a result is, if it is one.
    pub fn moved(&self, j: usize) -> Option<usize> {
        match &self.step {
            Step::Matrix(matrix) => match matrix.row(j) {
                (Some([input]), [weight]) if *weight == N::of(1.0) => Some(*input),
                _ => None,
            },
            _ => None,
        }
    }

    /// How far results may be apart if inputs are so far apart.
    pub fn spread(&self, inputs: &[N]) -> Vec<N> {
        match &self.step {
            Step::Matrix(_) => {
                let sum_up = |j| self.magnitudes.as_ref().map(|matrix| matrix.sum_up(j, inputs));
                (0..self.outputs).filter_map(sum_up).collect()
            }
            Step::Scale(factors) => {
                let factor = |j: usize| factors[j].magnitude().add_up(&self.off[j]);
                (0..inputs.len()).map(|j| factor(j).mul_up(&inputs[j])).collect()
            }
            Step::Shift(_) => inputs.to_vec(),
        }
    }

    /// What is lost where functions of its results become functions of its inputs, whose magnitudes are given.
    pub fn errors(&self, inputs: &[N], Results { magnitudes, off }: &Results<N>) -> StepErrors<N> {
        let gamma = N::of(N::gamma(self.outputs + 1 + self.uses).min(HUGE));
        let each = |j: usize| off[j].add_up(&gamma.mul_up(&magnitudes[j]));
        let ones = vec![N::of(N::TINY * (self.outputs as f64 + 1.0)); inputs.len()];
        StepErrors { each: (0..self.outputs).map(each).collect(), always: N::sum_up(inputs, &ones) }
    }

    /// Functions of its results, one row of coefficients each, become functions of its inputs that are not below them.
    pub fn pull_back(&self, errors: &StepErrors<N>, rows: Vec<N>, constants: &mut [N]) -> Vec<N> {
        for (constant, row) in constants.iter_mut().zip(rows.chunks(self.outputs)) {
            let magnitudes: Vec<N> = row.iter().map(N::magnitude).collect();
            let lost = N::sum_up(&magnitudes, &errors.each).add_up(&errors.always);
            *constant = constant.add_up(&lost);
        }
        match &self.step {
            Step::Matrix(matrix) => matrix.pull_back(&rows, constants.len()),
            Step::Scale(factors) => {
                let factors = factors.iter().cycle();
                rows.iter().zip(factors).map(|(q, factor)| q.mul(factor)).collect()
            }
            Step::Shift(by) => {
                // Rounded to nearest: a sum of so many products is off by what the errors have for that already, unless it overflows. Then
                // it is no number, because a sum of -∞ would be rounded up to a finite one.
                for (constant, row) in constants.iter_mut().zip(rows.chunks(self.outputs)) {
                    let terms = row.iter().zip(by);
                    let sum = terms.fold(N::zero(), |sum, (q, by)| sum.add(&q.mul(by)));
                    let sum = if sum.is_finite() { sum } else { sum.add(&sum.negated()) };
                    *constant = constant.add_up(&sum);
                }
                rows
            }
        }
    }

    /// What its results may be, if its inputs are within intervals and [`Affine::errors`] are those of that.
    pub fn ranges(&self, errors: &StepErrors<N>, inputs: &[Interval<N>]) -> Vec<Interval<N>> {
        let largest: Vec<N> = inputs.iter().map(Interval::magnitude).collect();
        let range = |j: usize| {
            let (lower, upper) = match &self.step {
                Step::Matrix(matrix) => matrix.range(j, inputs, &largest),
                Step::Shift(by) => {
                    (inputs[j].lower.add_down(&by[j]), inputs[j].upper.add_up(&by[j]))
                }
                Step::Scale(factors) => {
                    let [a, b] = [&inputs[j].lower, &inputs[j].upper];
                    let (a, b) = if factors[j] < N::zero() { (b, a) } else { (a, b) };
                    (a.mul_down(&factors[j]), b.mul_up(&factors[j]))
                }
            };
            let off = errors.each[j].add_up(&errors.always);
            Interval { lower: lower.sub_down(&off), upper: upper.add_up(&off) }
        };
        (0..self.outputs).map(range).collect()
    }

    /// Whether it is a matrix that adds up several values.
    pub fn is_sum(&self) -> bool {
        let is_matrix = self.magnitudes.is_some();
        is_matrix && (0..self.outputs).any(|j| self.only_input(j).is_none() && !self.is_empty(j))
    }

    /// Whether a result is made of nothing.
    fn is_empty(&self, j: usize) -> bool {
        matches!(&self.step, Step::Matrix(matrix) if matrix.row(j).1.is_empty())
    }
}
