//! Columns, rows, and their entries on the way into a model.

/// A column: base 0, in order of adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Col(pub usize);

/// A row: base 0, in order of adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub usize);

/// The entries of new rows (by column) or of new columns (by row), one item after the other.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    /// The entries of item `k` are `starts[k]..starts[k + 1]`: one more start than items.
    pub starts: Vec<usize>,
    pub index: Vec<usize>,
    pub values: Vec<f64>,
}

impl Default for Entries {
    fn default() -> Self {
        Self { starts: vec![0], index: Vec::new(), values: Vec::new() }
    }
}

impl Entries {
    pub fn push(&mut self, item: impl IntoIterator<Item = (usize, f64)>) {
        for (index, value) in item {
            self.index.push(index);
            self.values.push(value);
        }
        self.starts.push(self.index.len());
    }

    /// The entries of one item.
    pub fn item(&self, k: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[k]..self.starts[k + 1];
        self.index[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

/// Rows to add in one call of [`LpModel::add_rows`](super::LpModel::add_rows).
#[derive(Clone, Debug, Default)]
pub struct NewRows {
    pub(super) lowers: Vec<f64>,
    pub(super) uppers: Vec<f64>,
    pub(super) entries: Entries,
}

impl NewRows {
    /// One more row.
    pub fn push(&mut self, lower: f64, upper: f64, entries: impl IntoIterator<Item = (Col, f64)>) {
        self.lowers.push(lower);
        self.uppers.push(upper);
        self.entries.push(entries.into_iter().map(|(Col(col), value)| (col, value)));
    }
}

/// Columns to add in one call of [`LpModel::add_cols`](super::LpModel::add_cols).
#[derive(Clone, Debug, Default)]
pub struct NewCols {
    pub(super) costs: Vec<f64>,
    pub(super) lowers: Vec<f64>,
    pub(super) uppers: Vec<f64>,
    pub(super) entries: Entries,
}

impl NewCols {
    /// One more column.
    pub fn push(
        &mut self,
        cost: f64,
        (lower, upper): (f64, f64),
        entries: impl IntoIterator<Item = (Row, f64)>,
    ) {
        self.costs.push(cost);
        self.lowers.push(lower);
        self.uppers.push(upper);
        self.entries.push(entries.into_iter().map(|(Row(row), value)| (row, value)));
    }
}
