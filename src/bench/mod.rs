//! `rw-adv bench`: the figures behind our claims, each a ratio or a count within one run.

mod complete;
mod paper;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rw_adv::attack;
use rw_adv::bounds::{
    Arithmetic, Arithmetic::Exact, BoundEffort, LinearBounds, NeuronBounds, UpperRelaxation,
};
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset, Selection};
use rw_adv::encode::{LpWork, Milp, RegionLp, dense_region_value};
use rw_adv::network::{ActivationPattern, Label, Network, Trace, torch};
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::{Objective, Problem};
use rw_adv::search::{Method, SearchOptions, ascend_from, search};
use rw_adv::sets::{InputSet, Norm, PixelRange};
use rw_adv::walk::{WayOut, walk};

use crate::cli::positive;
use complete::CompleteArgs;
use paper::PaperArgs;

#[derive(Subcommand)]
pub enum Bench {
    /// The same region LPs solved on demand and written out in full: equal optima, and how much faster
    Region(Problems),
    /// Region LPs in walks, and whole searches, on one core
    Walk(Problems),
    /// How often the search finds the optimum that branch and bound proves
    Quality {
        #[command(flatten)]
        problems: Problems,
        /// Time of one search
        #[arg(long, default_value_t = 0.5, value_parser = positive)]
        seconds: f64,
        /// Time of one proof; instances that are not proven do not count
        #[arg(long, default_value_t = 60.0, value_parser = positive)]
        proof_seconds: f64,
    },
    /// Upper bounds, from the dual norm's to ours, beside the best margins found
    Bounds {
        #[command(flatten)]
        problems: Problems,
        /// L1 budgets, one table each
        #[arg(long, value_delimiter = ',', default_value = "1,2,3,5", value_parser = positive)]
        deltas: Vec<f64>,
    },
    /// Branch and bound: what is decided on a large network, and optima proven on a small one beside a MILP solver
    Complete(CompleteArgs),
    /// The paper's experiments with every method, side by side in equal time: tables, figures, a report
    Paper(PaperArgs),
    /// Finished local searches per hour on random networks with many inputs
    Random {
        /// Inputs, hidden widths and outputs of the network
        #[arg(long, value_delimiter = ',', default_value = "1000,500,500,1")]
        widths: Vec<usize>,
        /// How long to search
        #[arg(long, default_value_t = 60.0, value_parser = positive)]
        seconds: f64,
        /// Seed of networks and starts
        #[arg(long, default_value_t = 50)]
        seed: u64,
    },
}

#[derive(Args)]
pub struct Problems {
    /// The classifier
    #[arg(long, value_name = "FILE", default_value = "models/mnist_2x500.onnx")]
    model: PathBuf,
    /// The images
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// Which images
    #[arg(long, value_name = "WHICH", default_value = "20")]
    images: Selection,
    /// L1 budget
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    delta: f64,
}

/// An image to attack: its pixels, who wins, who is second.
struct BenchImage {
    image: usize,
    pixels: Vec<f64>,
    predicted: Label,
    runner_up: Label,
}

impl Problems {
    fn open(&self) -> Result<(OnnxModel, Vec<BenchImage>)> {
        let model = OnnxModel::load(&self.model)?;
        let source = DataSource { path: self.data.clone(), ..DataSource::default() };
        let data = Dataset::open(&source, &model.input_dims)?;
        let problem = |image| -> Result<BenchImage> {
            let sample = data.sample(image)?;
            let standing = attack::classify(&model, &sample)?;
            let pixels = sample.widened();
            Ok(BenchImage {
                image,
                pixels,
                predicted: standing.predicted,
                runner_up: standing.runner_up,
            })
        };
        let problems =
            self.images.indices(data.len())?.into_iter().map(problem).collect::<Result<_>>()?;
        Ok((model, problems))
    }

    fn problem(&self, network: &Arc<Network>, image: &BenchImage, target: Label) -> Problem {
        Problem::margin(
            network,
            InputSet::ball(Norm::L1, &image.pixels, self.delta, PixelRange::UNIT),
            image.predicted,
            target,
        )
    }
}

pub fn run(bench: Bench) -> Result<()> {
    let mut out = io::stdout();
    match bench {
        Bench::Region(problems) => region(&mut out, &problems),
        Bench::Walk(problems) => walks(&mut out, &problems),
        Bench::Quality { problems, seconds, proof_seconds } => {
            quality(&mut out, &problems, seconds, proof_seconds)
        }
        Bench::Bounds { problems, deltas } => upper_bounds(&mut out, problems, &deltas),
        Bench::Complete(args) => complete::run(&mut out, &args),
        Bench::Paper(args) => paper::run(&mut out, args),
        Bench::Random { widths, seconds, seed } => random(&mut out, &widths, seconds, seed),
    }
}

