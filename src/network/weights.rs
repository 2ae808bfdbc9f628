//! How the weights of an affine map are stored: dense, or sparse where that is smaller and faster.

use std::borrow::Cow;

use faer::{Mat, MatRef};

use super::compressed::SparseLine;
use super::dense::{DenseMatrix, add_to_range};
use super::sparse::SparseMatrix;

/// From this share of zeros on a matrix is stored sparse: an entry of a sparse matrix takes about four times as long, and a place
/// beside its value.
const SPARSE_SHARE: f64 = 7.0 / 8.0;

/// Matrices with fewer entries are stored dense: they are in the cache, whatever they hold.
const SMALLEST_SPARSE: usize = 1 << 14;

/// The weights of an affine map, one row per output.
pub(super) enum Weights {
    Dense(DenseMatrix),
    Sparse(SparseMatrix),
}

/// Whether a matrix of this shape with so many entries that are not 0 is better stored sparse.
fn is_sparse(outputs: usize, inputs: usize, entries: usize) -> bool {
    let all = outputs as f64 * inputs as f64;
    all >= SMALLEST_SPARSE as f64 && entries as f64 <= (1.0 - SPARSE_SHARE) * all
}

impl Weights {
    pub fn from_dense(weights: Mat<f64>) -> Self {
        let (outputs, inputs) = (weights.nrows(), weights.ncols());
        let in_column = |j| weights.col_as_slice(j).iter().filter(|w| **w != 0.0).count();
        if !is_sparse(outputs, inputs, (0..inputs).map(in_column).sum()) {
            return Self::Dense(DenseMatrix::new(weights));
        }
        let row = |i: usize| {
            let weights = &weights;
            (0..inputs).map(move |j| (j as u32, weights[(i, j)]))
        };
        Self::Sparse(SparseMatrix::from_rows(inputs, (0..outputs).map(row)))
    }

    /// For each output the inputs that have a weight, ascending.
    pub fn from_sparse_rows<R: Iterator<Item = (u32, f64)>>(
        inputs: usize,
        rows: impl ExactSizeIterator<Item = R> + Clone,
    ) -> Self {
        let outputs = rows.len();
        let in_row = |row: R| row.filter(|(_, weight)| *weight != 0.0).count();
        if is_sparse(outputs, inputs, rows.clone().map(in_row).sum()) {
            return Self::Sparse(SparseMatrix::from_rows(inputs, rows));
        }
        let mut weights = Mat::zeros(outputs, inputs);
        for (output, row) in rows.enumerate() {
            row.for_each(|(input, weight)| weights[(output, input as usize)] = weight);
        }
        Self::Dense(DenseMatrix::new(weights))
    }

    /// The same, stored dense.
    #[cfg(test)]
    pub fn stored_dense(&self) -> Self {
        let weight = |i: usize, j: usize| self.get(i, j);
        Self::Dense(DenseMatrix::new(Mat::from_fn(self.outputs(), self.inputs(), weight)))
    }

    /// The absolute values.
    pub fn absolute(&self) -> Self {
        let row = |i: usize| self.row(i).map(|(input, weight)| (input as u32, weight.abs()));
        Self::from_sparse_rows(self.inputs(), (0..self.outputs()).map(row))
    }

    pub fn outputs(&self) -> usize {
        match self {
            Self::Dense(weights) => weights.outputs(),
            Self::Sparse(weights) => weights.outputs(),
        }
    }

    pub fn inputs(&self) -> usize {
        match self {
            Self::Dense(weights) => weights.inputs(),
            Self::Sparse(weights) => weights.inputs(),
        }
    }

    /// Number of weights that are stored.
    pub fn entries(&self) -> usize {
        match self {
            Self::Dense(weights) => weights.outputs() * weights.inputs(),
            Self::Sparse(weights) => weights.entries(),
        }
    }

    pub fn get(&self, output: usize, input: usize) -> f64 {
        match self {
            Self::Dense(weights) => weights.get(output, input),
            Self::Sparse(weights) => weights.get(output, input),
        }
    }

