//! Networks as lists of the file's own operations: written as ONNX, and worked out in rational numbers.

use rand::{Rng, RngExt};

use crate::numbers::{Exact, Scale, exact, relu, square_root, weight};
use crate::onnx_file::{Attribute, OnnxFile};

/// One operation of a file.
#[derive(Clone, Debug)]
pub enum Operation {
    /// `x · W`, weights by input, then by output.
    MatMul {
        /// By input, then by output.
        weights: Vec<f32>,
        /// How many.
        outputs: usize,
    },
    /// `alpha · x · W + beta · c`; the weights may be stored by output.
    Gemm {
        /// By input, then by output.
        weights: Vec<f32>,
        /// One for each output.
        bias: Vec<f32>,
        /// The factors.
        alpha_beta: [f32; 2],
        /// Whether the file stores them by output.
        transposed: bool,
    },
    /// Times a number each.
    Mul(Vec<f32>),
    /// Divided by a number each.
    Div(Vec<f32>),
    /// Plus a number each.
    Add(Vec<f32>),
    /// Scale, bias, mean, variance of each.
    BatchNorm([Vec<f32>; 4]),
    /// The larger of each and 0.
    Relu,
}

/// Epsilon of every BatchNormalization.
const EPSILON: f32 = 1e-5;

/// A network.
#[derive(Clone, Debug)]
pub struct HuntedNetwork {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of logits.
    pub outputs: usize,
    /// In the order of the file.
    pub operations: Vec<Operation>,
}

impl HuntedNetwork {
    /// A network with this many inputs, logits and hidden neurons.
    pub fn draw(rng: &mut impl Rng, inputs: usize, outputs: usize, hidden: &[usize]) -> Self {
        let mut operations = Vec::new();
        let mut width = inputs;
        if rng.random_bool(0.3) {
            let numbers = (0..width).map(|_| rng.random_range(0.2..2.0)).collect();
            operations.push(if rng.random_bool(0.5) {
                Operation::Div(numbers)
            } else {
                Operation::Mul(numbers)
            });
        }
        for &next in hidden {
            affine(rng, &mut operations, width, next);
            operations.push(Operation::Relu);
            width = next;
        }
        affine(rng, &mut operations, width, outputs);
        Self { inputs, outputs, operations }
    }

    /// Products of two numbers in one run.
    pub fn products(&self) -> usize {
        let of = |operation: &Operation| match operation {
            Operation::MatMul { weights, .. } | Operation::Gemm { weights, .. } => weights.len(),
            _ => 0,
        };
        self.operations.iter().map(of).sum()
    }

    /// The file.
    pub fn onnx(&self) -> Vec<u8> {
        let mut file = OnnxFile::new();
        let mut width = self.inputs;
        let mut at = "x".to_owned();
        for (k, operation) in self.operations.iter().enumerate() {
            let last = k + 1 == self.operations.len();
            let next = if last { "y".to_owned() } else { format!("value{k}") };
            width = operation.write(&mut file, k, width, [&at, &next]);
            at = next;
        }
        file.bytes(&[1, self.inputs as i64])
    }

    /// The logits, exactly.
    pub fn logits(&self, x: &[f32]) -> Vec<Exact> {
        let start: Vec<Exact> = x.iter().map(|&x| exact(x.into())).collect();
        self.operations.iter().fold(start, |values, operation| operation.apply(&values))
    }
}

/// One affine map, in one step or in several that fold.
fn affine(rng: &mut impl Rng, operations: &mut Vec<Operation>, from: usize, to: usize) {
    let scale = Scale::draw(rng);
    let back = Scale(1.0 / scale.0);
    let draw = |count: usize, scale: Scale, rng: &mut dyn Rng| -> Vec<f32> {
        (0..count).map(|_| weight(rng, scale)).collect()
    };
    match rng.random_range(0..6) {
        0 => {
            // Through another width, and back in scale: folding has to cancel.
            let between = rng.random_range(1..=from.max(2));
            operations.push(Operation::MatMul {
                weights: draw(from * between, scale, rng),
                outputs: between,
            });
            operations
                .push(Operation::MatMul { weights: draw(between * to, back, rng), outputs: to });
        }
        1 => {
            operations
                .push(Operation::MatMul { weights: draw(from * to, scale, rng), outputs: to });
            operations.push(Operation::Mul(vec![back.0; to]));
            operations.push(Operation::Add(draw(to, Scale(1.0), rng)));
        }
        2 => {
            operations
                .push(Operation::MatMul { weights: draw(from * to, Scale(1.0), rng), outputs: to });
            let mut positive = |least: f32| -> Vec<f32> {
                (0..to).map(|_| rng.random_range(least..2.0)).collect()
            };
            let [variance, mean, bias, factor] = [0.0, -1.0, -1.0, -2.0].map(&mut positive);
            operations.push(Operation::BatchNorm([factor, bias, mean, variance]));
        }
        _ => {
            let (weights, bias) = (draw(from * to, Scale(1.0), rng), draw(to, Scale(1.0), rng));
            let alpha_beta = match rng.random_range(0..3) {
                0 => [rng.random_range(0.1..2.0), rng.random_range(0.1..2.0)],
                _ => [1.0, 1.0],
            };
            operations.push(Operation::Gemm {
                weights,
                bias,
                alpha_beta,
                transposed: rng.random_bool(0.5),
            });
        }
    }
    // Duplicates and dead neurons.
    if rng.random_bool(0.2) {
        operations.push(Operation::Add(vec![
            *[0.0, -1e3]
                .get(rng.random_range(0..2))
                .unwrap_or(&0.0);
            to
        ]));
    }
}

