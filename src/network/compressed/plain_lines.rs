//! Lines of a sparse matrix as they come, each with its own places and weights.

/// Lines one after the other.
pub(in crate::network) struct PlainLines {
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
    /// The place of each entry in its line, ascending within a line.
    places: Vec<u32>,
    values: Vec<f64>,
}

impl PlainLines {
    /// For each line the places that have a weight, ascending.
    pub fn new<L: IntoIterator<Item = (u32, f64)>>(lines: impl Iterator<Item = L>) -> Self {
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for line in lines {
            for (place, value) in line.into_iter().filter(|(_, value)| *value != 0.0) {
                places.push(place);
                values.push(value);
            }
            starts.push(places.len());
        }
        Self { starts, places, values }
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.starts.len() - 1
    }

    /// Entries of all lines.
    pub fn entries(&self) -> usize {
        self.places.len()
    }

    /// Places and weights of a line.
    pub fn line(&self, line: usize) -> (&[u32], &[f64]) {
        let range = self.starts[line]..self.starts[line + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// The transposed matrix, which has so many lines: the columns of rows, the rows of columns.
    pub fn transposed(&self, lines: usize) -> Self {
        let mut starts = vec![0; lines + 1];
        self.places.iter().for_each(|&place| starts[place as usize + 1] += 1);
        for line in 0..lines {
            starts[line + 1] += starts[line];
        }
        let mut next = starts.clone();
        let (mut places, mut values) = (vec![0; self.places.len()], vec![0.0; self.places.len()]);
        for line in 0..self.lines() {
            let (of_line, weights) = self.line(line);
            for (&place, &weight) in of_line.iter().zip(weights) {
                let to = &mut next[place as usize];
                (places[*to], values[*to]) = (line as u32, weight);
                *to += 1;
            }
        }
        Self { starts, places, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_rows_without_zeros() {
        let rows = [vec![(0, 1.0), (2, 2.0)], vec![], vec![(1, 0.0), (2, 3.0)]];
        let rows = PlainLines::new(rows.into_iter());
        let columns = rows.transposed(4);
        assert_eq!((rows.lines(), columns.lines()), (3, 4));
        assert_eq!((rows.entries(), columns.entries()), (3, 3));
        assert_eq!(columns.line(0), (&[0][..], &[1.0][..]));
        assert_eq!(columns.line(2), (&[0, 2][..], &[2.0, 3.0][..]));
        assert!([1, 3].iter().all(|&column| columns.line(column).0.is_empty()));
    }
}
