//! The command line: [`Args`] is what was typed, a `Job` is what it means.

mod branch;
mod check_proof;
mod config;
mod exports;
mod inspect;
mod maximize;
mod merge;
mod method;
mod out;
mod pages;
mod plan;
mod radius;
mod screen;
mod status;
mod workload;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use rayon::prelude::*;
use rw_adv::attack::{Attack, ImageAttack};
use rw_adv::budget::Budget;
use rw_adv::data::TargetChoice;
use rw_adv::judge::Verdict;
use rw_adv::network::Label;
use rw_adv::observer::{Observer, TreeState};
use rw_adv::record::{
    ATTACK_SCHEMA, AttackRecord, AttackSettings, AttackSummary, Contents, Sketch, Summarize, json,
};
use rw_adv::report::{self, Paint};
use rw_adv::run::{ProofFiles, ResultDirectory, WitnessFiles};
use rw_adv::search::Method;
use rw_adv::solve::Goal;

use crate::bench::{self, Bench};
use branch::BranchArgs;
use check_proof::CheckProofArgs;
use exports::{ExportArgs, Exports, ReportArgs, fail_with};
use maximize::MaximizeArgs;
use merge::MergeArgs;
use method::MethodArgs;
pub use method::method;
use out::Work;
use radius::RadiusArgs;
use screen::{Screen, ScreenArgs};
use status::StatusArgs;
use workload::{Item, RunArgs, Terminal, Workload, WorkloadArgs};
pub use workload::{STOP, catch_interrupts};

/// How wrong can a trained ReLU classifier be made within an L1 budget?
///
/// For each image, looks for the input within the budget that lifts the target's logit furthest above the
/// predicted one (Relax-and-Walk), and replays it in the ONNX file itself.
#[derive(Parser)]
#[command(name = "rw-adv", version, long_version = LONG_VERSION.as_str(), subcommand_negates_reqs = true,
          allow_negative_numbers = true, after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{ENVIRONMENT}"),
          override_usage = "rw-adv --model FILE --delta DELTA [OPTIONS]\n       rw-adv COMMAND …")]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    screen: ScreenArgs,
    #[command(flatten)]
    attack: AttackArgs,
}

/// One screen of 80 x 24; --help has everything.
const SHORT_HELP: &str = "\
How wrong can a trained ReLU classifier be made within an L1 budget?

Usage: rw-adv --model FILE --delta DELTA [OPTIONS]
       rw-adv COMMAND …

  --model FILE     the classifier (.onnx or .onnx.gz)
  --delta DELTA    how far an image may be changed
  --data PATH      images: MNIST directory, IDX, PNG, .npy   [data]
  --images WHICH   50, or 3,7,9, or 100..150                 [10]
  --target TARGET  runner-up, a label, all, a CSV file       [runner-up]
  --goal GOAL      optimum, or verdict: faster               [optimum]
  --norm NORM      l1 or linf                                [l1]
  --out DIR        keep records, pictures and arrays; --resume continues
  --time-limit S   seconds for each row                      [none]
  --fail-under P   exit with code 1 if less is certified; --csv, --junit FILE
  --threads N      --json  --exit-code  --dry-run  --config FILE  -v  -q

Commands: inspect, radius, maximize, report, status, merge, check-proof, bench,
completions, man
Each has --help; everything: rw-adv --help

Example: rw-adv --model models/mnist_2x500.onnx --images 50 --delta 5
";

const EXAMPLES: &str = "\
Examples:
  rw-adv --model models/mnist_2x500.onnx --images 50 --delta 5 --out results
  rw-adv --model net.onnx --data digits/ --images 3,7,9 --delta 2.5 --json
  rw-adv radius --model models/mnist_2x500.onnx --images 10
  rw-adv maximize --model net.onnx --objective 'y0 - 0.5*y3' --box -1,1 --constraints limits.txt

Exit codes: 0 finished; 1 an adversary was found (--exit-code) or too few are certified (--fail-under); 2 bad usage
or input, one line on stderr says which; 130 interrupted, with what was found until then written.";

