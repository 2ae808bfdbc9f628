//! `rw-adv bench walk`: walks from the images, then whole searches by both methods with equal time.

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Result;
use rw_adv::budget::Budget;
use rw_adv::encode::RegionLp;
use rw_adv::network::Trace;
use rw_adv::problem::Problem;
use rw_adv::search::{Method, SearchOptions, search};
use rw_adv::walk::{WayOut, walk};

use super::images::ImageArgs;
use super::measure::{median, neuron_bounds, timed};

/// A walk from each image, and two searches.
pub fn run(out: &mut impl Write, args: &ImageArgs) -> Result<()> {
    let (model, images) = args.open()?;
    let (mut per_region, mut seconds) = (Vec::new(), Vec::new());
    let (mut better, mut worse, mut regions, mut lps) = (0, 0, 0, 0);
    writeln!(
        out,
        "{:>6} {:>8} {:>6} {:>10} {:>10} {:>9} {:>10} {:>9}",
        "image", "regions", "LPs", "ms/region", "rw", "seconds", "paper", "seconds"
    )?;
    for image in &images {
        let problem = args.problem(&model.network, image, image.runner_up);
        let mut trace = Trace::new(&model.network);
        let start = problem.evaluate(image.pixels.clone(), &mut trace);
        let mut lp = RegionLp::new(&problem);
        let (_, walked) = timed(|| {
            walk(&mut lp, start, &mut Default::default(), WayOut::Flip, &Budget::unlimited())
        });
        let work = lp.work();
        per_region.push(1e3 * walked / work.regions as f64);
        (regions, lps) = (regions + work.regions, lps + work.lps);
        let options = SearchOptions { patience: 11, ..SearchOptions::default() };
        let (rw, rw_seconds) = timed(|| best_margin(&problem, &options, &Budget::unlimited()));
        let (paper, paper_seconds) = timed(|| {
            let limit = Budget::start(Some(Duration::from_secs_f64(rw_seconds)), None);
            let (method, patience) = (Method::Paper, usize::MAX);
            let options = SearchOptions { method, patience, ..SearchOptions::default() };
            best_margin(&problem, &options, &limit)
        });
        better += usize::from(rw - paper > 1e-6);
        worse += usize::from(rw - paper < -1e-6);
        seconds.push(rw_seconds);
        writeln!(
            out,
            "{:>6} {:>8} {:>6} {:>10.2} {rw:>10.4} {rw_seconds:>9.2} {paper:>10.4} {paper_seconds:>9.2}",
            image.image,
            work.regions,
            work.lps,
            1e3 * walked / work.regions as f64,
        )?;
    }
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    writeln!(
        out,
        "walks from the images: {regions} regions, {lps} LPs, {:.2} ms per region (median of the images' means)",
        median(&mut per_region)
    )?;
    writeln!(
        out,
        "searches (relaxation and at least 11 starts): mean {mean:.2} s, median {:.2} s per image on one core",
        median(&mut seconds)
    )?;
    writeln!(
        out,
        "against the paper's method in the same time: better on {better}, worse on {worse} of {}",
        images.len()
    )?;
    Ok(())
}

/// A whole search, neuron bounds included.
fn best_margin(problem: &Problem, options: &SearchOptions, budget: &Budget) -> f64 {
    let bounds = neuron_bounds(problem);
    search(problem, &|| &bounds, options, budget, |_| ControlFlow::Continue(())).best.margin
}
