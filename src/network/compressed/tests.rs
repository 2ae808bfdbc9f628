//! Every way to ask for the weights of a compressed matrix, against its lines as they came.

use super::*;
use crate::network::random::point;
use proptest::prelude::*;

/// A two-dimensional convolution: image side, channels below and above, kernel, stride, padding.
#[derive(Clone, Copy, Debug)]
struct Convolution {
    side: usize,
    below: usize,
    above: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
}

impl Convolution {
    fn inputs(&self) -> usize {
        self.below * self.side * self.side
    }

    /// Its rows, one for each output.
    fn rows(&self, seed: u64) -> Vec<Vec<(u32, f64)>> {
        let Self { side, below, above, kernel, stride, padding } = *self;
        let weights = point(above * below * kernel * kernel, seed);
        let outputs = (side + 2 * padding - kernel) / stride + 1;
        let mut rows = Vec::new();
        for (channel, y, x) in positions(above, outputs) {
            let mut row = Vec::new();
            for (c, (from, dy, dx)) in positions(below, kernel).enumerate() {
                let at = |place: usize, d: usize| (place * stride + d).checked_sub(padding);
                let at = |place, d| at(place, d).filter(|place| *place < side);
                if let (Some(y), Some(x)) = (at(y, dy), at(x, dx)) {
                    let weight = weights[channel * below * kernel * kernel + c];
                    row.push((((from * side + y) * side + x) as u32, weight));
                }
            }
            rows.push(row);
        }
        rows
    }
}

fn positions(channels: usize, side: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..channels * side * side).map(move |k| (k / side / side, k / side % side, k % side))
}

/// Rows and columns of a matrix, and both compressed.
fn both(inputs: usize, rows: &[Vec<(u32, f64)>]) -> [(PlainLines, Compressed); 2] {
    let rows = PlainLines::new(rows.iter().cloned());
    let columns = rows.transposed(inputs);
    [rows, columns].map(|plain| {
        let compressed = Compressed::new(&plain);
        (plain, compressed)
    })
}

/// Every way to ask for the weights, against the lines as they came.
fn assert_is(inputs: usize, rows: &[Vec<(u32, f64)>], seed: u64) {
    let [(rows, by_rows), (columns, by_columns)] = both(inputs, rows);
    let pairs = [(&rows, &by_rows, &by_columns), (&columns, &by_columns, &by_rows)];
    for (plain, compressed, others) in pairs {
        assert_eq!(compressed.lines(), plain.lines());
        assert_eq!(compressed.entries(), plain.entries());
        for line in 0..plain.lines() {
            let (places, values) = plain.line(line);
            let expected = places.iter().map(|&p| p as usize).zip(values.iter().copied());
            let expected: Vec<(usize, f64)> = expected.collect();
            assert_eq!(compressed.line(line).collect::<Vec<_>>(), expected);
            let mut backwards: Vec<_> = compressed.line(line).rev().collect();
            backwards.reverse();
            assert_eq!(backwards, expected);
            for place in 0..others.lines() {
                let weight = expected.iter().find(|(p, _)| *p == place).map_or(0.0, |w| w.1);
                assert_eq!(compressed.get(line, place), weight);
            }
        }
        let drawn = point(others.lines(), seed);
        for every in [1, 3, 40] {
            let v = |j: usize| if j.is_multiple_of(every) { drawn[j] } else { 0.0 };
            let v: Vec<f64> = (0..drawn.len()).map(v).collect();
            let mut products = [(); 3].map(|()| vec![0.5; plain.lines()]);
            compressed.gather(&v, &mut products[0]);
            others.scatter(&v, &mut products[1]);
            compressed.add_product(others, &v, &mut products[2]);
            for line in 0..plain.lines() {
                let (places, values) = plain.line(line);
                let terms = places.iter().zip(values).map(|(&p, w)| w * v[p as usize]);
                let expected = 0.5 + terms.sum::<f64>();
                assert!(products.iter().all(|out| (out[line] - expected).abs() < 1e-12));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn convolutions_are_what_their_rows_say(
        side in 3usize..20, below in 1usize..3, above in 1usize..4, kernel in 1usize..4,
        stride in 1usize..6, padding in 0usize..2, seed in any::<u64>(),
    ) {
        let convolution = Convolution { side, below, above, kernel, stride, padding };
        assert_is(convolution.inputs(), &convolution.rows(seed), seed ^ 1);
    }

    /// Weights of few kinds, so that there are stencils by chance, and lines that are nearly like others.
    #[test]
    fn any_matrix_is_what_its_rows_say(
        weights in prop::collection::vec(prop::collection::vec(0u8..5, 9), 1..30), seed in any::<u64>(),
    ) {
        let entry = |(j, w): (usize, &u8)| (j as u32, f64::from(*w) * 0.1 - 0.2);
        let row = |row: &Vec<u8>| row.iter().enumerate().map(entry).collect();
        let rows: Vec<Vec<(u32, f64)>> = weights.iter().map(row).collect();
        assert_is(9, &rows, seed);
    }
}

#[test]
fn a_convolution_is_stored_once_for_each_line_of_its_image() {
    for stride in [1, 2] {
        let (side, below, above, kernel, padding) = (32, 2, 3, 3, 1);
        let convolution = Convolution { side, below, above, kernel, stride, padding };
        let [(_, rows), (_, columns)] = both(convolution.inputs(), &convolution.rows(1));
        for lines in [rows, columns] {
            let longest = lines.stencils.iter().map(|stencil| stencil.lines).max();
            assert!(longest.is_some_and(|longest| longest >= 30 / stride));
            let outputs = side / stride;
            assert!(lines.places.len() * (outputs / 4) < lines.entries());
        }
    }
}

#[test]
fn matrices_without_anything_are_what_their_rows_say() {
    for (inputs, rows) in [(0, 0), (3, 0), (0, 2), (3, 2)] {
        assert_is(inputs, &vec![Vec::new(); rows], 1);
    }
}
