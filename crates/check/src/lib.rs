//! Checks proofs that no point of a set gives a ReLU network a larger value than claimed.
//!
//! Nothing here is shared with the program that makes the proofs: the ONNX reader, the arithmetic and the bounds are written anew, for being read.
//! docs/proof-format.md describes the format and every formula. The order to read in: [`number`], [`mod@format`], `cells`, `affine`, `network`, `set`, `support`,
//! `relax`, `region`, `check`; and for properties `property`, `boxes`, `function_bound`, `quadratic`, `tree`, `halves`.

#![forbid(unsafe_code)]

mod affine;
mod any;
mod boxes;
mod cells;
mod check;
mod cut;
mod exact;
mod first_layer;
pub mod format;
mod function_bound;
mod halves;
mod network;
pub mod number;
mod onnx;
mod product;
pub mod property;
mod property_theorem;
mod push_back;
mod quadratic;
#[cfg(test)]
mod quadratic_tests;
mod region;
mod relax;
mod set;
mod slopes;
mod statement;
mod support;
mod theorem;
mod tree;

pub use any::{AnyProof, EXPECTED, read_any};
pub use onnx::Model;
pub use property_theorem::{PropertyTheorem, check_property, parse_property_proof};
pub use statement::{CheckedClaim, check, parse_proof, read_proof};
pub use theorem::Theorem;
