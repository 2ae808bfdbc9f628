//! Tables and sentences for people.

pub mod attack;
mod compare;
mod inspect;
mod labels;
mod maximize;
pub mod radius;
mod run;
pub mod verify;

/// ` in 3.2 s`; nothing where nothing was done.
fn duration(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!(" in {seconds:.1} s"))
}

pub use compare::comparison;
pub use inspect::inspection;
pub use maximize::maximum;
pub use run::{continued, plan, shards, status};
