//! Property files: VNN-LIB 1.0 (`declare-const X_0 Real`) and 2.0 (`declare-network`), plain or gzipped, become sets of inputs and
//! properties of outputs.
//!
//! A file describes the *counterexample*. Reading is streaming and without recursion; what is left of the file are its comparisons. The
//! formula is told in disjunctive normal form, and conjunctions that speak of the same inputs are put together, so that they can share what
//! is known about these.
//!
//! The promise: what is read is what the file says, numbers as f64. What is not supported is refused by name, with line and column.

mod bounds;
mod condition;
mod declarations;
mod dnf;
mod error;
mod expression;
mod instances;
mod linear_form;
mod parser;
mod query;
#[cfg(test)]
mod tests;
mod token;

pub use declarations::{NetworkDeclaration, TensorDeclaration, VnnlibVersion};
pub use error::{Position, VnnlibError, VnnlibProblem};
pub use instances::{InstancesError, ListedInstance};
pub use query::{InputCase, VnnlibQuery};
