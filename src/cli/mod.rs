//! The command line: [`Args`] is what was typed, [`Job`] is what it means.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};
use rayon::prelude::*;
use rw_adv::budget::Budget;
use rw_adv::input::{DataSource, Dataset, Norm, Sample, Selection, Split, TargetChoice, Targets};
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::report::{self, Progress, Record, ResultDirectory, Settings, Summary, WitnessFiles};
use rw_adv::search::{Method, SearchOptions};
use rw_adv::verdict::Verdict;
use rw_adv::verify::{self, Attack, Goal, Subject};
use rw_adv::walk::WayOut;

use crate::bench::{self, Bench};

/// How wrong can a trained ReLU classifier be made within an L1 budget?
///
/// For each image, looks for the input within the budget that lifts the target's logit furthest above the
/// predicted one (Relax-and-Walk), and replays it in the ONNX file itself.
#[derive(Parser)]
#[command(version, long_version = LONG_VERSION.as_str(), args_conflicts_with_subcommands = true,
          subcommand_negates_reqs = true, allow_negative_numbers = true, after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{ENVIRONMENT}"))]
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

Exit codes: 0 finished; 1 with --exit-code, an adversary was found; 2 bad usage or input, one line on
stderr says which; 130 interrupted, with what was found until then written.";

const ENVIRONMENT: &str = "\
Environment: RW_ADV_LOG=error|warn|info|debug writes to stderr what happens inside from that level on [default:
warn]; debug tells which starts and walks were given up, and why.";

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
    /// Measure: region LPs, walks and searches, quality against proven optima, random networks
    #[command(subcommand)]
    Bench(Bench),
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
    /// Budget: how far an image may be changed, all pixels together (L1) or each of them (L-infinity)
    #[arg(long, value_name = "DELTA", required = true, value_parser = positive)]
    delta: Option<f64>,
    /// Norm of the budget
    #[arg(long, value_name = "NORM", default_value_t = Norm::L1)]
    norm: Norm,
    /// Who shall win: runner-up, a label, all, or a CSV file with the columns image,target
    #[arg(long, value_name = "TARGET", default_value_t = TargetChoice::RunnerUp)]
    target: TargetChoice,
    /// Algorithm: our own, or Algorithms 1 and 2 of the paper
    #[arg(long, value_enum, default_value_t = MethodArg::Rw)]
    method: MethodArg,
    /// How walks leave a region: flip the neurons that hold the optimum back, or overshoot by the paper's epsilon
    #[arg(long, value_enum, default_value_t = WayOutArg::Flip)]
    way_out: WayOutArg,
    /// End a search after so many starts in a row without gain
    #[arg(long, value_name = "N", default_value_t = SearchOptions::default().patience, value_parser = at_least_one)]
    patience: usize,
    /// End a search after so many seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time_limit: Option<f64>,
    /// What is wanted: the best adversary and the smallest bound, or only one adversary or a bound below zero
    #[arg(long, value_enum, default_value_t = GoalArg::Optimum)]
    goal: GoalArg,
    /// Seed of the random starts
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Write results.jsonl, summary.json, pictures and arrays to a new directory
    ///
    /// For every adversary its folder adversarial/ receives, as .npy and .png: the image (IMAGE), the adversary
    /// (IMAGE_cC_wW) and the signed difference (IMAGE_cC_wW_difference); and all three side by side in
    /// IMAGE_cC_wW_strip.png. C is the predicted label, W the target.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON Lines on stdout instead of a table
    #[arg(long)]
    json: bool,
    /// Exit with code 1 when an adversary was found
    #[arg(long)]
    exit_code: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodArg {
    Rw,
    Paper,
}