fn neuron_bounds(problem: &Problem) -> NeuronBounds {
    let (network, set) = (&problem.network, &problem.set);
    let unlimited = Budget::unlimited();
    LinearBounds::new(network, set, UpperRelaxation::Envelopes, Exact, &unlimited).neurons().clone()
}

/// Runs `work` and tells how long it took, in seconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let clock = Budget::unlimited();
    let result = work();
    (result, clock.elapsed().as_secs_f64())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The region of each image itself.
fn region(out: &mut impl Write, problems: &Problems) -> Result<()> {
    let (model, list) = problems.open()?;
    writeln!(
        out,
        "{:>6} {:>12} {:>12} {:>9} {:>9} {:>7}",
        "image", "lazy", "dense", "lazy ms", "dense ms", "ratio"
    )?;
    let (mut lazy_total, mut dense_total, mut worst) = (0.0, 0.0, 0.0_f64);
    let mut ratios = Vec::new();
    for image in &list {
        let problem = problems.problem(&model.network, image, image.runner_up);
        let mut trace = Trace::new(&model.network);
        model.network.forward(&image.pixels, &mut trace);
        let pattern = ActivationPattern::at(&trace);
        let (lazy, lazy_seconds) = timed(|| {
            RegionLp::new(&problem)
                .solve(&pattern, &image.pixels, &[], &Budget::unlimited())
                .map(|o| o.value)
        });
        let (dense, dense_seconds) = timed(|| dense_region_value(&problem, &pattern));
        let (lazy, dense) = (lazy?, dense?);
        let ratio = dense_seconds / lazy_seconds;
        writeln!(
            out,
            "{:>6} {lazy:>12.6} {dense:>12.6} {:>9.2} {:>9.1} {ratio:>7.0}",
            image.image,
            1e3 * lazy_seconds,
            1e3 * dense_seconds
        )?;
        (lazy_total, dense_total) = (lazy_total + lazy_seconds, dense_total + dense_seconds);
        worst = worst.max((lazy - dense).abs());
        ratios.push(ratio);
    }
    writeln!(
        out,
        "{} region LPs: on demand {:.0} x faster in all (median {:.0} x); largest difference of optima {worst:.1e}",
        list.len(),
        dense_total / lazy_total,
        median(&mut ratios)
    )?;
    Ok(())
}

/// Walks from the images, then whole searches by both methods with equal time.
fn walks(out: &mut impl Write, problems: &Problems) -> Result<()> {
    let (model, list) = problems.open()?;
    let (mut per_region, mut seconds) = (Vec::new(), [Vec::new(), Vec::new()]);
    let (mut better, mut worse, mut regions, mut lps) = (0, 0, 0, 0);
    writeln!(
        out,
        "{:>6} {:>8} {:>6} {:>10} {:>10} {:>9} {:>10} {:>9}",
        "image", "regions", "LPs", "ms/region", "rw", "seconds", "paper", "seconds"
    )?;
    for image in &list {
        let problem = problems.problem(&model.network, image, image.runner_up);
        let mut trace = Trace::new(&model.network);
        let start = problem.evaluate(image.pixels.clone(), &mut trace);
        let mut lp = RegionLp::new(&problem);
        let (_, walked) = timed(|| {
            walk(&mut lp, start, &mut Default::default(), WayOut::Flip, &Budget::unlimited())
        });
        let work = lp.work();
        per_region.push(1e3 * walked / work.regions as f64);
        (regions, lps) = (regions + work.regions, lps + work.lps);
        let go_on = |_: &_| ControlFlow::Continue(());
        let (rw, rw_seconds) = timed(|| {
            let bounds = neuron_bounds(&problem);
            let options = SearchOptions { patience: 11, ..SearchOptions::default() };
            search(&problem, &|| &bounds, &options, &Budget::unlimited(), go_on)
        });
        let (paper, paper_seconds) = timed(|| {
            let limit = Budget::start(Some(Duration::from_secs_f64(rw_seconds)), None);
            let bounds = neuron_bounds(&problem);
            let options = SearchOptions {
                method: Method::Paper,
                patience: usize::MAX,
                ..SearchOptions::default()
            };
            search(&problem, &|| &bounds, &options, &limit, go_on)
        });
        let difference = rw.best.margin - paper.best.margin;
        better += usize::from(difference > 1e-6);
        worse += usize::from(difference < -1e-6);
        seconds[0].push(rw_seconds);
        seconds[1].push(paper_seconds);
        writeln!(
            out,
            "{:>6} {:>8} {:>6} {:>10.2} {:>10.4} {rw_seconds:>9.2} {:>10.4} {paper_seconds:>9.2}",
            image.image,
            work.regions,
            work.lps,
            1e3 * walked / work.regions as f64,
            rw.best.margin,
            paper.best.margin
        )?;
    }
    let [mut ours, _] = seconds;
    let mean = ours.iter().sum::<f64>() / ours.len() as f64;
    writeln!(
        out,
        "walks from the images: {regions} regions, {lps} LPs, {:.2} ms per region (median of the images' means)",
        median(&mut per_region)
    )?;
    writeln!(
        out,
        "searches (relaxation and at least 11 starts): mean {mean:.2} s, median {:.2} s per image on one core",
        median(&mut ours)
    )?;
    writeln!(
        out,
        "against the paper's method in the same time: better on {better}, worse on {worse} of {}",
        list.len()
    )?;
    Ok(())
}

