//! `rw-adv maximize`: the largest value of a linear function of the outputs over a domain.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rw_adv::budget::Budget;
use rw_adv::encode::EncodeError;
use rw_adv::formula::Linear;
use rw_adv::maximize::Maximization;
use rw_adv::onnx::OnnxModel;
use rw_adv::record::json::{self, Fields};
use rw_adv::record::{MaximizeRecord, MaximizeSettings};
use rw_adv::report::text;
use rw_adv::run::{Batch, Destination, MaximizeJob, OpenMode, ProofFiles, RunLimits};
use rw_adv::sets::Domain;
use rw_adv::solve::{Goal, SolveOptions};
use sha2::{Digest, Sha256};

use super::branch::BranchArgs;
use super::method::MethodArgs;
use super::run_args::show_plan;
use super::screen::Screen;
use super::self_check::{CheckedModel, SelfCheckArgs};
use super::terminal::ProgressSink;
use crate::interrupt::{STOP, catch_interrupts};
use crate::values::{file_of, goal, positive};

#[derive(clap::Args)]
pub struct MaximizeArgs {
    /// The network (.onnx or .onnx.gz); one output is enough
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Which output of the model, if it has several
    #[arg(long, value_name = "NAME")]
    output: Option<String>,
    /// What to maximise: a linear expression of the outputs y0, y1, … and inputs x0, x1, …, such as "y0 - 0.5*y3 - 0.1*x7 + 1"
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    objective: String,
    /// Bounds of every input
    #[arg(long = "box", value_name = "LOWER,UPPER", default_value = "0,1", value_parser = bounds, allow_hyphen_values = true)]
    bounds: [f64; 2],
    /// Bounds and linear constraints of the inputs x0, x1, …: one per line; # begins a comment
    ///
    /// A line about one input (0.2 <= x3 <= 0.5, x7 = 0.25, x1 >= 0) is a bound and replaces that side of the box. Every other line
    /// (x0 + x1 - 2*x5 <= 1, x0 = x1, 0 <= x0 - x1 <= 0.3) is a constraint, satisfied to 2e-7 of its largest weight. int x2, x4..x6 and
    /// bin x7 say that inputs are whole numbers, or 0 or 1.
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
    #[command(flatten)]
    method: MethodArgs,
    /// optimum: the largest value and the smallest bound; verdict: only whether an input exceeds --threshold
    #[arg(long, default_value = Goal::default().name(), value_name = "GOAL", value_parser = goal(), requires_if("verdict", "threshold"))]
    goal: Goal,
    /// Decide whether an input exceeds this value: one that does is replayed in the ONNX file; that none does is proved for its f32 arithmetic
    #[arg(long, value_name = "VALUE", value_parser = finite, allow_negative_numbers = true)]
    threshold: Option<f64>,
    #[command(flatten)]
    branch: BranchArgs,
    /// Time limit in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time_limit: Option<f64>,
    /// Seed of the random starts
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write result.json and the point (point.npy, f64) to a new directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in --out: print a finished result, make an interrupted one again
    ///
    /// The directory's manifest.json keeps the settings and the SHA-256 of model and constraints; a run with other settings is refused.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
    /// Print what would be done; nothing is searched or written
    #[arg(long)]
    dry_run: bool,
    /// Write a proof of the bound, maximum.json.gz, to a new directory, for `rw-adv check-proof`
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    proof: Option<PathBuf>,
    #[command(flatten)]
    self_check: SelfCheckArgs,
    /// First write the problem as a MILP for other solvers (.mps or .lp)
    ///
    /// up_7 is input 7 minus its lower bound; h_1_5 and z_1_5 are output and state of neuron 5
    /// of the first hidden layer, where the bounds leave its state open; one is 1 and carries the constant.
    #[arg(long, value_name = "FILE", value_parser = file_of(["mps", "lp"]))]
    write_model: Option<PathBuf>,
}

/// A number that is not too large.
fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("must be a number".into()),
    }
}

/// Two finite numbers in order.
fn bounds(text: &str) -> Result<[f64; 2], String> {
    const FARTHEST: f64 = Domain::FARTHEST;
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[lower, upper]) if !(lower.abs() <= FARTHEST && upper.abs() <= FARTHEST) => {
            Err(format!("every input needs finite bounds, between -{FARTHEST:e} and {FARTHEST:e}"))
        }
        Some(&[lower, upper]) if lower > upper => Err("the lower bound is above the upper".into()),
        Some(&[lower, upper]) => Ok([lower, upper]),
        _ => Err("must be two numbers, LOWER,UPPER".into()),
    }
}

