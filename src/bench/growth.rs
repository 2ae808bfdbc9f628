//! `rw-adv bench growth`: what one image and a fixed number of starts cost on larger and larger networks.
//!
//! Each network is solved by a process of its own, one thread, so that its peak memory is its own. Time is the CPU time of that thread from
//! the moment that the network is there, the mean of several networks of the same shape: one alone may have many regions or few. Networks are drawn as PyTorch draws them; bound, search and judge are those of an attack, without
//! branching.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::judge::{Replay, ReplayFailure};
use rw_adv::network::{Network, torch, widened};
use rw_adv::problem::{Objective, Problem};
use rw_adv::search::{SearchOptions, SearchResult};
use rw_adv::sets::{InputSet, Norm, PixelRange};
use rw_adv::solve::{SolveOptions, solve};

use crate::values::{at_least_one, positive};

/// Outputs of every network.
const CLASSES: usize = 10;

/// The goal for memory: so many times the weights in f64, and so many MB.
const MEMORY_GOAL: (f64, f64) = (6.0, 200.0);

#[derive(Args)]
pub struct GrowthArgs {
    /// Widths of the hidden layers
    #[arg(long, value_delimiter = ',', default_value = "500,1000,2000,4000", value_parser = at_least_one)]
    widths: Vec<usize>,
    /// Numbers of hidden layers
    #[arg(long, value_delimiter = ',', default_value = "2,4,8", value_parser = at_least_one)]
    depths: Vec<usize>,
    /// Numbers of inputs
    #[arg(long, value_delimiter = ',', default_value = "784,3072,12288", value_parser = at_least_one)]
    inputs: Vec<usize>,
    /// All combinations, and not only those that differ from the first one in one number
    #[arg(long)]
    all: bool,
    /// Starts of each search
    #[arg(long, default_value_t = 20, value_parser = at_least_one)]
    starts: usize,
    /// CPU seconds of each network, instead of a number of starts
    #[arg(long, value_parser = positive)]
    seconds: Option<f64>,
    /// L1 budget
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    delta: f64,
    /// Seed of the first network and image
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Networks and images of each shape, drawn with seeds one after the other; the table has their means
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    count: usize,
    /// One network in this process, all its widths
    #[arg(long, value_delimiter = ',', hide = true)]
    network: Vec<usize>,
}

/// One network.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    inputs: usize,
    width: usize,
    depth: usize,
}

impl Shape {
    fn widths(self) -> Vec<usize> {
        [vec![self.inputs], vec![self.width; self.depth], vec![CLASSES]].concat()
    }

    fn weights(self) -> usize {
        self.widths().windows(2).map(|pair| pair[0] * pair[1]).sum()
    }
}

/// What one network took, or the mean of several.
#[derive(Clone, Copy, Default)]
struct Cost {
    seconds: f64,
    starts: f64,
    regions: f64,
    lps: f64,
    margin: f64,
    bound: f64,
    peak_mb: f64,
}

impl Cost {
    /// In the order in which a process tells another one.
    fn numbers(&self) -> [f64; 7] {
        let Self { seconds, starts, regions, lps, margin, bound, peak_mb } = *self;
        [seconds, starts, regions, lps, margin, bound, peak_mb]
    }

    fn of_numbers(numbers: [f64; 7]) -> Self {
        let [seconds, starts, regions, lps, margin, bound, peak_mb] = numbers;
        Self { seconds, starts, regions, lps, margin, bound, peak_mb }
    }

    /// The means, but the largest peak.
    fn mean(costs: &[Self]) -> Self {
        let mean =
            |k: usize| costs.iter().map(|cost| cost.numbers()[k]).sum::<f64>() / costs.len() as f64;
        let peak_mb = costs.iter().map(|cost| cost.peak_mb).fold(0.0, f64::max);
        Self { peak_mb, ..Self::of_numbers(std::array::from_fn(mean)) }
    }
}