/// A label other than the predicted one, always the same for an image.
fn random_target(image: usize, predicted: Label, labels: usize) -> Label {
    let mut rng = ChaCha8Rng::seed_from_u64(image as u64);
    let target = rng.random_range(0..labels - 1);
    Label(target + usize::from(target >= predicted.0))
}

/// Seeded random targets; optima proven by branch and bound from our incumbent.
fn quality(
    out: &mut impl Write,
    problems: &Problems,
    seconds: f64,
    proof_seconds: f64,
) -> Result<()> {
    let (model, list) = problems.open()?;
    let network = &model.network;
    let (mut proven, mut reached) = (0, 0);
    let (mut searching, mut proving) = (0.0, 0.0);
    writeln!(
        out,
        "{:>6} {:>6} {:>12} {:>12} {:>9}  proof",
        "image", "target", "search", "MILP", "seconds"
    )?;
    for image in &list {
        let target = random_target(image.image, image.predicted, network.outputs());
        let problem = problems.problem(network, image, target);
        let bounds = neuron_bounds(&problem);
        let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), None);
        let options = SearchOptions {
            seed: image.image as u64,
            patience: usize::MAX,
            ..SearchOptions::default()
        };
        let go_on = |_: &_| ControlFlow::Continue(());
        let (found, search_seconds) =
            timed(|| search(&problem, &|| &bounds, &options, &budget, go_on));
        let limit = Budget::start(Some(Duration::from_secs_f64(proof_seconds)), None);
        let (answer, proof) = timed(|| {
            let milp = Milp::new(&problem, &bounds);
            milp.solve(Some(&found.best.point), &limit, |_| ControlFlow::Continue(()))
        });
        (searching, proving) = (searching + search_seconds, proving + proof);
        let answer = answer?;
        let mut trace = Trace::new(network);
        let best = answer.point.map(|point| problem.evaluate(point, &mut trace).margin);
        let best = best.unwrap_or(f64::NEG_INFINITY);
        // A proof that disagrees with a point that the network itself confirms is no proof.
        let claimed = answer.claimed_bound.unwrap_or(f64::INFINITY);
        let sound = found.best.margin.max(best) <= claimed + 1e-6;
        let closed = answer.finished && claimed - found.best.margin.max(best) <= 1e-4;
        let missed = best > found.best.margin + 1e-4;
        proven += usize::from(sound && closed);
        reached += usize::from(sound && closed && !missed);
        let verdict = match (sound, closed, missed) {
            (false, ..) => "CONTRADICTION",
            (_, _, true) => "MISSED",
            (_, true, _) => "optimal",
            _ => "not finished",
        };
        writeln!(
            out,
            "{:>6} {target:>6} {:>12.6} {:>12.6} {proof:>9.1}  {verdict}",
            image.image, found.best.margin, best
        )?;
        out.flush()?;
    }
    writeln!(
        out,
        "optimum reached in {reached} of {proven} proven instances ({} asked); {:.2} s per search, {:.1} s per proof",
        list.len(),
        searching / list.len() as f64,
        proving / list.len() as f64
    )?;
    Ok(())
}

