//! One affine map `g = W h + b`, whatever its weights are stored as.
//!
//! All other rooms speak of weights through this interface, so that another way to store them changes nothing there.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use faer::{Mat, MatRef};

use super::weights::{MapRow, Weights};

/// One affine map `g = W h + b`.
#[derive(Clone)]
pub struct AffineMap {
    /// Networks that begin with the same layers share them.
    weights: Arc<Weights>,
    bias: Vec<f64>,
}

impl AffineMap {
    /// The map with these weights, one row per output, and this bias.
    ///
    /// ```
    /// use rw_adv::network::AffineMap;
    ///
    /// let map = AffineMap::from_rows(&[[1.0, 2.0], [0.0, -1.0]], vec![0.5, 0.0]);
    /// let mut g = [0.0; 2];
    /// map.apply(&[1.0, 1.0], &mut g);
    /// assert_eq!(g, [3.5, -1.0]);
    /// ```
    ///
    /// # Panics
    /// When rows have different lengths.
    pub fn from_rows(rows: &[impl AsRef<[f64]>], bias: Vec<f64>) -> Self {
        let inputs = rows.first().map_or(0, |row| row.as_ref().len());
        assert!(rows.iter().all(|row| row.as_ref().len() == inputs), "rows of one length");
        Self::from_fn(rows.len(), inputs, |i, j| rows[i].as_ref()[j], bias)
    }

    /// The map whose weight of input `j` in output `i` is `weight(i, j)`.
    pub fn from_fn(
        outputs: usize,
        inputs: usize,
        weight: impl FnMut(usize, usize) -> f64,
        bias: Vec<f64>,
    ) -> Self {
        let weights = Weights::from_dense(Mat::from_fn(outputs, inputs, weight));
        Self { weights: Arc::new(weights), bias }
    }

    /// The map with these weights, for each output the inputs that have one, ascending, and this bias.
    pub(crate) fn from_sparse_rows<R: Iterator<Item = (u32, f64)>>(
        inputs: usize,
        rows: impl ExactSizeIterator<Item = R> + Clone,
        bias: Vec<f64>,
    ) -> Self {
        Self { weights: Arc::new(Weights::from_sparse_rows(inputs, rows)), bias }
    }

    /// Whether most weights are 0 and not stored.
    pub fn is_sparse(&self) -> bool {
        matches!(&*self.weights, Weights::Sparse(_))
    }

    /// Number of values that it takes.
    pub fn inputs(&self) -> usize {
        self.weights.inputs()
    }

    /// Number of values that it gives.
    pub fn outputs(&self) -> usize {
        self.weights.outputs()
    }

    /// `b`, one entry per output.
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// The weight of one input in one output.
    pub fn weight(&self, output: usize, input: usize) -> f64 {
        self.weights.get(output, input)
    }

    /// The weights of one output with the inputs they belong to, ascending. Zeros may be left out.
    pub fn row(&self, output: usize) -> MapRow<'_> {
        self.weights.row(output)
    }

    /// The weights of one output, one for each input.
    pub fn dense_row(&self, output: usize) -> Cow<'_, [f64]> {
        self.weights.dense_row(output)
    }

    /// Copies the weights of one input, one for each output.
    ///
    /// # Panics
    /// When there is not a place for each output.
    pub(crate) fn copy_column(&self, input: usize, weights: &mut [f64]) {
        self.weights.copy_column(input, weights);
    }

    /// The rows of some outputs, each times `factor`, as the columns of a block.
    pub fn row_block(&self, outputs: &[usize], factor: f64) -> Mat<f64> {
        let mut block = Mat::zeros(self.inputs(), outputs.len());
        for (k, &output) in outputs.iter().enumerate() {
            let column = block.col_as_slice_mut(k);
            self.row(output).for_each(|(input, weight)| column[input] = factor * weight);
        }
        block
    }

    /// The weights of some inputs in some outputs: one column for each output.
    pub(super) fn weights_at(&self, inputs: &[usize], outputs: &[usize]) -> Mat<f64> {
        Mat::from_fn(inputs.len(), outputs.len(), |j, k| self.weight(outputs[k], inputs[j]))
    }

    /// Some rows of `Wᵀ V`, those of these inputs, for a block `V` of columns.
    pub(super) fn transposed_product_at(
        &self,
        inputs: &[usize],
        block: MatRef<'_, f64>,
    ) -> Mat<f64> {
        self.weights.transposed_product_at(inputs, block)
    }

    /// `out = W h + b`. Fast where `h` is mostly zeros.
    ///
    /// # Panics
    /// When the lengths are not those of the map.
    pub fn apply(&self, h: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.bias);
        self.weights.add_product(h, out);
    }

    /// `out += W h`.
    ///
    /// # Panics
    /// When the lengths are not those of the map.
    pub(crate) fn add_product(&self, h: &[f64], out: &mut [f64]) {
        self.weights.add_product(h, out);
    }

    /// `out = at + W change`: the value at a point that differs by `change` from one where it is `at`. Fast where `change` is mostly zeros.
    ///
    /// # Panics
    /// When the lengths are not those of the map.
    pub(super) fn apply_from(&self, at: &[f64], change: &[f64], out: &mut [f64]) {
        out.copy_from_slice(at);
        self.weights.add_product(change, out);
    }

    /// `out = Wᵀ v`. Fast where `v` is mostly zeros.
    ///
    /// # Panics
    /// When the lengths are not those of the map.
    pub fn apply_transposed(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.weights.add_transposed_product(v, out);
    }

    /// `out += Wᵀ v`.
    ///
    /// # Panics
    /// When the lengths are not those of the map.
    pub(super) fn add_transposed_product(&self, v: &[f64], out: &mut [f64]) {
        self.weights.add_transposed_product(v, out);
    }

    /// `Wᵀ V` for a block `V` of columns.
    ///
    /// # Panics
    /// When the block has not a row for each output.
    pub fn apply_transposed_to_block(&self, block: MatRef<'_, f64>) -> Mat<f64> {
        self.weights.transposed_product(block)
    }

    /// `Σ |w| |h|` for every output: what the rounding errors of its sum are proportional to, bias left out.
    ///
    /// # Panics
    /// When `h` has fewer entries than the map has inputs.
    pub fn magnitudes(&self, h: &[f64]) -> Vec<f64> {
        if self.is_sparse() {
            let magnitude = |i| self.row(i).map(|(j, weight)| (weight * h[j]).abs()).sum();
            return (0..self.outputs()).map(magnitude).collect();
        }
        (0..self.outputs()).map(|i| magnitude(&self.dense_row(i), h)).collect()
    }

    /// The smallest and the largest `W h + b` where each `h` lies between these.
    ///
    /// # Panics
    /// When the lengths are not those of the map.
    pub(crate) fn range(&self, least: &[f64], most: &[f64]) -> [Vec<f64>; 2] {
        let mut ends = [self.bias.clone(), self.bias.clone()];
        self.weights.add_range(least, most, &mut ends);
        ends
    }

    /// The same map, stored dense.
    #[cfg(test)]
    pub(crate) fn stored_dense(&self) -> Self {
        Self { weights: Arc::new(self.weights.stored_dense()), bias: self.bias.clone() }
    }

    /// The map with the absolute values of the weights, and no bias.
    pub(crate) fn absolute(&self) -> Self {
        let weights = Arc::new(self.weights.absolute());
        Self { weights, bias: vec![0.0; self.outputs()] }
    }

    /// Number of weights and biases that are stored.
    pub fn parameters(&self) -> usize {
        self.weights.entries() + self.outputs()
    }

    pub(super) fn is_finite(&self) -> bool {
        (0..self.outputs()).all(|i| self.row(i).all(|(_, weight)| weight.is_finite()))
            && self.bias.iter().all(|b| b.is_finite())
    }
}