/// The table, or one row of it.
pub fn run(out: &mut impl Write, args: &GrowthArgs) -> Result<()> {
    if !args.network.is_empty() {
        let numbers = solve_one(args)?.numbers().map(|number| number.to_string());
        writeln!(out, "{}", numbers.join(" "))?;
        return Ok(());
    }
    writeln!(
        out,
        "{:>6} {:>5} {:>5} {:>11} {:>8} {:>10} {:>6} {:>8} {:>8} {:>6} {:>7} {:>6} {:>8} {:>10}",
        "inputs",
        "width",
        "depth",
        "weights",
        "seconds",
        "ns/weight",
        "ratio",
        "peak MB",
        "goal MB",
        "starts",
        "regions",
        "LPs",
        "margin",
        "bound"
    )?;
    let mut first = None;
    for shape in shapes(args) {
        let costs: Vec<Cost> = (args.seed..)
            .take(args.count)
            .map(|seed| in_own_process(args, shape, seed))
            .collect::<Result<_>>()?;
        let Cost { seconds, starts, regions, lps, margin, bound, peak_mb } = Cost::mean(&costs);
        let weights = shape.weights() as f64;
        let per_weight = 1e9 * seconds / weights;
        let ratio = per_weight / *first.get_or_insert(per_weight);
        let goal = MEMORY_GOAL.0 * 8.0 * weights / 1e6 + MEMORY_GOAL.1;
        let Shape { inputs, width, depth } = shape;
        writeln!(
            out,
            "{inputs:>6} {width:>5} {depth:>5} {weights:>11} {seconds:>8.2} {per_weight:>10.0} {ratio:>6.2} {peak_mb:>8.0} {goal:>8.0} {starts:>6.1} {regions:>7.1} {lps:>6.1} {margin:>8.4} {bound:>10.4}"
        )?;
        out.flush()?;
    }
    writeln!(
        out,
        "means of {} networks; ratio: CPU time per weight, relative to the first row; the goal is at most 1",
        args.count
    )?;
    Ok(())
}

/// The first network, and those that differ from it in one number; or all.
fn shapes(args: &GrowthArgs) -> Vec<Shape> {
    let GrowthArgs { widths, depths, inputs, .. } = args;
    let base = Shape { inputs: inputs[0], width: widths[0], depth: depths[0] };
    if args.all {
        let of = |&inputs: &usize| {
            depths.iter().flat_map(move |&depth| {
                widths.iter().map(move |&width| Shape { inputs, width, depth })
            })
        };
        return inputs.iter().flat_map(of).collect();
    }
    let wider = widths.iter().map(|&width| Shape { width, ..base });
    let deeper = depths[1..].iter().map(|&depth| Shape { depth, ..base });
    let larger = inputs[1..].iter().map(|&inputs| Shape { inputs, ..base });
    wider.chain(deeper).chain(larger).collect()
}

fn in_own_process(args: &GrowthArgs, shape: Shape, seed: u64) -> Result<Cost> {
    let widths: Vec<String> = shape.widths().iter().map(usize::to_string).collect();
    let mut command = Command::new(std::env::current_exe().context("our own program")?);
    command.args(["bench", "growth", "--network", &widths.join(",")]);
    command.args(["--starts", &args.starts.to_string(), "--delta", &args.delta.to_string()]);
    command.args(["--seed", &seed.to_string()]);
    if let Some(seconds) = args.seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    let output = command.output().context("our own program")?;
    let widths = widths.join("-");
    ensure!(output.status.success(), "{widths}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> =
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().context(widths)?;
    let Ok(numbers) = numbers.try_into() else { bail!("{text}: not a row of the table") };
    Ok(Cost::of_numbers(numbers))
}

/// There is no file: the network itself says what a run in f32 would.
struct SelfReplay(Arc<Network>);

impl Replay for SelfReplay {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(self.0.logits(&widened(x)).into_iter().map(|y| y as f32).collect())
    }
}

/// An image of random greys, and the margin of the runner-up.
fn solve_one(args: &GrowthArgs) -> Result<Cost> {
    let network = torch::linear_stack(&args.network, args.seed).context("--network")?;
    let network = Arc::new(network);
    let mut rng = ChaCha8Rng::seed_from_u64(args.seed);
    let image: Vec<f64> =
        (0..network.inputs()).map(|_| f64::from(rng.random_range(0.0..1.0f32))).collect();
    let logits = network.logits(&image);
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    let mut objective = vec![0.0; logits.len()];
    (objective[order[0]], objective[order[1]]) = (-1.0, 1.0);
    let set = InputSet::ball(Norm::L1, &image, args.delta, PixelRange::UNIT);
    let problem = Problem::new(&network, set, Objective::new(objective));
    let search = SearchOptions {
        patience: usize::MAX,
        most_starts: if args.seconds.is_some() { usize::MAX } else { args.starts },
        ..SearchOptions::default()
    };
    let options = SolveOptions { search, threshold: Some(0.0), ..SolveOptions::default() };
    // All of it happens on this thread.
    let clock = Budget::start_cpu(None, None);
    let replay = Arc::new(SelfReplay(Arc::clone(&network)));
    let answer = solve(
        &problem,
        replay,
        &options,
        &Budget::start_cpu(args.seconds.map(Duration::from_secs_f64), None),
    )?;
    let bound = answer.bound.as_ref().map_or(f64::NAN, |bound| bound.value());
    let SearchResult { starts, work, ref best, .. } = answer.search;
    Ok(Cost {
        seconds: clock.elapsed().as_secs_f64(),
        starts: starts as f64,
        regions: work.regions as f64,
        lps: work.lps as f64,
        margin: best.margin,
        bound,
        peak_mb: peak_mb()?,
    })
}

/// The most memory that this process has had.
fn peak_mb() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/status").context("the memory of this process")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = kilobytes.context("the memory of this process")?.parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
