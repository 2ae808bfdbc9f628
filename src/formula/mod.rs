//! Linear expressions and relations as people type them: `y0 - 0.5*y3 + 1`, `x0 + x1 <= 2`, and files of bounds and constraints.

mod constraints;
mod linear;
mod parse;
mod reader;

pub use constraints::ConstraintsError;
pub use linear::Linear;
pub use parse::Relation;
pub use reader::LinearError;
