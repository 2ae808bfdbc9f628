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
    if network.layers[0].operations.iter().all(|operation| operation.affine.is_exact()) {
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
    let inputs: Vec<N> = centre.iter().zip(&reach).map(|(c, r)| c.add_up(r)).collect();
    let flushed = network.flushed(0, &inputs)?;
    let start = |i: usize| Spread {
        centre: centre[i].clone(),
        by: Some((i, N::of(1.0))),
        noise: N::zero(),
        largest: inputs[i].clone(),
    };
    let mut values: Vec<Spread<N>> = (0..centre.len()).map(start).collect();
    for operation in &network.layers[0].operations {
        values.extend(spread(&operation.affine, &operation.gather(&values), &reach, set, room));
    }
    let last = values.len() - network.widths[0];
    let noise = values[last..].iter().zip(&flushed);
    Ok(noise.map(|(value, flushed)| value.noise.add_up(flushed)).collect())
}

/// What is known of a value in a part.
#[derive(Clone)]
struct Spread<N> {
    /// At least its magnitude where nothing has moved.
    centre: N,
    /// The only input that it depends on, and how much it changes at most for a unit of that; nothing is known behind sums.
    by: Option<(usize, N)>,
    /// How far it may be off.
    noise: N,
    /// At least its magnitude.
    largest: N,
}

/// The results of an operation; inputs move by at most `reach`.
fn spread<N: Number>(
    step: &Affine<N>,
    inputs: &[Spread<N>],
    reach: &[N],
    set: &Set,
    room: &Room<N>,
) -> Vec<Spread<N>> {
    let all = |of: fn(&Spread<N>) -> &N| inputs.iter().map(|v| of(v).clone()).collect::<Vec<N>>();
    let (largest, noise, centre) = (all(|v| &v.largest), all(|v| &v.noise), all(|v| &v.centre));
    // Sums of magnitudes: those at the centre, and what the moves can add.
    let sum = |matrix: &Matrix<N>, j: usize| {
        let (mut still, mut by_input) = (N::zero(), vec![N::zero(); reach.len()]);
        for (at, weight) in matrix.terms(j) {
            let Some((i, by)) = &inputs[at].by else { return matrix.sum_up(j, &largest) };
            still = still.add_up(&weight.mul_up(&centre[at].add_up(&noise[at])));
            by_input[*i] = by_input[*i].add_up(&weight.mul_up(by));
        }
        let moved: Vec<N> = set.moves.iter().map(|m| by_input[m.input].clone()).collect();
        still.add_up(&room.support_of_box_and_budget(&moved))
    };
    let matrix = step.magnitudes().filter(|_| !step.is_exact());
    let sums = matrix.map(|matrix| (0..step.outputs).map(|j| sum(matrix, j)).collect::<Vec<N>>());
    let results = step.results(&largest, sums.as_deref(), true);
    let centres = step.results(&centre, None, false).magnitudes;
    let noises = step.spread(&noise);
    let value = |j: usize| {
        let noise = noises[j].add_up(&results.off[j]);
        let by = step.only_input(j).and_then(|(at, factor)| {
            let (i, by) = inputs[at].by.as_ref()?;
            Some((*i, by.mul_up(&factor)))
        });
        let centre = centres[j].clone();
        let largest = match &by {
            Some((i, by)) => centre.add_up(&by.mul_up(&reach[*i])).add_up(&noise),
            None => results.magnitudes[j].clone(),
        };
        Spread { centre, by, noise, largest }
    };
    (0..step.outputs).map(value).collect()
}
