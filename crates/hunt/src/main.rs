//! `rw-adv-hunt`: as many cases as wanted; a line for each finding; exit code 1 if there is one.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use rw_adv_hunt::networks::{self, Outcome};
use rw_adv_hunt::readers::{Reader, Target};

#[derive(Parser)]
#[command(
    name = "rw-adv-hunt",
    about = "Attacks rw-adv: awkward networks against an exact oracle, and damaged files"
)]
struct Args {
    #[command(subcommand)]
    prey: Prey,
    /// How many cases (for readers: each)
    #[arg(long, global = true, default_value_t = 1000)]
    cases: u64,
    /// Seed of the first case; the next one has the next
    #[arg(long, global = true, default_value_t = 0)]
    seed: u64,
    /// Stop after so many seconds (for readers: each)
    #[arg(long, global = true)]
    seconds: Option<f64>,
}

#[derive(Subcommand)]
enum Prey {
    /// Networks with awkward numbers, in exact arithmetic and in tract's f32
    Networks {
        /// Write each model, with what was said of it, to this directory: for scripts/hunt_onnxruntime.py
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
    },
    /// Damaged files
    Readers {
        /// Only this one
        #[arg(long)]
        reader: Option<String>,
        /// The project, with its models and data
        #[arg(long, default_value = ".")]
        project: PathBuf,
    },
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    // A panic is a finding, and told as one.
    std::panic::set_hook(Box::new(|_| ()));
    let directory = scratch()?;
    let findings = match &args.prey {
        Prey::Networks { keep } => {
            if let Some(keep) = keep {
                std::fs::create_dir_all(keep).with_context(|| keep.display().to_string())?;
            }
            networks(&args, directory.path(), keep.as_deref())?
        }
        Prey::Readers { reader, project } => {
            let wanted = |r: &Reader| reader.as_ref().is_none_or(|name| name == r.name());
            let mut findings = 0;
            for reader in Reader::ALL.into_iter().filter(wanted) {
                findings += readers(&args, reader, project, directory.path())?;
            }
            findings
        }
    };
    Ok(if findings > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A place for files, in memory where there is one.
fn scratch() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(place).context("a place for files")
}

fn is_over(args: &Args, begun: Instant) -> bool {
    args.seconds.is_some_and(|seconds| begun.elapsed() > Duration::from_secs_f64(seconds))
}

/// Tells a finding, or a sum.
fn tell(line: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{line}").context("stdout")
}

fn networks(args: &Args, directory: &Path, keep: Option<&Path>) -> Result<u64> {
    let begun = Instant::now();
    let (mut cases, mut findings) = (0, 0);
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for seed in (args.seed..).take(args.cases as usize) {
        if is_over(args, begun) {
            break;
        }
        cases += 1;
        let run = std::panic::catch_unwind(|| networks::run_and_keep(seed, directory, keep));
        let name = match run.unwrap_or_else(|_| Err("it panicked".into())) {
            Ok(Outcome::Refused(refusal)) => format!("refused: {refusal:?}"),
            Ok(Outcome::Fine(verdict)) => verdict.to_string(),
            Err(problem) => {
                findings += 1;
                tell(&format!("networks, seed {seed}: {problem}"))?;
                "finding".to_owned()
            }
        };
        *outcomes.entry(name).or_default() += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    tell(&format!("networks: {cases} cases in {seconds:.0} s: {outcomes:?}; {findings} findings"))?;
    Ok(findings)
}

fn readers(args: &Args, reader: Reader, project: &Path, directory: &Path) -> Result<u64> {
    let target = Target::new(reader, project, directory);
    let begun = Instant::now();
    let (mut cases, mut read, mut findings) = (0_u64, 0_u64, 0);
    let mut slowest = Duration::ZERO;
    for seed in (args.seed..).take(args.cases as usize) {
        if cases % 64 == 0 && is_over(args, begun) {
            break;
        }
        cases += 1;
        let before = Instant::now();
        match target.run(seed) {
            Ok(is_read) => read += u64::from(is_read),
            Err(problem) => {
                findings += 1;
                tell(&format!("{}, seed {seed}: {problem}", reader.name()))?;
            }
        }
        slowest = slowest.max(before.elapsed());
    }
    let seconds = begun.elapsed().as_secs_f64();
    tell(&format!(
        "{}: {cases} damaged files in {seconds:.0} s, {read} of them still readable, slowest {:.0} ms; {findings} findings",
        reader.name(),
        1000.0 * slowest.as_secs_f64()
    ))?;
    Ok(findings)
}
