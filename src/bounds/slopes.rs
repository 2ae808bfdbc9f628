//! Slopes of many linear functions in the moves, one column per function, within a stated amount of memory.
//!
//! A neuron behind a convolution depends on few inputs. What reaches it by way of envelopes depends on all moves, but in all others alike: a
//! column is then few slopes of its own, and one slope, the *rest*, in all other moves.
//!
//! Rounding: sums of such columns add up rests apart from what differs from them, `Σ w (v − rest) + Σ w rest`. The magnitudes of these terms
//! are at most three times those of `Σ w v`, since a rest is one of the column's slopes: far less than the safety factor of an
//! [`Allowance`](crate::sets::Allowance).

use std::borrow::Cow;
use std::sync::Arc;

use faer::{Mat, MatRef};

use crate::network::{self, AffineMap};
use crate::sets::{Move, MoveSet};

/// The slopes of the first layer are stored up to so many numbers (64 MB). Above that they are read from the layer's weights.
const MOST_NUMBERS: usize = 8 << 20;

/// With fewer numbers columns are stored as they are.
const SMALLEST_SPARSE: usize = 1 << 14;

/// Columns are stored sparse if that takes at most this share of the numbers.
const SPARSE_SHARE: f64 = 0.25;

/// Slopes, one column per function and one row per move.
pub enum SlopeColumns {
    Dense(Mat<f64>),
    Sparse(SparseColumns),
    /// The first layer's neurons: what its weights are in the directions of the moves.
    OfMap(AffineMap, Arc<[Move]>),
}

/// Columns with few slopes of their own.
pub struct SparseColumns {
    moves: usize,
    /// Where each column begins, and where the last one ends.
    starts: Vec<usize>,
    /// The moves, ascending within a column, and the slopes in them.
    places: Vec<u32>,
    slopes: Vec<f64>,
    /// The slope in all other moves, by column.
    rests: Vec<f64>,
}

/// One column with few slopes of its own.
#[derive(Clone, Copy)]
pub struct SparseColumn<'s> {
    pub places: &'s [u32],
    pub slopes: &'s [f64],
    pub rest: f64,
}

impl SparseColumn<'_> {
    /// No slopes.
    pub const ZERO: Self = Self { places: &[], slopes: &[], rest: 0.0 };

    fn get(&self, k: usize) -> f64 {
        self.places.binary_search(&(k as u32)).map_or(self.rest, |at| self.slopes[at])
    }
}

impl SparseColumns {
    /// The slopes other than the rest in every column.
    fn new<C: Iterator<Item = (u32, f64)>>(
        moves: usize,
        columns: impl Iterator<Item = (C, f64)>,
    ) -> Self {
        let (starts, places) = (vec![0], Vec::new());
        let mut all = Self { moves, starts, places, slopes: Vec::new(), rests: Vec::new() };
        for (column, rest) in columns {
            for (place, slope) in column.filter(|(_, slope)| *slope != rest) {
                all.places.push(place);
                all.slopes.push(slope);
            }
            all.starts.push(all.places.len());
            all.rests.push(rest);
        }
        all
    }

    fn column(&self, j: usize) -> SparseColumn<'_> {
        let range = self.starts[j]..self.starts[j + 1];
        let (places, slopes) = (&self.places[range.clone()], &self.slopes[range]);
        SparseColumn { places, slopes, rest: self.rests[j] }
    }
}

impl SlopeColumns {
    /// Columns that are worked out, and the slope that each has in most moves.
    pub fn new(slopes: Mat<f64>, rests: &[f64]) -> Self {
        let (moves, columns) = (slopes.nrows(), slopes.ncols());
        let differ = |j: usize| slopes.col_as_slice(j).iter().filter(|v| **v != rests[j]).count();
        let numbers = moves * columns;
        let is_sparse = numbers >= SMALLEST_SPARSE
            && (0..columns).map(differ).sum::<usize>() as f64 <= SPARSE_SHARE * numbers as f64;
        if !is_sparse {
            return Self::Dense(slopes);
        }
        let column = |j: usize| {
            let slopes = slopes.col_as_slice(j).iter().enumerate();
            (slopes.map(|(k, slope)| (k as u32, *slope)), rests[j])
        };
        Self::Sparse(SparseColumns::new(moves, (0..columns).map(column)))
    }

