//! `rw-adv merge`: the results of all attempts become those of the directory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rw_adv::record::{
    AttackRecord, AttackSummary, Contents, RadiusRecord, RadiusSummary, VerifyRecord, VerifySummary,
};
use rw_adv::report::text;
use rw_adv::run::{self, Manifest, MergeResult, StoreError};

use super::complaint::complain;

/// Exit code of a merge that lacks records.
const INCOMPLETE: u8 = 3;
/// Exit code of a merge of records that cannot all be true.
const CONTRADICTORY: u8 = 4;

#[derive(clap::Args)]
pub struct MergeArgs {
    /// The result directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Merges, and says by the exit code how that went.
pub fn run(args: &MergeArgs) -> Result<ExitCode> {
    merge(&args.directory).or_else(|error| match error.downcast_ref() {
        Some(StoreError::Contradiction { .. }) => {
            complain(&error);
            Ok(ExitCode::from(CONTRADICTORY))
        }
        _ => Err(error),
    })
}

fn merge(directory: &Path) -> Result<ExitCode> {
    let manifest = Manifest::of(directory)?;
    let skipped = manifest.skipped();
    match manifest.contents() {
        Contents::Attacks => {
            let merged = run::merge::<AttackRecord, AttackSummary>(directory, &manifest)?;
            print(&merged, |out| {
                text::attack::summary(out, &merged.summary, Some(merged.seconds), skipped)
            })
        }
        Contents::Radii => {
            let merged = run::merge::<RadiusRecord, RadiusSummary>(directory, &manifest)?;
            print(&merged, |out| {
                text::radius::summary(out, &merged.summary, Some(merged.seconds), skipped)
            })
        }
        Contents::Instances => {
            let merged = run::merge::<VerifyRecord, VerifySummary>(directory, &manifest)?;
            print(&merged, |out| text::verify::summary(out, &merged.summary, Some(merged.seconds)))
        }
        Contents::Maximum => bail!("{}: has no shards", directory.display()),
    }
}

fn print<S>(
    merged: &MergeResult<S>,
    summary: impl Fn(&mut io::StdoutLock) -> io::Result<()>,
) -> Result<ExitCode> {
    let MergeResult { records, asked, .. } = *merged;
    let mut stdout = io::stdout().lock();
    let printed = text::status(&mut stdout, records, asked).and_then(|()| summary(&mut stdout));
    printed.and_then(|()| stdout.flush()).context("stdout")?;
    Ok(if records < asked { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS })
}
