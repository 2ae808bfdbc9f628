//! A dense matrix, stored twice: by columns for products with vectors that are mostly zeros, by rows for single rows.
//!
//! Products with single vectors run at the speed of memory. Weights that a file has in `f32` are therefore read so there: half the bytes, and,
//! because the arithmetic is done in `f64`, the same result. Rows are kept in `f64`, too, for products with blocks.
//!
//! Products are single-threaded: parallelism belongs to the search.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use pulp::{Arch, NullaryFnOnce};

/// The weights of an affine map, one row per output.
#[derive(Clone)]
pub(super) struct DenseMatrix {
    /// Transposed: here single rows lie together.
    rows: Mat<f64>,
    stored: Stored,
}

/// What products with single vectors read.
#[derive(Clone)]
enum Stored {
    /// The columns; for products with the transposed matrix there are the rows.
    Wide(Mat<f64>),
    /// Columns and rows, if all weights are numbers of `f32`.
    Narrow { columns: Mat<f32>, rows: Mat<f32> },
}

impl DenseMatrix {
    pub fn new(columns: Mat<f64>) -> Self {
        let rows = columns.transpose().to_owned();
        let stored = match (narrowed(&columns), narrowed(&rows)) {
            (Some(columns), Some(rows)) => Stored::Narrow { columns, rows },
            _ => Stored::Wide(columns),
        };
        Self { rows, stored }
    }

    pub fn outputs(&self) -> usize {
        self.rows.ncols()
    }

    pub fn inputs(&self) -> usize {
        self.rows.nrows()
    }

    pub fn row(&self, output: usize) -> &[f64] {
        self.rows.col_as_slice(output)
    }

    pub fn get(&self, output: usize, input: usize) -> f64 {
        self.rows[(input, output)]
    }

    /// Copies the weights of one input.
    pub fn copy_column(&self, input: usize, out: &mut [f64]) {
        match &self.stored {
            Stored::Narrow { columns, .. } => {
                let column = columns.col_as_slice(input);
                assert_eq!(column.len(), out.len(), "a place for each output");
                out.iter_mut().zip(column).for_each(|(out, &weight)| *out = weight.into());
            }
            Stored::Wide(columns) => out.copy_from_slice(columns.col_as_slice(input)),
        }
    }

    /// Some rows of `Wᵀ V`.
    pub fn transposed_product_at(&self, inputs: &[usize], block: MatRef<'_, f64>) -> Mat<f64> {
        let mut columns = Mat::zeros(self.outputs(), inputs.len());
        for (j, &input) in inputs.iter().enumerate() {
            self.copy_column(input, columns.col_as_slice_mut(j));
        }
        let mut out = Mat::zeros(inputs.len(), block.ncols());
        matmul(out.as_mut(), Accum::Replace, columns.transpose(), block, 1.0, Par::Seq);
        out
    }

    /// `out += W v`.
    pub fn add_product(&self, v: &[f64], out: &mut [f64]) {
        match &self.stored {
            Stored::Narrow { columns, .. } => add_product(columns.as_ref(), v, out),
            Stored::Wide(columns) => add_product(columns.as_ref(), v, out),
        }
    }

    /// Adds the smallest and the largest `W h` where each `h` lies between these, up in the order of the inputs.
    pub fn add_range(&self, least: &[f64], most: &[f64], [lower, upper]: &mut [Vec<f64>; 2]) {
        match &self.stored {
            Stored::Narrow { columns, .. } => {
                Arch::new().dispatch(AddRange { m: columns.as_ref(), least, most, lower, upper });
            }
            Stored::Wide(columns) => {
                Arch::new().dispatch(AddRange { m: columns.as_ref(), least, most, lower, upper });
            }
        }
    }

    /// `out += Wᵀ v`.
    pub fn add_transposed_product(&self, v: &[f64], out: &mut [f64]) {
        match &self.stored {
            Stored::Narrow { rows, .. } => add_product(rows.as_ref(), v, out),
            Stored::Wide(_) => add_product(self.rows.as_ref(), v, out),
        }
    }

    /// `Wᵀ V`. With many columns, rows of `V` without anything are left out.
    pub fn transposed_product(&self, block: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = Mat::zeros(self.inputs(), block.ncols());
        if block.ncols() < WORTH_COPYING {
            matmul(out.as_mut(), Accum::Replace, self.rows.as_ref(), block, 1.0, Par::Seq);
        } else {
            add_block_product(&mut out, self.rows.as_ref(), block);
        }
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
        let column = |j: usize| column(m, j);
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

/// Adds the smallest and the largest `w h` where `h` lies between two numbers.
#[inline(always)]
pub(super) fn add_to_range(w: f64, (least, most): (f64, f64), lower: &mut f64, upper: &mut f64) {
    *lower += w * if w > 0.0 { least } else { most };
    *upper += w * if w > 0.0 { most } else { least };
}

/// [`DenseMatrix::add_range`], compiled for the machine at hand.
struct AddRange<'p, T> {
    m: MatRef<'p, T>,
    least: &'p [f64],
    most: &'p [f64],
    lower: &'p mut [f64],
    upper: &'p mut [f64],
}

impl<T: Copy + Into<f64>> NullaryFnOnce for AddRange<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { m, least, most, lower, upper } = self;
        assert_eq!(m.ncols(), least.len().min(most.len()), "an end for each input");
        for (j, ends) in least.iter().copied().zip(most.iter().copied()).enumerate() {
            // ReLUs that are off add nothing.
            if ends == (0.0, 0.0) {
                continue;
            }
            for ((&w, lower), upper) in column(m, j).iter().zip(&mut *lower).zip(&mut *upper) {
                add_to_range(w.into(), ends, lower, upper);
            }
        }
    }
}

