//! `rw-adv report`: a result directory as one page.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rw_adv::record::{AttackRecord, Contents};
use rw_adv::report::figure::Gaps;
use rw_adv::report::gallery;
use rw_adv::run::{contents_of, read_run, write_report};

use super::exports::{ExportArgs, fail_with};
use crate::values::file_of;

#[derive(clap::Args)]
pub struct ReportArgs {
    /// The result directory: the --out of a run
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    exports: ExportArgs,
    /// Also draw margin and bound of every search (.svg or .png)
    #[arg(long, value_name = "FILE", value_parser = file_of(["svg", "png"]))]
    plot: Option<PathBuf>,
    /// Also draw the first ten adversaries side by side: image, adversary, difference, one below the other (.png)
    #[arg(long, value_name = "FILE", value_parser = file_of(["png"]))]
    strip: Option<PathBuf>,
}

/// Adversaries in a strip.
const STRIP: usize = 10;

/// Makes the report of a directory again.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    // Figures and exports are about attacks; other results have a page alone. Nothing is opened for them.
    let is_page_alone = args.plot.is_none() && args.strip.is_none() && !args.exports.is_asked();
    if contents_of(&args.directory)? != Contents::Attacks && !is_page_alone {
        let directory = args.directory.display();
        bail!(
            "{directory}: holds no attacks: --csv, --junit, --fail-under, --plot and --strip are about attacks"
        );
    }
    let exports = args.exports.open()?;
    write_report(&args.directory)?;
    if is_page_alone {
        return Ok(ExitCode::SUCCESS);
    }
    let stored = read_run::<AttackRecord>(&args.directory)?;
    if let Some(file) = &args.plot {
        let figure = Gaps::of(&stored.records).drawing();
        let is_png = file.extension().is_some_and(|end| end == "png");
        let drawn = if is_png { figure.png() } else { figure.svg().map(String::into_bytes) };
        let written = drawn.and_then(|bytes| fs::write(file, bytes));
        written.with_context(|| format!("{}: cannot write", file.display()))?;
    }
    if let Some(file) = &args.strip {
        let strip = gallery(&stored, STRIP).with_context(|| {
            format!("--strip: {} has no pictures of adversaries", args.directory.display())
        })?;
        fs::write(file, strip).with_context(|| format!("{}: cannot write", file.display()))?;
    }
    let missing = stored.missing.as_deref();
    Ok(fail_with(exports.write(&stored.records, &stored.settings, missing)?))
}
