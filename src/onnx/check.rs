//! Is the extracted network the function that the file computes?
//!
//! Both run on seeded inputs; every logit must agree up to what f32 rounding explains. The
//! allowance follows the numbers through the network, so it fits a network of any scale: a wrong
//! index or sign exceeds it by orders of magnitude.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::error::OnnxProblem;
use super::runner::TractRunner;
use crate::network::{AffineMap, Network, Trace, widened};

/// The check's inputs are the same in every run.
const SEED: u64 = 0x0227_5eed;

/// Inputs of each kind: uniform in the box, sparse like a drawing, corners of the box, and outside it.
const PER_KIND: usize = 50;

/// The same for a graph of hundreds of nodes, or one with very many weights.
const FEWEST_PER_KIND: usize = 5;

/// Products with weights that the check takes at most, about, in all its runs.
const MOST_PRODUCTS: usize = 1 << 27;

/// Unit roundoff of f32.
const F32_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

/// Rounding errors of a sum behave like a random walk; its typical length is the roundoff times the
/// sum of magnitudes. On the bundled models differences stay below a twentieth of this multiple.
const SAFETY: f64 = 64.0;

/// How well the extracted network and tract's run of the file agreed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Agreement {
    /// Number of inputs compared.
    pub inputs: usize,
    /// Largest difference of a logit, f64 against tract's f32.
    pub largest_difference: f64,
    /// The same as a fraction of what rounding may explain; 1 would have been refused.
    pub largest_fraction: f64,
}

/// # Errors
/// When one logit of one input differs by more than rounding explains, or is not a number.
pub(super) fn compare(network: &Network, runner: &TractRunner) -> Result<Agreement, OnnxProblem> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut trace = Trace::new(network);
    let allowance = LogitAllowance::new(network);
    let per_kind = match runner.is_long() {
        true => FEWEST_PER_KIND,
        false => (MOST_PRODUCTS / (4 * network.parameters())).clamp(FEWEST_PER_KIND, PER_KIND),
    };
    let mut agreement =
        Agreement { inputs: 4 * per_kind, largest_difference: 0.0, largest_fraction: 0.0 };
    for number in 0..agreement.inputs {
        let x: Vec<f32> =
            (0..network.inputs()).map(|_| draw(number / per_kind, &mut rng)).collect();
        let theirs = runner.logits(&x).map_err(|e| OnnxProblem::Tract(e.to_string()))?;
        let x = widened(&x);
        network.forward(&x, &mut trace);
        let allowed = allowance.at(&x, &trace);
        for (logit, (&ours, theirs)) in trace.logits().iter().zip(theirs).enumerate() {
            if !theirs.is_finite() {
                let text = format!("gives {theirs} for a test input: its numbers overflow float32");
                return Err(OnnxProblem::graph(text));
            }
            let (theirs, allowed) = (f64::from(theirs), allowed[logit]);
            let difference = (ours - theirs).abs();
            if difference.is_nan() || difference > allowed {
                return Err(OnnxProblem::Mismatch { input: number, logit, ours, theirs, allowed });
            }
            agreement.largest_difference = agreement.largest_difference.max(difference);
            agreement.largest_fraction = agreement.largest_fraction.max(difference / allowed);
        }
    }
    Ok(agreement)
}

fn draw(kind: usize, rng: &mut ChaCha8Rng) -> f32 {
    match kind {
        0 => rng.random_range(0.0..=1.0),
        1 if rng.random_bool(0.8) => 0.0,
        1 => rng.random_range(0.0..=1.0),
        2 => f32::from(u8::from(rng.random_bool(0.5))),
        _ => rng.random_range(-3.0..3.0),
    }
}

/// How far the file's f32 logits may be from the exact ones.
///
/// A layer hands on the errors it is given (as independent ones: squares add up) and adds its own,
/// proportional to the magnitudes it sums. The smallest f32 keeps the allowance above zero.
struct LogitAllowance<'a> {
    network: &'a Network,
    /// Each layer's map with the absolute values of its weights, and no bias.
    magnitudes: Vec<AffineMap>,
    /// The sum of squared weights of each row of each layer.
    row_squares: Vec<Vec<f64>>,
}