const ENVIRONMENT: &str = "\
Environment: NO_COLOR, if it is not empty, switches colours off. RW_ADV_LOG=error|warn|info|debug writes to stderr what happens inside from that level on [default:
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
    /// Check what --proof has written: that the parts cover the set, and that each bound follows from what is given for it
    ///
    /// Shares no code with the search but the network and the rounding-safe evaluation of bounds. Exit code 1 when a proof does not hold.
    CheckProof(CheckProofArgs),
    /// What a result directory still lacks: how many records, or which shards are to be run
    Status(StatusArgs),
    /// Make one result of what plain runs and shards left in a directory
    ///
    /// Writes results.jsonl (radii.jsonl), summary.json, adversarial/ and, of an attack, report.html from all attempts; may be repeated. Of two records of the same
    /// image and target the one that tells more is kept. Exit code 0: complete; 3: records are missing, what is there was merged;
    /// 4: records contradict each other, nothing was written.
    Merge(MergeArgs),
    /// Print completions for a shell: rw-adv completions bash > /etc/bash_completion.d/rw-adv
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the program or of one of its commands: rw-adv man | man -l -
    Man {
        /// One of the commands
        command: Option<String>,
    },
    /// Make report.html of a result directory again, from its own files; export its records
    ///
    /// Shows what is there, also of a run that was killed or is still going on, and of shards that are not merged yet.
    Report(ReportArgs),
    /// Measure: region LPs, walks and searches, quality against proven optima, random networks
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(clap::Args)]
struct AttackArgs {
    #[command(flatten)]
    problem: WorkloadArgs,
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
    #[command(flatten)]
    branch: BranchArgs,
    /// Write what proves the bounds to a new directory, for `rw-adv check-proof`
    ///
    /// One file IMAGE_cC_wW.json for each image and target: the parts that the set was divided into, and for each the slopes or multipliers
    /// that its bound follows from.
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    proof: Option<PathBuf>,
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

static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (HiGHS {})", env!("CARGO_PKG_VERSION"), rw_adv::encode::solver_version())
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
    problem: Workload,
    attack: Attack,
    run: RunArgs,
    write_model: Option<PathBuf>,
    proof: Option<PathBuf>,
    exports: ExportArgs,
    exit_code: bool,
    screen: Screen,
}

impl Job {
    fn new(args: AttackArgs, screen: Screen) -> Result<Self> {
        let AttackArgs { problem, run, .. } = args;
        let search = args.method.options(run.seed)?;
        let delta = args.delta.expect("clap requires --delta");
        run.start_threads()?;
        let norm = problem.norm;
        let problem = Workload::open(problem, args.target)?;
        let goal = match args.goal {
            GoalArg::Optimum => Goal::Optimum,
            GoalArg::Verdict => Goal::Verdict,
        };
        let branch = args.branch.options(problem.images());
        let proofs = args.proof.is_some();
        let attack = Attack { delta, norm, search, goal, branch, proofs };
        let AttackArgs { write_model, proof, exports, exit_code, .. } = args;
        Ok(Self { problem, attack, run, write_model, proof, exports, exit_code, screen })
    }

    /// What was asked for, to be kept beside the results.
    fn settings(&self, items: &[Item]) -> AttackSettings {
        let Attack { delta, search, branch, .. } = self.attack;
        AttackSettings {
            common: self.problem.settings(&self.run, search.patience, items),
            delta,
            branch: branch.map(|branch| branch.nodes),
            gap: self.attack.gap(),
            method: search.method,
            warm_start: search.method == Method::Milp { warm: true },
            goal: self.attack.goal,
            way_out: search.way_out,
        }
    }

