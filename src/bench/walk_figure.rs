//! `rw-adv bench walk-figure`: Figure 1 of the paper on a real network with two inputs. Linear regions, level lines and the walk are all exact: a region
//! is cut out of the box neuron by neuron, and in each region the objective is affine.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use rw_adv::budget::Budget;
use rw_adv::encode::RegionLp;
use rw_adv::network::{Activation, Network, torch};
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::{Objective, Problem};
use rw_adv::report::figure::RegionMap;
use rw_adv::sets::InputSet;
use rw_adv::walk::{WalkStep, walk_steps};

use crate::values::{file_of, positive};

/// A place in the plane.
type Place = (f64, f64);

/// Level lines between the smallest and the largest value.
const LEVELS: usize = 24;
/// Stretches of a step that are shorter, as a share of it, are rounding.
const SHORTEST: f64 = 1e-6;

#[derive(Args)]
pub struct WalkFigureArgs {
    /// File of the figure (.svg or .png)
    #[arg(long, value_name = "FILE", value_parser = file_of(["svg", "png"]))]
    out: PathBuf,
    /// A network with two inputs [default: a random one, two hidden layers]
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Random network: seed, as for torch.manual_seed
    #[arg(long, default_value_t = 21)]
    seed: u64,
    /// Random network: width of its hidden layers
    #[arg(long, default_value_t = 12)]
    width: usize,
    /// Which output is maximised
    #[arg(long, default_value_t = 0)]
    output: usize,
    /// The box of both inputs
    #[arg(long, value_delimiter = ',', num_args = 2, value_names = ["LOWER", "UPPER"], allow_hyphen_values = true, default_values_t = [-3.0, 3.0])]
    r#box: Vec<f64>,
    /// Where the walk begins [default: the middle of the box]
    #[arg(long, value_delimiter = ',', num_args = 2, value_names = ["X0", "X1"], allow_hyphen_values = true)]
    start: Option<Vec<f64>>,
    /// The step out of a region, as a share of the step inside it; the paper's experiments use 0.01, which no figure can show
    #[arg(long, default_value_t = 0.15, value_parser = positive)]
    epsilon: f64,
}

/// A convex piece of the plane on which the objective is affine.
struct LinearPiece {
    corners: Vec<Place>,
    /// `a x + b y + c`.
    objective: [f64; 3],
}

