//! Tensors whose every element is an affine function of one layer's input.
//!
//! Between two ReLUs an ONNX graph moves, scales, adds and mixes numbers: all of it affine. Following
//! the graph with an [`AffineTensor`] in place of numbers folds any such chain into one matrix. Rows are
//! sparse, because until a dense layer mixes them each element depends on one input (layout), or a few (Conv).
//!
//! Coefficients are exact products of the file's f32 numbers wherever no two of them are added.

use crate::network::{AffineMap, LayerRounding};

/// One element: `constant + Σ coefficient · input[index]`.
#[derive(Clone, Debug)]
pub(super) struct AffineRow {
    /// `(index, coefficient)`, indices ascending and distinct.
    pub terms: Vec<(u32, f64)>,
    pub constant: f64,
    /// Sum of the magnitudes that went into the coefficients; more than `Σ |coefficient|` where they cancelled.
    pub gain: f64,
    /// Sum of the magnitudes that went into the constant.
    pub offset: f64,
    /// Operations one after the other, at most, in whatever order sums are computed.
    pub operations: usize,
}

impl AffineRow {
    fn scale(&mut self, factor: f64) {
        for (_, coefficient) in &mut self.terms {
            *coefficient *= factor;
        }
        self.constant *= factor;
        self.gain *= factor.abs();
        self.offset *= factor.abs();
        self.operations += 1;
    }

    fn shift(&mut self, by: f64) {
        self.constant += by;
        self.offset += by.abs();
        self.operations += 1;
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
            terms: vec![(i as u32, 1.0)],
            constant: 0.0,
            gain: 1.0,
            offset: 0.0,
            operations: 0,
        };
        Self { stage, inputs, shape: shape.to_vec(), rows: (0..inputs).map(row).collect() }
    }

    /// Element `i` of the result is element `from[i]`: whatever only moves or repeats elements.
    pub fn gather(&self, shape: &[usize], from: &[usize]) -> Self {
        let rows = from.iter().map(|&i| self.rows[i].clone()).collect();
        Self { rows, shape: shape.to_vec(), ..*self }
    }

    /// Each element times its factor, plus its shift.
    pub fn scale_shift(mut self, factor_shift: impl Fn(usize) -> (f64, f64)) -> Self {
        for (i, row) in self.rows.iter_mut().enumerate() {
            let (factor, shift) = factor_shift(i);
            row.scale(factor);
            row.shift(shift);
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
        let rows = self.rows.iter().map(|row| row.terms.as_slice());
        let bias = self.rows.iter().map(|row| row.constant).collect();
        let map = AffineMap::from_sparse_rows(self.inputs, rows, bias);
        let cancelled = |row: &AffineRow| {
            let sum: f64 = row.terms.iter().map(|(_, c)| c.abs()).sum();
            if sum > 0.0 { (row.gain / sum).max(1.0) } else { 1.0 }
        };
        let amplification = self.rows.iter().map(cancelled).collect();
        let rounding = LayerRounding {
            amplification,
            gain: self.rows.iter().map(|row| row.gain).collect(),
            offset: self.rows.iter().map(|row| row.offset).collect(),
            operations: self.rows.iter().map(|row| row.operations).max().unwrap_or(0),
        };
        (map, rounding)
    }
}

/// Builds linear combinations of rows, one after the other.
pub(super) struct LinearCombination {
    coefficients: Vec<f64>,
    seen: Vec<bool>,
    touched: Vec<u32>,
    constant: f64,
    gain: f64,
    offset: f64,
    parts: usize,
    longest: usize,
}

impl LinearCombination {
    pub fn new(inputs: usize) -> Self {
        Self {
            coefficients: vec![0.0; inputs],
            seen: vec![false; inputs],
            touched: Vec::new(),
            constant: 0.0,
            gain: 0.0,
            offset: 0.0,
            parts: 0,
            longest: 0,
        }
    }

    /// Adds `factor · row`.
    pub fn add(&mut self, row: &AffineRow, factor: f64) {
        if factor == 0.0 {
            return;
        }
        for &(index, coefficient) in &row.terms {
            let at = index as usize;
            if !self.seen[at] {
                self.seen[at] = true;
                self.touched.push(index);
            }
            self.coefficients[at] += factor * coefficient;
        }
        self.constant += factor * row.constant;
        self.gain += factor.abs() * row.gain;
        self.offset += factor.abs() * row.offset;
        self.parts += 1;
        self.longest = self.longest.max(row.operations);
    }

    /// Adds a constant.
    pub fn shift(&mut self, by: f64) {
        self.constant += by;
        self.offset += by.abs();
        self.parts += 1;
    }

    /// The combination so far; afterwards it is empty again.
    pub fn finish(&mut self) -> AffineRow {
        self.touched.sort_unstable();
        let terms =
            self.touched.iter().map(|&index| (index, self.coefficients[index as usize])).collect();
        for index in self.touched.drain(..) {
            self.coefficients[index as usize] = 0.0;
            self.seen[index as usize] = false;
        }
        // A product and an addition for every part.
        let operations = self.longest + self.parts + 1;
        let row = AffineRow {
            terms,
            constant: self.constant,
            gain: self.gain,
            offset: self.offset,
            operations,
        };
        (self.constant, self.gain, self.offset) = (0.0, 0.0, 0.0);
        (self.parts, self.longest) = (0, 0);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chained_maps_fold_into_one_matrix() {
        // x -> 2x + 1 -> (x0 + x1, x0 - x1)
        let x = AffineTensor::identity(0, &[2]).scale_shift(|_| (2.0, 1.0));
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
        let much = x.clone().scale_shift(|_| (1000.0, 0.0));
        let little = much.add_scaled(&x.scale_shift(|_| (999.0, 0.0)), -1.0);
        let (map, rounding) = little.to_map();
        assert_eq!(map.weight(0, 0), 1.0);
        assert_eq!(rounding.amplification, [1999.0]);
    }

    #[test]
    fn gathering_moves_and_repeats() {
        let moved = AffineTensor::identity(0, &[3]).gather(&[2, 2], &[2, 0, 0, 1]);
        let (map, _) = moved.to_map();
        let expected = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(expected.iter().enumerate().all(|(i, row)| map.dense_row(i)[..] == *row));
    }
}
