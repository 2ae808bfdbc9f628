//! Lines of a sparse matrix, all rows or all columns, in compressed form: lines that are the same but for a shift are stored once.
//!
//! A *line* is a row or a column, and a *place* in it the number of the column or row that it crosses there. The rows of a convolution are lines
//! that repeat each other: what belongs to one output channel has the same weights, and its places are those of the neighbouring output, shifted
//! by the convolution's stride. Up to the border of the image they are one [`Stencil`], and a [product](gather) with all of them reads its weights
//! once and runs along the vector, as many lines at a time as the machine adds up side by side. That a matrix is a convolution is nowhere
//! said: stencils are found among its lines.

mod gather;
mod plain_lines;
mod stencil;
#[cfg(test)]
mod tests;

use gather::Gather;
pub(super) use plain_lines::PlainLines;
use stencil::Stencil;

/// What an entry costs where lines are added to places here and there, when one of a single line costs 1 in [`Gather`].
const SCATTER_COST: f64 = 2.0;

/// A matrix by its lines.
#[derive(Clone)]
pub(super) struct Compressed {
    stencils: Vec<Stencil>,
    /// Where the entries of each stencil begin, and where the last ones end.
    starts: Vec<usize>,
    /// The places of each stencil's first line, ascending.
    places: Vec<u32>,
    values: Values,
    /// For each line its stencil, and its number within it.
    stencil_from_line: Vec<(u32, u32)>,
    /// Entries of all lines.
    entries: usize,
    /// What [`Compressed::gather`] costs, in entries of single lines.
    gather_cost: f64,
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
    /// Finds the stencils among some lines.
    pub fn new(plain: &PlainLines) -> Self {
        let stencils = Stencil::of_all(plain);
        let mut stencil_from_line = vec![(0, 0); plain.lines()];
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut gather_cost = 0.0;
        for (number, stencil) in stencils.iter().enumerate() {
            for (k, line) in stencil.line_numbers().enumerate() {
                stencil_from_line[line] = (number as u32, k as u32);
            }
            let (of_first, weights) = plain.line(stencil.first);
            places.extend_from_slice(of_first);
            values.extend_from_slice(weights);
            starts.push(places.len());
            gather_cost += gather::cost(stencil) * of_first.len() as f64;
        }
        places.shrink_to_fit();
        let (values, entries) = (Values::new(values), plain.entries());
        Self { stencils, starts, places, values, stencil_from_line, entries, gather_cost }
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.stencil_from_line.len()
    }

    /// Entries of all lines.
    pub fn entries(&self) -> usize {
        self.entries
    }

    #[inline]
    fn range(&self, stencil: usize) -> std::ops::Range<usize> {
        self.starts[stencil]..self.starts[stencil + 1]
    }

    #[inline]
    pub fn line(&self, line: usize) -> SparseLine<'_> {
        let (stencil, k) = self.stencil_from_line[line];
        let shifted = k * self.stencils[stencil as usize].shift as u32;
        SparseLine { of: self, shifted, range: self.range(stencil as usize) }
    }

    pub fn get(&self, line: usize, place: usize) -> f64 {
        let SparseLine { shifted, range, .. } = self.line(line);
        let Some(place) = (place as u32).checked_sub(shifted) else { return 0.0 };
        let found = self.places[range.clone()].binary_search(&place);
        found.map_or(0.0, |at| self.values.get(range.start + at))
    }

    /// `out += M v`, where these are the rows of `M`, and those of its transpose its columns; or the other way round.
    pub fn add_product(&self, transpose: &Self, v: &[f64], out: &mut [f64]) {
        // A vector of which little is not 0 reads only the columns that it needs.
        let used = v.iter().filter(|v| **v != 0.0).count() as f64 / v.len().max(1) as f64;
        if used * SCATTER_COST * (self.entries as f64) < self.gather_cost {
            transpose.scatter(v, out);
        } else {
            self.gather(v, out);
        }
    }

    /// `out[place] += v[line] · value`, line by line where `v` is not 0.
    fn scatter(&self, v: &[f64], out: &mut [f64]) {
        fn add<T: Copy + Into<f64>>(places: &[u32], values: &[T], factor: f64, out: &mut [f64]) {
            for (&place, &value) in places.iter().zip(values) {
                out[place as usize] += factor * value.into();
            }
        }
        for (line, &factor) in v.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            let SparseLine { shifted, range, .. } = self.line(line);
            let (places, out) = (&self.places[range.clone()], &mut out[shifted as usize..]);
            match &self.values {
                Values::Wide(values) => add(places, &values[range], factor, out),
                Values::Narrow(values) => add(places, &values[range], factor, out),
            }
        }
    }

    /// `out[line] += Σ value · v[place]`.
    fn gather(&self, v: &[f64], out: &mut [f64]) {
        let Self { stencils, starts, places, values, .. } = self;
        match values {
            Values::Wide(values) => Gather { stencils, starts, places, values, v, out }.run(),
            Values::Narrow(values) => Gather { stencils, starts, places, values, v, out }.run(),
        }
    }
}

/// One row or column: places and weights, ascending.
#[derive(Clone)]
pub(super) struct SparseLine<'m> {
    of: &'m Compressed,
    /// How far its places are behind those that are stored.
    shifted: u32,
    range: std::ops::Range<usize>,
}

impl SparseLine<'_> {
    #[inline]
    fn at(&self, at: usize) -> (usize, f64) {
        ((self.of.places[at] + self.shifted) as usize, self.of.values.get(at))
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
