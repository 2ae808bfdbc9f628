//! Stencils: finding lines that are the same but for a shift.

use super::plain_lines::PlainLines;

/// Lines of a matrix at equal distances, each the one before with its places shifted.
#[derive(Clone, Copy)]
pub(super) struct Stencil {
    /// The first line.
    pub first: usize,
    /// From one line to the next, in lines.
    pub stride: usize,
    /// Number of lines.
    pub lines: usize,
    /// How far the places move from one line to the next.
    pub shift: usize,
}

/// Lines of a stencil are at most so far apart, and their places are shifted by at most so much: strides of convolutions.
pub(super) const MOST_STRIDE: usize = 4;

impl Stencil {
    /// The stencils of a matrix, by their first lines: every line is in one of them.
    pub fn of_all(matrix: &PlainLines) -> Vec<Self> {
        let mut is_taken = vec![false; matrix.lines()];
        let mut stencils = Vec::new();
        for first in 0..matrix.lines() {
            if is_taken[first] {
                continue;
            }
            let stencil = Self::longest(matrix, first, &is_taken);
            stencil.line_numbers().for_each(|line| is_taken[line] = true);
            stencils.push(stencil);
        }
        stencils
    }

    /// The longest stencil that begins with a line, of lines that are not in another one.
    ///
    /// No stride follows more lines than the longest stencil takes, so finding all of them reads a matrix about [`MOST_STRIDE`] times.
    fn longest(matrix: &PlainLines, first: usize, is_taken: &[bool]) -> Self {
        let mut longest = Self { first, stride: 1, lines: 1, shift: 1 };
        for stride in 1..=MOST_STRIDE {
            let shift_to = |next: usize| {
                let is_free = next < matrix.lines() && !is_taken[next];
                if is_free { shift(matrix, next - stride, next) } else { None }
            };
            let Some(shift) = shift_to(first + stride) else { continue };
            let mut lines = 2;
            while shift_to(first + lines * stride) == Some(shift) {
                lines += 1;
            }
            if lines > longest.lines {
                longest = Self { first, stride, lines, shift };
            }
        }
        longest
    }

    /// Its lines, ascending.
    pub fn line_numbers(self) -> impl Iterator<Item = usize> {
        (0..self.lines).map(move |k| self.first + k * self.stride)
    }
}

/// How far the places of a line are shifted against those of an earlier one, if it is the same but for that.
fn shift(matrix: &PlainLines, line: usize, next: usize) -> Option<usize> {
    let ((places, values), (next_places, next_values)) = (matrix.line(line), matrix.line(next));
    let shift = next_places.first()?.checked_sub(*places.first()?)?;
    let is_same = (1..=MOST_STRIDE).contains(&(shift as usize))
        && values.len() == next_values.len()
        && places.iter().zip(next_places).all(|(place, next)| place + shift == *next)
        && values == next_values;
    is_same.then_some(shift as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First line, stride, number of lines and shift of each stencil.
    fn stencils<const N: usize>(rows: [Vec<(u32, f64)>; N]) -> Vec<[usize; 4]> {
        let stencils = Stencil::of_all(&PlainLines::new(rows.into_iter()));
        let numbers = |Stencil { first, stride, lines, shift }| [first, stride, lines, shift];
        stencils.into_iter().map(numbers).collect()
    }

    fn row(i: u32, w: f64) -> Vec<(u32, f64)> {
        vec![(i, 1.0), (i + 1, w)]
    }

    #[test]
    fn lines_that_differ_in_one_weight_are_no_stencil() {
        assert_eq!(stencils([0, 1, 2, 3, 4].map(|i| row(i, 0.5))), [[0, 1, 5, 1]]);
        let odd = [0, 1, 2, 3, 4].map(|i| row(i, if i == 2 { 0.25 } else { 0.5 }));
        // Lines 0 and 1, the odd one, and lines 3 and 4.
        assert_eq!(stencils(odd), [[0, 1, 2, 1], [2, 1, 1, 1], [3, 1, 2, 1]]);
    }

    #[test]
    fn a_stencil_ends_where_the_shift_changes() {
        assert_eq!(stencils([0, 2, 4, 5, 6].map(|i| row(i, 0.5))), [[0, 1, 3, 2], [3, 1, 2, 1]]);
        // Too far, the same place once more, and back again.
        assert_eq!(stencils([0, 5].map(|i| row(i, 0.5))), [[0, 1, 1, 1], [1, 1, 1, 1]]);
        assert_eq!(stencils([1, 1, 0].map(|i| row(i, 0.5))).len(), 3);
    }

    #[test]
    fn stencils_of_two_channels_that_take_turns_are_told_apart() {
        let rows = [0, 1, 2, 3, 4, 5].map(|k| row(k / 2, if k % 2 == 0 { 0.5 } else { 0.25 }));
        assert_eq!(stencils(rows), [[0, 2, 3, 1], [1, 2, 3, 1]]);
    }

    #[test]
    fn empty_lines_are_stencils_of_their_own() {
        assert_eq!(stencils([vec![], vec![]]), [[0, 1, 1, 1], [1, 1, 1, 1]]);
        assert!(stencils([]).is_empty());
    }
}
