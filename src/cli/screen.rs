//! How much is said, and in which colours.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{ArgAction, ColorChoice, ValueEnum};
use log::LevelFilter;
use rw_adv::report::{Paint, ProgressMode};

use crate::values::memory_size;

/// Where long help lists these.
const HEADING: &str = "Options of every command";

/// Options of every command.
#[derive(clap::Args)]
pub struct ScreenArgs {
    /// Say more on stderr, such as where the time went; twice: which starts and walks were given up, and why
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = HEADING, hide_short_help = true)]
    verbose: u8,
    /// Say less on stderr: no progress, no warnings
    #[arg(short, long, global = true, help_heading = HEADING, conflicts_with = "verbose", hide_short_help = true)]
    quiet: bool,
    /// Progress on stderr: auto (a bar on a terminal, otherwise a line every ten seconds), json, or none
    ///
    /// json writes a line every second and one at the end: what is done, and for each thread its image, phase (bounds, search, branch, judge,
    /// files), starts, nodes, the best margin and the smallest bound so far.
    #[arg(long, value_enum, default_value_t = ProgressArg::Auto, global = true, help_heading = HEADING, value_name = "HOW", hide_short_help = true)]
    progress: ProgressArg,
    /// Colours: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_enum, default_value_t = Colors::Auto, global = true, help_heading = HEADING, value_name = "WHEN", hide_short_help = true)]
    color: Colors,
    /// Read options from a TOML file; those on the command line win
    ///
    /// Its keys are the options' names without the dashes: delta = 5, target = "all", images = [3, 7, 9], json = true. Paths are relative to
    /// the current directory.
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING, hide_short_help = true)]
    config: Option<PathBuf>,
    /// Memory that may be used, in bytes or as 500M, 4G; exit code 2 if it is not enough [default: no limit]
    ///
    /// Limits the address space of the process, as `ulimit -v` does: each thread needs some 70 MB of it beside what it works on.
    #[arg(long, value_name = "SIZE", value_parser = memory_size, global = true, help_heading = HEADING, hide_short_help = true)]
    pub max_memory: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colors {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProgressArg {
    Auto,
    Json,
    None,
}

/// What the options mean.
#[derive(Clone, Copy)]
pub struct Screen {
    pub progress: ProgressMode,
    pub paint: Paint,
}

impl ScreenArgs {
    /// Lets the log say as much as was asked for: without an option, what the environment says.
    pub fn set_log_level(&self) {
        match self.verbose {
            _ if self.quiet => log::set_max_level(LevelFilter::Error),
            0 => {}
            1 => log::set_max_level(LevelFilter::Info),
            _ => log::set_max_level(LevelFilter::Debug),
        }
    }

    pub fn screen(&self) -> Screen {
        let coloured = match self.color {
            Colors::Always => true,
            Colors::Never => false,
            Colors::Auto => io::stdout().is_terminal() && !is_colour_refused(),
        };
        let paint = if coloured { Paint::Coloured } else { Paint::Plain };
        let progress = match self.progress {
            ProgressArg::Json => ProgressMode::Json,
            ProgressArg::Auto if !self.quiet => ProgressMode::Auto,
            ProgressArg::Auto | ProgressArg::None => ProgressMode::Hidden,
        };
        Screen { progress, paint }
    }
}

/// See no-color.org; a terminal that calls itself dumb shows escapes as they are.
fn is_colour_refused() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// The colours of help, which is shown before options are read.
pub fn help_colours(typed: &[OsString]) -> ColorChoice {
    let after = typed.iter().skip_while(|argument| *argument != "--color").nth(1);
    let joined = typed.iter().find_map(|argument| argument.to_str()?.strip_prefix("--color="));
    match joined.or(after.and_then(|value| value.to_str())) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}
