//! Tensors whose every element is an affine function of one layer's input.
//!
//! Between two ReLUs an ONNX graph moves, scales, adds and mixes numbers: all of it affine. Following
//! the graph with an [`AffineTensor`] in place of numbers folds any such chain into one matrix. Rows are
//! sparse, because until a dense layer mixes them each element depends on one input (layout), or a few (Conv).
//!
//! Coefficients are sums of products of the file's numbers in twice the precision of f64: see [`DoubleDouble`]. What an f32 run of the same
//! operations may be off by is followed along with them; `docs/certificates.md`, "Rounding", says how and why.

use super::double_double::DoubleDouble;
use crate::network::{AffineMap, LayerRounding};

/// One element: `constant + Σ coefficient · input[index]`.
#[derive(Clone, Debug)]
pub(super) struct AffineRow {
    /// `(index, coefficient)`, indices ascending and distinct.
    pub terms: Vec<(u32, DoubleDouble)>,
    pub constant: DoubleDouble,
    pub errors: RowErrors,
}

/// What the rounding errors of a row are proportional to, if the file's operations are carried out one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowErrors {
    /// Sum of the magnitudes that went into the coefficients; more than `Σ |coefficient|` where they cancelled.
    pub gain: f64,
    /// Sum of the magnitudes that went into the constant.
    pub offset: f64,
    /// The same as `gain` if every factor below 1 were 1: no intermediate result is larger, whatever is multiplied first.
    pub reach_gain: f64,
    /// The same for the constant.
    pub reach_offset: f64,
    /// Operations one after the other, at most, in whatever order sums are computed.
    pub operations: usize,
}

impl RowErrors {
    /// Of an input that nothing was done to.
    const INPUT: Self =
        Self { gain: 1.0, offset: 0.0, reach_gain: 1.0, reach_offset: 0.0, operations: 0 };

    /// Of nothing.
    const NONE: Self =
        Self { gain: 0.0, offset: 0.0, reach_gain: 0.0, reach_offset: 0.0, operations: 0 };

    /// All magnitudes times that of a factor; the operations stay.
    fn times(self, factor: f64) -> Self {
        let (factor, reach) = (factor.abs(), factor.abs().max(1.0));
        Self {
            gain: self.gain * factor,
            offset: self.offset * factor,
            reach_gain: self.reach_gain * reach,
            reach_offset: self.reach_offset * reach,
            operations: self.operations,
        }
    }

    fn shift(&mut self, by: f64) {
        self.offset += by.abs();
        self.reach_offset += by.abs().max(1.0);
    }
}

/// A factor and a shift, and what the file needs to work them out in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::onnx) struct FactorShift {
    pub factor: DoubleDouble,
    pub shift: DoubleDouble,
    /// At least the product of those numbers above 1 that make up the factor.
    pub factor_reach: f64,
    /// At least the magnitudes that add up to the shift.
    pub shift_offset: f64,
    /// The same if every factor below 1 were 1.
    pub shift_reach: f64,
    pub operations: usize,
}

impl FactorShift {
    /// By numbers of the file.
    pub fn plain(factor: f64, shift: f64) -> Self {
        Self {
            factor: factor.into(),
            shift: shift.into(),
            factor_reach: factor.abs().max(1.0),
            shift_offset: shift.abs(),
            shift_reach: shift.abs().max(1.0),
            operations: 2,
        }
    }

    /// A division by a number of the file.
    pub fn quotient(divisor: f64) -> Self {
        let factor = DoubleDouble::ONE.over(divisor.into());
        Self { factor, operations: 3, ..Self::plain(factor.to_f64(), 0.0) }
    }
}

impl AffineRow {
    /// The coefficients as f64.
    fn weights(&self) -> impl Iterator<Item = (u32, f64)> {
        self.terms.iter().map(|&(index, coefficient)| (index, coefficient.to_f64()))
    }

    pub fn scale_shift(&mut self, by: FactorShift) {
        for (_, coefficient) in &mut self.terms {
            *coefficient = coefficient.times(by.factor);
        }
        self.constant = self.constant.times(by.factor).plus(by.shift);
        let RowErrors { gain, offset, reach_gain, reach_offset, operations } = self.errors;
        let factor = by.factor.abs();
        self.errors = RowErrors {
            gain: gain * factor,
            offset: offset * factor + by.shift_offset,
            reach_gain: reach_gain * by.factor_reach,
            reach_offset: reach_offset * by.factor_reach + by.shift_reach,
            operations: operations + by.operations,
        };
    }
}

