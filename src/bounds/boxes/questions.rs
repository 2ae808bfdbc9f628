//! What is asked about a box: any of several conjunctions of rows.

use std::ops::Range;
use std::sync::Arc;

use super::network::PaddedNetwork;
use super::push_back::Functions;
use super::state::Boxes;
use crate::problem::{Conjunction, Objective};

/// Conjunctions of linear functions of the outputs. The value of one is that of its smallest row.
#[derive(Clone, Debug)]
pub struct BoxQuestions {
    rows: Vec<Objective>,
    /// The rows of each question.
    groups: Vec<Range<usize>>,
}

impl BoxQuestions {
    /// How large one function can be.
    pub fn objective(objective: &Objective) -> Self {
        let all = 0..1;
        Self { rows: vec![objective.clone()], groups: vec![all] }
    }

    /// How large the smallest row of each conjunction can be, with every constant as large as it may be meant.
    ///
    /// # Panics
    /// When a conjunction has no row.
    pub fn conjunctions<'c>(conjunctions: impl Iterator<Item = &'c Conjunction>) -> Self {
        let (mut rows, mut groups) = (Vec::new(), Vec::new());
        for conjunction in conjunctions {
            assert!(!conjunction.all_of.is_empty(), "a conjunction of rows");
            let begin = rows.len();
            rows.extend(conjunction.all_of.iter().map(|row| {
                let Objective { weights, constant } = row.objective.clone();
                let constant =
                    if row.slack > 0.0 { (constant + row.slack).next_up() } else { constant };
                Objective { weights, constant }
            }));
            groups.push(begin..rows.len());
        }
        Self { rows, groups }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The largest value of a question at these outputs: negative where none holds.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        let row = |row: &Objective| row.value(outputs);
        let value = |rows: &Range<usize>| {
            self.rows[rows.clone()].iter().map(row).fold(f64::INFINITY, f64::min)
        };
        self.groups.iter().map(value).fold(f64::NEG_INFINITY, f64::max)
    }

    /// All numbers, to tell questions apart.
    pub(super) fn numbers(&self) -> Arc<[f64]> {
        let row = |row: &Objective| row.weights.iter().copied().chain([row.constant]).collect();
        let rows: Vec<Vec<f64>> = self.rows.iter().map(row).collect();
        let sizes = self.groups.iter().map(|rows| rows.len() as f64);
        rows.into_iter().flatten().chain(sizes).collect()
    }
}

/// The rows as functions of the last hidden layer's outputs.
#[derive(Clone)]
pub(super) struct PaddedRows {
    questions: BoxQuestions,
    /// One column per row.
    coefficients: Vec<f64>,
}

impl PaddedRows {
    pub fn new(padded: &PaddedNetwork, questions: BoxQuestions) -> Self {
        let output = padded.layers.last().expect("a network has an output");
        let (outputs, width) = (output.width, output.padded());
        let mut weights = vec![0.0; width * questions.rows.len()];
        for (column, row) in weights.chunks_exact_mut(width).zip(&questions.rows) {
            column[..outputs].copy_from_slice(&row.weights);
        }
        let mut coefficients = vec![0.0; output.weights.inputs() * questions.rows.len()];
        output.weights.multiply_transposed(&weights, &mut coefficients);
        Self { questions, coefficients }
    }

    pub fn questions(&self) -> &BoxQuestions {
        &self.questions
    }

    /// The rows of a question.
    pub fn rows(&self, question: usize) -> Range<usize> {
        self.questions.groups[question].clone()
    }

    /// Adds rows of a box, each times its weight, to functions of the last hidden layer's outputs. The sums are rounded: the magnitudes
    /// allow for that, since an output is at most as large as what is added up for it.
    pub fn push(
        &self,
        network: &PaddedNetwork,
        boxes: &Boxes,
        node: usize,
        rows: impl Iterator<Item = (usize, f64)>,
        functions: &mut Functions,
    ) {
        let output = network.layers.last().expect("a network has an output");
        let (width, inputs) = (output.padded(), output.weights.inputs());
        let begin = functions.coefficients.len();
        functions.coefficients.resize(begin + inputs, 0.0);
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for (row, weight) in rows.filter(|(_, weight)| *weight > 0.0) {
            let Objective { weights, constant } = &self.questions.rows[row];
            sum += weight * constant;
            magnitude += weight * constant.abs();
            for (r, o) in weights.iter().enumerate().filter(|(_, o)| **o != 0.0) {
                let at = node * width + r;
                sum += weight * (o * output.bias[r] + o.abs() * boxes.outputs.noise[at]);
                magnitude += weight * o.abs() * boxes.outputs.size[at];
            }
            let of_row = &self.coefficients[row * inputs..(row + 1) * inputs];
            let coefficients = functions.coefficients[begin..].iter_mut().zip(of_row);
            coefficients.for_each(|(sum, coefficient)| *sum += weight * coefficient);
        }
        functions.nodes.push(node);
        functions.constants.push(sum);
        functions.sizes.push(magnitude);
    }
}
