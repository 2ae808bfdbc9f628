//! Branch and bound over the budget: how much it decides, how much it proves, and how fast beside a MILP solver.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use rayon::prelude::*;
use rw_adv::attack::{self, Answer, Attack, ImageAttack};
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset, Sample, Selection};
use rw_adv::encode::Milp;
use rw_adv::judge::Verdict;
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Problem;
use rw_adv::search::SearchOptions;
use rw_adv::sets::{InputSet, Norm, PixelRange};
use rw_adv::solve::{BranchLimits, Goal};

use super::images::random_target;
use super::measure::{cpu_of_children, median, neuron_bounds, timed, yes_or_no};
use crate::values::positive;

/// The share of images that is to be decided, by budget.
const DECIDED_GOALS: [(f64, f64); 2] = [(3.0, 1.0), (5.0, 0.94)];

/// The share of an earlier program's CPU time that optima may take.
const CPU_GOAL: f64 = 0.5;

/// Parts enough for any time limit.
const MOST_NODES: usize = 10_000_000;

#[derive(Args)]
pub struct CompleteArgs {
    /// The classifier on which verdicts are asked for
    #[arg(long, value_name = "FILE", default_value = "models/mnist_2x500.onnx")]
    model: PathBuf,
    /// Which images of it
    #[arg(long, value_name = "WHICH", default_value = "50")]
    images: Selection,
    /// L1 budgets of it, each with its seconds per image
    #[arg(long, value_name = "DELTA:SECONDS", value_delimiter = ',', default_value = "3:30,5:60", value_parser = limit)]
    verdicts: Vec<(f64, f64)>,
    /// The classifier on which optima are asked for
    #[arg(long, value_name = "FILE", default_value = "models/mnist_2x50.onnx")]
    small_model: PathBuf,
    /// Which images of it, each with a seeded random target; none: 0
    #[arg(long, value_name = "N", default_value_t = 100)]
    small_images: usize,
    /// L1 budget of it, with the seconds per image
    #[arg(long, value_name = "DELTA:SECONDS", default_value = "5:10", value_parser = limit)]
    optima: (f64, f64),
    /// Seconds are of CPU time
    #[arg(long)]
    cpu: bool,
    /// Below this gap a margin counts as optimal
    #[arg(long, default_value_t = 1e-4, value_parser = positive)]
    gap: f64,
    /// An earlier rw-adv that proves the same optima, for the ratio of CPU times
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// How many of them the MILP solver gets too, with our bounds and our margin
    #[arg(long, value_name = "N", default_value_t = 20)]
    milps: usize,
    /// Its seconds per image
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive)]
    milp_seconds: f64,
    /// The images
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
}

/// Two positive numbers with a colon in between.
fn limit(text: &str) -> Result<(f64, f64), String> {
    let (delta, seconds) = text.split_once(':').ok_or("must be DELTA:SECONDS")?;
    Ok((positive(delta)?, positive(seconds)?))
}

/// What branch and bound came to on one image.
struct BranchOutcome {
    image: usize,
    target: Label,
    answer: Answer,
    seconds: f64,
}

pub fn run(out: &mut impl Write, args: &CompleteArgs) -> Result<()> {
    let (model, samples) = open(args, &args.model, &args.images)?;
    for &(delta, seconds) in args.verdicts.iter().filter(|_| !samples.is_empty()) {
        verdicts(out, &model, &samples, delta, (seconds, args.cpu))?;
    }
    if args.small_images > 0 {
        let which = args.small_images.to_string().parse()?;
        let (model, samples) = open(args, &args.small_model, &which)?;
        optima(out, &model, &samples, args)?;
    }
    Ok(())
}

fn open(args: &CompleteArgs, model: &Path, images: &Selection) -> Result<(OnnxModel, Vec<Sample>)> {
    let model = OnnxModel::load(model)?;
    let source = DataSource { path: args.data.clone(), ..DataSource::default() };
    let data = Dataset::open(&source, &model.input_dims)?;
    let samples = images.indices(data.len())?.into_iter().map(|image| data.sample(image));
    let samples = samples.collect::<Result<_, _>>()?;
    Ok((model, samples))
}

fn attack(delta: f64, goal: Goal, gap: f64) -> Attack {
    let branch = Some(BranchLimits { nodes: MOST_NODES, gap, parallel: false });
    let search = SearchOptions::default();
    Attack { delta, norm: Norm::L1, search, goal, branch, proofs: false }
}