    /// The rows of a network's first layer in moves: one column per neuron, exact.
    pub fn of_first_layer(map: &AffineMap, moves: &MoveSet) -> Self {
        let all = moves.moves();
        if map.is_sparse() {
            // Moves are sorted by pixel, and so are weights.
            let mut first_of_pixel = vec![all.len(); map.inputs() + 1];
            (0..all.len()).rev().for_each(|k| first_of_pixel[all[k].pixel] = k);
            let column = |j: usize| {
                let of_weight = |(pixel, weight): (usize, f64)| {
                    let moves =
                        all[first_of_pixel[pixel]..].iter().take_while(move |m| m.pixel == pixel);
                    let first = first_of_pixel[pixel];
                    moves.enumerate().map(move |(k, m)| ((first + k) as u32, m.sign * weight))
                };
                (map.row(j).flat_map(of_weight), 0.0)
            };
            return Self::Sparse(SparseColumns::new(all.len(), (0..map.outputs()).map(column)));
        }
        if all.len().saturating_mul(map.outputs()) > MOST_NUMBERS {
            return Self::OfMap(map.clone(), Arc::clone(all));
        }
        let mut slopes = Mat::zeros(all.len(), map.outputs());
        for j in 0..map.outputs() {
            let row = map.dense_row(j);
            for (slope, m) in slopes.col_as_slice_mut(j).iter_mut().zip(all.iter()) {
                *slope = m.sign * row[m.pixel];
            }
        }
        Self::Dense(slopes)
    }

