//! `rw-adv maximize`: the largest value of a linear function of the outputs over a domain.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rw_adv::budget::Budget;
use rw_adv::encode::EncodeError;
use rw_adv::formula::Linear;
use rw_adv::maximize::Maximization;
use rw_adv::onnx::OnnxModel;
use rw_adv::record::{Contents, MaximizeRecord, MaximizeSettings, json};
use rw_adv::report;
use rw_adv::run::ResultDirectory;
use rw_adv::sets::Domain;
use rw_adv::solve::SolveOptions;

use super::branch::BranchArgs;
use super::method::MethodArgs;
use super::workload::{STOP, catch_interrupts};
use super::{milp_file, positive};

#[derive(clap::Args)]
pub struct MaximizeArgs {
    /// The network (.onnx or .onnx.gz); one output is enough
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// What shall be large: a linear expression of the outputs y0, y1, …, such as "y0 - 0.5*y3 + 1"
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    objective: String,
    /// Bounds of every input
    #[arg(long = "box", value_name = "LOWER,UPPER", default_value = "0,1", value_parser = bounds, allow_hyphen_values = true)]
    bounds: [f64; 2],
    /// Bounds and linear constraints of the inputs x0, x1, …: one a line, # begins a comment
    ///
    /// What is about one input (0.2 <= x3 <= 0.5, x7 = 0.25, x1 >= 0) is a bound, in place of that side of the box. All else
    /// (x0 + x1 - 2*x5 <= 1, x0 = x1, 0 <= x0 - x1 <= 0.3) is a constraint, kept to 2e-7 of its largest weight.
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    branch: BranchArgs,
    /// Stop after so many seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time_limit: Option<f64>,
    /// Seed of the random starts
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write result.json and the point (point.npy, f64) to a new directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
    /// First write the problem as a MILP for other solvers (.mps or .lp)
    ///
    /// up_7 is input 7 minus its lower bound; h_1_5 and z_1_5 are output and state of neuron 5
    /// of the first hidden layer, where the bounds leave its state open.
    #[arg(long, value_name = "FILE", value_parser = milp_file)]
    write_model: Option<PathBuf>,
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
pub fn run(args: MaximizeArgs) -> Result<ExitCode> {
    let clock = Budget::unlimited();
    let options = args.method.options(args.seed)?;
    let model = OnnxModel::load(&args.model)?;
    let objective = Linear::of_outputs(&args.objective, model.network.outputs());
    let objective = objective.context("--objective")?;
    let [lower, upper] = args.bounds;
    let mut domain = Domain::new_box(model.network.inputs(), lower, upper);
    if let Some(file) = &args.constraints {
        domain = domain.with_file(file)?;
    }
    catch_interrupts()?;
    let budget = Budget::start(args.time_limit.map(Duration::from_secs_f64), Some(&STOP));
    let file = args.constraints.as_deref().unwrap_or(Path::new("")).display();
    let branch = args.branch.options(1);
    let solving = SolveOptions { search: options, branch, ..SolveOptions::default() };
    let problem = match Maximization::new(&model, &domain, &objective, &solving, &budget) {
        Ok(problem) => problem,
        Err(EncodeError::Infeasible) => bail!("{file}: no input keeps all bounds and constraints"),
        Err(EncodeError::Budget) if budget.is_cancelled() => return Ok(ExitCode::from(130)),
        Err(EncodeError::Budget) => bail!("{file}: no time to find an input that keeps all of it"),
        Err(error) => bail!("{file}: {error}"),
    };
    // A result directory is made once nothing is left to refuse.
    problem.accepts(options.method)?;
    let mut results =
        args.out.map(|out| ResultDirectory::create(&out, Contents::Maximum)).transpose()?;
    if let Some(file) = &args.write_model {
        problem.write_milp(file, &budget.half()).with_context(|| file.display().to_string())?;
    }
    let maximum = problem.solve(&budget, &())?;
    let settings = MaximizeSettings {
        model: args.model.display().to_string(),
        model_sha256: model.sha256.clone(),
        widths: model.network.widths(),
        objective: args.objective,
        bounds: args.bounds,
        constraints: args.constraints.map(|file| file.display().to_string()),
        method: options.method,
        way_out: options.way_out,
        patience: options.patience,
        branch: branch.map(|branch| branch.nodes),
        gap: solving.gap(),
        time_limit: args.time_limit,
        seed: args.seed,
    };
    let record = MaximizeRecord::new(settings, &domain, &maximum, clock.elapsed().as_secs_f64());
    if let Some(results) = &mut results {
        results.append(&record)?;
        results.array("point.npy", &model.input_dims, &maximum.point)?;
    }
    let mut stdout = io::stdout().lock();
    let printed = if args.json {
        json::line(&mut stdout, &record)
    } else {
        report::text::maximum(&mut stdout, &record)
    };
    printed.and_then(|()| stdout.flush()).context("stdout")?;
    Ok(if STOP.load(Ordering::Relaxed) { ExitCode::from(130) } else { ExitCode::SUCCESS })
}
