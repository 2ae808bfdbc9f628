//! `rw-adv bench region`: the LP of one region, its rows added on demand, beside the same LP written out in full.

use std::io::Write;

use anyhow::Result;
use rw_adv::budget::Budget;
use rw_adv::encode::{RegionLp, dense_region_value};
use rw_adv::network::{ActivationPattern, Trace};

use super::images::ImageArgs;
use super::measure::{median, timed};

/// The region of each image itself.
pub fn run(out: &mut impl Write, args: &ImageArgs) -> Result<()> {
    let (model, list) = args.open()?;
    writeln!(
        out,
        "{:>6} {:>12} {:>12} {:>9} {:>9} {:>7}",
        "image", "lazy", "dense", "lazy ms", "dense ms", "ratio"
    )?;
    let (mut lazy_total, mut dense_total, mut worst) = (0.0, 0.0, 0.0_f64);
    let mut ratios = Vec::new();
    for image in &list {
        let problem = args.problem(&model.network, image, image.runner_up);
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
