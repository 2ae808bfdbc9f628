//! Affine operations of a file, what they are off by in f32, and functions pulled back through them.

use crate::number::{Number, gamma};

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

/// An affine operation of a vector.
#[derive(Clone, Debug)]
pub enum Step<T> {
    /// A matrix, one row of `inputs` weights for each output.
    Dense { weights: Vec<T>, inputs: usize },
    /// One factor for each value.
    Scale(Vec<T>),
    /// One number to add to each value.
    Shift(Vec<T>),
}

/// A file's operations: layers of affine ones, with a ReLU between two layers.
#[derive(Clone, Debug)]
pub struct Chain {
    pub inputs: usize,
    pub layers: Vec<Vec<Step<Uncertain>>>,
}

impl Chain {
    /// No operation yet.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, layers: vec![Vec::new()] }
    }

    pub fn push(&mut self, step: Step<Uncertain>) {
        self.layers.last_mut().expect("there is a layer").push(step);
    }

    pub fn relu(&mut self) {
        self.layers.push(Vec::new());
    }
}

/// An operation with numbers of one kind.
#[derive(Clone, Debug)]
pub struct Affine<N> {
    step: Step<N>,
    /// The magnitudes of a matrix's weights.
    magnitudes: Vec<N>,
    /// How far factors or summands may be off.
    off: Vec<N>,
    arithmetic: Arithmetic,
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
    pub fn new(step: &Step<Uncertain>, inputs: usize, arithmetic: Arithmetic) -> Self {
        let values = |all: &[Uncertain]| all.iter().map(|u| N::of(u.value)).collect::<Vec<N>>();
        let off = |u: &Uncertain| {
            if arithmetic == Arithmetic::F32 { u.f32.max(u.exact) } else { u.exact }
        };
        let offs = |all: &[Uncertain]| all.iter().map(|u| N::of(off(u))).collect();
        let (step, off, outputs) = match step {
            Step::Dense { weights, inputs } => {
                let outputs = weights.len() / inputs;
                (Step::Dense { weights: values(weights), inputs: *inputs }, Vec::new(), outputs)
            }
            Step::Scale(factors) => (Step::Scale(values(factors)), offs(factors), inputs),
            Step::Shift(by) => (Step::Shift(values(by)), offs(by), inputs),
        };
        let magnitudes = match &step {
            Step::Dense { weights, .. } => weights.iter().map(N::magnitude).collect(),
            _ => Vec::new(),
        };
        Self { step, magnitudes, off, arithmetic, outputs }
    }

    /// The magnitudes of its weights, by rows of so many, if it is a matrix.
    pub fn magnitudes(&self) -> Option<(&[N], usize)> {
        match &self.step {
            Step::Dense { inputs, .. } => Some((&self.magnitudes, *inputs)),
            _ => None,
        }
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
            let (sum, own, operations) = match &self.step {
                Step::Dense { inputs: many, .. } => {
                    let row = &self.magnitudes[j * many..][..*many];
                    let sum = sums.map_or_else(|| N::sum_up(row, inputs), |sums| sums[j].clone());
                    (sum, N::zero(), *many)
                }
                Step::Scale(factors) => {
                    let own = self.off[j].mul_up(&inputs[j]);
                    (factors[j].magnitude().mul_up(&inputs[j]).add_up(&own), own, 1)
                }
                Step::Shift(by) => {
                    let own = self.off[j].clone();
                    (inputs[j].add_up(&by[j].magnitude()).add_up(&own), own, 1)
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
        match &self.step {
            Step::Dense { inputs: many, .. } => {
                let rows = self.magnitudes.chunks(*many).map(|row| row.iter().map(at_least_one));
                (rows.map(|row| N::sum_up(&row.collect::<Vec<_>>(), inputs)).collect(), *many + 1)
            }
            Step::Scale(factors) => {
                let factor = |j: usize| at_least_one(&factors[j]).add_up(&self.off[j]);
                let reach = |j: usize| factor(j).mul_up(&inputs[j]).add_up(&one);
                ((0..self.outputs).map(reach).collect(), 3)
            }
            Step::Shift(by) => {
                let more = |j: usize| at_least_one(&by[j]).add_up(&self.off[j]);
                ((0..self.outputs).map(|j| inputs[j].add_up(&more(j))).collect(), 3)
            }
        }
    }

    /// How far results may be apart if inputs are so far apart.
    pub fn spread(&self, inputs: &[N]) -> Vec<N> {
        match &self.step {
            Step::Dense { inputs: many, .. } => {
                self.magnitudes.chunks(*many).map(|row| N::sum_up(row, inputs)).collect()
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
        let gamma = N::of(N::gamma(self.outputs + 1).min(HUGE));
        let each = |j: usize| off[j].add_up(&gamma.mul_up(&magnitudes[j]));
        let ones = vec![N::of(N::TINY * (self.outputs as f64 + 1.0)); inputs.len()];
        StepErrors { each: (0..self.outputs).map(each).collect(), always: N::sum_up(inputs, &ones) }
    }

    /// Functions of its results, one row of coefficients each, become functions of its inputs that are not below them.
    pub fn pull_back(&self, errors: &StepErrors<N>, rows: Vec<N>, constants: &mut [N]) -> Vec<N> {
        for (constant, row) in constants.iter_mut().zip(rows.chunks(self.outputs)) {
            *constant = constant.add_up(&errors.always);
            for (q, error) in row.iter().zip(&errors.each) {
                if *q != N::zero() {
                    *constant = constant.add_up(&q.magnitude().mul_up(error));
                }
            }
        }
        match &self.step {
            Step::Dense { weights, inputs } => {
                let mut below = vec![N::zero(); constants.len() * inputs];
                N::add_product(&mut below, &rows, weights, self.outputs, *inputs);
                below
            }
            Step::Scale(factors) => {
                let factors = factors.iter().cycle();
                rows.iter().zip(factors).map(|(q, factor)| q.mul(factor)).collect()
            }
            Step::Shift(by) => {
                for (constant, row) in constants.iter_mut().zip(rows.chunks(self.outputs)) {
                    for (q, by) in row.iter().zip(by).filter(|(q, _)| **q != N::zero()) {
                        *constant = constant.add_up(&q.mul_up(by));
                    }
                }
                rows
            }
        }
    }
}
