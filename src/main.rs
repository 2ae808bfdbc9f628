//! `rw-adv`: parse, run, exit code. Everything else is in the library and in `cli`.

mod bench;
mod cli;
mod interrupt;
mod logger;
mod values;

use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    silence_caught_panics();
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

/// A panic that the library turns into an error is told once, by that error.
fn silence_caught_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !rw_adv::onnx::catches_panics() {
            usual(info);
        }
    }));
}
