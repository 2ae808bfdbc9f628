//! The command line: [`Args`] is what was typed, a `Job` is what it means.

mod exports;
mod maximize;
mod method;
mod problem;
mod radius;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};
use rayon::prelude::*;
use rw_adv::budget::Budget;
use rw_adv::input::TargetChoice;
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::report::{
    self, Contents, Entry, Record, ResultDirectory, SCHEMA, Settings, Sketch, SketchFile, Summary,
    WitnessFiles,
};
use rw_adv::verdict::Verdict;
use rw_adv::verify::{Attack, Branch, Goal, Subject};

use crate::bench::{self, Bench};
use exports::{ExportArgs, Exports, ReportArgs, fail_with};
use maximize::MaximizeArgs;
use method::MethodArgs;
pub use method::method;
use problem::{Item, Problem, ProblemArgs, RunArgs, Terminal};
pub use problem::{STOP, catch_interrupts};
use radius::RadiusArgs;

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
  rw-adv radius --model models/mnist_2x500.onnx --images 10
  rw-adv maximize --model net.onnx --objective 'y0 - 0.5*y3' --box -1,1 --constraints limits.txt

Exit codes: 0 finished; 1 an adversary was found (--exit-code) or too few are certified (--fail-under); 2 bad usage
or input, one line on stderr says which; 130 interrupted, with what was found until then written.";

