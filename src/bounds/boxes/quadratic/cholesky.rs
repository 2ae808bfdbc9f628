//! Factors of a positive matrix, and products of which only the lower half is wanted.

use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, Mat, Par};

/// Columns that are worked on at once.
const BLOCK: usize = 32;

/// `L` of `L·Lᵀ`. Where that could be computed, the matrix is positive up to rounding (Rump 2006).
pub struct Cholesky {
    lower: Mat<f64>,
}

impl Cholesky {
    /// The factors of a matrix of which the lower half is read. `None` if it does not seem to be positive.
    pub fn new(matrix: &Mat<f64>) -> Option<Self> {
        let mut lower = matrix.clone();
        let n = lower.nrows();
        for begin in (0..n).step_by(BLOCK) {
            let end = (begin + BLOCK).min(n);
            let (done, mut panel) = lower.as_mut().split_at_col_mut(begin);
            let (done, panel) = (done.rb().subrows(begin, n - begin), panel.rb_mut());
            let mut panel = panel.submatrix_mut(begin, 0, n - begin, end - begin);
            let top = done.subrows(0, end - begin);
            matmul(panel.rb_mut(), Accum::Add, done, top.transpose(), -1.0, Par::Seq);
            for k in 0..end - begin {
                let pivot = panel[(k, k)];
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return None;
                }
                let root = pivot.sqrt();
                let (left, mut right) = panel.rb_mut().split_at_col_mut(k + 1);
                let column = left.col_mut(k).try_as_col_major_mut()?.as_slice_mut();
                column[k..].iter_mut().for_each(|value| *value /= root);
                for j in 0..right.ncols() {
                    let by = column[k + 1 + j];
                    let to = right.rb_mut().col_mut(j).try_as_col_major_mut()?.as_slice_mut();
                    let both = to[k + 1 + j..].iter_mut().zip(&column[k + 1 + j..]);
                    both.for_each(|(to, from)| *to -= by * from);
                }
            }
        }
        Some(Self { lower })
    }

    /// `L⁻¹`: its lower half, and 0 above.
    pub fn inverse_of_lower(&self) -> Mat<f64> {
        let n = self.lower.nrows();
        let mut inverse = Mat::zeros(n, n);
        for begin in (0..n).step_by(BLOCK) {
            let end = (begin + BLOCK).min(n);
            let rows = self.lower.as_ref().subrows(begin, end - begin);
            let mut sums = Mat::zeros(end - begin, end);
            let above = inverse.as_ref().submatrix(0, 0, begin, begin);
            let of_sums = sums.as_mut().subcols_mut(0, begin);
            matmul(of_sums, Accum::Replace, rows.subcols(0, begin), above, -1.0, Par::Seq);
            for k in begin..end {
                sums[(k - begin, k)] = 1.0;
            }
            for column in 0..end {
                let sums = sums.col_as_slice_mut(column);
                for k in 0..end - begin {
                    let value = sums[k] / rows[(k, begin + k)];
                    sums[k] = value;
                    if value != 0.0 {
                        let below = self.lower.col_as_slice(begin + k)[begin + k + 1..end].iter();
                        sums[k + 1..].iter_mut().zip(below).for_each(|(sum, l)| *sum -= l * value);
                    }
                }
                inverse.col_as_slice_mut(column)[begin..end].copy_from_slice(sums);
            }
        }
        inverse
    }
}

/// The lower half of `aᵀ·a`; above are other numbers.
pub fn gram(a: &Mat<f64>, out: &mut Mat<f64>) {
    let n = a.ncols();
    for begin in (0..n).step_by(2 * BLOCK) {
        let count = (2 * BLOCK).min(n - begin);
        let (left, right) =
            (a.as_ref().subcols(begin, n - begin), a.as_ref().subcols(begin, count));
        let to = out.as_mut().submatrix_mut(begin, begin, n - begin, count);
        matmul(to, Accum::Replace, left.transpose(), right, 1.0, Par::Seq);
    }
}

/// `a·u`, with a matrix `u` that is 0 below its diagonal.
pub fn times_upper(a: &Mat<f64>, u: &Mat<f64>, out: &mut Mat<f64>) {
    let n = a.ncols();
    for begin in (0..n).step_by(2 * BLOCK) {
        let count = (2 * BLOCK).min(n - begin);
        let left = a.as_ref().subcols(0, begin + count);
        let right = u.as_ref().submatrix(0, begin, begin + count, count);
        let to = out.as_mut().subcols_mut(begin, count);
        matmul(to, Accum::Replace, left, right, 1.0, Par::Seq);
    }
}