/// A tensor of [`AffineRow`]s, row-major.
#[derive(Clone, Debug)]
pub(super) struct AffineTensor {
    /// Number of ReLU layers before the layer whose input the rows refer to.
    pub stage: usize,
    /// Number of values in that input.
    pub inputs: usize,
    pub shape: Vec<usize>,
    pub rows: Vec<AffineRow>,
}

impl AffineTensor {
    /// Element `i` is input `i`.
    pub fn identity(stage: usize, shape: &[usize]) -> Self {
        let inputs: usize = shape.iter().product();
        let row = |i| AffineRow {
            terms: vec![(i as u32, DoubleDouble::ONE)],
            constant: DoubleDouble::default(),
            errors: RowErrors::INPUT,
        };
        Self { stage, inputs, shape: shape.to_vec(), rows: (0..inputs).map(row).collect() }
    }

    /// Number of coefficients.
    pub fn weights(&self) -> usize {
        self.rows.iter().map(|row| row.terms.len()).sum()
    }

    /// Element `i` of the result is element `from[i]`: whatever only moves or repeats elements.
    pub fn gather(&self, shape: &[usize], from: &[usize]) -> Self {
        let rows = from.iter().map(|&i| self.rows[i].clone()).collect();
        Self { rows, shape: shape.to_vec(), ..*self }
    }

    /// Each element times its factor, plus its shift.
    pub fn scale_shift(mut self, factor_shift: impl Fn(usize) -> FactorShift) -> Self {
        for (i, row) in self.rows.iter_mut().enumerate() {
            row.scale_shift(factor_shift(i));
        }
        self
    }

    /// `self + factor · other`, element by element; both of one stage and shape.
    pub fn add_scaled(&self, other: &Self, factor: f64) -> Self {
        let mut sum = LinearCombination::new(self.inputs);
        let rows = self.rows.iter().zip(&other.rows);
        let rows = rows.map(|(a, b)| {
            sum.add(a, 1.0);
            sum.add(b, factor);
            sum.finish()
        });
        Self { rows: rows.collect(), shape: self.shape.clone(), ..*self }
    }

    /// The map from the layer's input to these elements, and how much larger than its coefficients the numbers were that
    /// made them.
    pub fn to_map(&self) -> (AffineMap, LayerRounding) {
        let bias = self.rows.iter().map(|row| row.constant.to_f64()).collect();
        let map = AffineMap::from_sparse_rows(
            self.inputs,
            self.rows.iter().map(AffineRow::weights),
            bias,
        );
        let cancelled = |row: &AffineRow| {
            let sum: f64 = row.terms.iter().map(|(_, c)| c.abs()).sum();
            if sum > 0.0 { (row.errors.gain / sum).max(1.0) } else { 1.0 }
        };
        let of_rows = |value: fn(&RowErrors) -> f64| {
            self.rows.iter().map(|row| value(&row.errors)).collect::<Vec<f64>>()
        };
        let operations = self.rows.iter().map(|row| row.errors.operations).max();
        let rounding = LayerRounding {
            amplification: self.rows.iter().map(cancelled).collect(),
            gain: of_rows(|errors| errors.gain),
            offset: of_rows(|errors| errors.offset),
            reach_gain: of_rows(|errors| errors.reach_gain),
            reach_offset: of_rows(|errors| errors.reach_offset),
            operations: operations.unwrap_or(0),
        };
        (map, rounding)
    }
}

/// Builds linear combinations of rows, one after the other.
pub(super) struct LinearCombination {
    coefficients: Vec<DoubleDouble>,
    seen: Vec<bool>,
    touched: Vec<u32>,
    constant: DoubleDouble,
    /// The operations are those of the longest part.
    errors: RowErrors,
    parts: usize,
}

impl LinearCombination {
    pub fn new(inputs: usize) -> Self {
        Self {
            coefficients: vec![DoubleDouble::default(); inputs],
            seen: vec![false; inputs],
            touched: Vec::new(),
            constant: DoubleDouble::default(),
            errors: RowErrors::NONE,
            parts: 0,
        }
    }

    /// Adds `factor · row`.
    pub fn add(&mut self, row: &AffineRow, factor: f64) {
        let added = row.errors.times(factor);
        self.errors.reach_gain += added.reach_gain;
        self.errors.reach_offset += added.reach_offset;
        if factor == 0.0 {
            return;
        }
        let by = DoubleDouble::from(factor);
        for &(index, coefficient) in &row.terms {
            let at = index as usize;
            let product = if coefficient == DoubleDouble::ONE { by } else { coefficient.times(by) };
            if self.seen[at] {
                self.coefficients[at] = self.coefficients[at].plus(product);
            } else {
                self.seen[at] = true;
                self.touched.push(index);
                self.coefficients[at] = product;
            }
        }
        if !row.constant.is_zero() {
            self.constant = self.constant.plus(row.constant.times(by));
        }
        self.errors.gain += added.gain;
        self.errors.offset += added.offset;
        self.errors.operations = self.errors.operations.max(row.errors.operations);
        self.parts += 1;
    }