    pub fn row(&self, output: usize) -> MapRow<'_> {
        MapRow(match self {
            Self::Dense(weights) => RowEntries::Dense(weights.row(output).iter().enumerate()),
            Self::Sparse(weights) => RowEntries::Sparse(weights.row(output)),
        })
    }

    pub fn dense_row(&self, output: usize) -> Cow<'_, [f64]> {
        match self {
            Self::Dense(weights) => Cow::Borrowed(weights.row(output)),
            Self::Sparse(weights) => {
                let mut row = vec![0.0; weights.inputs()];
                weights.row(output).for_each(|(input, weight)| row[input] = weight);
                Cow::Owned(row)
            }
        }
    }

    pub fn copy_column(&self, input: usize, out: &mut [f64]) {
        match self {
            Self::Dense(weights) => weights.copy_column(input, out),
            Self::Sparse(weights) => {
                (0..out.len()).for_each(|output| out[output] = weights.get(output, input));
            }
        }
    }

    /// `out += W v`.
    pub fn add_product(&self, v: &[f64], out: &mut [f64]) {
        match self {
            Self::Dense(weights) => weights.add_product(v, out),
            Self::Sparse(weights) => weights.add_product(v, out),
        }
    }

    /// Adds the smallest and the largest `W h` where each `h` lies between these, up in the order of the inputs.
    pub fn add_range(&self, least: &[f64], most: &[f64], ends: &mut [Vec<f64>; 2]) {
        match self {
            Self::Dense(weights) => weights.add_range(least, most, ends),
            Self::Sparse(weights) => {
                let [lower, upper] = ends;
                for (i, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
                    weights
                        .row(i)
                        .for_each(|(j, w)| add_to_range(w, (least[j], most[j]), lower, upper));
                }
            }
        }
    }

    /// `out += Wᵀ v`.
    pub fn add_transposed_product(&self, v: &[f64], out: &mut [f64]) {
        match self {
            Self::Dense(weights) => weights.add_transposed_product(v, out),
            Self::Sparse(weights) => weights.add_transposed_product(v, out),
        }
    }

    /// `Wᵀ V`.
    pub fn transposed_product(&self, block: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Dense(weights) => weights.transposed_product(block),
            Self::Sparse(weights) => weights.transposed_product(block),
        }
    }

    /// Some rows of `Wᵀ V`.
    pub fn transposed_product_at(&self, inputs: &[usize], block: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Dense(weights) => weights.transposed_product_at(inputs, block),
            Self::Sparse(weights) => weights.transposed_product_at(inputs, block),
        }
    }
}

/// The weights of one output with the inputs they belong to, ascending.
#[derive(Clone)]
pub struct MapRow<'m>(RowEntries<'m>);

#[derive(Clone)]
enum RowEntries<'m> {
    Dense(std::iter::Enumerate<std::slice::Iter<'m, f64>>),
    Sparse(SparseLine<'m>),
}

impl Iterator for MapRow<'_> {
    type Item = (usize, f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            RowEntries::Dense(row) => row.next().map(|(input, weight)| (input, *weight)),
            RowEntries::Sparse(row) => row.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            RowEntries::Dense(row) => row.size_hint(),
            RowEntries::Sparse(row) => row.size_hint(),
        }
    }

    /// Sums and loops by `for_each` ask once what the row is stored as, not at every weight.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        match self.0 {
            RowEntries::Dense(row) => {
                row.fold(init, |sum, (input, weight)| f(sum, (input, *weight)))
            }
            RowEntries::Sparse(row) => row.fold(init, f),
        }
    }
}

impl DoubleEndedIterator for MapRow<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            RowEntries::Dense(row) => row.next_back().map(|(input, weight)| (input, *weight)),
            RowEntries::Sparse(row) => row.next_back(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::point;

    #[test]
    fn what_has_few_weights_is_stored_sparse_and_gives_the_same_products() {
        let (outputs, inputs) = (150, 130);
        let drawn = point(outputs * inputs, 5);
        let is_there = |i: usize, j: usize| (i * 7 + j * 3).is_multiple_of(11);
        let weight = |i: usize, j: usize| if is_there(i, j) { drawn[i * inputs + j] } else { 0.0 };
        let matrix = Mat::from_fn(outputs, inputs, weight);
        let sparse = Weights::from_dense(matrix.clone());
        let dense = Weights::Dense(DenseMatrix::new(matrix));
        assert!(matches!(sparse, Weights::Sparse(_)));
        assert!(sparse.entries() * 8 < dense.entries());
        let rows: Vec<Vec<(u32, f64)>> =
            (0..outputs).map(|i| sparse.row(i).map(|(j, w)| (j as u32, w)).collect()).collect();
        let again = Weights::from_sparse_rows(inputs, rows.iter().map(|row| row.iter().copied()));
        assert!(matches!(again, Weights::Sparse(_)));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let (v, u) = (point(inputs, 1), point(outputs, 2));
        let products = |m: &Weights| {
            let (mut out, mut back) = (vec![0.5; outputs], vec![0.5; inputs]);
            m.add_product(&v, &mut out);
            m.add_transposed_product(&u, &mut back);
            let block = Mat::from_fn(outputs, 2, |i, k| u[i] + k as f64);
            let pixels = [129, 3, 3];
            let some = m.transposed_product_at(&pixels, block.as_ref());
            let all = m.transposed_product(block.as_ref());
            let some = (0..3).flat_map(|j| [some[(j, 0)], some[(j, 1)]]).collect();
            let all = (0..inputs).map(|j| all[(j, 1)]).collect();
            [out, back, some, all].concat()
        };
        for m in [&sparse, &again] {
            let pairs = products(m).into_iter().zip(products(&dense));
            assert!(pairs.into_iter().all(|(a, b)| close(a, b)));
            for i in 0..outputs {
                assert_eq!(m.dense_row(i), dense.dense_row(i));
                assert!((0..inputs).all(|j| m.get(i, j) == dense.get(i, j)));
            }
        }
    }

    #[test]
    fn small_and_full_matrices_are_stored_dense() {
        let identity = |n: usize| Mat::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
        assert!(matches!(Weights::from_dense(identity(10)), Weights::Dense(_)));
        assert!(matches!(Weights::from_dense(identity(200)), Weights::Sparse(_)));
        let full = Mat::from_fn(200, 200, |i, j| (i + j) as f64);
        assert!(matches!(Weights::from_dense(full), Weights::Dense(_)));
    }
}
