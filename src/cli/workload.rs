//! What the commands have in common: a model, images and targets, opened and checked; where answers go.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rayon::prelude::*;
use rw_adv::attack;
use rw_adv::data::{DataSource, Dataset, Sample, Selection, Split, TargetChoice, Targets};
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::record::CommonSettings;
use rw_adv::report::Progress;
use rw_adv::run::data_sha256;
use rw_adv::sets::Norm;

use super::out::OutArgs;
use super::screen::Screen;
use super::{positive, threads};

/// How many images are looked at when none are named.
const DEFAULT_IMAGES: usize = 10;

/// Where Slurm says how many cores a task may use.
const GRANTED_CPUS: &str = "SLURM_CPUS_PER_TASK";

/// What is looked at.
#[derive(clap::Args)]
pub struct WorkloadArgs {
    /// The classifier (.onnx or .onnx.gz)
    #[arg(long, value_name = "FILE", required = true)]
    model: Option<PathBuf>,
    /// Images: an MNIST directory, an IDX file (.gz too), PNG files (directory or glob), or an .npy array
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// Which half of an MNIST directory
    #[arg(long, value_enum, default_value_t = SplitArg::Test, hide_short_help = true)]
    split: SplitArg,
    /// True labels: IDX, .npy, or text with one label a line [default: found beside IDX images]
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Which images: a count (50), indices (3,7,9), a range (100..150) [default: the first 10]
    #[arg(long, value_name = "WHICH")]
    images: Option<Selection>,
    /// Norm of the budget
    #[arg(long, value_name = "NORM", default_value_t = Norm::L1)]
    pub norm: Norm,
}

/// How to run, and where answers go.
#[derive(clap::Args)]
pub struct RunArgs {
    /// Stop after so many seconds for each row of the table [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time_limit: Option<f64>,
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
    /// Print what would be done, and on what; nothing is searched and nothing written
    #[arg(long, hide_short_help = true)]
    pub dry_run: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitArg {
    Train,
    Test,
}

impl RunArgs {
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit.map(Duration::from_secs_f64)
    }

    /// Makes the threads, as many as were asked for.
    pub fn start_threads(&self) -> Result<()> {
        let Some(threads) = self.threads.or_else(granted_cpus) else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build_global().context("--threads")
    }
}

/// The cores that Slurm gives a task, where it says so: what the machine has may be more.
fn granted_cpus() -> Option<usize> {
    let value = env::var(GRANTED_CPUS).ok()?;
    let cpus = threads(&value);
    cpus.inspect_err(|problem| log::warn!("{GRANTED_CPUS} is '{value}': {problem}")).ok()
}

/// A model, images and targets.
pub struct Workload {
    pub model: OnnxModel,
    path: PathBuf,
    data: Dataset,
    images: Vec<usize>,
    norm: Norm,
    asked: TargetChoice,
    targets: Targets,
}

/// An image and who shall win there.
pub struct Item {
    pub sample: Sample,
    pub predicted: Label,
    pub targets: Vec<Label>,
}

impl Workload {
    /// How many images are looked at.
    pub fn images(&self) -> usize {
        self.images.len()
    }

    pub fn open(args: WorkloadArgs, target: TargetChoice) -> Result<Self> {
        let path = args.model.expect("clap requires --model");
        let model = OnnxModel::load(&path)?;
        let classes = model.network.outputs();
        if classes < 2 {
            bail!("{}: has one output, a classifier needs at least two", path.display());
        }
        let split = match args.split {
            SplitArg::Train => Split::Train,
            SplitArg::Test => Split::Test,
        };
        let source = DataSource { path: args.data, split, labels: args.labels };
        let data = Dataset::open(&source, &model.input_dims)?;
        let targets = target.open(classes, data.len())?;
        let images = match (args.images, targets.images()) {
            (Some(selection), _) => selection.indices(data.len())?,
            (None, Some(listed)) => listed,
            (None, None) => (0..data.len().min(DEFAULT_IMAGES)).collect(),
        };
        Ok(Self { model, path, data, images, norm: args.norm, asked: target, targets })
    }

    /// What was asked for, to be kept beside the results.
    pub fn settings(&self, run: &RunArgs, patience: usize, items: &[Item]) -> CommonSettings {
        CommonSettings {
            model: self.path.display().to_string(),
            model_sha256: self.model.sha256.clone(),
            widths: self.model.network.widths(),
            data: self.data.describe(),
            data_sha256: data_sha256(items.iter().map(|item| &item.sample)),
            images: self.images.clone(),
            norm: self.norm,
            target: self.asked.to_string(),
            seed: run.seed,
            patience,
            time_limit: run.time_limit,
        }
    }

    /// The images with their targets: the samples, who wins there, and who shall. Images that are predicted as their
    /// target already are left out.
    pub fn items(&self) -> Result<Vec<Item>> {
        let classes = self.model.network.outputs();
        let of_image = |&index: &usize| -> Result<Item> {
            let sample = self.data.sample(index)?;
            if let Some(label) = sample.label.filter(|label| label.0 >= classes) {
                bail!(
                    "--labels: image {index} has label {label}, the model has the classes 0 to {}",
                    classes - 1
                );
            }
            let standing = attack::classify(&self.model, &sample)?;
            let targets = self.targets.of(index, standing.predicted, standing.runner_up);
            Ok(Item { sample, predicted: standing.predicted, targets })
        };
        let items: Result<Vec<Item>> = self.images.par_iter().map(of_image).collect();
        let items: Vec<Item> = items?.into_iter().filter(|i| !i.targets.is_empty()).collect();
        if items.is_empty() {
            bail!("--target {}: every image is predicted as its target already", self.asked);
        }
        Ok(items)
    }

    /// How many images were left out.
    pub fn skipped(&self, items: &[Item]) -> usize {
        self.images.len() - items.len()
    }
}

/// Raised by Ctrl-C: searches end with what they have, no new ones begin.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C raises [`STOP`].
pub fn catch_interrupts() -> Result<()> {
    let interrupted = || {
        // The second time, the user means it.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(interrupted).context("cannot catch Ctrl-C")
}

/// stdout, and the progress bar that must be out of its way.
pub struct Terminal {
    /// Gone when its reader is.
    stdout: Option<io::Stdout>,
    /// A reader that goes away ends the run only when nothing else was asked for.
    outlives_reader: bool,
    pub progress: Progress,
}

impl Terminal {
    pub fn new(screen: Screen, outlives_reader: bool, steps: usize) -> Self {
        let progress = if screen.quiet { Progress::hidden() } else { Progress::new(steps) };
        Self { stdout: Some(io::stdout()), outlives_reader, progress }
    }

    /// Writes to stdout with the progress bar out of the way.
    pub fn print(&mut self, write: impl Fn(&mut io::Stdout) -> io::Result<()>) -> Result<()> {
        let Some(stdout) = &mut self.stdout else { return Ok(()) };
        match self.progress.aside(|| write(stdout).and_then(|()| stdout.flush())) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe && self.outlives_reader => {
                self.stdout = None;
                Ok(())
            }
            result => result.context("stdout"),
        }
    }
}
