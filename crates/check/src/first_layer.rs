//! The first layer: its pre-activations are affine functions of the input.

use crate::affine::{Affine, Matrix};
use crate::network::Network;
use crate::number::Number;
use crate::relax::{Line, LinePair};
use crate::set::{Move, Part, Room, Set};

/// The pre-activations of the first layer as functions of the input, in exact arithmetic.
pub struct FirstLayer<N> {
    /// One row of slopes for each neuron, by inputs.
    pub slopes: Vec<N>,
    /// Lines above each neuron and above its negative, in moves from the set's centre.
    pub lines: Vec<LinePair<N>>,
}

impl<N: Number> FirstLayer<N> {
    /// Worked out once for a set.
    ///
    /// # Errors
    /// When numbers overflow.
    pub fn new(network: &Network<N>, set: &Set) -> Result<Self, String> {
        let width = network.widths[0];
        let mut largest: Vec<N> = set.centre.iter().map(|x| N::of(x.abs())).collect();
        for (m, &cap) in set.moves.iter().zip(&set.whole().caps) {
            largest[m.input] = largest[m.input].add_up(&N::of(cap));
        }
        let errors = network.errors(0, &largest, false)?;
        // Above each neuron, and above its negative: the slopes are the same up to their sign.
        let functions = |sign: f64| {
            let mut rows = vec![N::zero(); width * width];
            (0..width).for_each(|j| rows[j * width + j] = N::of(sign));
            let mut constants = vec![N::zero(); width];
            let slopes = network.pull_back(0, &errors, rows, &mut constants);
            for (constant, row) in constants.iter_mut().zip(slopes.chunks(network.inputs)) {
                for (slope, &x) in row.iter().zip(&set.centre).filter(|(_, x)| **x != 0.0) {
                    *constant = constant.add_up(&slope.mul_up(&N::of(x)));
                }
            }
            (slopes, constants)
        };
        let ((slopes, above), (_, below)) = (functions(1.0), functions(-1.0));
        let mut lines = Vec::new();
        for ((row, above), below) in slopes.chunks(network.inputs).zip(above).zip(below) {
            let in_moves = |sign: bool| {
                let of_move = |m: &Move| {
                    if m.up == sign { row[m.input].clone() } else { row[m.input].negated() }
                };
                set.moves.iter().map(of_move).collect::<Vec<N>>()
            };
            let (above, below) =
                (Line::new(above, in_moves(true))?, Line::new(below, in_moves(false))?);
            lines.push(LinePair { above, below });
        }
        Ok(Self { slopes, lines })
    }
}

/// How far each pre-activation of the first layer may be from the exact function of the numbers read, anywhere in a part: rounding in f32, and
/// uncertain numbers. The magnitudes of products are those at the centre plus what the moves can add.
///
/// # Errors
/// When a run in f32 may overflow.
pub fn first_noise<N: Number>(
    network: &Network<N>,
    set: &Set,
    part: &Part,
    room: &Room<N>,
) -> Result<Vec<N>, String> {
    if network.layers[0].iter().all(Affine::is_exact) {
        return Ok(vec![N::zero(); network.widths[0]]);
    }
    let mut centre: Vec<N> = set.centre.iter().map(|x| N::of(x.abs())).collect();
    let mut reach = vec![N::zero(); centre.len()];
    for (k, amount) in &part.taken {
        let input = set.moves[*k].input;
        centre[input] = centre[input].add_up(&N::of(*amount));
    }
    for (m, cap) in set.moves.iter().zip(&room.caps) {
        reach[m.input] = reach[m.input].larger(cap);
    }
    // The only input that each value depends on, and how much it changes at most for a unit of that; nothing is known behind sums.
    let mut spread: Option<Vec<(usize, N)>> =
        Some((0..centre.len()).map(|i| (i, N::of(1.0))).collect());
    let mut noise = vec![N::zero(); centre.len()];
    let inputs: Vec<N> = centre.iter().zip(&reach).map(|(c, r)| c.add_up(r)).collect();
    let flushed = network.flushed(0, &inputs)?;
    for step in &network.layers[0] {
        let largest: Vec<N> = match &spread {
            Some(spread) => spread
                .iter()
                .enumerate()
                .map(|(k, (i, by))| centre[k].add_up(&by.mul_up(&reach[*i])).add_up(&noise[k]))
                .collect(),
            None => centre.clone(),
        };
        let sums = match (step.magnitudes(), &spread) {
            (Some(matrix), Some(spread)) => {
                let still: Vec<N> = centre.iter().zip(&noise).map(|(c, n)| c.add_up(n)).collect();
                let sum = |j: usize| {
                    let row = matrix.whole_row(j);
                    let mut by_input = vec![N::zero(); reach.len()];
                    for (weight, (i, by)) in row.iter().zip(spread) {
                        by_input[*i] = by_input[*i].add_up(&weight.mul_up(by));
                    }
                    let moved: Vec<N> =
                        set.moves.iter().map(|m| by_input[m.input].clone()).collect();
                    N::sum_up(&row, &still).add_up(&room.support_of_box_and_budget(&moved))
                };
                Some((0..matrix.outputs).map(sum).collect::<Vec<N>>())
            }
            _ => None,
        };
        let results = step.results(&largest, sums.as_deref(), true);
        noise =
            step.spread(&noise).iter().zip(&results.off).map(|(n, off)| n.add_up(off)).collect();
        let kept = step.magnitudes().map(Matrix::selection);
        let next = spread.and_then(|spread| match kept {
            None => {
                let (sources, by): (Vec<usize>, Vec<N>) = spread.into_iter().unzip();
                Some(sources.into_iter().zip(step.spread(&by)).collect())
            }
            Some(rows) => {
                let moved = |(k, w): (usize, &N)| (spread[k].0, spread[k].1.mul_up(w));
                Some(rows?.into_iter().map(moved).collect())
            }
        });
        spread = next;
        centre = match &spread {
            Some(_) => step.results(&centre, None, false).magnitudes,
            None => results.magnitudes,
        };
    }
    Ok(noise.iter().zip(&flushed).map(|(noise, flushed)| noise.add_up(flushed)).collect())
}