impl Operation {
    /// Adds it to the file; gives the width behind it.
    fn write(&self, file: &mut OnnxFile, k: usize, width: usize, [from, to]: [&str; 2]) -> usize {
        let name = |what: &str| format!("{what}{k}");
        let length = width as i64;
        match self {
            Self::MatMul { weights, outputs } => {
                file.floats(&name("W"), &[length, *outputs as i64], weights);
                file.node("MatMul", &[from, &name("W")], to);
                *outputs
            }
            Self::Gemm { weights, bias, alpha_beta: [alpha, beta], transposed } => {
                let outputs = bias.len();
                if *transposed {
                    let stored: Vec<f32> = (0..weights.len())
                        .map(|i| weights[(i % width) * outputs + i / width])
                        .collect();
                    file.floats(&name("W"), &[outputs as i64, length], &stored);
                } else {
                    file.floats(&name("W"), &[length, outputs as i64], weights);
                }
                file.floats(&name("c"), &[outputs as i64], bias);
                let attributes = [
                    Attribute::Float("alpha", *alpha),
                    Attribute::Float("beta", *beta),
                    Attribute::Int("transB", i64::from(*transposed)),
                ];
                file.node_with("Gemm", &[from, &name("W"), &name("c")], to, &attributes);
                outputs
            }
            Self::Mul(numbers) | Self::Div(numbers) | Self::Add(numbers) => {
                let op = match self {
                    Self::Mul(_) => "Mul",
                    Self::Div(_) => "Div",
                    _ => "Add",
                };
                file.floats(&name("k"), &[length], numbers).node(op, &[from, &name("k")], to);
                width
            }
            Self::BatchNorm(numbers) => {
                let names = ["s", "b", "m", "v"].map(name);
                for (name, numbers) in names.iter().zip(numbers) {
                    file.floats(name, &[length], numbers);
                }
                let [s, b, m, v] = &names;
                let epsilon = [Attribute::Float("epsilon", EPSILON)];
                file.node_with("BatchNormalization", &[from, s, b, m, v], to, &epsilon);
                width
            }
            Self::Relu => {
                file.node("Relu", &[from], to);
                width
            }
        }
    }

    fn apply(&self, x: &[Exact]) -> Vec<Exact> {
        let each = |numbers: &[f32], f: fn(&Exact, &Exact) -> Exact| -> Vec<Exact> {
            x.iter().zip(numbers).map(|(x, &number)| f(x, &exact(number.into()))).collect()
        };
        match self {
            Self::MatMul { weights, outputs } => product(x, weights, *outputs),
            Self::Gemm { weights, bias, alpha_beta, .. } => {
                let [alpha, beta] = alpha_beta.map(|v| exact(v.into()));
                let product = product(x, weights, bias.len());
                let sum = |(v, &c): (Exact, &f32)| &v * &alpha + &(&exact(c.into()) * &beta);
                product.into_iter().zip(bias).map(sum).collect()
            }
            Self::Mul(numbers) => each(numbers, |x, c| x * c),
            Self::Div(numbers) => each(numbers, |x, c| x.over(c)),
            Self::Add(numbers) => each(numbers, |x, c| x.clone() + c),
            Self::BatchNorm([scale, bias, mean, variance]) => {
                let one = |(i, x): (usize, &Exact)| {
                    let of = |numbers: &[f32]| exact(numbers[i].into());
                    let deviation = square_root(&(of(variance) + &exact(EPSILON.into())));
                    let scaled = &of(scale) * &(x.clone() - &of(mean));
                    scaled.over(&deviation) + &of(bias)
                };
                x.iter().enumerate().map(one).collect()
            }
            Self::Relu => x.iter().cloned().map(relu).collect(),
        }
    }
}

fn product(x: &[Exact], weights: &[f32], outputs: usize) -> Vec<Exact> {
    let column = |j: usize| {
        x.iter().enumerate().fold(Exact::zero(), |sum, (i, x)| {
            let weight = weights[i * outputs + j];
            if weight == 0.0 { sum } else { sum + &(x * &exact(weight.into())) }
        })
    };
    (0..outputs).map(column).collect()
}