    /// The same for a few moves, read by inputs.
    pub fn of_few_moves(map: &AffineMap, moves: &[Move]) -> Self {
        let mut slopes = Mat::zeros(moves.len(), map.outputs());
        let mut weights = vec![0.0; map.outputs()];
        for (k, m) in moves.iter().enumerate() {
            map.copy_column(m.pixel, &mut weights);
            for (j, weight) in weights.iter().enumerate() {
                slopes.col_as_slice_mut(j)[k] = m.sign * weight;
            }
        }
        Self::Dense(slopes)
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense(slopes) => slopes.ncols(),
            Self::Sparse(slopes) => slopes.rests.len(),
            Self::OfMap(map, _) => map.outputs(),
        }
    }

    /// How many numbers a column takes where it is stored, or would be.
    pub fn numbers(&self, j: usize) -> usize {
        match self {
            Self::Dense(slopes) => slopes.nrows(),
            Self::Sparse(slopes) => slopes.column(j).places.len(),
            Self::OfMap(_, moves) => moves.len(),
        }
    }

    /// One slope.
    #[inline]
    pub fn get(&self, k: usize, j: usize) -> f64 {
        match self {
            Self::Dense(slopes) => slopes[(k, j)],
            Self::Sparse(slopes) => slopes.column(j).get(k),
            Self::OfMap(map, moves) => moves[k].sign * map.weight(j, moves[k].pixel),
        }
    }

    /// A column, one slope for each move.
    pub fn column(&self, j: usize) -> Cow<'_, [f64]> {
        match self {
            Self::Dense(slopes) => Cow::Borrowed(slopes.col_as_slice(j)),
            Self::Sparse(slopes) => {
                let SparseColumn { places, slopes: own, rest } = slopes.column(j);
                let mut column = vec![rest; slopes.moves];
                places.iter().zip(own).for_each(|(&k, slope)| column[k as usize] = *slope);
                Cow::Owned(column)
            }
            Self::OfMap(map, moves) => {
                let row = map.dense_row(j);
                Cow::Owned(moves.iter().map(|m| m.sign * row[m.pixel]).collect())
            }
        }
    }

    /// A column with few slopes of its own, if it is stored so.
    pub fn sparse_column(&self, j: usize) -> Option<SparseColumn<'_>> {
        match self {
            Self::Sparse(slopes) => Some(slopes.column(j)),
            Self::Dense(_) | Self::OfMap(..) => None,
        }
    }

    /// The largest magnitude in each column.
    pub fn steepest(&self) -> Vec<f64> {
        let steepest = |slopes: &[f64], rest: f64| {
            slopes.iter().fold(rest.abs(), |most: f64, v: &f64| most.max(v.abs()))
        };
        let of_column = |j: usize| match self.sparse_column(j) {
            Some(column) => steepest(column.slopes, column.rest),
            None => steepest(&self.column(j), 0.0),
        };
        (0..self.len()).map(of_column).collect()
    }

    /// The same in some moves only, ascending.
    pub fn with_moves(&self, few: &[usize]) -> Self {
        match self {
            Self::Sparse(slopes) => {
                let mut new_place = vec![None; slopes.moves];
                few.iter().enumerate().for_each(|(new, &k)| new_place[k] = Some(new as u32));
                let column = |j: usize| {
                    let SparseColumn { places, slopes, rest } = slopes.column(j);
                    let new_place = &new_place;
                    let own = places.iter().zip(slopes);
                    let own =
                        own.filter_map(move |(&k, &slope)| Some((new_place[k as usize]?, slope)));
                    (own, rest)
                };
                Self::Sparse(SparseColumns::new(few.len(), (0..self.len()).map(column)))
            }
            _ => Self::Dense(Mat::from_fn(few.len(), self.len(), |k, j| self.get(few[k], j))),
        }
    }

    /// `out += slopes · weights`, but for what is the same in all moves: that is added to `rests`.
    pub fn add_product(&self, out: &mut Mat<f64>, rests: &mut [f64], weights: &Mat<f64>) {
        match self {
            Self::Dense(slopes) => add_product(out, slopes.as_ref(), weights),
            Self::Sparse(slopes) => {
                for (row, rest) in rests.iter_mut().enumerate() {
                    let out = out.col_as_slice_mut(row);
                    let weights = weights.col_as_slice(row).iter().enumerate();
                    for (j, &weight) in weights.filter(|(_, weight)| **weight != 0.0) {
                        add_column(out, rest, weight, slopes.column(j));
                    }
                }
            }
            Self::OfMap(map, moves) => {
                let by_pixel = map.apply_transposed_to_block(weights.as_ref());
                add_by_pixel(out, &by_pixel, moves);
            }
        }
    }
}

/// `out += weight · column`, its rest apart.
fn add_column(out: &mut [f64], rest: &mut f64, weight: f64, column: SparseColumn) {
    *rest += weight * column.rest;
    for (&k, slope) in column.places.iter().zip(column.slopes) {
        out[k as usize] += weight * (slope - column.rest);
    }
}

/// Adds functions of the inputs to functions of the moves.
pub(super) fn add_by_pixel(out: &mut Mat<f64>, by_pixel: &Mat<f64>, moves: &[Move]) {
    // Only what is needed, so that it stays in the nearest cache; a sign is +1 or -1, which `f32` has exactly.
    let moves: Vec<(u32, f32)> = moves.iter().map(|m| (m.pixel as u32, m.sign as f32)).collect();
    for row in 0..out.ncols() {
        let by_pixel = by_pixel.col_as_slice(row);
        let out = out.col_as_slice_mut(row).iter_mut().zip(&moves);
        out.for_each(|(out, &(pixel, sign))| *out += f64::from(sign) * by_pixel[pixel as usize]);
    }
}