const ENVIRONMENT: &str = "\
Environment: RW_ADV_LOG=error|warn|info|debug writes to stderr what happens inside from that level on [default:
warn]; debug tells which starts and walks were given up, and why.";

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
    /// How far each image may be changed: the largest certified budget, and the smallest with an adversary found
    ///
    /// A row per image: no input within `certified` gets a target as label, proven for the file's f32 arithmetic; the
    /// input at distance `attacked` does, replayed in the ONNX file itself. Both are about the predicted label, also
    /// where that is not the true one (marked misclassified). The truth lies in between.
    Radius(RadiusArgs),
    /// Maximise a linear function of the outputs over a box, or over bounds and linear constraints from a file
    ///
    /// Any dense ReLU network will do, with one output too. A final Softmax is dropped: the outputs y0, y1, … are those before
    /// it. To minimise, negate the objective. Prints the best value found, what no input can exceed (proven), and the point.
    Maximize(MaximizeArgs),
    /// Make report.html of a result directory again, from its own files; export its records
    Report(ReportArgs),
    /// Measure: region LPs, walks and searches, quality against proven optima, random networks
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(clap::Args)]
struct AttackArgs {
    #[command(flatten)]
    problem: ProblemArgs,
    /// Budget: how far an image may be changed, all pixels together (L1) or each of them (L-infinity)
    #[arg(long, value_name = "DELTA", required = true, value_parser = positive)]
    delta: Option<f64>,
    /// Who shall win: runner-up, a label, all, or a CSV file with the columns image,target
    #[arg(long, value_name = "TARGET", default_value_t = TargetChoice::RunnerUp)]
    target: TargetChoice,
    #[command(flatten)]
    method: MethodArgs,
    /// What is wanted: the best adversary and the smallest bound, or only one adversary or a bound below zero
    #[arg(long, value_enum, default_value_t = GoalArg::Optimum)]
    goal: GoalArg,
    /// Where one bound does not decide, divide the set by how the budget is spent and bound up to so many parts
    ///
    /// With --goal verdict until there is an adversary or every part is robust, with --goal optimum until the bound is within --gap of
    /// the margin; or until --time-limit.
    #[arg(long, value_name = "NODES", value_parser = at_least_one, hide_short_help = true)]
    branch: Option<usize>,
    /// With --branch: the gap below which a margin counts as optimal
    #[arg(long, value_name = "GAP", default_value_t = 1e-4, value_parser = positive, requires = "branch", hide_short_help = true)]
    gap: f64,
    /// First write the problem of one image and target as a MILP for other solvers (.mps or .lp)
    ///
    /// up_7 and down_7 are how far pixel 7 is moved from the image; h_1_5 and z_1_5 are output and state of neuron 5 of the first
    /// hidden layer, where the bounds leave its state open. The objective is the margin.
    #[arg(long, value_name = "FILE", value_parser = milp_file, hide_short_help = true)]
    write_model: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    exports: ExportArgs,
    /// Exit with code 1 when an adversary was found
    #[arg(long)]
    exit_code: bool,
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

/// A file that a MILP can be written to.
fn milp_file(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    if file.extension().is_some_and(|end| end == "mps" || end == "lp") {
        Ok(file)
    } else {
        Err("must end in .mps or .lp".into())
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
    problem: Problem,
    attack: Attack,
    settings: Settings,
    run: RunArgs,
    write_model: Option<PathBuf>,
    exports: ExportArgs,
    exit_code: bool,
}

impl Job {
    fn new(args: AttackArgs) -> Result<Self> {
        let AttackArgs { problem, run, .. } = args;
        let search = args.method.options(run.seed)?;
        let delta = args.delta.expect("clap requires --delta");
        run.start_threads()?;
        let norm = problem.norm;
        let problem = Problem::open(problem, args.target)?;
        let goal = match args.goal {
            GoalArg::Optimum => Goal::Optimum,
            GoalArg::Verdict => Goal::Verdict,
        };
        let branch = args.branch.map(|nodes| Branch { nodes, gap: args.gap });
        let attack = Attack { delta, norm, search, goal, branch };
        let settings = Settings {
            common: problem.settings(&run, search.patience),
            delta,
            branch: args.branch,
            gap: attack.gap(),
            method: search.method.name(),
            goal: args.goal.name(),
            way_out: args.method.way_out(),
        };
        let AttackArgs { write_model, exports, exit_code, .. } = args;
        Ok(Self { problem, attack, settings, run, write_model, exports, exit_code })
    }

    fn run(self) -> Result<ExitCode> {
        let clock = Budget::unlimited();
        let items = self.problem.items()?;
        if let Some(file) = &self.write_model {
            self.write_milp(file, &items)?;
        }
        let (results, files) =
            self.run.open_results(Contents::Attacks, &self.problem.model)?.unzip();
        let dims = &self.problem.model.input_dims;
        let sketches =
            self.run.out.as_ref().map(|out| SketchFile::create(out, dims)).transpose()?;
        let exports = self.exports.open()?;
        catch_interrupts()?;
        let asked = items.iter().map(|item| item.targets.len()).sum();
        let outlives_reader = results.is_some() || self.exit_code || exports.wanted();
        let output = Mutex::new(Output {
            terminal: Terminal::new(outlives_reader, asked),
            results,
            sketches,
            rows: Vec::new(),
            summary: Summary::new(asked),
            json: self.run.json,
        });
        let with_output = |act: &dyn Fn(&mut Output) -> Result<()>| {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut output)
        };
        with_output(&Output::begin)?;
        let model = &self.problem.model;
        let searched = items.par_iter().try_for_each(|item| {
            let subject = Subject::new(model, &item.sample, item.predicted, &self.attack);
            item.targets.par_iter().try_for_each(|&target| {
                if STOP.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let found = self.search(item, &subject, target, files.as_ref());
                let done = found.and_then(|(record, sketch)| {
                    with_output(&|output| output.write(item, &record, &sketch))
                });
                // A record that cannot be written ends the run: what is on disk stays, nothing more is computed in vain.
                done.inspect_err(|_| STOP.store(true, Ordering::Relaxed))
            })
        });
        let mut output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let interrupted = STOP.load(Ordering::Relaxed);
        output.summary.interrupted = interrupted;
        let adversarial = output.summary.verdicts.get(&Verdict::Adversarial).copied().unwrap_or(0);
        let skipped = self.problem.skipped(&items);
        let out = self.run.out.as_deref();
        let finished = output.finish(&self.settings, clock.elapsed(), skipped, (exports, out));
        searched?;
        let shortfall = finished?;
        Ok(match adversarial {
            _ if interrupted => ExitCode::from(130),
            1.. if self.exit_code && shortfall.is_none() => ExitCode::FAILURE,
            _ => fail_with(shortfall),
        })
    }

    fn write_milp(&self, file: &Path, items: &[Item]) -> Result<()> {
        let asked: usize = items.iter().map(|item| item.targets.len()).sum();
        let [Item { sample, predicted, targets }] = items else {
            bail!("--write-model: takes one image, {} were asked for", items.len());
        };
        let &[target] = &targets[..] else {
            bail!("--write-model: takes one target, {asked} were asked for");
        };
        let subject = Subject::new(&self.problem.model, sample, *predicted, &self.attack);
        let written = subject.write_milp(target, file, &Budget::unlimited());
        written.with_context(|| file.display().to_string())
    }

    fn search(
        &self,
        item: &Item,
        subject: &Subject,
        target: Label,
        files: Option<&WitnessFiles>,
    ) -> Result<(Record, Sketch)> {
        let sample = &item.sample;
        let pair = (item.predicted, target);
        let budget = Budget::start(self.run.time_limit(), Some(&STOP));
        let answer = subject.attack(target, &budget)?;
        let mut record =
            Record::new(sample, pair, &self.attack, &answer, budget.elapsed().as_secs_f64());
        if let (Some(files), Some(witness)) = (files, answer.judged.witness()) {
            let saved =
                files.save(sample.index, pair, &sample.pixels, witness, answer.picture.as_ref())?;
            record.npy = Some(saved.npy);
            record.png = saved.png;
        }
        let dims = &self.problem.model.input_dims;
        let sketch = Sketch::of(dims, sample, answer.judged.point(), &answer.found.curve);
        Ok((record, sketch))
    }
}

/// Where records go, one at a time.
struct Output {
    terminal: Terminal,
    results: Option<ResultDirectory>,
    sketches: Option<SketchFile>,
    /// The records, where no directory keeps them.
    rows: Vec<Entry>,
    summary: Summary,
    json: bool,
}

impl Output {
    fn begin(&mut self) -> Result<()> {
        if self.json { Ok(()) } else { self.terminal.print(report::text::header) }
    }

