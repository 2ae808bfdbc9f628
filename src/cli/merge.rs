//! `rw-adv merge`: the results of all attempts become those of the directory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rw_adv::record::{
    ATTACK_SCHEMA, AttackRecord, AttackSummary, Contents, RADIUS_SCHEMA, RadiusRecord,
    RadiusSummary, Resumable, Summarize,
};
use rw_adv::report::text;
use rw_adv::run::{self, Manifest, StoreError, read_run, write_report, write_summary};
use serde::Serialize;

use super::complain;

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
    let asked = manifest.keys(None).count();
    let skipped = manifest.skipped();
    match manifest.contents() {
        Contents::Attacks => {
            let (records, seconds) = records::<AttackRecord>(directory, &manifest)?;
            let summary = AttackSummary::of(&records, asked, false);
            finish(directory, &manifest, (ATTACK_SCHEMA, &summary), seconds)?;
            write_report(directory, &read_run(directory)?)?;
            print(records.len(), asked, |out| text::summary(out, &summary, seconds, skipped))
        }
        Contents::Radii => {
            let (records, seconds) = records::<RadiusRecord>(directory, &manifest)?;
            let summary = RadiusSummary::of(&records, asked, false);
            finish(directory, &manifest, (RADIUS_SCHEMA, &summary), seconds)?;
            print(records.len(), asked, |out| text::radius_summary(out, &summary, seconds, skipped))
        }
        Contents::Maximum => bail!("{}: has no shards", directory.display()),
    }
}

/// All records, now in the directory's own file, and the time spent on them.
fn records<R: Resumable>(directory: &Path, manifest: &Manifest) -> Result<(Vec<R>, f64)> {
    let records: Vec<R> = run::merge::<R>(directory, manifest)?.into_records().collect();
    let seconds = records.iter().map(Resumable::seconds).sum();
    Ok((records, seconds))
}

fn finish(
    directory: &Path,
    manifest: &Manifest,
    (schema, summary): (&str, &impl Serialize),
    seconds: f64,
) -> Result<()> {
    // A sum of what was measured, unless a record was made up.
    let spent = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    Ok(write_summary(directory, schema, summary, manifest.settings(), spent)?)
}

fn print(
    records: usize,
    asked: usize,
    summary: impl Fn(&mut io::StdoutLock) -> io::Result<()>,
) -> Result<ExitCode> {
    let mut stdout = io::stdout().lock();
    let printed = text::status(&mut stdout, records, asked).and_then(|()| summary(&mut stdout));
    printed.and_then(|()| stdout.flush()).context("stdout")?;
    Ok(if records < asked { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS })
}
