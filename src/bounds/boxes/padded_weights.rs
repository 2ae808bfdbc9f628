//! The weights of a layer for products with blocks whose columns are padded to whole vectors.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::network::AffineMap;

/// Numbers that a vector register holds, at most. Sides of matrices are multiples of this.
pub(super) const LANES: usize = 8;

/// The next multiple of [`LANES`].
pub(super) fn padded(count: usize) -> usize {
    count.div_ceil(LANES) * LANES
}

/// Weights; what pads them is 0.
pub(super) enum PaddedWeights {
    Dense {
        weights: Mat<f64>,
        transposed: Mat<f64>,
        magnitudes: Mat<f64>,
    },
    /// Most weights are 0: the map itself, and the one with their absolute values.
    Sparse {
        map: AffineMap,
        magnitudes: AffineMap,
    },
}

impl PaddedWeights {
    pub fn new(map: &AffineMap) -> Self {
        if map.is_sparse() {
            return Self::Sparse { map: map.clone(), magnitudes: map.absolute() };
        }
        let (width, inputs) = (map.outputs(), map.inputs());
        let is_there = |i: usize, j: usize| i < width && j < inputs;
        let weight = |i, j| if is_there(i, j) { map.weight(i, j) } else { 0.0 };
        let weights = Mat::from_fn(padded(width), padded(inputs), weight);
        let magnitude = |i: usize, j: usize| weights[(i, j)].abs();
        Self::Dense {
            transposed: weights.transpose().to_owned(),
            magnitudes: Mat::from_fn(weights.nrows(), weights.ncols(), magnitude),
            weights,
        }
    }

    /// Inputs, padded.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Dense { weights, .. } => weights.ncols(),
            Self::Sparse { map, .. } => padded(map.inputs()),
        }
    }

    pub fn get(&self, output: usize, input: usize) -> f64 {
        match self {
            Self::Dense { weights, .. } => weights[(output, input)],
            Self::Sparse { map, .. } => map.weight(output, input),
        }
    }

    /// Adds `factor` times the row of an output, padded.
    pub fn push_row(&self, output: usize, factor: f64, to: &mut Vec<f64>) {
        match self {
            Self::Dense { transposed, .. } => {
                to.extend(transposed.col_as_slice(output).iter().map(|weight| factor * weight));
            }
            Self::Sparse { map, .. } => {
                let begin = to.len();
                to.resize(begin + self.inputs(), 0.0);
                map.row(output).for_each(|(input, weight)| to[begin + input] = factor * weight);
            }
        }
    }

    /// `out = W · block`, columns one after the other.
    pub fn multiply(&self, block: &[f64], out: &mut [f64]) {
        match self {
            Self::Dense { weights, .. } => multiply(weights, block, out),
            Self::Sparse { map, .. } => multiply_by_map(map, block, out),
        }
    }

    /// `out = |W| · block`.
    pub fn multiply_magnitudes(&self, block: &[f64], out: &mut [f64]) {
        match self {
            Self::Dense { magnitudes, .. } => multiply(magnitudes, block, out),
            Self::Sparse { magnitudes, .. } => multiply_by_map(magnitudes, block, out),
        }
    }

    /// `out = Wᵀ · block`.
    pub fn multiply_transposed(&self, block: &[f64], out: &mut [f64]) {
        match self {
            Self::Dense { transposed, .. } => multiply(transposed, block, out),
            Self::Sparse { map, .. } => {
                let (width, inputs) = (padded(map.outputs()), self.inputs());
                let columns = block.chunks_exact(width).zip(out.chunks_exact_mut(inputs));
                for (column, out) in columns {
                    let (out, padding) = out.split_at_mut(map.inputs());
                    map.apply_transposed(&column[..map.outputs()], out);
                    padding.fill(0.0);
                }
            }
        }
    }
}

fn multiply_by_map(map: &AffineMap, block: &[f64], out: &mut [f64]) {
    let (width, inputs) = (padded(map.outputs()), padded(map.inputs()));
    for (column, out) in block.chunks_exact(inputs).zip(out.chunks_exact_mut(width)) {
        out.fill(0.0);
        map.add_product(&column[..map.inputs()], &mut out[..map.outputs()]);
    }
}

fn multiply(matrix: &Mat<f64>, block: &[f64], out: &mut [f64]) {
    let columns = block.len() / matrix.ncols();
    if columns == 0 {
        return;
    }
    let block = MatRef::from_column_major_slice(block, matrix.ncols(), columns);
    let out = MatMut::from_column_major_slice_mut(out, matrix.nrows(), columns);
    matmul(out, Accum::Replace, matrix.as_ref(), block, 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::point;

    #[test]
    fn sparse_weights_give_the_products_of_dense_ones() {
        let (outputs, inputs) = (131, 203);
        let drawn = point(outputs * inputs, 4);
        let weight = |i: usize, j: usize| {
            if (i + 2 * j).is_multiple_of(13) { drawn[i * inputs + j] } else { 0.0 }
        };
        let map = AffineMap::from_fn(outputs, inputs, weight, vec![1.0; outputs]);
        let sparse = PaddedWeights::new(&map);
        assert!(matches!(sparse, PaddedWeights::Sparse { .. }));
        let (rows, columns) = (padded(outputs), padded(inputs));
        let there = |i: usize, j: usize| i < outputs && j < inputs;
        let weights =
            Mat::from_fn(rows, columns, |i, j| if there(i, j) { weight(i, j) } else { 0.0 });
        let dense = PaddedWeights::Dense {
            transposed: weights.transpose().to_owned(),
            magnitudes: Mat::from_fn(rows, columns, |i, j| weights[(i, j)].abs()),
            weights,
        };
        let products = |of: &PaddedWeights| {
            let (forward, back) = (point(2 * columns, 5), point(2 * rows, 6));
            let (mut out, mut sizes) = (vec![9.0; 2 * rows], vec![9.0; 2 * rows]);
            let (mut below, mut row) = (vec![9.0; 2 * columns], Vec::new());
            of.multiply(&forward, &mut out);
            of.multiply_magnitudes(&forward, &mut sizes);
            of.multiply_transposed(&back, &mut below);
            of.push_row(7, -1.0, &mut row);
            row.push(of.get(3, 5));
            [out, sizes, below, row].concat()
        };
        let (a, b) = (products(&sparse), products(&dense));
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
