//! Products of matrices in f64, rounded to nearest in an unspecified order.

/// Rows and columns of the result that are worked on together: they fit the registers.
const ROWS: usize = 4;
const COLUMNS: usize = 4;

/// One of so many factors at most is not 0: then rows are added one by one.
const SPARSE: usize = 16;

/// `out += left · right`, all by rows: `left` has `inner` columns, `right` and `out` have `width`.
pub fn add_product(out: &mut [f64], left: &[f64], right: &[f64], inner: usize, width: usize) {
    if inner == 0 || width == 0 {
        return;
    }
    let sparse = left.iter().filter(|factor| **factor != 0.0).count() * SPARSE < left.len();
    if sparse || out.len() < ROWS * width {
        for (out, left) in out.chunks_mut(width).zip(left.chunks(inner)) {
            for (factor, right) in left.iter().zip(right.chunks(width)).filter(|(f, _)| **f != 0.0)
            {
                out.iter_mut().zip(right).for_each(|(out, right)| *out += factor * right);
            }
        }
        return;
    }
    let blocks: Vec<_> = left.chunks(ROWS * inner).map(|rows| packed(rows, inner)).collect();
    for start in (0..width).step_by(COLUMNS) {
        let columns = COLUMNS.min(width - start);
        // Copied together, so that the loop below reads it in order.
        let mut tile = vec![[0.0; COLUMNS]; inner];
        for (tile, right) in tile.iter_mut().zip(right.chunks(width)) {
            tile[..columns].copy_from_slice(&right[start..start + columns]);
        }
        for (block, out) in blocks.iter().zip(out.chunks_mut(ROWS * width)) {
            let mut sums = [[0.0; COLUMNS]; ROWS];
            for (j, factors) in block {
                for (sums, factor) in sums.iter_mut().zip(factors) {
                    sums.iter_mut().zip(&tile[*j]).for_each(|(sum, right)| *sum += factor * right);
                }
            }
            for (sums, out) in sums.iter().zip(out.chunks_mut(width)) {
                out[start..].iter_mut().zip(&sums[..columns]).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

/// Up to [`ROWS`] rows, column by column. Columns of zeros are left out.
fn packed(rows: &[f64], inner: usize) -> Vec<(usize, [f64; ROWS])> {
    let factor = |row: usize, j: usize| rows.get(row * inner + j).copied().unwrap_or(0.0);
    let columns = (0..inner).map(|j| (j, std::array::from_fn(|row| factor(row, j))));
    columns.filter(|(_, factors)| factors.iter().any(|factor| *factor != 0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_textbook() {
        for (rows, inner, width) in [(1, 3, 5), (3, 1, 2), (4, 4, 4), (9, 5, 7), (6, 2, 1)] {
            let number = |k: usize| (k * 7 % 11) as f64 - 5.0;
            let left: Vec<f64> = (0..rows * inner).map(number).collect();
            let right: Vec<f64> = (0..inner * width).map(number).collect();
            let mut out = vec![1.0; rows * width];
            add_product(&mut out, &left, &right, inner, width);
            for (k, out) in out.iter().enumerate() {
                let (row, column) = (k / width, k % width);
                let term = |j: usize| left[row * inner + j] * right[j * width + column];
                assert_eq!(*out, 1.0 + (0..inner).map(term).sum::<f64>(), "{rows} {inner} {width}");
            }
        }
    }
}
