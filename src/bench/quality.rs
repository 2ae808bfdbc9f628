//! `rw-adv bench quality`: how often the search finds the optimum that branch and bound proves.

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use rw_adv::budget::Budget;
use rw_adv::encode::Milp;
use rw_adv::network::Trace;
use rw_adv::search::{SearchEvent, SearchOptions, search};

use super::images::{ImageArgs, random_target};
use super::measure::{neuron_bounds, timed};
use crate::values::positive;

#[derive(Args)]
pub struct QualityArgs {
    #[command(flatten)]
    images: ImageArgs,
    /// Time of one search
    #[arg(long, default_value_t = 0.5, value_parser = positive)]
    seconds: f64,
    /// Time of one proof; instances that are not proven do not count
    #[arg(long, default_value_t = 60.0, value_parser = positive)]
    proof_seconds: f64,
}

/// Seeded random targets; optima proven by branch and bound from our incumbent.
pub fn run(out: &mut impl Write, args: &QualityArgs) -> Result<()> {
    let (model, list) = args.images.open()?;
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
        let problem = args.images.problem(network, image, target);
        let bounds = neuron_bounds(&problem);
        let budget = Budget::start(Some(Duration::from_secs_f64(args.seconds)), None);
        let options = SearchOptions {
            seed: image.image as u64,
            patience: usize::MAX,
            ..SearchOptions::default()
        };
        let go_on = |_: SearchEvent| ControlFlow::Continue(());
        let (found, search_seconds) =
            timed(|| search(&problem, &|| &bounds, &options, &budget, go_on));
        let limit = Budget::start(Some(Duration::from_secs_f64(args.proof_seconds)), None);
        let (answer, proof) = timed(|| {
            let milp = Milp::new(&problem, &bounds);
            milp.solve(Some(&found.best.point), &limit, |_| ControlFlow::Continue(()))
        });
        (searching, proving) = (searching + search_seconds, proving + proof);
        let answer = answer?;
        let mut trace = Trace::new(network);
        let best = answer.point.map(|point| problem.evaluate(point, &mut trace).margin);
        let best = best.unwrap_or(f64::NEG_INFINITY);
        // A claimed bound below a value that the network itself confirms is wrong.
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
