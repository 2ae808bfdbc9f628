//! The binary as a user runs it: output, exit codes, and one line for every mistake.

mod attack;
#[path = "../common/mod.rs"]
mod common;
mod ending;
mod inputs;
mod mistakes;
mod program;
mod radius;
mod stored;

use serde_json::Value;

use common::{FIXTURE, sorted_records, stdout};

/// The records of a run of the fixture, by image and target.
fn records(arguments: &[&str]) -> Vec<Value> {
    sorted_records(&stdout(&[&["--model", FIXTURE, "--json"], arguments].concat()))
}

fn numbers(records: &[Value], field: &str) -> Vec<u64> {
    records.iter().map(|record| record[field].as_u64().expect("a number")).collect()
}

fn count(records: &[Value], field: &str, wanted: &str) -> usize {
    records.iter().filter(|record| record[field] == wanted).count()
}