    fn run(self) -> Result<ExitCode> {
        let clock = Budget::unlimited();
        let items = self.problem.items()?;
        let (settings, skipped) = (self.settings(&items), self.problem.skipped(&items));
        if self.run.dry_run {
            return self.run.show_plan(Contents::Attacks, &settings, &settings.common, &items);
        }
        if let Some(file) = &self.write_model {
            self.write_milp(file, &items)?;
        }
        // Everything that is written to is opened before anything is computed.
        let model = &self.problem.model;
        let exports = self.exports.open()?;
        let proofs = self.open_proofs()?;
        let work = self.run.out.begin(Contents::Attacks, &settings, items, &model.input_dims)?;
        let Work { items, asked, finished, results, witnesses } = work;
        if let Some(proofs) = &proofs {
            proofs.look_for(&finished);
        }
        let files = Files { witnesses, proofs };
        catch_interrupts()?;
        let outlives_reader = results.is_some() || self.exit_code || exports.wanted();
        let output = Mutex::new(Output {
            terminal: Terminal::new(self.screen, outlives_reader, asked - finished.len()),
            paint: self.screen.paint,
            results,
            asked,
            finished: finished.len(),
            records: finished,
            json: self.run.json,
        });
        let with_output = |act: &dyn Fn(&mut Output) -> Result<()>| {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut output)
        };
        with_output(&Output::begin)?;
        let searched = items.par_iter().try_for_each(|item| {
            let divided = Divided(|tree: &TreeState| {
                with_output(&|output| {
                    output.terminal.progress.divided(tree.more, tree.bound - tree.best);
                    Ok(())
                })
            });
            let image = ImageAttack::new(model, &item.sample, item.predicted, &self.attack);
            item.targets.par_iter().try_for_each(|&target| {
                if STOP.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let found = self.search(item, (&image, target), &divided, &files);
                let done = found.and_then(|(record, sketch)| {
                    with_output(&|output| output.write(item, &record, &sketch))
                });
                // A record that cannot be written ends the run: what is on disk stays, nothing more is computed in vain.
                done.inspect_err(|_| STOP.store(true, Ordering::Relaxed))
            })
        });
        let output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let interrupted = STOP.load(Ordering::Relaxed);
        let summary = AttackSummary::of(&output.records, output.asked, interrupted);
        let adversarial = summary.verdicts.get(&Verdict::Adversarial).copied().unwrap_or(0);
        let finished = output.finish(summary, &settings, clock.elapsed(), skipped, exports);
        searched?;
        let shortfall = finished?;
        Ok(match adversarial {
            _ if interrupted => ExitCode::from(130),
            1.. if self.exit_code && shortfall.is_none() => ExitCode::FAILURE,
            _ => fail_with(shortfall),
        })
    }

    /// Where proofs go. Those of a run that is continued, or shared, are there already.
    fn open_proofs(&self) -> Result<Option<ProofFiles>> {
        let Some(directory) = &self.proof else { return Ok(None) };
        let sha256 = &self.problem.model.sha256;
        let opened = if self.run.out.is_continued() {
            ProofFiles::resume(directory, sha256)
        } else {
            ProofFiles::create(directory, sha256)
        };
        Ok(opened.map(Some)?)
    }

    fn write_milp(&self, file: &Path, items: &[Item]) -> Result<()> {
        let asked: usize = items.iter().map(|item| item.targets.len()).sum();
        let [Item { sample, predicted, targets }] = items else {
            bail!("--write-model: takes one image, {} were asked for", items.len());
        };
        let &[target] = &targets[..] else {
            bail!("--write-model: takes one target, {asked} were asked for");
        };
        let image = ImageAttack::new(&self.problem.model, sample, *predicted, &self.attack);
        let written = image.write_milp(target, file, &Budget::unlimited());
        written.with_context(|| file.display().to_string())
    }

    fn search(
        &self,
        item: &Item,
        (image, target): (&ImageAttack, Label),
        observer: &dyn Observer,
        files: &Files,
    ) -> Result<(AttackRecord, Sketch)> {
        let sample = &item.sample;
        let pair = (item.predicted, target);
        let budget = Budget::start(self.run.time_limit(), Some(&STOP));
        let answer = image.attack(target, &budget, observer)?;
        let mut record =
            AttackRecord::new(sample, pair, &self.attack, &answer, budget.elapsed().as_secs_f64());
        if let Some(proofs) = &files.proofs {
            proofs.save(sample, pair, &self.attack, &answer)?;
        }
        if let (Some(files), Some(witness)) =
            (&files.witnesses, answer.solution.judgement.witness())
        {
            let saved =
                files.save(sample.index, pair, &sample.pixels, witness, answer.picture.as_ref())?;
            record.npy = Some(saved.npy);
            record.png = saved.png;
        }
        let dims = &self.problem.model.input_dims;
        let sketch = Sketch::new(
            dims,
            &sample.pixels,
            answer.solution.judgement.point().values(),
            &answer.solution.search.curve,
        );
        Ok((record, sketch))
    }
}

/// Tells how branch and bound goes.
struct Divided<F>(F);

impl<F: Fn(&TreeState) -> Result<()> + Sync> Observer for Divided<F> {
    fn divided(&self, tree: &TreeState) {
        // Progress that cannot be shown is no reason to stop.
        let _ = self.0(tree);
    }
}

/// What is stored beside the records.
struct Files {
    witnesses: Option<WitnessFiles>,
    proofs: Option<ProofFiles>,
}

/// Where records go, one at a time.
struct Output {
    terminal: Terminal,
    paint: Paint,
    results: Option<ResultDirectory>,
    /// All of them, also those that were there before.
    records: Vec<AttackRecord>,
    /// How many were asked for.
    asked: usize,
    /// Records that were there before.
    finished: usize,
    json: bool,
}

