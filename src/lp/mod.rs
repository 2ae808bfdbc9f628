//! Linear programs in our own words. So far only the solver's name; the relaxation and the regions need the rest.

#[allow(unsafe_code, reason = "the C interface of HiGHS")]
mod highs;

pub use highs::version as solver_version;
