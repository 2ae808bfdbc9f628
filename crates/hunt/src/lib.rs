//! Attacks rw-adv.
//!
//! [`networks`] makes small networks with awkward numbers (scales from 1e-30 to 1e30, ties, dead and duplicate neurons, chains that fold,
//! thresholds within 1e-7 of the truth), and compares what rw-adv says of them with the same network in rational
//! numbers, and with tract's run of the file. [`readers`] damages files of every kind that rw-adv reads.
//!
//! Every case has a seed of its own, so that a finding is one command: `rw-adv-hunt networks --seed 123 --cases 1`.

#[allow(dead_code, reason = "shared with the tests of the main crate")]
#[path = "../../../tests/common/onnx_file.rs"]
pub mod onnx_file;

#[path = "../../../src/cli/config.rs"]
mod config;

pub mod mutate;
pub mod network;
pub mod networks;
pub mod numbers;
pub mod readers;
