//! From what was typed to [`Args`]; mistakes become one line.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use super::args::Args;
use super::help::SHORT_HELP;
use super::{config, screen};

/// What was typed, or the exit code where that was a question for help.
pub fn parse(typed: Vec<OsString>) -> Result<ControlFlow<ExitCode, Args>> {
    let command = described(&typed);
    let file = config::file(&typed);
    let arguments = config::expand(&command, typed)?;
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| {
        misplaced(&matches)?;
        Args::from_arg_matches(&matches)
    });
    match parsed {
        Ok(args) => Ok(ControlFlow::Continue(args)),
        Err(error) => usage(&error, file).map(ControlFlow::Break),
    }
}

/// The command line's description. `-h` shows the page that fits a screen, unless it is about a command of ours.
fn described(typed: &[OsString]) -> clap::Command {
    let command = Args::command().color(screen::help_colours(typed));
    let is_ours = config::chosen(&command, typed).get_name() == command.get_name();
    if is_ours && typed.iter().any(|argument| argument == "-h") {
        command.override_help(SHORT_HELP)
    } else {
        command
    }
}

/// Options of an attack that were typed before another command would go unheard.
fn misplaced(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(name) = matches.subcommand_name() else { return Ok(()) };
    let command = Args::command();
    let typed = |arg: &&clap::Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        !arg.is_global_set() && source == Some(ValueSource::CommandLine)
    };
    match command.get_arguments().find(typed).and_then(clap::Arg::get_long) {
        Some(option) => {
            let text = format!("--{option} must come after '{name}', if it is an option of it");
            Err(clap::Error::raw(ErrorKind::ArgumentConflict, text))
        }
        None => Ok(()),
    }
}

/// Help and version go to stdout as clap writes them; a mistake becomes one line on stderr.
fn usage(error: &clap::Error, file: Option<PathBuf>) -> Result<ExitCode> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        error.print().context("stdout")?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = error.to_string();
    let said = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said: Vec<&str> =
        said.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    let line = punctuated(&said);
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    match file {
        Some(file) => bail!("{line} (typed, or in {}; try --help)", file.display()),
        None => bail!("{line} (try --help)"),
    }
}

/// Lines as one: a semicolon before a tip and a list in brackets, a comma between the things of a list.
fn punctuated(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let apart = match text.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) if line.starts_with("tip:") || line.starts_with('[') => "; ",
            Some(_) => ", ",
        };
        text.push_str(apart);
        text.push_str(line);
    }
    text
}