    fn write(&mut self, item: &Item, record: &Record, sketch: &Sketch) -> Result<()> {
        if let Some(results) = &mut self.results {
            results.append(record)?;
        } else {
            self.rows.push(Entry::of(record));
        }
        if let Some(sketches) = &mut self.sketches {
            sketches.append(&item.sample, record.target, sketch)?;
        }
        self.summary.add(record);
        let json = self.json;
        self.terminal.print(|out| {
            if json { report::json::line(out, record) } else { report::text::row(out, record) }
        })?;
        self.terminal.progress.done(record.verdict);
        Ok(())
    }

    /// Says so if certified accuracy is below what was asked for.
    fn finish(
        mut self,
        settings: &Settings,
        elapsed: Duration,
        skipped: usize,
        (exports, out): (Exports, Option<&Path>),
    ) -> Result<Option<String>> {
        self.terminal.progress.finish();
        if let Some(results) = &self.results {
            results.finish(SCHEMA, &self.summary, settings, elapsed)?;
        }
        let shortfall = match out {
            Some(directory) => exports.of_directory(directory)?,
            None => {
                self.rows.sort_by_key(|row| (row.image, row.target));
                exports.of_rows(&self.rows, &report::json::object(settings))?
            }
        };
        if !self.json {
            let (summary, seconds) = (self.summary, elapsed.as_secs_f64());
            self.terminal.print(|out| report::text::summary(out, &summary, seconds, skipped))?;
        }
        Ok(shortfall)
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
        Some(Command::Radius(args)) => return radius::run(args),
        Some(Command::Maximize(args)) => return maximize::run(args),
        Some(Command::Report(args)) => return exports::run(&args),
        Some(Command::Bench(bench)) => {
            bench::run(bench)?;
            if STOP.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(130));
            }
        }
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
