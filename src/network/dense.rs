//! A dense matrix, stored twice: by columns for products with vectors that are mostly zeros, by rows for single rows.
//!
//! Products run at the speed of memory. Weights that a file has in `f32` are therefore stored so, too: half the bytes, and, because the
//! arithmetic is done in `f64`, the same result.
//!
//! Products are single-threaded: parallelism belongs to the search.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use pulp::{Arch, NullaryFnOnce};

/// The weights of an affine map, one row per output.
#[derive(Clone)]
pub(super) struct DenseMatrix {
    columns: Mat<f64>,
    /// The same, transposed: here single rows lie together.
    rows: Mat<f64>,
    /// Columns and rows once more, if all weights are numbers of `f32`.
    narrow: Option<(Mat<f32>, Mat<f32>)>,
}

impl DenseMatrix {
    pub fn new(columns: Mat<f64>) -> Self {
        let rows = columns.transpose().to_owned();
        let narrow = narrowed(&columns).zip(narrowed(&rows));
        Self { columns, rows, narrow }
    }

    pub fn outputs(&self) -> usize {
        self.columns.nrows()
    }

    pub fn inputs(&self) -> usize {
        self.columns.ncols()
    }

    pub fn row(&self, output: usize) -> &[f64] {
        self.rows.col_as_slice(output)
    }

    pub fn get(&self, output: usize, input: usize) -> f64 {
        self.columns[(output, input)]
    }

    /// Copies the weights of one input.
    pub fn copy_column(&self, input: usize, out: &mut [f64]) {
        match &self.narrow {
            Some((columns, _)) => {
                let column = columns.col_as_slice(input);
                assert_eq!(column.len(), out.len(), "a place for each output");
                out.iter_mut().zip(column).for_each(|(out, &weight)| *out = weight.into());
            }
            None => out.copy_from_slice(self.columns.col_as_slice(input)),
        }
    }

    /// Some rows of `Wᵀ V`.
    pub fn transposed_product_at(&self, inputs: &[usize], block: MatRef<'_, f64>) -> Mat<f64> {
        let columns =
            Mat::from_fn(self.outputs(), inputs.len(), |i, j| self.columns[(i, inputs[j])]);
        let mut out = Mat::zeros(inputs.len(), block.ncols());
        matmul(out.as_mut(), Accum::Replace, columns.transpose(), block, 1.0, Par::Seq);
        out
    }

    /// `out += W v`.
    pub fn add_product(&self, v: &[f64], out: &mut [f64]) {
        match &self.narrow {
            Some((columns, _)) => add_product(columns.as_ref(), v, out),
            None => add_product(self.columns.as_ref(), v, out),
        }
    }

    /// `out += Wᵀ v`.
    pub fn add_transposed_product(&self, v: &[f64], out: &mut [f64]) {
        match &self.narrow {
            Some((_, rows)) => add_product(rows.as_ref(), v, out),
            None => add_product(self.rows.as_ref(), v, out),
        }
    }

    /// `Wᵀ V`.
    pub fn transposed_product(&self, block: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = Mat::zeros(self.inputs(), block.ncols());
        matmul(out.as_mut(), Accum::Replace, self.rows.as_ref(), block, 1.0, Par::Seq);
        out
    }
}

/// The same numbers in `f32`, if that is exact.
fn narrowed(m: &Mat<f64>) -> Option<Mat<f32>> {
    let exact = |j: usize| m.col_as_slice(j).iter().all(|&w| f64::from(w as f32) == w);
    let exact = (0..m.ncols()).all(exact);
    exact.then(|| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] as f32))
}

/// `out += m v`. Images are mostly black and ReLUs mostly off, so `v` is mostly zeros: only the columns of the others are
/// read.
///
/// # Panics
/// When the columns of `m` do not lie together, or lengths differ.
pub(crate) fn add_product<T: Copy + Into<f64>>(m: MatRef<'_, T>, v: &[f64], out: &mut [f64]) {
    assert_eq!((m.nrows(), m.ncols()), (out.len(), v.len()), "the product's shape");
    Arch::new().dispatch(AddProduct { m, v, out });
}

/// `out += m v`, compiled for the machine at hand. (A closure is only where it happens to be inlined.)
struct AddProduct<'p, T> {
    m: MatRef<'p, T>,
    v: &'p [f64],
    out: &'p mut [f64],
}

impl<T: Copy + Into<f64>> NullaryFnOnce for AddProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { m, v, out } = self;
        let column =
            |j: usize| m.col(j).try_as_col_major().expect("columns lie together").as_slice();
        let mut some = (0..v.len()).filter(|&j| v[j] != 0.0);
        // Four columns at a time, so that `out` is read and written less often.
        while let Some(j) = some.next() {
            let [k, l, m] = [some.next(), some.next(), some.next()];
            let [(k, w_k), (l, w_l), (m, w_m)] =
                [k, l, m].map(|column| column.map_or((j, 0.0), |column| (column, v[column])));
            let (a, b, c, d) = (column(j), column(k), column(l), column(m));
            let w_j = v[j];
            for ((((out, &a), &b), &c), &d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let (a, b, c, d): (f64, f64, f64, f64) = (a.into(), b.into(), c.into(), d.into());
                *out += (w_j * a + w_k * b) + (w_l * c + w_m * d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::point;

    #[test]
    fn weights_in_f32_give_the_same_products_bit_for_bit() {
        let weights = point(7 * 13, 1);
        let exact = Mat::from_fn(7, 13, |i, j| f64::from(weights[7 * j + i] as f32));
        let narrow = DenseMatrix::new(exact.clone());
        let wide = DenseMatrix { narrow: None, ..narrow.clone() };
        assert!(narrow.narrow.is_some());
        let (v, u) = (point(13, 2), point(7, 3));
        let products = |m: &DenseMatrix| {
            let (mut out, mut back) = (vec![0.5; 7], vec![0.5; 13]);
            m.add_product(&v, &mut out);
            m.add_transposed_product(&u, &mut back);
            (out, back)
        };
        assert_eq!(products(&narrow), products(&wide));
        // A weight that f32 would round stays as it is.
        let rounded = Mat::from_fn(7, 13, |i, j| exact[(i, j)] + if i == j { 1e-12 } else { 0.0 });
        assert!(DenseMatrix::new(rounded).narrow.is_none());
    }
}
