//! `rw-adv`: what was typed, and the exit code. Everything else is in the library, so that the Python package installs the same command.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    rw_adv::cli::main(env::args_os().collect())
}
