//! `rw-adv bench bounds`: upper bounds, from the dual norm's to ours, beside the best margins found.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Result;
use rw_adv::bounds::{Arithmetic, BoundOptions, CertifiedBound, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::network::Network;
use rw_adv::problem::Problem;
use rw_adv::search::{SearchEvent, SearchOptions, search};
use rw_adv::sets::InputSet;

use super::images::{BenchImage, ImageArgs};
use super::measure::timed;

/// Every bound of every image, and what is decided; one table per budget.
pub fn run(out: &mut impl Write, mut args: ImageArgs, deltas: &[f64]) -> Result<()> {
    let (model, images) = args.open()?;
    for &delta in deltas {
        args.delta = delta;
        table(out, &args, &model.network, &images)?;
    }
    Ok(())
}

fn table(
    out: &mut impl Write,
    args: &ImageArgs,
    network: &Arc<Network>,
    images: &[BenchImage],
) -> Result<()> {
    let many = images.len();
    writeln!(out, "delta {}", args.delta)?;
    writeln!(
        out,
        "{:>6} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "image", "target", "dual norm", "exact", "+ alpha", "+ envelope", "found", "seconds"
    )?;
    let mut gaps = [0.0; 4];
    let (mut robust, mut adversarial, mut seconds, mut noise) = (0, 0, 0.0, 0.0);
    for image in images {
        let problem = args.problem(network, image, image.runner_up);
        let ball = InputSet::whole_l1_ball(&image.pixels, args.delta);
        let ImageBounds { bounds, in_f32, found, seconds: spent } = bound(&problem, &ball, image);
        for (gap, bound) in gaps.iter_mut().zip(bounds) {
            *gap += (bound - found) / many as f64;
        }
        seconds += spent;
        robust += usize::from(in_f32 < 0.0);
        adversarial += usize::from(found > 0.0);
        let [dual, exact, alpha, envelope] = bounds;
        noise = f64::max(noise, in_f32 - envelope);
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
        seconds / many as f64
    )?;
    writeln!(
        out,
        "{robust} robust, {adversarial} adversarial, {} undecided; in f32 bounds are at most {noise:.4} larger",
        many - robust - adversarial
    )?;
    Ok(())
}

/// What is known about one image.
struct ImageBounds {
    /// The dual norm's bound, with the set's exact support function, with optimised slopes, with envelopes.
    bounds: [f64; 4],
    /// The last of them for f32 arithmetic.
    in_f32: f64,
    /// The best margin found.
    found: f64,
    /// Time of the last bound.
    seconds: f64,
}

fn bound(problem: &Problem, ball: &InputSet, image: &BenchImage) -> ImageBounds {
    let bound = |set: &InputSet, above, steps, arithmetic| -> (CertifiedBound, LinearBounds) {
        let unlimited = Budget::unlimited();
        let linear = LinearBounds::new(&problem.network, set, above, arithmetic, &unlimited);
        let options = BoundOptions { steps, ..BoundOptions::default() };
        (linear.certify(problem.weights(), &options, &unlimited), linear)
    };
    let (exactly, in_f32) = (Arithmetic::Exact, Arithmetic::F32);
    let (chords, envelopes) = (UpperRelaxation::Chords, UpperRelaxation::Envelopes);
    let steps = BoundOptions::default().steps;
    let dual = bound(ball, chords, 0, exactly).0;
    let exact = bound(&problem.set, chords, 0, exactly).0;
    let alpha = bound(&problem.set, chords, steps, exactly).0;
    let ((envelope, linear), seconds) = timed(|| bound(&problem.set, envelopes, steps, exactly));
    let in_f32 = bound(&problem.set, envelopes, steps, in_f32).0.value();
    let options = SearchOptions { seed: image.image as u64, ..SearchOptions::default() };
    let go_on = |_: SearchEvent| ControlFlow::Continue(());
    let found = search(problem, &|| linear.neurons(), &options, &Budget::unlimited(), go_on);
    let bounds = [dual, exact, alpha, envelope].map(|bound| bound.value());
    ImageBounds { bounds, in_f32, found: found.best.margin, seconds }
}