impl<'a> LogitAllowance<'a> {
    fn new(network: &'a Network) -> Self {
        let square = |map: &AffineMap, i| map.row(i).map(|(_, weight)| weight * weight).sum();
        let squares = |map: &AffineMap| (0..map.outputs()).map(|i| square(map, i)).collect();
        let maps = network.layers().iter().map(|layer| layer.affine());
        Self {
            network,
            magnitudes: maps.clone().map(AffineMap::absolute).collect(),
            row_squares: maps.map(squares).collect(),
        }
    }

    /// Logit by logit, for the input `x` whose forward pass is `trace`.
    fn at(&self, x: &[f64], trace: &Trace) -> Vec<f64> {
        let mut largest_squared_error = 0.0_f64;
        let mut squared_errors = Vec::new();
        for layer in 0..self.magnitudes.len() {
            let rounding = self.network.layers()[layer].rounding();
            let input = if layer == 0 { x } else { trace.activations(layer - 1) };
            let input: Vec<f64> = input.iter().map(|h| h.abs()).collect();
            let largest = input.iter().copied().fold(1.0, f64::max);
            let mut summed = vec![0.0; self.magnitudes[layer].outputs()];
            self.magnitudes[layer].apply(&input, &mut summed);
            let rows = summed.iter().zip(&self.row_squares[layer]).enumerate();
            let errors = rows.map(|(i, (summed, square))| {
                // Operations one after the other, as opposed to those of one sum, may all err to the same side.
                let chained = rounding.operations[i].saturating_sub(input.len() + 16);
                let safety = SAFETY + chained as f64;
                let summed = summed * rounding.amplification[i] + rounding.offset[i];
                let reach = rounding.reach_gain[i] * largest + rounding.reach_offset[i];
                let flushed = f64::from(f32::MIN_POSITIVE) * reach.max(1.0);
                let own = safety * (F32_ROUNDOFF * summed + flushed);
                square * largest_squared_error + own * own
            });
            squared_errors = errors.collect();
            largest_squared_error = squared_errors.iter().copied().fold(0.0, f64::max);
        }
        squared_errors.into_iter().map(f64::sqrt).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::model::OnnxModel;

    /// The weights and the bias of a layer.
    type RawLayer = (Vec<Vec<f64>>, Vec<f64>);

    /// Compares the fixture's file with its network after `damage`.
    fn compare_damaged(damage: impl Fn(&mut [RawLayer])) -> Result<Agreement, OnnxProblem> {
        let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref()).expect("the fixture loads");
        let rows = |map: &AffineMap| (0..map.outputs()).map(|i| map.dense_row(i).into()).collect();
        let maps = model.network.layers().iter().map(|layer| layer.affine());
        let mut layers: Vec<RawLayer> = maps.map(|map| (rows(map), map.bias().to_vec())).collect();
        damage(&mut layers);
        let maps = layers.into_iter().map(|(rows, bias)| AffineMap::from_rows(&rows, bias));
        compare(&Network::new(maps.collect()).expect("shapes fit"), &model.replay)
    }

    #[test]
    fn the_right_network_passes() {
        assert!(compare_damaged(|_| ()).is_ok_and(|a| a.largest_difference < 1e-4));
    }

    #[test]
    fn a_small_mistake_anywhere_is_caught() {
        let caught = |damage: &dyn Fn(&mut [RawLayer])| {
            matches!(compare_damaged(damage), Err(OnnxProblem::Mismatch { .. }))
        };
        assert!(caught(&|layers| layers[0].1.swap(0, 1)));
        assert!(caught(&|layers| layers[1].0[3][5] += 1e-3));
        assert!(caught(&|layers| layers[2].0[9][15] *= -1.0));
        assert!(caught(&|layers| layers[2].1[4] += 1e-2));
        assert!(caught(&|layers| layers[0].0.iter_mut().for_each(|row| row.rotate_left(1))));
    }
}
