//! What is generated from the command line's own description: completions and manual pages.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

const NAME: &str = "rw-adv";

/// Prints the completions for a shell.
pub fn completions(mut command: Command, shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    print(&script)
}

/// Prints the manual page of the program, or of one of its commands.
pub fn manual(mut command: Command, of: Option<&str>) -> Result<()> {
    command.build();
    let command = all_shown(command);
    let page = match of {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => bail!("man: there is no command '{name}' (try --help)"),
        },
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).context("man")?;
    print(&text)
}

/// A manual has room for what short help leaves out.
fn all_shown(command: Command) -> Command {
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(all_shown)
}

fn print(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context("stdout")
}