/// `Σ |w| |h|`, in several sums that do not wait for each other.
fn magnitude(weights: &[f64], h: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (weights, h) in weights.chunks(8).zip(h.chunks(8)) {
        for ((sum, weight), h) in sums.iter_mut().zip(weights).zip(h) {
            *sum += (weight * h).abs();
        }
    }
    sums.iter().sum()
}

impl fmt::Debug for AffineMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AffineMap({} -> {})", self.inputs(), self.outputs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::{network, point};
    use proptest::prelude::*;

    proptest! {
        /// Every way to ask for the weights gives the same numbers.
        #[test]
        fn all_products_follow_from_the_rows(widths in prop::collection::vec(1usize..30, 3), seed in any::<u64>()) {
            let network = network(&widths, seed);
            let map = network.affine(0);
            let (h, v) = (point(map.inputs(), seed ^ 1), point(map.outputs(), seed ^ 2));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
            let dot = |row: &[f64], h: &[f64]| -> f64 { row.iter().zip(h).map(|(w, h)| w * h).sum() };
            let (mut forward, mut back) = (vec![0.0; map.outputs()], vec![0.0; map.inputs()]);
            map.apply(&h, &mut forward);
            map.apply_transposed(&v, &mut back);
            let magnitudes = map.magnitudes(&h);
            let outputs: Vec<usize> = (0..map.outputs()).rev().collect();
            let block = map.row_block(&outputs, -2.0);
            for (k, &i) in outputs.iter().enumerate() {
                let row = map.dense_row(i);
                prop_assert!(close(forward[i], dot(&row, &h) + map.bias()[i]));
                let absolute: f64 = row.iter().zip(&h).map(|(w, h)| (w * h).abs()).sum();
                prop_assert!(close(magnitudes[i], absolute));
                for (j, weight) in map.row(i) {
                    prop_assert_eq!(weight, row[j]);
                    prop_assert_eq!(weight, map.weight(i, j));
                    prop_assert_eq!(block[(j, k)], -2.0 * weight);
                }
            }
            let columns = Mat::from_fn(map.outputs(), 3, |i, k| v[i] * (k as f64 - 1.0));
            let product = map.apply_transposed_to_block(columns.as_ref());
            for (j, &expected) in back.iter().enumerate() {
                let column: Vec<f64> = (0..map.outputs()).map(|i| map.weight(i, j)).collect();
                prop_assert!(close(expected, dot(&column, &v)));
                prop_assert!((0..3).all(|k| close(product[(j, k)], expected * (k as f64 - 1.0))));
            }
            // Some inputs are exactly 0, as ReLUs that are off.
            let least: Vec<f64> = h.iter().map(|h| h.min(0.25)).map(|h| if h < -0.5 { 0.0 } else { h }).collect();
            let most: Vec<f64> = h.iter().zip(&least).map(|(h, least)| if *h < -0.5 { 0.0 } else { least + h.abs() }).collect();
            let [lower, upper] = map.range(&least, &most);
            for i in 0..map.outputs() {
                let corner = |sign: f64| map.row(i).fold(map.bias()[i], |sum, (j, w)| {
                    sum + w * if sign * w > 0.0 { most[j] } else { least[j] }
                });
                prop_assert_eq!((lower[i], upper[i]), (corner(-1.0), corner(1.0)));
            }
        }
    }
}
