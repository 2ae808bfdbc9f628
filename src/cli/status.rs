//! `rw-adv status`: what a result directory still lacks, told from its records alone.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rw_adv::record::{AttackRecord, Contents, RadiusRecord, Resumable, VerifyRecord};
use rw_adv::report::text;
use rw_adv::run::{Manifest, RecordSet};

use crate::values::at_least_one;

#[derive(clap::Args)]
pub struct StatusArgs {
    /// The result directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Of N shards, print those that still have to run, ready for `sbatch --array=`; print nothing if all is done
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    shards: Option<usize>,
    /// With --shards: one per line, for xargs and GNU parallel
    #[arg(long, requires = "shards")]
    lines: bool,
}

/// Prints what is done, or which shards are not.
pub fn run(args: &StatusArgs) -> Result<ExitCode> {
    let manifest = Manifest::of(&args.directory)?;
    match manifest.contents() {
        Contents::Attacks => show::<AttackRecord>(&args.directory, &manifest, args),
        Contents::Radii => show::<RadiusRecord>(&args.directory, &manifest, args),
        Contents::Instances => show::<VerifyRecord>(&args.directory, &manifest, args),
        Contents::Maximum => bail!("{}: has no shards", args.directory.display()),
    }
}

fn show<R: Resumable>(
    directory: &Path,
    manifest: &Manifest,
    args: &StatusArgs,
) -> Result<ExitCode> {
    let gathered = RecordSet::<R>::read(directory, manifest)?;
    let mut stdout = io::stdout().lock();
    let printed = match args.shards {
        Some(shards) => {
            let unfinished = gathered.unfinished(manifest, shards);
            text::shards(&mut stdout, &unfinished, args.lines)
        }
        None => {
            let asked = manifest.keys(None).count();
            text::status(&mut stdout, gathered.records().count(), asked)
        }
    };
    printed.and_then(|()| stdout.flush()).context("stdout")?;
    Ok(ExitCode::SUCCESS)
}
