//! `rw-adv bench random`: finished local searches per hour on random networks with many inputs.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rw_adv::budget::Budget;
use rw_adv::encode::{LpWork, RegionLp};
use rw_adv::network::{Trace, torch};
use rw_adv::problem::{Objective, Problem};
use rw_adv::search::ascend_from;
use rw_adv::sets::InputSet;
use rw_adv::walk::{WayOut, walk};

use crate::values::positive;

#[derive(Args)]
pub struct RandomArgs {
    /// Inputs, hidden widths and outputs of the network
    #[arg(long, value_delimiter = ',', default_value = "1000,500,500,1")]
    widths: Vec<usize>,
    /// How long to search
    #[arg(long, default_value_t = 60.0, value_parser = positive)]
    seconds: f64,
    /// Seed of networks and starts
    #[arg(long, default_value_t = 50)]
    seed: u64,
}

/// What was done on one network.
struct LocalSearches {
    finished: usize,
    best: f64,
    /// The best before walking.
    first: f64,
    work: LpWork,
}

/// Networks as PyTorch draws them; box [0, 1]; one network per thread.
pub fn run(out: &mut impl Write, args: &RandomArgs) -> Result<()> {
    let RandomArgs { widths, seconds, seed } = args;
    if widths.len() < 3 || widths.contains(&0) {
        bail!("--widths: needs inputs, at least one hidden width, and outputs");
    }
    let threads = rayon::current_num_threads();
    let done: Vec<LocalSearches> = (0..threads as u64)
        .into_par_iter()
        .map(|thread| walk_for(*seconds, widths, seed + thread))
        .collect::<Result<_>>()?;
    for (thread, LocalSearches { finished, best, first, work }) in done.iter().enumerate() {
        writeln!(
            out,
            "network {thread}: {finished} local searches, best {best:.4} (before walking {first:.4}); {} regions, {} LPs, {} rows, {} iterations",
            work.regions, work.lps, work.rows, work.iterations
        )?;
    }
    let total: usize = done.iter().map(|done| done.finished).sum();
    let per_hour = total as f64 * 3600.0 / seconds;
    writeln!(
        out,
        "{total} local searches in {seconds} s on {threads} threads: {per_hour:.0} per hour"
    )?;
    Ok(())
}

fn walk_for(seconds: f64, widths: &[usize], seed: u64) -> Result<LocalSearches> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let network = Arc::new(torch::linear_stack(widths, seed).context("the random network")?);
    let n = network.inputs();
    let mut objective = vec![0.0; network.outputs()];
    objective[0] = 1.0;
    let set = InputSet::new_box(&vec![0.0; n], &vec![1.0; n]);
    let problem = Problem::new(&network, set, Objective::new(objective));
    let budget = Budget::start(Some(Duration::from_secs_f64(seconds)), None);
    let mut lp = RegionLp::new(&problem);
    let mut seen = Default::default();
    let mut trace = Trace::new(&network);
    let (mut finished, mut best, mut first) = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
    while !budget.is_spent() {
        let point: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..1.0)).collect();
        let start = ascend_from(&problem, problem.evaluate(point, &mut trace), &mut trace, &budget);
        first = f64::max(first, start.margin);
        let end = walk(&mut lp, start, &mut seen, WayOut::Flip, &budget);
        if budget.is_spent() {
            break;
        }
        finished += 1;
        best = f64::max(best, end.end.margin);
    }
    Ok(LocalSearches { finished, best, first, work: lp.work() })
}