impl MethodArg {
    fn name(self) -> &'static str {
        match self {
            Self::Rw => "rw",
            Self::Paper => "paper",
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum GoalArg {
    Optimum,
    Verdict,
}

impl GoalArg {
    fn name(self) -> &'static str {
        match self {
            Self::Optimum => "optimum",
            Self::Verdict => "verdict",
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum WayOutArg {
    Flip,
    Epsilon,
}

impl WayOutArg {
    fn name(self) -> &'static str {
        match self {
            Self::Flip => "flip",
            Self::Epsilon => "epsilon",
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitArg {
    Train,
    Test,
}

static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (HiGHS {})", env!("CARGO_PKG_VERSION"), rw_adv::lp::solver_version())
});

/// A number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // More would overflow a duration, and is no limit anyway.
        Ok(number) if number > 0.0 && number <= 1e15 => Ok(number),
        Ok(_) => Err("must be a positive number".into()),
        Err(_) => Err("not a number".into()),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| "must be a whole number from 1 on".into())
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("must be a number from 1 to 1024".into()),
    }
}

/// What the arguments mean, with everything they name opened and checked.
struct Job {
    model: OnnxModel,
    data: Dataset,
    images: Vec<usize>,
    targets: Targets,
    attack: Attack,
    time_limit: Option<Duration>,
    settings: Settings,
    out: Option<PathBuf>,
    json: bool,
    exit_code: bool,
}

impl Job {
    fn new(args: AttackArgs) -> Result<Self> {
        let model_path = args.model.expect("clap requires --model");
        let delta = args.delta.expect("clap requires --delta");
        if let Some(threads) = args.threads {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .context("--threads")?;
        }
        let model = OnnxModel::load(&model_path)?;
        let classes = model.network.outputs();
        if classes < 2 {
            bail!("{}: has one output, a classifier needs at least two", model_path.display());
        }
        let split = match args.split {
            SplitArg::Train => Split::Train,
            SplitArg::Test => Split::Test,
        };
        let source = DataSource { path: args.data, split, labels: args.labels };
        let data = Dataset::open(&source, &model.input_dims)?;
        let targets = args.target.open(classes, data.len())?;
        let images = match (args.images, targets.images()) {
            (Some(selection), _) => selection.indices(data.len())?,
            (None, Some(listed)) => listed,
            (None, None) => (0..data.len().min(DEFAULT_IMAGES)).collect(),
        };
        let method = match args.method {
            MethodArg::Rw => Method::Rw,
            MethodArg::Paper => Method::Paper,
        };
        let way_out = match args.way_out {
            WayOutArg::Flip => WayOut::Flip,
            WayOutArg::Epsilon => WayOut::Epsilon,
        };
        let search = SearchOptions { seed: args.seed, patience: args.patience, method, way_out };
        let goal = match args.goal {
            GoalArg::Optimum => Goal::Optimum,
            GoalArg::Verdict => Goal::Verdict,
        };
        let attack = Attack { delta, norm: args.norm, search, goal };
        let settings = Settings {
            model: model_path.display().to_string(),
            model_sha256: model.sha256.clone(),
            widths: model.network.widths(),
            data: data.describe(),
            images: images.clone(),
            delta,
            norm: args.norm.name(),
            target: args.target.to_string(),
            method: args.method.name(),
            seed: args.seed,
            patience: args.patience,
            time_limit: args.time_limit,
            goal: args.goal.name(),
            way_out: args.way_out.name(),
        };
        Ok(Self {
            model,
            data,
            images,
            targets,
            attack,
            time_limit: args.time_limit.map(Duration::from_secs_f64),
            settings,
            out: args.out,
            json: args.json,
            exit_code: args.exit_code,
        })
    }

    /// The images with their targets: the samples, who wins there, and who shall.
    fn items(&self) -> Result<Vec<Item>> {
        let classes = self.model.network.outputs();
        let of_image = |&index: &usize| -> Result<Item> {
            let sample = self.data.sample(index)?;
            if let Some(label) = sample.label.filter(|label| label.0 >= classes) {
                bail!(
                    "--labels: image {index} has label {label}, the model has the classes 0 to {}",
                    classes - 1
                );
            }
            let standing = verify::classify(&self.model, &sample)?;
            let targets = self.targets.of(index, standing.predicted, standing.runner_up);
            Ok(Item { sample, predicted: standing.predicted, targets: targets.labels })
        };
        let items: Result<Vec<Item>> = self.images.par_iter().map(of_image).collect();
        Ok(items?.into_iter().filter(|item| !item.targets.is_empty()).collect())
    }

