//! A sparse matrix in compressed form, stored twice: by rows and by columns.
//!
//! Written by hand, because the matrices of faer and sprs have one type for what is stored and what is computed with, and no product
//! that leaves out the zeros of a vector. Here weights that a file has in `f32` are stored so and multiplied in `f64`, as in a
//! [dense matrix](super::dense), and a product with a vector that is mostly zeros reads only the columns of the others. Lines
//! that repeat each other, as those of convolutions do, are [stored once](super::compressed).

use faer::{Mat, MatRef};

use super::compressed::{Compressed, PlainLines, SparseLine};

/// The weights of an affine map, one row per output; what is not stored is 0.
#[derive(Clone)]
pub(super) struct SparseMatrix {
    rows: Compressed,
    columns: Compressed,
}

impl SparseMatrix {
    /// For each output the inputs that have a weight, ascending.
    pub fn from_rows<R: IntoIterator<Item = (u32, f64)>>(
        inputs: usize,
        rows: impl Iterator<Item = R>,
    ) -> Self {
        let rows = PlainLines::new(rows);
        let columns = rows.transposed(inputs);
        Self { rows: Compressed::new(&rows), columns: Compressed::new(&columns) }
    }

    pub fn outputs(&self) -> usize {
        self.rows.lines()
    }

    pub fn inputs(&self) -> usize {
        self.columns.lines()
    }

    /// Number of weights, those of a stencil counted once for each line.
    pub fn entries(&self) -> usize {
        self.rows.entries()
    }

    pub fn get(&self, output: usize, input: usize) -> f64 {
        self.rows.get(output, input)
    }

    pub fn row(&self, output: usize) -> SparseLine<'_> {
        self.rows.line(output)
    }

    pub fn column(&self, input: usize) -> SparseLine<'_> {
        self.columns.line(input)
    }

    /// `out += W v`.
    pub fn add_product(&self, v: &[f64], out: &mut [f64]) {
        assert_eq!((self.outputs(), self.inputs()), (out.len(), v.len()), "the product's shape");
        self.rows.add_product(&self.columns, v, out);
    }

    /// `out += Wᵀ v`.
    pub fn add_transposed_product(&self, v: &[f64], out: &mut [f64]) {
        assert_eq!((self.inputs(), self.outputs()), (out.len(), v.len()), "the product's shape");
        self.columns.add_product(&self.rows, v, out);
    }

    /// `Wᵀ V`.
    pub fn transposed_product(&self, block: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = Mat::zeros(self.inputs(), block.ncols());
        for k in 0..block.ncols() {
            let v: Vec<f64> = block.col(k).iter().copied().collect();
            self.add_transposed_product(&v, out.col_as_slice_mut(k));
        }
        out
    }

    /// Some rows of `Wᵀ V`.
    pub fn transposed_product_at(&self, inputs: &[usize], block: MatRef<'_, f64>) -> Mat<f64> {
        Mat::from_fn(inputs.len(), block.ncols(), |j, k| {
            self.column(inputs[j]).map(|(output, weight)| weight * block[(output, k)]).sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 0 2 0 1
    /// 0 0 0 0
    /// 3 0 0 w
    /// ```
    fn small(w: f64) -> SparseMatrix {
        let rows = [vec![(1, 2.0), (3, 1.0)], vec![], vec![(0, 3.0), (2, 0.0), (3, w)]];
        SparseMatrix::from_rows(4, rows.into_iter())
    }

    #[test]
    fn rows_columns_and_single_weights_agree() {
        let m = small(0.1);
        assert_eq!((m.outputs(), m.inputs(), m.entries()), (3, 4, 4));
        assert_eq!(m.row(2).collect::<Vec<_>>(), [(0, 3.0), (3, 0.1)]);
        assert_eq!(m.column(3).collect::<Vec<_>>(), [(0, 1.0), (2, 0.1)]);
        assert_eq!(m.column(2).count() + m.row(1).count(), 0);
        assert_eq!([m.get(0, 1), m.get(0, 2), m.get(2, 3)], [2.0, 0.0, 0.1]);
    }

    #[test]
    fn products_are_right_whichever_way_they_are_computed() {
        // 0.5 is a number of f32, 0.1 is not.
        for w in [0.5, 0.1] {
            let m = small(w);
            for v in [[1.0, 10.0, 100.0, -1.0], [0.0, 0.0, 0.0, -1.0]] {
                let mut out = vec![7.0; 3];
                m.add_product(&v, &mut out);
                let expected = [7.0 + 2.0 * v[1] + v[3], 7.0, 7.0 + 3.0 * v[0] + w * v[3]];
                assert_eq!(out, expected);
            }
            for v in [[1.0, 10.0, -2.0], [0.0, 0.0, -2.0]] {
                let mut out = vec![0.0; 4];
                m.add_transposed_product(&v, &mut out);
                let expected = [3.0 * v[2], 2.0 * v[0], 0.0, v[0] + w * v[2]];
                assert_eq!(out, expected);
                let block = Mat::from_fn(3, 2, |i, k| v[i] * (k as f64 + 1.0));
                let product = m.transposed_product(block.as_ref());
                let some = m.transposed_product_at(&[3, 0], block.as_ref());
                assert!((0..4).all(|j| product[(j, 1)] == 2.0 * expected[j]));
                assert_eq!([some[(0, 0)], some[(1, 1)]], [expected[3], 2.0 * expected[0]]);
            }
        }
    }
}
