//! Proofs that can be checked by others: into which parts the set was split, and why no point of each part exceeds its bound.
//!
//! A proof holds no numbers that have to be believed: slopes and multipliers are proposals, and [`check`] works out itself what follows
//! from them. It shares no code with the search: only the network, the input set, and the rounding-safe [`bounds`](crate::bounds).

mod box_tree;
mod check;
mod claim;
mod error;
mod evidence;
mod file;
mod part;
mod property;
mod replay;
mod side;
mod statement;

pub use box_tree::{
    BottleneckProof, BoundEntry, BoxTreeNode, BoxTreeProof, BoxTreeRecord, CombinationEntry,
    NeuronBoundEntry, NeuronSlopesEntry, QuadraticEntry, SignTreeEntry, WholeEntry,
};
pub use check::{CheckedClaim, check};
pub use claim::ProvenLeaf;
pub use error::ProofError;
pub use evidence::{Certificate, Evidence, LineEntry};
pub use file::{Claim, Leaf, ProofFile, SCHEMA};
pub use part::{GuideEntry, ProofCut, ProofPart};
pub use property::{CaseStatement, PROPERTY_SCHEMA, PropertyProofFile, RowStatement};
pub use side::{InputCut, NeuronRef, ProofSide, Share};
pub use statement::{ConstraintStatement, DomainStatement, ImageStatement, Statement};