    /// Adds a constant.
    pub fn shift(&mut self, by: f64) {
        self.constant = self.constant.plus(by.into());
        self.errors.shift(by);
        self.parts += 1;
    }

    /// The combination so far; afterwards it is empty again.
    pub fn finish(&mut self) -> AffineRow {
        self.touched.sort_unstable();
        let terms =
            self.touched.iter().map(|&index| (index, self.coefficients[index as usize])).collect();
        for index in self.touched.drain(..) {
            self.coefficients[index as usize] = DoubleDouble::default();
            self.seen[index as usize] = false;
        }
        // A product and an addition for every part.
        let operations = self.errors.operations + self.parts + 1;
        let errors = RowErrors { operations, ..self.errors };
        let row = AffineRow { terms, constant: self.constant, errors };
        (self.constant, self.errors) = (DoubleDouble::default(), RowErrors::NONE);
        self.parts = 0;
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chained_maps_fold_into_one_matrix() {
        // x -> 2x + 1 -> (x0 + x1, x0 - x1)
        let x = AffineTensor::identity(0, &[2]).scale_shift(|_| FactorShift::plain(2.0, 1.0));
        let mut sum = LinearCombination::new(2);
        let rows = [1.0, -1.0].map(|sign| {
            sum.add(&x.rows[0], 1.0);
            sum.add(&x.rows[1], sign);
            sum.finish()
        });
        let (map, rounding) = AffineTensor { rows: rows.to_vec(), ..x }.to_map();
        assert_eq!(map.dense_row(0)[..], [2.0, 2.0]);
        assert_eq!(map.dense_row(1)[..], [2.0, -2.0]);
        assert_eq!(map.bias(), [2.0, 0.0]);
        assert_eq!(rounding.amplification, [1.0, 1.0]);
        assert_eq!(rounding.offset, [2.0, 2.0]);
    }

    #[test]
    fn cancellation_is_remembered() {
        let x = AffineTensor::identity(0, &[1]);
        let much = x.clone().scale_shift(|_| FactorShift::plain(1000.0, 0.0));
        let little = much.add_scaled(&x.scale_shift(|_| FactorShift::plain(999.0, 0.0)), -1.0);
        let (map, rounding) = little.to_map();
        assert_eq!(map.weight(0, 0), 1.0);
        assert_eq!(rounding.amplification, [1999.0]);
    }

    #[test]
    fn matrices_that_undo_each_other_leave_the_identity() {
        // In f64 the second one would lose what the first one added.
        let large = 2f64.powi(40);
        let x = AffineTensor::identity(0, &[2]);
        let mut sum = LinearCombination::new(2);
        let mut product = |x: &AffineTensor, weights: [[f64; 2]; 2]| {
            let rows = weights.map(|[a, b]| {
                sum.add(&x.rows[0], a);
                sum.add(&x.rows[1], b);
                sum.finish()
            });
            AffineTensor { rows: rows.to_vec(), ..x.clone() }
        };
        let scaled = product(&x, [[large, large - 1.0], [large + 1.0, large]]);
        let back = product(&scaled, [[large, 1.0 - large], [-large - 1.0, large]]);
        let (map, rounding) = back.to_map();
        assert_eq!([map.weight(0, 0), map.weight(0, 1)], [1.0, 0.0]);
        assert_eq!([map.weight(1, 0), map.weight(1, 1)], [0.0, 1.0]);
        assert!(rounding.gain.iter().all(|&gain| gain > large * large));
    }

    #[test]
    fn what_may_overflow_or_underflow_on_the_way_is_remembered() {
        let x = AffineTensor::identity(0, &[1]);
        let tiny = x.scale_shift(|_| FactorShift::plain(1e-30, 0.0));
        let (_, rounding) = tiny.scale_shift(|_| FactorShift::plain(1e30, 0.0)).to_map();
        assert!(rounding.gain[0] < 1.1);
        assert!(rounding.reach_gain[0] >= 1e30);
    }

    #[test]
    fn gathering_moves_and_repeats() {
        let moved = AffineTensor::identity(0, &[3]).gather(&[2, 2], &[2, 0, 0, 1]);
        let (map, _) = moved.to_map();
        let expected = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(expected.iter().enumerate().all(|(i, row)| map.dense_row(i)[..] == *row));
    }
}