/// Prints the best point.
pub fn run(args: MaximizeArgs, screen: Screen) -> Result<ExitCode> {
    let clock = Budget::unlimited();
    let model = OnnxModel::load_output(&args.model, args.output.as_deref())?;
    catch_interrupts()?;
    let budget = Budget::start(args.time_limit.map(Duration::from_secs_f64), Some(&STOP));
    let Some(mut job) = args.job(&model, &budget)? else { return Ok(ExitCode::from(130)) };
    let settings = args.manifest_settings(&job)?;
    let mode = if args.resume { OpenMode::Resume } else { OpenMode::New };
    let destination = Destination { directory: args.out.clone(), mode, ..Destination::NOWHERE };
    if args.dry_run {
        return show_plan(&job, &[()], &settings, &destination, args.json);
    }
    if let Some(file) = &args.write_model {
        let written = job.problem.write_milp(file, &budget.half());
        written.with_context(|| file.display().to_string())?;
    }
    job.proofs = args.open_proofs(&model)?;
    let batch = Batch::open(&job, vec![()], settings, &destination)?;
    let limits = RunLimits { time: budget.left(), cancelled: &STOP };
    let result = batch.run(&limits, &clock, &mut ProgressSink::new(screen));
    if let Some(record) = result.records.last() {
        print(record, args.json)?;
    }
    result.solved?;
    result.stored?;
    Ok(if result.interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

impl MaximizeArgs {
    /// What the arguments mean, with everything that they name opened and checked. `None`: interrupted.
    fn job(&self, model: &OnnxModel, budget: &Budget) -> Result<Option<MaximizeJob>> {
        let search = self.method.options(self.seed)?;
        let (outputs, inputs) = (model.network.outputs(), model.network.inputs());
        let objective = Linear::of_model(&self.objective, outputs, inputs);
        let objective = objective.context("--objective")?;
        let [lower, upper] = self.bounds;
        let mut domain = Domain::new_box(model.network.inputs(), lower, upper);
        if let Some(file) = &self.constraints {
            domain = domain.with_file(file)?;
        }
        let (goal, threshold, branch) = (self.goal, self.threshold, self.branch.options(1));
        let checked = CheckedModel { path: &self.model, bytes: None, sha256: &model.sha256 };
        let self_check = self.self_check.open(&checked, false)?;
        let proofs = self.proof.is_some() || self_check.is_some();
        let options = SolveOptions { search, goal, threshold, branch, proofs };
        let file = self.constraints.as_deref().unwrap_or(Path::new("")).display();
        let problem = match Maximization::new(model, &domain, &objective, &options, budget) {
            Ok(problem) => problem,
            Err(EncodeError::Infeasible) => {
                let whole = if domain.integers.is_empty() { "" } else { " with whole numbers" };
                bail!("{file}: no input{whole} keeps all bounds and constraints")
            }
            Err(EncodeError::Budget) if budget.is_cancelled() => return Ok(None),
            Err(EncodeError::Budget) => {
                bail!("{file}: no time to find an input that keeps all of it")
            }
            Err(error) => bail!("{file}: {error}"),
        };
        problem.accepts(search.method)?;
        let settings = self.settings(model, &options);
        let (optimal_gap, input_dims) = (options.gap(), model.input_dims.clone());
        let proofs = None;
        let job = MaximizeJob { problem, settings, optimal_gap, proofs, self_check, input_dims };
        Ok(Some(job))
    }

    /// Where the proof goes. That of a run that is continued is there already.
    fn open_proofs(&self, model: &OnnxModel) -> Result<Option<ProofFiles>> {
        let Some(directory) = &self.proof else { return Ok(None) };
        let opened = match self.resume {
            true => ProofFiles::resume(directory, &model.sha256, false),
            false => ProofFiles::create(directory, &model.sha256),
        };
        Ok(opened.map(Some)?)
    }

    /// What was asked for, as the record tells it.
    fn settings(&self, model: &OnnxModel, options: &SolveOptions) -> MaximizeSettings {
        MaximizeSettings {
            model: self.model.display().to_string(),
            model_sha256: model.sha256.clone(),
            widths: model.network.widths(),
            objective: self.objective.clone(),
            bounds: self.bounds,
            constraints: self.constraints.as_ref().map(|file| file.display().to_string()),
            method: options.search.method,
            way_out: options.search.way_out,
            patience: options.search.patience,
            branch: options.branch.map(|branch| branch.nodes),
            goal: self.goal,
            threshold: self.threshold,
            time_limit: self.time_limit,
            seed: self.seed,
        }
    }

    /// The same for the manifest, with --gap, which is another field of the record, and what is in the file of constraints.
    fn manifest_settings(&self, job: &MaximizeJob) -> Result<Fields> {
        let mut fields = json::fields(&job.settings);
        fields.insert("gap".into(), job.optimal_gap.into());
        if let Some(file) = &self.constraints {
            let text = fs::read(file).with_context(|| file.display().to_string())?;
            let sha256 = hex::encode(Sha256::digest(text));
            fields.insert("constraints_sha256".into(), sha256.into());
        }
        Ok(fields)
    }
}

fn print(record: &MaximizeRecord, json: bool) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let printed =
        if json { json::line(&mut stdout, record) } else { text::maximum(&mut stdout, record) };
    printed.and_then(|()| stdout.flush()).context("stdout")
}