/// `out += m · weights`. One row's weights are mostly zeros.
pub(super) fn add_product(out: &mut Mat<f64>, m: MatRef<'_, f64>, weights: &Mat<f64>) {
    if weights.ncols() == 1 {
        network::add_product(m, weights.col_as_slice(0), out.col_as_slice_mut(0));
    } else {
        network::add_block_product(out, m, weights.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::point;
    use crate::sets::{InputSet, Norm, PixelRange};

    /// Columns with slopes of their own in a few moves, and 0.25 or nothing in the others.
    fn sparse(moves: usize, columns: usize) -> (Mat<f64>, Vec<f64>) {
        let drawn = point(moves * columns, 3);
        let rests: Vec<f64> = (0..columns).map(|j| 0.25 * (j % 2) as f64).collect();
        let own = |k: usize, j: usize| (k + j).is_multiple_of(9);
        let slope = |k: usize, j: usize| if own(k, j) { drawn[k + j * moves] } else { rests[j] };
        (Mat::from_fn(moves, columns, slope), rests)
    }

    #[test]
    fn sparse_columns_are_the_dense_ones() {
        let (moves, columns) = (700, 100);
        let (dense, rests) = sparse(moves, columns);
        let stored = SlopeColumns::new(dense.clone(), &rests);
        assert!(matches!(stored, SlopeColumns::Sparse(_)));
        let few: Vec<usize> = (0..moves).step_by(7).collect();
        let narrowed = stored.with_moves(&few);
        for j in 0..columns {
            assert_eq!(&stored.column(j)[..], dense.col_as_slice(j));
            assert!((0..moves).all(|k| stored.get(k, j) == dense[(k, j)]));
            assert!(few.iter().zip(&narrowed.column(j)[..]).all(|(&k, v)| *v == dense[(k, j)]));
        }
        assert_eq!(stored.steepest(), SlopeColumns::Dense(dense.clone()).steepest());
        let weights = Mat::from_fn(columns, 2, |j, row| if j % 3 == row { j as f64 } else { 0.0 });
        let (mut out, mut of_rests) = (Mat::zeros(moves, 2), vec![0.0; 2]);
        stored.add_product(&mut out, &mut of_rests, &weights);
        let expected = &dense * &weights;
        for row in 0..2 {
            let found = |k: usize| out[(k, row)] + of_rests[row];
            assert!((0..moves).all(|k| (found(k) - expected[(k, row)]).abs() < 1e-9));
        }
    }

    #[test]
    fn the_first_layer_has_the_same_slopes_however_they_are_stored() {
        let (outputs, inputs) = (200, 90);
        let drawn = point(outputs * inputs, 8);
        let weight = |i: usize, j: usize| {
            if (i + j).is_multiple_of(10) { drawn[i * inputs + j] } else { 0.0 }
        };
        let map = AffineMap::from_fn(outputs, inputs, weight, vec![0.0; outputs]);
        assert!(map.is_sparse());
        // The first pixel is black and moves up only.
        let image: Vec<f64> = (0..inputs).map(|i| if i == 0 { 0.0 } else { 0.5 }).collect();
        let moves = MoveSet::new(&InputSet::ball(Norm::L1, &image, 1.0, PixelRange::UNIT));
        let stored = SlopeColumns::of_first_layer(&map, &moves);
        let of_map = SlopeColumns::OfMap(map.clone(), Arc::clone(moves.moves()));
        assert!(matches!(stored, SlopeColumns::Sparse(_)));
        assert_eq!(moves.len(), 2 * inputs - 1);
        let weights = Mat::from_fn(outputs, 2, |j, row| ((j + row) % 5) as f64 - 2.0);
        let products = [&stored, &of_map].map(|slopes| {
            let (mut out, mut rests) = (Mat::zeros(moves.len(), 2), vec![0.0; 2]);
            slopes.add_product(&mut out, &mut rests, &weights);
            assert_eq!(rests, [0.0, 0.0]);
            out
        });
        for j in 0..outputs {
            assert_eq!(stored.column(j), of_map.column(j));
            for (k, m) in moves.moves().iter().enumerate() {
                assert_eq!(stored.get(k, j), m.sign * map.weight(j, m.pixel));
            }
        }
        let pairs = (0..moves.len()).map(|k| products[0][(k, 1)] - products[1][(k, 1)]);
        assert!(pairs.into_iter().all(|difference| difference.abs() < 1e-12));
    }
}
