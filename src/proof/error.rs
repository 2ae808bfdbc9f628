//! Why a proof does not hold.

/// What is wrong with a claim.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProofError {
    /// The leaves do not cover the set.
    #[error("the leaves do not cover the set: {0}")]
    Uncovered(String),
    /// A leaf makes no sense.
    #[error("leaf {leaf}: {what}")]
    Nonsense {
        /// Its place in the list.
        leaf: usize,
        /// Why.
        what: &'static str,
    },
    /// A leaf's bound does not follow from its certificate.
    #[error("leaf {leaf}: claims {claimed}, but its certificate proves {proven} only")]
    TooLow {
        /// Its place in the list.
        leaf: usize,
        /// Its bound.
        claimed: f64,
        /// What follows.
        proven: f64,
    },
    /// The bound of the whole is below one of a leaf.
    #[error("claims {claimed} for the whole set, but {leaf} for a part of it")]
    WholeTooLow {
        /// The bound of the whole.
        claimed: f64,
        /// The leaf's.
        leaf: f64,
    },
}
