//! The command line: [`args::Args`] is what was typed, a [`rw_adv::run::Job`] is what it means.

mod args;
mod attack;
mod branch;
mod check_proof;
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
mod radius;
mod report;
mod run_args;
mod screen;
mod status;
mod supports;
mod terminal;
mod usage;
mod verify;

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::bench;
use crate::interrupt::is_interrupted;
use args::{Args, Command};
pub use complaint::{complain, is_broken_pipe};

/// Parses the command line and does what it says.
pub fn run() -> Result<ExitCode> {
    let args = match usage::parse()? {
        ControlFlow::Continue(args) => args,
        ControlFlow::Break(code) => return Ok(code),
    };
    args.screen.set_log_level();
    let screen = args.screen.screen();
    match args.command {
        None if args.name => finished(supports::name()),
        None => attack::run(args.attack, screen),
        Some(Command::Radius(args)) => radius::run(args, screen),
        Some(Command::Maximize(args)) => maximize::run(args),
        Some(Command::Verify(args)) => verify::run(args, screen),
        Some(Command::Supports(args)) => finished(supports::run(&args)),
        Some(Command::CheckProof(args)) => check_proof::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::Inspect { model, json }) => finished(inspect::run(&model, json)),
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