impl Output {
    fn begin(&mut self) -> Result<()> {
        if self.json { Ok(()) } else { self.terminal.print(report::text::header) }
    }

    fn write(&mut self, item: &Item, record: &AttackRecord, sketch: &Sketch) -> Result<()> {
        if let Some(results) = &mut self.results {
            // In this order: whenever the run is killed, every record has its picture.
            results.draw(&item.sample, record.target, sketch)?;
            results.keep(record)?;
        }
        self.records.push(record.clone());
        let (json, paint) = (self.json, self.paint);
        self.terminal.print(|out| {
            if json { json::line(out, record) } else { report::text::row(out, record, paint) }
        })?;
        self.terminal.progress.done(record.verdict);
        Ok(())
    }

    /// Says so if certified accuracy is below what was asked for.
    fn finish(
        mut self,
        summary: AttackSummary,
        settings: &AttackSettings,
        elapsed: Duration,
        skipped: usize,
        exports: Exports,
    ) -> Result<Option<String>> {
        self.terminal.progress.finish();
        if let Some(results) = &self.results {
            results.finish(ATTACK_SCHEMA, &summary, settings, elapsed)?;
            results.report()?;
        }
        self.records.sort_by_key(|record| (record.image, record.target));
        let shortfall = exports.write(&self.records, &json::fields(settings))?;
        if !self.json {
            let (finished, seconds) = (self.finished, elapsed.as_secs_f64());
            self.terminal.print(|out| {
                report::text::continued(out, finished)?;
                report::text::summary(out, &summary, seconds, skipped)
            })?;
        }
        Ok(shortfall)
    }
}

/// Parses the command line and does what it says.
pub fn run() -> Result<ExitCode> {
    let typed: Vec<OsString> = env::args_os().collect();
    let command = described(&typed);
    let file = config::file(&typed);
    let arguments = config::expand(&command, typed)?;
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| {
        misplaced(&matches)?;
        Args::from_arg_matches(&matches)
    });
    let args = match parsed {
        Ok(args) => args,
        Err(error) => return usage(&error, file),
    };
    args.screen.set_log_level();
    let screen = args.screen.screen();
    match args.command {
        Some(Command::Inspect { model, json }) => inspect::run(&model, json)?,
        Some(Command::Radius(args)) => return radius::run(args, screen),
        Some(Command::CheckProof(args)) => return check_proof::run(&args),
        Some(Command::Maximize(args)) => return maximize::run(args),
        Some(Command::Report(args)) => return exports::run(&args),
        Some(Command::Status(args)) => return status::run(&args),
        Some(Command::Merge(args)) => return merge::run(&args),
        Some(Command::Completions { shell }) => pages::completions(Args::command(), shell)?,
        Some(Command::Man { command }) => pages::manual(Args::command(), command.as_deref())?,
        Some(Command::Bench(bench)) => {
            bench::run(bench)?;
            if STOP.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(130));
            }
        }
        None => return Job::new(args.attack, screen)?.run(),
    }
    Ok(ExitCode::SUCCESS)
}

/// The command line's description. `-h` shows the page that fits a screen, unless it is about a command of ours.
fn described(typed: &[OsString]) -> clap::Command {
    let command = Args::command().color(screen::help_colours(typed));
    let is_ours = config::chosen(&command, typed).get_name() == command.get_name();
    if is_ours && typed.iter().any(|argument| argument == "-h") {
        command.override_help(SHORT_HELP)
    } else {
        command
    }
}

/// Options of an attack that were typed before another command would go unheard.
fn misplaced(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(name) = matches.subcommand_name() else { return Ok(()) };
    let command = Args::command();
    let typed = |arg: &&clap::Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        !arg.is_global_set() && source == Some(ValueSource::CommandLine)
    };
    match command.get_arguments().find(typed).and_then(clap::Arg::get_long) {
        Some(option) => {
            let text = format!("--{option} must come after '{name}', if it is an option of it");
            Err(clap::Error::raw(ErrorKind::ArgumentConflict, text))
        }
        None => Ok(()),
    }
}

/// Help and version go to stdout as clap writes them; a mistake becomes one line on stderr.
fn usage(error: &clap::Error, file: Option<PathBuf>) -> Result<ExitCode> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        error.print().context("stdout")?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = error.to_string();
    let said = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said: Vec<&str> =
        said.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    let line = said.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    match file {
        Some(file) => bail!("{line} (typed, or in {}; try --help)", file.display()),
        None => bail!("{line} (try --help)"),
    }
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