/// A column of a matrix whose columns lie together.
#[inline(always)]
fn column<'m, T>(m: MatRef<'m, T>, j: usize) -> &'m [T] {
    m.col(j).try_as_col_major().expect("columns lie together").as_slice()
}

/// The rows of a block in which something is not 0, ascending.
fn used_rows(block: MatRef<'_, f64>) -> Vec<usize> {
    // What no column has used so far.
    let mut unused: Vec<usize> = (0..block.nrows()).collect();
    for j in 0..block.ncols() {
        let column = column(block, j);
        unused.retain(|&row| column[row] == 0.0);
    }
    let mut unused = unused.into_iter().peekable();
    (0..block.nrows()).filter(|row| unused.next_if_eq(row).is_none()).collect()
}

/// With more used rows than this share it does not pay to copy the others away.
const MOSTLY_USED: f64 = 0.9;

/// With fewer columns a product takes no longer than copying what it needs.
const WORTH_COPYING: usize = 32;

/// Columns are copied so many at a time: new memory for all of them would cost as much as the copies.
const COPIED_AT_ONCE: usize = 512;

/// `out += m V`, leaving out the rows of `V` without anything: ReLUs that are off, whatever the function.
///
/// # Panics
/// When the columns of `m` or `V` do not lie together, or lengths differ.
pub(crate) fn add_block_product(out: &mut Mat<f64>, m: MatRef<'_, f64>, block: MatRef<'_, f64>) {
    let shape = (m.nrows(), m.ncols(), block.ncols());
    assert_eq!(shape, (out.nrows(), block.nrows(), out.ncols()), "the product's shape");
    let used = used_rows(block);
    if used.len() as f64 > MOSTLY_USED * block.nrows() as f64 {
        matmul(out.as_mut(), Accum::Add, m, block, 1.0, Par::Seq);
        return;
    }
    let most = used.len().min(COPIED_AT_ONCE);
    let (mut columns, mut rows) = (Mat::zeros(m.nrows(), most), Mat::zeros(most, block.ncols()));
    for used in used.chunks(COPIED_AT_ONCE) {
        for (k, &j) in used.iter().enumerate() {
            columns.col_as_slice_mut(k).copy_from_slice(column(m, j));
        }
        for k in 0..block.ncols() {
            let (from, to) = (column(block, k), rows.col_as_slice_mut(k));
            to.iter_mut().zip(used).for_each(|(to, &j)| *to = from[j]);
        }
        let (columns, rows) = (columns.subcols(0, used.len()), rows.subrows(0, used.len()));
        matmul(out.as_mut(), Accum::Add, columns, rows, 1.0, Par::Seq);
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
        let wide = DenseMatrix { stored: Stored::Wide(exact.clone()), ..narrow.clone() };
        assert!(matches!(narrow.stored, Stored::Narrow { .. }));
        let (v, u) = (point(13, 2), point(7, 3));
        let products = |m: &DenseMatrix| {
            let (mut out, mut back) = (vec![0.5; 7], vec![0.5; 13]);
            m.add_product(&v, &mut out);
            m.add_transposed_product(&u, &mut back);
            let mut column = vec![0.0; 7];
            m.copy_column(4, &mut column);
            let block = Mat::from_fn(7, 2, |i, k| u[i] + k as f64);
            let some = m.transposed_product_at(&[11, 0, 4], block.as_ref());
            (out, back, column, (0..3).map(|j| [some[(j, 0)], some[(j, 1)]]).collect::<Vec<_>>())
        };
        assert_eq!(products(&narrow), products(&wide));
        // A weight that f32 would round stays as it is.
        let rounded = Mat::from_fn(7, 13, |i, j| exact[(i, j)] + if i == j { 1e-12 } else { 0.0 });
        assert!(matches!(DenseMatrix::new(rounded).stored, Stored::Wide(_)));
    }

    #[test]
    fn products_of_blocks_leave_out_nothing_but_zeros() {
        let drawn = point(1300 * 3, 4);
        // All rows, about every other one, one behind the first copies, none.
        let uses: [fn(usize) -> bool; 4] =
            [|_| true, |j| j % 2 == 0 || j % 7 == 1, |j| j == 1299, |_| false];
        let m = Mat::from_fn(5, 1300, |i, j| drawn[(7 * j + i) % 3900]);
        for is_used in uses {
            let entry = |j: usize, k: usize| if is_used(j) { drawn[3 * j + k] } else { 0.0 };
            let block = Mat::from_fn(1300, 3, entry);
            let mut out = Mat::from_fn(5, 3, |i, _| i as f64);
            add_block_product(&mut out, m.as_ref(), block.as_ref());
            for i in 0..5 {
                for k in 0..3 {
                    let terms = (0..1300).map(|j| m[(i, j)] * block[(j, k)]);
                    let expected = i as f64 + terms.sum::<f64>();
                    assert!((out[(i, k)] - expected).abs() < 1e-9, "{} {expected}", out[(i, k)]);
                }
            }
        }
    }
}
