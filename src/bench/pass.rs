//! `rw-adv bench pass`: one forward and one backward pass of a model, beside the time that it takes merely to read as many weights as they
//! multiply: no pass can be faster than memory is.

use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::network::{ActivationPattern, Network, Trace};
use rw_adv::onnx::OnnxModel;

use super::measure::median;
use crate::values::at_least_one;

/// Bytes of a weight in a sparse layer whose lines do not repeat: its place and its value in f32. In dense layers it takes 4 or 8; a convolution's
/// weights are stored once for many outputs.
const BYTES: usize = 8;

#[derive(Args)]
pub struct PassArgs {
    /// The ONNX model
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Times that each is measured; the table has the medians
    #[arg(long, default_value_t = 200, value_parser = at_least_one)]
    repeats: usize,
    /// Seed of the input, random numbers in [0, 1]
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A table of the passes.
pub fn run(out: &mut impl Write, args: &PassArgs) -> Result<()> {
    let network = &*OnnxModel::load(&args.model)?.network;
    let mut rng = ChaCha8Rng::seed_from_u64(args.seed);
    let x: Vec<f64> = (0..network.inputs()).map(|_| rng.random_range(0.0..1.0)).collect();
    let mut trace = Trace::new(network);
    network.forward(&x, &mut trace);
    let pattern = ActivationPattern::at(&trace);
    let mut objective = vec![0.0; network.outputs()];
    objective[0] = 1.0;
    let multiplied = multiplications(network, &x, &trace);
    let numbers = vec![1_u64; multiplied * BYTES / 8];
    let read = microseconds(args.repeats, || sum(black_box(&numbers)));
    writeln!(
        out,
        "{multiplied} multiplications in a forward pass, {} weights",
        network.parameters()
    )?;
    writeln!(out, "{:>20} {:>12} {:>7}", "", "microseconds", "ratio")?;
    let mut row =
        |name: &str, time: f64| writeln!(out, "{name:>20} {time:>12.0} {:>7.2}", time / read);
    row("read as many", read)?;
    let mut other = trace.clone();
    row("forward", microseconds(args.repeats, || network.forward(black_box(&x), &mut other)))?;
    let backward = || network.gradient(black_box(&objective), &pattern);
    row("gradient", microseconds(args.repeats, backward))?;
    writeln!(out, "ratio: to reading {BYTES} bytes for each multiplication of the forward pass")?;
    Ok(())
}

/// Weights of inputs that are not 0.
fn multiplications(network: &Network, x: &[f64], trace: &Trace) -> usize {
    let of_layer = |layer: usize| {
        let inputs = if layer == 0 { x } else { trace.activations(layer - 1) };
        let map = network.affine(layer);
        let rows = (0..map.outputs()).map(|output| map.row(output));
        rows.map(|row| row.filter(|&(input, weight)| weight != 0.0 && inputs[input] != 0.0).count())
            .sum::<usize>()
    };
    (0..network.layers().len()).map(of_layer).sum()
}

/// The median CPU time.
fn microseconds<T>(repeats: usize, mut work: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let clock = Budget::start_cpu(None, None);
        black_box(work());
        1e6 * clock.elapsed().as_secs_f64()
    };
    let mut times: Vec<f64> = (0..repeats).map(time).collect();
    median(&mut times)
}

/// Reads every number once and does next to nothing with it: no addition waits for another.
fn sum(numbers: &[u64]) -> u64 {
    let mut partial = [0_u64; 32];
    for chunk in numbers.as_chunks::<32>().0 {
        partial.iter_mut().zip(chunk).for_each(|(sum, number)| *sum = sum.wrapping_add(*number));
    }
    partial.iter().fold(0, |sum, part| sum.wrapping_add(*part))
}
