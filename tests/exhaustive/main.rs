//! Networks so small that every activation pattern can be tried: what is best is known, and everything else is
//! compared with it.

mod bounds;
mod cases;
mod integers;
mod oracle;
mod problem;
mod search;
mod thresholds;
mod trees;