/// Every bound of every image, and what is decided; one table per budget.
fn upper_bounds(out: &mut impl Write, mut problems: Problems, deltas: &[f64]) -> Result<()> {
    let (model, list) = problems.open()?;
    let network = &model.network;
    for &delta in deltas {
        problems.delta = delta;
        writeln!(out, "delta {delta}")?;
        writeln!(
            out,
            "{:>6} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
            "image", "target", "dual norm", "exact", "+ alpha", "+ envelope", "found", "seconds"
        )?;
        let mut gaps = [0.0; 4];
        let (mut robust, mut adversarial, mut seconds, mut noise) = (0, 0, 0.0, 0.0);
        for image in &list {
            let problem = problems.problem(network, image, image.runner_up);
            let ball = InputSet::whole_l1_ball(&image.pixels, delta);
            let bound = |set: &InputSet, above: UpperRelaxation, steps: usize, arithmetic| {
                let linear =
                    LinearBounds::new(network, set, above, arithmetic, &Budget::unlimited());
                let effort = BoundEffort { steps, ..BoundEffort::default() };
                (linear.certify(problem.weights(), &effort, &Budget::unlimited()), linear)
            };
            let steps = BoundEffort::default().steps;
            let dual = bound(&ball, UpperRelaxation::Chords, 0, Exact).0;
            let exact = bound(&problem.set, UpperRelaxation::Chords, 0, Exact).0;
            let alpha = bound(&problem.set, UpperRelaxation::Chords, steps, Exact).0;
            let ((envelope, linear), spent) =
                timed(|| bound(&problem.set, UpperRelaxation::Envelopes, steps, Exact));
            let f32 = Arithmetic::F32;
            let in_f32 = bound(&problem.set, UpperRelaxation::Envelopes, steps, f32).0;
            let options = SearchOptions { seed: image.image as u64, ..SearchOptions::default() };
            let go_on = |_: &_| ControlFlow::Continue(());
            let found =
                search(&problem, &|| linear.neurons(), &options, &Budget::unlimited(), go_on)
                    .best
                    .margin;
            let bounds = [dual, exact, alpha, envelope].map(|b| b.value());
            for (gap, bound) in gaps.iter_mut().zip(bounds) {
                *gap += (bound - found) / list.len() as f64;
            }
            seconds += spent;
            robust += usize::from(in_f32.value() < 0.0);
            noise = f64::max(noise, in_f32.value() - envelope.value());
            adversarial += usize::from(found > 0.0);
            let [dual, exact, alpha, envelope] = bounds;
            writeln!(
                out,
                "{:>6} {:>6} {dual:>10.4} {exact:>10.4} {alpha:>10.4} {envelope:>10.4} {found:>10.4} {spent:>8.3}",
                image.image, image.runner_up
            )?;
            out.flush()?;
        }
        let [dual, exact, alpha, envelope] = gaps;
        writeln!(
            out,
            "mean gap {dual:>16.4} {exact:>10.4} {alpha:>10.4} {envelope:>10.4}   ({:.1} % of the dual norm's), {:.3} s per image",
            100.0 * envelope / dual,
            seconds / list.len() as f64
        )?;
        writeln!(
            out,
            "{robust} robust, {adversarial} adversarial, {} undecided; in f32 bounds are at most {noise:.4} larger",
            list.len() - robust - adversarial
        )?;
    }
    Ok(())
}

/// Networks as PyTorch draws them; box [0, 1]; one network per thread.
fn random(out: &mut impl Write, widths: &[usize], seconds: f64, seed: u64) -> Result<()> {
    if widths.len() < 3 || widths.contains(&0) {
        bail!("--widths: needs inputs, at least one hidden width, and outputs");
    }
    let threads = rayon::current_num_threads();
    let finished: Vec<(usize, f64, f64, LpWork)> = (0..threads as u64)
        .into_par_iter()
        .map(|thread| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed + thread);
            let network =
                Arc::new(torch::linear_stack(widths, seed + thread).context("the random network")?);
            let n = network.inputs();
            let mut objective = vec![0.0; network.outputs()];
            objective[0] = 1.0;
            let set = InputSet::new_box(&vec![0.0; n], &vec![1.0; n]);
            let problem = Problem::new(&network, set, Objective::new(objective));
            let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), None);
            let mut lp = RegionLp::new(&problem);
            let mut seen = Default::default();
            let mut trace = Trace::new(&network);
            let (mut walks, mut best, mut first) = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
            while !budget.is_spent() {
                let point: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..1.0)).collect();
                let start =
                    ascend_from(&problem, problem.evaluate(point, &mut trace), &mut trace, &budget);
                first = f64::max(first, start.margin);
                let end = walk(&mut lp, start, &mut seen, WayOut::Flip, &budget);
                if budget.is_spent() {
                    break;
                }
                walks += 1;
                best = f64::max(best, end.end.margin);
            }
            Ok((walks, best, first, lp.work()))
        })
        .collect::<Result<_>>()?;
    for (thread, (walks, best, first, work)) in finished.iter().enumerate() {
        writeln!(
            out,
            "network {thread}: {walks} local searches, best {best:.4} (before walking {first:.4}); {} regions, {} LPs, {} rows, {} iterations",
            work.regions, work.lps, work.rows, work.iterations
        )?;
    }
    let total: usize = finished.iter().map(|(walks, ..)| walks).sum();
    let per_hour = total as f64 * 3600.0 / seconds;
    writeln!(
        out,
        "{total} local searches in {seconds} s on {threads} threads: {per_hour:.0} per hour"
    )?;
    Ok(())
}
