//! The command line: `args::Args` is what was typed, a [`rw_adv::run::Job`] is what it means.

mod args;
mod attack;
mod branch;
mod check_proof;
mod compare;
mod complaint;
mod config;
mod exports;
mod help;
mod images;
mod inspect;
mod maximize;
mod merge;
mod method;
mod out;
mod pages;
mod pixels;
mod radius;
mod report;
mod run_args;
mod screen;
mod self_check;
mod status;
mod supports;
mod terminal;
mod usage;
mod verify;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::panic;
use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::interrupt::is_interrupted;
use crate::{bench, logger, memory, onnx};
use args::{Args, Command};
use complaint::{complain, is_broken_pipe};

/// The whole program: does what was typed, the program's name first. Mistakes become one line on stderr.
pub fn main(typed: Vec<OsString>) -> ExitCode {
    silence_caught_panics();
    let ready = memory::exit_when_it_runs_out().and_then(|()| logger::install());
    match ready.and_then(|()| run(typed)) {
        Ok(code) => code,
        // The reader went away (`| head`): it has what it wanted.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

/// A panic that the library turns into an error is told once, by that error. One that says that there is no memory is no fault of ours.
fn silence_caught_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if onnx::catches_panics() {
            return;
        }
        if info.payload_as_str().is_some_and(memory::says_that_it_ran_out) {
            complain(&anyhow::anyhow!("out of memory"));
            std::process::exit(2);
        }
        usual(info);
    }));
}

/// Parses the command line and does what it says.
fn run(typed: Vec<OsString>) -> Result<ExitCode> {
    let args = match usage::parse(typed)? {
        ControlFlow::Continue(args) => args,
        ControlFlow::Break(code) => return Ok(code),
    };
    if let Some(bytes) = args.screen.max_memory {
        memory::limit(bytes)?;
    }
    args.screen.set_log_level();
    let screen = args.screen.screen();
    match args.command {
        None if args.name => finished(supports::name()),
        None => attack::run(args.attack, screen),
        Some(Command::Radius(args)) => radius::run(args, screen),
        Some(Command::Maximize(args)) => maximize::run(args, screen),
        Some(Command::Verify(args)) => verify::run(args, screen),
        Some(Command::Supports(args)) => finished(supports::run(&args)),
        Some(Command::CheckProof(args)) => check_proof::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::Inspect { model, output, json }) => {
            finished(inspect::run(&model, output.as_deref(), json))
        }
        Some(Command::Completions { shell }) => {
            finished(pages::completions(Args::command(), shell))
        }
        Some(Command::Man { command }) => {
            finished(pages::manual(Args::command(), command.as_deref()))
        }
        Some(Command::Bench(bench)) => finished(bench::run(bench)),
    }
}

/// Exit code 0, or that of an interrupt.
fn finished(done: Result<()>) -> Result<ExitCode> {
    done.map(|()| if is_interrupted() { ExitCode::from(130) } else { ExitCode::SUCCESS })
}
