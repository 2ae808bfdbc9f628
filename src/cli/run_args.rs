//! How to run, and where answers go.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use rw_adv::record::json::{self, Fields};
use rw_adv::report::text;
use rw_adv::run::{Batch, Destination, Job, RunLimits, granted_cpus};

use super::out::OutArgs;
use crate::interrupt::STOP;
use crate::values::{positive, threads};

/// How to run, and where answers go.
#[derive(clap::Args)]
pub struct RunArgs {
    /// Time limit in seconds for each row of the table [default: no limit]
    #[arg(long, visible_alias = "timeout", value_name = "SECONDS", value_parser = positive)]
    pub time_limit: Option<f64>,
    /// Seed of the random starts
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of threads [default: SLURM_CPUS_PER_TASK, or one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    #[command(flatten)]
    pub out: OutArgs,
    /// Print JSON Lines on stdout instead of a table
    #[arg(long)]
    pub json: bool,
    /// Print what would be done; nothing is searched or written
    #[arg(long, hide_short_help = true)]
    pub dry_run: bool,
}

impl RunArgs {
    /// When to stop.
    pub fn limits(&self) -> RunLimits<'static> {
        RunLimits { time: self.time_limit.map(Duration::from_secs_f64), cancelled: &STOP }
    }

    /// Makes the threads, as many as were asked for.
    pub fn start_threads(&self) -> Result<()> {
        let Some(threads) = self.threads.or_else(granted_cpus) else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build_global().context("--threads")
    }
}

/// Prints what would be done, and on what. What would be refused is refused; nothing is written.
pub fn show_plan<J: Job>(
    job: &J,
    items: &[J::Item],
    settings: &Fields,
    destination: &Destination,
    json: bool,
) -> Result<ExitCode> {
    let (manifest, plan) = Batch::plan(job, items, settings, destination)?;
    let mut stdout = io::stdout().lock();
    let printed =
        if json { json::line(&mut stdout, &manifest) } else { text::plan(&mut stdout, &plan) };
    printed.and_then(|()| stdout.flush()).context("stdout")?;
    Ok(ExitCode::SUCCESS)
}