pub fn run(out: &mut impl Write, args: &WalkFigureArgs) -> Result<()> {
    let network = args.network()?;
    let (low, high) = (args.r#box[0], args.r#box[1]);
    if network.inputs() != 2 || args.output >= network.outputs() {
        bail!("the figure needs a network with 2 inputs and an output {}", args.output);
    }
    if !(low < high && low.is_finite() && high.is_finite()) {
        bail!("--box: the lower end must be below the upper one");
    }
    let mut weights = vec![0.0; network.outputs()];
    weights[args.output] = 1.0;
    let set = InputSet::new_box(&[low; 2], &[high; 2]);
    let problem = Problem::new(&network, set, Objective::new(weights.clone()));
    let start = args.start.clone().unwrap_or_else(|| vec![(low + high) / 2.0; 2]);
    if !problem.set.contains(&start, 0.0) {
        bail!("--start: must lie in the box");
    }
    let steps =
        walk_steps(&mut RegionLp::new(&problem), start, args.epsilon, &Budget::unlimited())?;
    let pieces = pieces(&network, &weights, (low, high));
    let skipped = overshot(&pieces, &steps);
    for (k, WalkStep { from, to, value }) in steps.iter().enumerate() {
        let ends = [from, to].map(|at| format!("({:.4}, {:.4})", at[0], at[1]));
        writeln!(out, "step {}: {} to {}, value {value:.6}", k + 1, ends[0], ends[1])?;
    }
    let regions = pieces.len();
    writeln!(out, "{regions} linear regions, {} of them overshot", skipped.len())?;
    let figure = RegionMap {
        title: "A walk over linear regions".to_owned(),
        subtitle: format!(
            "{}: {regions} linear regions; ε = {}; hatched: overshot by a step",
            network.widths().iter().map(usize::to_string).collect::<Vec<_>>().join(" → "),
            args.epsilon
        ),
        range: (low, high),
        levels: level_lines(&pieces),
        regions: pieces.into_iter().map(|piece| piece.corners).collect(),
        highlighted: skipped,
        steps: steps.iter().map(|step| (place(&step.from), place(&step.to))).collect(),
    };
    let drawing = figure.drawing();
    let bytes = match args.out.extension().is_some_and(|end| end == "svg") {
        true => drawing.svg().map(String::into_bytes),
        false => drawing.png(),
    };
    let written = bytes.and_then(|bytes| fs::write(&args.out, bytes));
    written.with_context(|| format!("{}", args.out.display()))
}

impl WalkFigureArgs {
    fn network(&self) -> Result<Arc<Network>> {
        Ok(match &self.model {
            Some(file) => Arc::clone(&OnnxModel::load(file)?.network),
            None => {
                let widths = [2, self.width, self.width, 1];
                Arc::new(torch::linear_stack(&widths, self.seed).context("the random network")?)
            }
        })
    }
}

fn place(point: &[f64]) -> Place {
    (point[0], point[1])
}

/// The linear regions of a network over a box, and the objective there. Neighbours with the same function stay apart: their patterns differ.
fn pieces(network: &Network, weights: &[f64], (low, high): (f64, f64)) -> Vec<LinearPiece> {
    let corners = vec![(low, low), (high, low), (high, high), (low, high)];
    // Each value of a layer is `a x + b y + c`.
    let inputs = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let mut cells: Vec<(Vec<Place>, Vec<[f64; 3]>)> = vec![(corners, inputs)];
    for layer in network.hidden() {
        let mut next = Vec::new();
        for (corners, below) in cells {
            let values: Vec<[f64; 3]> = (0..layer.outputs())
                .map(|i| combine(layer.affine().row(i), layer.affine().bias()[i], &below))
                .collect();
            let mut parts: Vec<(Vec<Place>, Vec<bool>)> = vec![(corners, Vec::new())];
            for (i, value) in values.iter().enumerate() {
                let is_relu = layer.activation(i) == Activation::Relu;
                parts = parts
                    .into_iter()
                    .flat_map(|(corners, on)| halves(corners, on, value, is_relu))
                    .collect();
            }
            next.extend(parts.into_iter().map(|(corners, on)| {
                let outputs = values.iter().zip(on);
                (corners, outputs.map(|(v, on)| if on { *v } else { [0.0; 3] }).collect())
            }));
        }
        cells = next;
    }
    let output = network.output().affine();
    let objective = |last: &Vec<[f64; 3]>| {
        let mut total = [0.0; 3];
        for (i, weight) in weights.iter().enumerate() {
            let value = combine(output.row(i), output.bias()[i], last);
            total.iter_mut().zip(value).for_each(|(t, v)| *t += weight * v);
        }
        total
    };
    let piece = |(corners, last)| LinearPiece { objective: objective(&last), corners };
    cells.into_iter().map(piece).collect()
}

/// A sum of affine functions, and a constant.
fn combine(
    weights: impl Iterator<Item = (usize, f64)>,
    constant: f64,
    below: &[[f64; 3]],
) -> [f64; 3] {
    let mut total = [0.0, 0.0, constant];
    for (j, weight) in weights {
        total.iter_mut().zip(below[j]).for_each(|(t, v)| *t += weight * v);
    }
    total
}

fn value_at([a, b, c]: &[f64; 3], (x, y): Place) -> f64 {
    a * x + b * y + c
}

/// A cell on both sides of a neuron's line, with the neuron's state. One that is not a ReLU is always on.
fn halves(
    corners: Vec<Place>,
    on: Vec<bool>,
    value: &[f64; 3],
    is_relu: bool,
) -> Vec<(Vec<Place>, Vec<bool>)> {
    let state = |state: bool| on.iter().copied().chain([state]).collect::<Vec<bool>>();
    if !is_relu {
        return vec![(corners, state(true))];
    }
    let negated = value.map(|v| -v);
    let sides = [(true, clip(&corners, value)), (false, clip(&corners, &negated))];
    sides
        .into_iter()
        .filter(|(_, part)| area(part) > 1e-12)
        .map(|(s, part)| (part, state(s)))
        .collect()
}

/// The part of a convex polygon where a function is at least 0.
fn clip(corners: &[Place], value: &[f64; 3]) -> Vec<Place> {
    let mut kept = Vec::with_capacity(corners.len() + 1);
    for (k, &here) in corners.iter().enumerate() {
        let next = corners[(k + 1) % corners.len()];
        let (a, b) = (value_at(value, here), value_at(value, next));
        if a >= 0.0 {
            kept.push(here);
        }
        if (a > 0.0 && b < 0.0) || (a < 0.0 && b > 0.0) {
            kept.push(between(here, next, a / (a - b)));
        }
    }
    kept
}

fn between(from: Place, to: Place, share: f64) -> Place {
    (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
}

fn area(corners: &[Place]) -> f64 {
    let pairs = corners.iter().zip(corners.iter().cycle().skip(1));
    pairs.map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>().abs() / 2.0
}

/// Where the objective has one of so many values: a stretch in each region.
fn level_lines(pieces: &[LinearPiece]) -> Vec<[Place; 2]> {
    let at_corners = |piece: &LinearPiece| -> Vec<f64> {
        piece.corners.iter().map(|&corner| value_at(&piece.objective, corner)).collect()
    };
    let all: Vec<f64> = pieces.iter().flat_map(at_corners).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut lines = Vec::new();
    for k in 1..=LEVELS {
        let level = least + (most - least) * k as f64 / (LEVELS + 1) as f64;
        for piece in pieces {
            let values = at_corners(piece);
            let many = values.len();
            let crossings: Vec<Place> = (0..many)
                .filter_map(|i| {
                    let j = (i + 1) % many;
                    let (a, b) = (values[i] - level, values[j] - level);
                    let crosses = (a > 0.0) != (b > 0.0);
                    crosses.then(|| between(piece.corners[i], piece.corners[j], a / (a - b)))
                })
                .collect();
            if let [from, to] = crossings[..] {
                lines.push([from, to]);
            }
        }
    }
    lines
}

/// The regions that steps out of a region pass through without a stop.
fn overshot(pieces: &[LinearPiece], steps: &[WalkStep]) -> Vec<usize> {
    let mut skipped = Vec::new();
    for pair in steps.windows(2) {
        let (from, to) = (place(&pair[0].to), place(&pair[1].from));
        for (k, piece) in pieces.iter().enumerate() {
            if let Some((begin, end)) = stretch(&piece.corners, from, to)
                && begin > SHORTEST
                && end < 1.0 - SHORTEST
                && end - begin > SHORTEST
                && !skipped.contains(&k)
            {
                skipped.push(k);
            }
        }
    }
    skipped
}

/// Which shares of the way between two places lie in a convex polygon.
fn stretch(corners: &[Place], from: Place, to: Place) -> Option<(f64, f64)> {
    let (mut begin, mut end) = (0.0_f64, 1.0_f64);
    let turn = if signed_area(corners) < 0.0 { -1.0 } else { 1.0 };
    for (k, &a) in corners.iter().enumerate() {
        let b = corners[(k + 1) % corners.len()];
        // Positive to the left of the edge: inside.
        let inside = |p: Place| turn * ((b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0));
        let (u, v) = (inside(from), inside(to));
        match (u >= 0.0, v >= 0.0) {
            (true, true) => {}
            (false, false) => return None,
            (true, false) => end = end.min(u / (u - v)),
            (false, true) => begin = begin.max(u / (u - v)),
        }
    }
    (begin < end).then_some((begin, end))
}

fn signed_area(corners: &[Place]) -> f64 {
    let pairs = corners.iter().zip(corners.iter().cycle().skip(1));
    pairs.map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use rw_adv::network::AffineMap;

    use super::*;

    /// `relu(x) + relu(y)` over [−1, 1]²: four quadrants.
    #[test]
    fn two_neurons_make_four_regions() {
        let hidden = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 1.0]], vec![0.0, 0.0]);
        let output = AffineMap::from_rows(&[[1.0, 1.0]], vec![0.5]);
        let network = Network::new(vec![hidden, output]).expect("shapes fit");
        let pieces = pieces(&network, &[1.0], (-1.0, 1.0));
        assert_eq!(pieces.len(), 4);
        let total: f64 = pieces.iter().map(|piece| area(&piece.corners)).sum();
        assert!((total - 4.0).abs() < 1e-12);
        let mut objectives: Vec<[f64; 3]> = pieces.iter().map(|piece| piece.objective).collect();
        objectives.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        let all = [[0.0, 0.0, 0.5], [0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [1.0, 1.0, 0.5]];
        assert_eq!(objectives, all);
        // From the lower left over the lower right to the upper right.
        let step = |from: [f64; 2], to: [f64; 2]| WalkStep {
            from: from.to_vec(),
            to: to.to_vec(),
            value: 0.0,
        };
        let steps = [step([-0.9, -0.9], [-0.1, -0.5]), step([0.5, 0.1], [1.0, 1.0])];
        let skipped = overshot(&pieces, &steps);
        assert_eq!(skipped.len(), 1);
        assert_eq!(pieces[skipped[0]].objective, [1.0, 0.0, 0.5]);
    }
}
