//! Start, climb, walk, start again, until nothing new is found or the time is up; and the methods that this is measured against, on the same
//! problems.
//!
//! All methods have the same signature: a method is given a problem and offers points to the incumbent until that says stop.

mod ascent;
mod baselines;
mod dispatch;
mod first_climb;
mod frank_wolfe;
mod incumbent;
mod integers;
mod long_walks;
mod method;
mod options;
mod relaxed_starts;
mod result;
mod rw;
mod sampled_climbs;
mod sampling;
mod sign_ascent;
mod starts;
mod task;
mod walk_filter;

pub use ascent::ascend_from;
pub use dispatch::search;
pub use first_climb::ascend;
pub use integers::IntegerSearch;
pub use method::{Method, UnknownMethod};
pub use options::SearchOptions;
pub use result::{Curve, SearchEvent, SearchResult, SearchStop};
pub use sampled_climbs::climb_from_samples;