/// Every image on a core of its own.
fn answers(
    model: &OnnxModel,
    samples: &[Sample],
    attack: &Attack,
    (seconds, cpu): (f64, bool),
    target: impl Fn(&Sample, attack::Classification) -> Label + Sync,
) -> Result<Vec<BranchOutcome>> {
    let answer = |sample: &Sample| {
        let standing = attack::classify(model, sample)?;
        let target = target(sample, standing);
        let image = ImageAttack::new(model, sample, standing.predicted, attack);
        let start = if cpu { Budget::start_cpu } else { Budget::start };
        let budget = start(Some(Duration::from_secs_f64(seconds)), None);
        let answer = image.attack(target, &budget, &())?;
        let seconds = budget.elapsed().as_secs_f64();
        Ok(BranchOutcome { image: sample.index, target, answer, seconds })
    };
    samples.par_iter().map(answer).collect()
}

fn header(out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "{:>6} {:>6} {:>11} {:>10} {:>10} {:>10} {:>7} {:>6} {:>8} {:>8}",
        "image",
        "target",
        "verdict",
        "margin",
        "bound",
        "gap",
        "nodes",
        "depth",
        "nodes/s",
        "seconds"
    )?;
    Ok(())
}

fn rate(answer: &Answer) -> f64 {
    answer.solution.tree.nodes as f64 / answer.solution.tree.time.as_secs_f64()
}

fn row(out: &mut impl Write, outcome: &BranchOutcome) -> Result<()> {
    let BranchOutcome { image, target, answer, seconds } = outcome;
    let bound = answer.solution.bound.map_or(f64::NAN, |bound| bound.value());
    let (margin, tree) = (answer.solution.judgement.point().value(), &answer.solution.tree);
    let rate = if tree.nodes > 0 { format!("{:.0}", rate(answer)) } else { "-".into() };
    let verdict = format!("{:?}", answer.verdict).to_lowercase();
    writeln!(
        out,
        "{image:>6} {target:>6} {verdict:>11} {margin:>10.4} {bound:>10.4} {:>10.2e} {:>7} {:>6} {rate:>8} {seconds:>8.2}",
        bound - margin,
        tree.nodes,
        tree.depth,
    )?;
    Ok(())
}

/// Adversary or proof, on the runner-up.
fn verdicts(
    out: &mut impl Write,
    model: &OnnxModel,
    samples: &[Sample],
    delta: f64,
    limit: (f64, bool),
) -> Result<()> {
    writeln!(out, "verdicts, {:?}, delta {delta}, {} s each", model.network.widths(), limit.0)?;
    header(out)?;
    let attack = attack(delta, Goal::Verdict, 1e-4);
    let outcomes = answers(model, samples, &attack, limit, |_, standing| standing.runner_up)?;
    let (mut decided, mut by_branching, mut nodes, mut time) = (0, 0, 0, 0.0);
    for outcome in &outcomes {
        row(out, outcome)?;
        let (verdict, tree) = (&outcome.answer.verdict, &outcome.answer.solution.tree);
        let is_decided = *verdict != Verdict::Unknown;
        decided += usize::from(is_decided);
        by_branching += usize::from(is_decided && tree.nodes > 0);
        (nodes, time) = (nodes + tree.nodes, time + tree.time.as_secs_f64());
    }
    writeln!(
        out,
        "delta {delta}: {decided} of {} decided, {} at the root, {by_branching} by branching; {nodes} nodes in {time:.1} s of one core: {:.0} per second",
        samples.len(),
        decided - by_branching,
        nodes as f64 / time
    )?;
    for (_, goal) in DECIDED_GOALS.iter().filter(|(of, _)| *of == delta) {
        let share = decided as f64 / samples.len() as f64;
        writeln!(
            out,
            "goal: {goal} of the images decided: {share:.2}, {}; {:.1} s of one core in all",
            yes_or_no(share >= *goal),
            outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>()
        )?;
    }
    Ok(())
}

/// Optima for seeded random targets, beside the MILP solver.
fn optima(
    out: &mut impl Write,
    model: &OnnxModel,
    samples: &[Sample],
    args: &CompleteArgs,
) -> Result<()> {
    let (delta, seconds) = args.optima;
    writeln!(out, "optima, {:?}, delta {delta}, {seconds} s each", model.network.widths())?;
    header(out)?;
    let attack = attack(delta, Goal::Optimum, args.gap);
    let labels = model.network.outputs();
    let outcomes = answers(model, samples, &attack, (seconds, args.cpu), |sample, standing| {
        random_target(sample.index, standing.predicted, labels)
    })?;
    let (mut proven, mut times) = (0, Vec::new());
    for outcome in &outcomes {
        row(out, outcome)?;
        proven += usize::from(is_optimal(&outcome.answer, args.gap));
        times.push(outcome.seconds);
    }
    let total: f64 = times.iter().sum();
    writeln!(
        out,
        "{proven} of {} optima proven (gap {:.0e}); {total:.1} s in all, median {:.2} s",
        samples.len(),
        args.gap,
        median(&mut times)
    )?;
    if let Some(earlier) = &args.against {
        beside_earlier(out, earlier, args)?;
    }
    beside_milp(out, model, samples, &outcomes, args)
}

