//! `rw-adv`: parse, run, exit code. Everything else is in the library and in `cli`.

mod bench;
mod cli;
mod logger;

use std::process::ExitCode;

fn main() -> ExitCode {
    match logger::install().and_then(|()| cli::run()) {
        Ok(code) => code,
        // The reader went away (`| head`): it has what it wanted.
        Err(error) if cli::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cli::complain(&error);
            ExitCode::from(2)
        }
    }
}
