//! A basis: the vertex that a solve starts from.

/// Where a column or row stands in a basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasisStatus {
    /// At its lower bound.
    Lower,
    /// In the basis, usually between its bounds. There are as many of these as rows.
    Basic,
    /// At its upper bound.
    Upper,
    /// Without bounds and at zero.
    Free,
}

/// A vertex to start from: the status of each column and row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// By column.
    pub cols: Vec<BasisStatus>,
    /// By row.
    pub rows: Vec<BasisStatus>,
}
