//! A sparse matrix in compressed form, stored twice: by rows and by columns.
//!
//! Written by hand, because the matrices of faer and sprs have one type for what is stored and what is computed with, and no product
//! that leaves out the zeros of a vector. Here weights that a file has in `f32` are stored so and multiplied in `f64`, as in a
//! [dense matrix](super::dense), and a product with a vector that is mostly zeros reads only the columns of the others.

use faer::{Mat, MatRef};

/// The weights of an affine map, one row per output; what is not stored is 0.
#[derive(Clone)]
pub(super) struct SparseMatrix {
    rows: Compressed,
    columns: Compressed,
}

/// Sums of a product with one row that are added up side by side.
const LANES: usize = 8;

/// Lines of a matrix, one after the other: all rows, or all columns.
#[derive(Clone)]
struct Compressed {
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
    /// The place of each entry in its line, ascending within a line.
    places: Vec<u32>,
    values: Values,
}

#[derive(Clone)]
enum Values {
    Wide(Vec<f64>),
    /// If all weights are numbers of `f32`.
    Narrow(Vec<f32>),
}

impl Values {
    fn new(wide: Vec<f64>) -> Self {
        let exact = wide.iter().all(|&w| f64::from(w as f32) == w);
        if exact {
            Self::Narrow(wide.iter().map(|&w| w as f32).collect())
        } else {
            Self::Wide(wide)
        }
    }

    #[inline]
    fn get(&self, at: usize) -> f64 {
        match self {
            Self::Wide(values) => values[at],
            Self::Narrow(values) => values[at].into(),
        }
    }
}

impl Compressed {
    fn lines(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    fn range(&self, line: usize) -> std::ops::Range<usize> {
        self.starts[line]..self.starts[line + 1]
    }

    fn line(&self, line: usize) -> SparseLine<'_> {
        SparseLine { of: self, range: self.range(line) }
    }

    fn get(&self, line: usize, place: usize) -> f64 {
        let range = self.range(line);
        let found = self.places[range.clone()].binary_search(&(place as u32));
        found.map_or(0.0, |at| self.values.get(range.start + at))
    }

    /// The same matrix by its other lines, of which there are so many.
    fn turned(&self, others: usize) -> Self {
        let mut starts = vec![0; others + 1];
        self.places.iter().for_each(|&place| starts[place as usize + 1] += 1);
        for line in 0..others {
            starts[line + 1] += starts[line];
        }
        let mut next = starts.clone();
        let (mut places, mut order) =
            (vec![0; self.places.len()], vec![0_usize; self.places.len()]);
        for line in 0..self.lines() {
            for at in self.range(line) {
                let to = &mut next[self.places[at] as usize];
                (places[*to], order[*to]) = (line as u32, at);
                *to += 1;
            }
        }
        let values = match &self.values {
            Values::Wide(values) => Values::Wide(order.iter().map(|&at| values[at]).collect()),
            Values::Narrow(values) => Values::Narrow(order.iter().map(|&at| values[at]).collect()),
        };
        Self { starts, places, values }
    }

    /// `out[place] += v[line] · value`, line by line where `v` is not 0.
    fn scatter(&self, v: &[f64], out: &mut [f64]) {
        fn add<T: Copy + Into<f64>>(places: &[u32], values: &[T], factor: f64, out: &mut [f64]) {
            for (&place, &value) in places.iter().zip(values) {
                out[place as usize] += factor * value.into();
            }
        }
        for (line, &factor) in v.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            let range = self.range(line);
            let places = &self.places[range.clone()];
            match &self.values {
                Values::Wide(values) => add(places, &values[range], factor, out),
                Values::Narrow(values) => add(places, &values[range], factor, out),
            }
        }
    }

    /// `out[line] += Σ value · v[place]`.
    fn gather(&self, v: &[f64], out: &mut [f64]) {
        fn dot<T: Copy + Into<f64>>(places: &[u32], values: &[T], v: &[f64]) -> f64 {
            // Several sums, so that additions need not wait for each other.
            let mut sums = [0.0; LANES];
            let (chunks, last) = places.as_chunks::<LANES>();
            let (of_chunks, of_last) = values.as_chunks::<LANES>();
            for (places, values) in chunks.iter().zip(of_chunks) {
                for ((sum, &place), &value) in sums.iter_mut().zip(places).zip(values) {
                    *sum += value.into() * v[place as usize];
                }
            }
            for ((sum, &place), &value) in sums.iter_mut().zip(last).zip(of_last) {
                *sum += value.into() * v[place as usize];
            }
            let [a, b, c, d, e, f, g, h] = sums;
            ((a + b) + (c + d)) + ((e + f) + (g + h))
        }
        for (line, out) in out.iter_mut().enumerate() {
            let range = self.range(line);
            let places = &self.places[range.clone()];
            *out += match &self.values {
                Values::Wide(values) => dot(places, &values[range], v),
                Values::Narrow(values) => dot(places, &values[range], v),
            };
        }
    }
}

/// One row or column: places and weights, ascending.
#[derive(Clone)]
pub(super) struct SparseLine<'m> {
    of: &'m Compressed,
    range: std::ops::Range<usize>,
}

impl SparseLine<'_> {
    #[inline]
    fn at(&self, at: usize) -> (usize, f64) {
        (self.of.places[at] as usize, self.of.values.get(at))
    }
}

impl Iterator for SparseLine<'_> {
    type Item = (usize, f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(|at| self.at(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl DoubleEndedIterator for SparseLine<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.next_back().map(|at| self.at(at))
    }
}

/// Products with more zeros than this share skip them; with fewer, rows are read in order.
const MOSTLY_ZEROS: f64 = 0.5;

impl SparseMatrix {
    /// For each output the inputs that have a weight, ascending.
    pub fn from_rows<R: IntoIterator<Item = (u32, f64)>>(
        inputs: usize,
        rows: impl Iterator<Item = R>,
    ) -> Self {
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            for (place, value) in row.into_iter().filter(|(_, value)| *value != 0.0) {
                places.push(place);
                values.push(value);
            }
            starts.push(places.len());
        }
        places.shrink_to_fit();
        let rows = Compressed { starts, places, values: Values::new(values) };
        Self { columns: rows.turned(inputs), rows }
    }

    pub fn outputs(&self) -> usize {
        self.rows.lines()
    }

    pub fn inputs(&self) -> usize {
        self.columns.lines()
    }

    /// Number of weights that are stored.
    pub fn entries(&self) -> usize {
        self.rows.places.len()
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
        multiply(&self.rows, &self.columns, v, out);
    }

    /// `out += Wᵀ v`.
    pub fn add_transposed_product(&self, v: &[f64], out: &mut [f64]) {
        assert_eq!((self.inputs(), self.outputs()), (out.len(), v.len()), "the product's shape");
        multiply(&self.columns, &self.rows, v, out);
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

/// `out += M v`, where `lines` are the rows of `M` and `others` its columns.
fn multiply(lines: &Compressed, others: &Compressed, v: &[f64], out: &mut [f64]) {
    let zeros = v.iter().filter(|v| **v == 0.0).count();
    if zeros as f64 > MOSTLY_ZEROS * v.len() as f64 {
        others.scatter(v, out);
    } else {
        lines.gather(v, out);
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
