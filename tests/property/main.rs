//! Properties of the outputs on random networks so small that every activation pattern can be tried: no answer contradicts what is
//! known, and nearly all that is not on a border is decided.
//!
//! Half of the cases have numbers with few digits, so that what is looked for is often just possible, or just impossible: there strict and
//! non-strict comparisons differ.

mod conjunctions;
mod files;
mod oracle;
mod random;