/// The same optima by this program and by an earlier one, each as a process of its own.
fn beside_earlier(out: &mut impl Write, earlier: &Path, args: &CompleteArgs) -> Result<()> {
    let (delta, seconds) = args.optima;
    let run = |program: &Path| -> Result<(f64, String)> {
        let mut command = Command::new(program);
        // One image at a tiny budget stands for the verdicts, which are not compared.
        command.args(["bench", "complete", "--images", "1", "--verdicts", "0.001:1"]);
        command.arg("--model").arg(&args.small_model).arg("--data").arg(&args.data);
        command.arg("--small-model").arg(&args.small_model);
        command.args(["--small-images", &args.small_images.to_string(), "--milps", "0"]);
        command.args(["--optima", &format!("{delta}:{seconds}"), "--gap", &args.gap.to_string()]);
        let before = cpu_of_children();
        let output = command.output().with_context(|| program.display().to_string())?;
        ensure!(output.status.success(), "{}: ended with {}", program.display(), output.status);
        let cpu = cpu_of_children().zip(before).map_or(f64::NAN, |(after, before)| after - before);
        let text = String::from_utf8_lossy(&output.stdout);
        let proven = text.lines().find(|line| line.contains("optima proven"));
        Ok((cpu, proven.unwrap_or("no optima").to_owned()))
    };
    let (own, proven) = run(&std::env::current_exe().context("our own program")?)?;
    let (before, proven_before) = run(earlier)?;
    writeln!(out, "this:    {own:.1} CPU s; {proven}")?;
    writeln!(out, "earlier: {before:.1} CPU s; {proven_before}")?;
    let ratio = own / before;
    writeln!(
        out,
        "goal: CPU time at most {CPU_GOAL} of the earlier: {ratio:.2}, {}",
        yes_or_no(ratio <= CPU_GOAL)
    )?;
    Ok(())
}

fn is_optimal(answer: &Answer, gap: f64) -> bool {
    answer.gap().is_some_and(|left| left <= gap)
}

/// The same instances for the MILP solver, evenly picked.
fn beside_milp(
    out: &mut impl Write,
    model: &OnnxModel,
    samples: &[Sample],
    outcomes: &[BranchOutcome],
    args: &CompleteArgs,
) -> Result<()> {
    let many = args.milps.min(outcomes.len());
    if many == 0 {
        return Ok(());
    }
    let picked: Vec<usize> = (0..many).map(|k| k * outcomes.len() / many).collect();
    let solve = |&k: &usize| -> Result<(f64, Option<f64>, bool)> {
        let BranchOutcome { target, answer, .. } = &outcomes[k];
        let set = InputSet::ball(Norm::L1, &samples[k].pixels, args.optima.0, PixelRange::UNIT);
        let predicted = attack::classify(model, &samples[k])?.predicted;
        let problem = Problem::margin(&model.network, set, predicted, *target);
        let limit = Budget::start(Some(Duration::from_secs_f64(args.milp_seconds)), None);
        let (solved, seconds) = timed(|| {
            let bounds = neuron_bounds(&problem);
            let milp = Milp::new(&problem, &bounds);
            let start = &answer.solution.search.best.point;
            milp.solve(Some(start), &limit, |_| ControlFlow::Continue(()))
        });
        let solved = solved?;
        Ok((seconds, solved.claimed_bound, solved.finished))
    };
    let milps: Vec<(f64, Option<f64>, bool)> =
        picked.par_iter().map(solve).collect::<Result<_>>()?;
    writeln!(
        out,
        "{:>6} {:>10} {:>10} {:>10} {:>10}",
        "image", "ours", "seconds", "MILP", "seconds"
    )?;
    let (mut ours, mut theirs, mut finished) = (0.0, 0.0, 0);
    for (&k, (seconds, claimed, done)) in picked.iter().zip(&milps) {
        let BranchOutcome { image, answer, seconds: own, .. } = &outcomes[k];
        let bound = answer.solution.bound.map_or(f64::NAN, |bound| bound.value());
        writeln!(
            out,
            "{image:>6} {bound:>10.4} {own:>10.2} {:>10.4} {seconds:>10.2}{}",
            claimed.unwrap_or(f64::NAN),
            if *done { "" } else { " not finished" }
        )?;
        (ours, theirs) = (ours + own, theirs + seconds);
        finished += usize::from(*done);
    }
    writeln!(
        out,
        "{many} instances: ours {ours:.1} s, MILP {theirs:.1} s ({finished} finished in {} s): {:.1} x",
        args.milp_seconds,
        theirs / ours
    )?;
    Ok(())
}