    fn run(self) -> Result<ExitCode> {
        let clock = Budget::unlimited();
        let items = self.items()?;
        if items.is_empty() {
            bail!(
                "--target {}: every image is predicted as its target already",
                self.settings.target
            );
        }
        // Opened before searching, so that nothing found is lost to an unwritable place.
        let results = self.out.as_deref().map(ResultDirectory::create).transpose()?;
        let files = self
            .out
            .as_deref()
            .map(|out| WitnessFiles::create(out, &self.model.input_dims))
            .transpose()?;
        ctrlc::set_handler(|| {
            // The second time, the user means it.
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        })
        .context("cannot catch Ctrl-C")?;
        let asked = items.iter().map(|item| item.targets.len()).sum();
        let output = Mutex::new(Output {
            // A reader that goes away ends the run only when nothing else was asked for.
            outlives_reader: results.is_some() || self.exit_code,
            stdout: Some(io::stdout()),
            results,
            summary: Summary::new(asked),
            json: self.json,
            progress: Progress::new(asked),
        });
        let with_output = |act: &dyn Fn(&mut Output) -> Result<()>| {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut output)
        };
        with_output(&Output::begin)?;
        let searched = items.par_iter().try_for_each(|item| {
            let subject = Subject::new(&self.model, &item.sample, item.predicted, &self.attack);
            item.targets.par_iter().try_for_each(|&target| {
                if STOP.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let record = self.search(item, &subject, target, files.as_ref());
                let done = record.and_then(|record| with_output(&|output| output.write(&record)));
                // A record that cannot be written ends the run: what is on disk stays, nothing more is computed in vain.
                done.inspect_err(|_| STOP.store(true, Ordering::Relaxed))
            })
        });
        let mut output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let interrupted = STOP.load(Ordering::Relaxed);
        output.summary.interrupted = interrupted;
        let adversarial = output.summary.verdicts.get(&Verdict::Adversarial).copied().unwrap_or(0);
        let skipped = self.images.len() - items.len();
        let finished = output.finish(&self.settings, clock.elapsed(), skipped);
        searched?;
        finished?;
        Ok(match adversarial {
            _ if interrupted => ExitCode::from(130),
            1.. if self.exit_code => ExitCode::FAILURE,
            _ => ExitCode::SUCCESS,
        })
    }

    fn search(
        &self,
        item: &Item,
        subject: &Subject,
        target: Label,
        files: Option<&WitnessFiles>,
    ) -> Result<Record> {
        let sample = &item.sample;
        let pair = (item.predicted, target);
        let budget = Budget::start(self.time_limit, Some(&STOP));
        let answer = subject.attack(target, &budget)?;
        let mut record =
            Record::new(sample, pair, &self.attack, &answer, budget.elapsed().as_secs_f64());
        if let (Some(files), Some(witness)) = (files, answer.judged.witness()) {
            let saved =
                files.save(sample.index, pair, &sample.pixels, witness, answer.picture.as_ref())?;
            record.npy = Some(saved.npy);
            record.png = saved.png;
        }
        Ok(record)
    }
}

/// Raised by Ctrl-C: searches end with what they have, no new ones begin.
static STOP: AtomicBool = AtomicBool::new(false);

/// An image and who shall win there.
struct Item {
    sample: Sample,
    predicted: Label,
    targets: Vec<Label>,
}

/// Where records go, one at a time.
struct Output {
    /// Gone when its reader is.
    stdout: Option<io::Stdout>,
    outlives_reader: bool,
    results: Option<ResultDirectory>,
    summary: Summary,
    json: bool,
    progress: Progress,
}

impl Output {
    /// Writes to stdout with the progress bar out of the way.
    fn print(&mut self, write: impl Fn(&mut io::Stdout) -> io::Result<()>) -> Result<()> {
        let Some(stdout) = &mut self.stdout else { return Ok(()) };
        match self.progress.aside(|| write(stdout).and_then(|()| stdout.flush())) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe && self.outlives_reader => {
                self.stdout = None;
                Ok(())
            }
            result => result.context("stdout"),
        }
    }

    fn begin(&mut self) -> Result<()> {
        if self.json { Ok(()) } else { self.print(report::text::header) }
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        if let Some(results) = &mut self.results {
            results.append(record)?;
        }
        self.summary.add(record);
        let json = self.json;
        self.print(|out| {
            if json { report::json::line(out, record) } else { report::text::row(out, record) }
        })?;
        self.progress.done(record.verdict);
        Ok(())
    }

    fn finish(mut self, settings: &Settings, elapsed: Duration, skipped: usize) -> Result<()> {
        self.progress.finish();
        if let Some(results) = &self.results {
            results.finish(&self.summary, settings, elapsed)?;
        }
        if self.json {
            return Ok(());
        }
        let summary = self.summary.clone();
        self.print(|out| report::text::summary(out, &summary, elapsed.as_secs_f64(), skipped))
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
        Some(Command::Bench(bench)) => bench::run(bench)?,
        None => return Job::new(args.attack)?.run(),
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
