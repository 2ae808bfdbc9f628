//! The command line: [`Args`] is what was typed, [`Job`] is what it means.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};
use rw_adv::input::{DataSource, Dataset, Selection, Split};
use rw_adv::onnx::OnnxModel;
use rw_adv::report::{self, Record, ResultDirectory, Settings, Summary};
use rw_adv::verify;

/// How wrong can a trained ReLU classifier be made within an L1 budget?
///
/// Reads a dense ReLU classifier from an ONNX file and images, and looks at each image: the label
/// the network gives it, the runner-up, and the margin between them.
#[derive(Parser)]
#[command(version, long_version = LONG_VERSION.as_str(), args_conflicts_with_subcommands = true,
          subcommand_negates_reqs = true, after_help = EXAMPLES)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    attack: AttackArgs,
}

const EXAMPLES: &str = "\
Examples:
  rw-adv --model models/mnist_2x500.onnx --images 50 --delta 5 --out results
  rw-adv --model net.onnx --data digits/ --images 3,7,9 --delta 2.5 --json
  rw-adv inspect models/mnist_2x500.onnx

Exit codes: 0 finished; 2 bad usage or input, one line on stderr says which.";

/// How many images are looked at when none are named.
const DEFAULT_IMAGES: usize = 10;

#[derive(Subcommand)]
enum Command {
    /// Show a model's layers, what was folded or dropped, and how well it agrees with tract
    Inspect {
        /// The model (.onnx or .onnx.gz)
        model: PathBuf,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
struct AttackArgs {
    /// The classifier (.onnx or .onnx.gz)
    #[arg(long, value_name = "FILE", required = true)]
    model: Option<PathBuf>,
    /// Images: an MNIST directory, an IDX file (.gz too), PNG files (directory or glob), or an .npy array
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// Which half of an MNIST directory
    #[arg(long, value_enum, default_value_t = SplitArg::Test)]
    split: SplitArg,
    /// True labels: IDX, .npy, or text with one label a line [default: found beside IDX images]
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Which images: a count (50), indices (3,7,9), a range (100..150) [default: the first 10]
    #[arg(long, value_name = "WHICH")]
    images: Option<Selection>,
    /// L1 budget: how far, in all pixels together, an image may be changed
    #[arg(long, value_name = "DELTA", required = true, value_parser = budget, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// Write results.jsonl and summary.json to a new directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON Lines on stdout instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitArg {
    Train,
    Test,
}

static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (HiGHS {})", env!("CARGO_PKG_VERSION"), rw_adv::lp::solver_version())
});

fn budget(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(delta) if delta > 0.0 && delta.is_finite() => Ok(delta),
        Ok(_) => Err("the budget must be a positive number".into()),
        Err(_) => Err("not a number".into()),
    }
}

/// What the arguments mean, with everything they name opened and checked.
struct Job {
    model: OnnxModel,
    model_path: PathBuf,
    data: Dataset,
    images: Vec<usize>,
    delta: f64,
    out: Option<ResultDirectory>,
    json: bool,
}

impl Job {
    fn new(args: AttackArgs) -> Result<Self> {
        let model_path = args.model.expect("clap requires --model");
        let delta = args.delta.expect("clap requires --delta");
        let model = OnnxModel::load(&model_path)?;
        if model.network.outputs() < 2 {
            bail!("{}: has one output, a classifier needs at least two", model_path.display());
        }
        let split = match args.split {
            SplitArg::Train => Split::Train,
            SplitArg::Test => Split::Test,
        };
        let source = DataSource { path: args.data, split, labels: args.labels };
        let data = Dataset::open(&source, &model.input_dims)?;
        let images = match args.images {
            Some(selection) => selection.indices(data.len())?,
            None => (0..data.len().min(DEFAULT_IMAGES)).collect(),
        };
        // Opened before computing, so that nothing computed is lost to an unwritable place.
        let out = args.out.as_deref().map(ResultDirectory::create).transpose()?;
        Ok(Self { model, model_path, data, images, delta, out, json: args.json })
    }

    fn run(mut self) -> Result<()> {
        let started = Instant::now();
        let mut stdout = BufWriter::new(io::stdout().lock());
        let mut summary = Summary::default();
        if !self.json {
            report::text::header(&mut stdout)?;
        }
        for &index in &self.images {
            let sample = self.data.sample(index)?;
            let classes = self.model.network.outputs();
            if let Some(label) = sample.label.filter(|label| label.0 >= classes) {
                bail!(
                    "--labels: image {index} has label {label}, the model has the classes 0 to {}",
                    classes - 1
                );
            }
            let standing = verify::classify(&self.model, &sample)?;
            let record = Record::unsearched(&sample, &standing, self.delta);
            summary.add(&record);
            if let Some(out) = &mut self.out {
                out.append(&record)?;
            }
            if self.json {
                report::json::line(&mut stdout, &record)?;
            } else {
                report::text::row(&mut stdout, &record)?;
            }
            stdout.flush().context("stdout")?;
        }
        if !self.json {
            report::text::summary(&mut stdout, &summary)?;
        }
        if let Some(out) = &self.out {
            let settings = Settings {
                model: self.model_path.display().to_string(),
                model_sha256: self.model.sha256.clone(),
                widths: self.model.network.widths(),
                data: self.data.describe(),
                images: self.images.clone(),
                delta: self.delta,
            };
            out.finish(&summary, &settings, started.elapsed())?;
        }
        stdout.flush().context("stdout")
    }
}

/// Parses the command line and does what it says.
pub fn run() -> Result<ExitCode> {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match args.command {
        Some(Command::Inspect { model, json }) => inspect(model, json)?,
        None => Job::new(args.attack)?.run()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn inspect(path: PathBuf, json: bool) -> Result<()> {
    let model = OnnxModel::load(&path)?;
    let mut stdout = BufWriter::new(io::stdout().lock());
    if json {
        report::json::inspection(&mut stdout, &path, &model)?;
    } else {
        report::text::inspection(&mut stdout, &path, &model)?;
    }
    stdout.flush().context("stdout")
}

/// Help and version go to stdout as clap writes them; a mistake becomes one line on stderr.
fn usage(error: &clap::Error) -> Result<ExitCode> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        error.print().context("stdout")?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = error.to_string();
    let said = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said: Vec<&str> =
        said.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    let line = said.join(" ");
    bail!("{} (try --help)", line.strip_prefix("error: ").unwrap_or(&line))
}

/// Did stdout's reader go away?
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The whole chain of causes, on one line of stderr.
pub fn complain(error: &anyhow::Error) {
    let line = format!("rw-adv: {error:#}").lines().collect::<Vec<_>>().join(" ");
    // Nothing is left to do when stderr is gone too.
    let _ = writeln!(io::stderr(), "{line}");
}
