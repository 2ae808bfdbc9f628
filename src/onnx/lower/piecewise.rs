//! Piecewise-linear operators as ReLUs and values that are carried past them.
//!
//! The identities are exact in real arithmetic: `max(a, b) = b + relu(a − b)`, `min(a, b) = b − relu(b − a)`, `x < 0 ? αx : x = αx + (1 − α) relu(x)`. The file
//! computes other intermediate results. What it takes for `a`, `b` and `x` are numbers of its own run; the neurons are exact functions of
//! them, off by what these are off by (docs/certificates.md, "Rounding").

use super::affine::{AffineRow, AffineTensor, FactorShift, LinearCombination};
use super::constant::Constant;
use super::double_double::DoubleDouble;
use super::indexing::broadcast;
use super::neurons::Neurons;
use crate::network::Activation;

/// A pre-activation is a product and a sum of rows. The file computes neither, but folding them is off by as much as two operations.
const FOLDED: usize = 2;

/// Which of two numbers is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    Largest,
    Smallest,
}

impl Extreme {
    /// `max(a, b) = −min(−a, −b)`.
    fn sign(self) -> DoubleDouble {
        match self {
            Self::Largest => DoubleDouble::ONE,
            Self::Smallest => DoubleDouble::ONE.negated(),
        }
    }
}

/// Element by element, `x` where it is not negative, else `slope · x`.
pub(super) fn leaky(
    neurons: &mut Neurons,
    data: AffineTensor,
    slope: impl Fn(usize) -> f64,
) -> AffineTensor {
    let AffineTensor { shape, rows, .. } = data;
    let relus = neurons.push(Activation::Relu, rows.clone());
    let kept = neurons.kept(rows);
    let variables = neurons.variables();
    let mut sum = LinearCombination::new(variables);
    let mut result = |(i, (relu, kept)): (usize, (AffineRow, AffineRow))| {
        let slope = slope(i);
        // In f32 the product is rounded, or nothing is.
        let rest = DoubleDouble::ONE.plus(DoubleDouble::from(slope).negated());
        let mut scaled = kept;
        scaled.scale_shift(FactorShift::plain(slope, 0.0));
        sum.difference(&scaled, &relu.times(rest.negated()))
    };
    let rows = relus.into_iter().zip(kept).enumerate().map(&mut result).collect();
    AffineTensor { variables, shape, rows }
}

/// The magnitude of every element.
pub(super) fn magnitude(neurons: &mut Neurons, data: AffineTensor) -> AffineTensor {
    let mut result = leaky(neurons, data, |_| -1.0);
    // The file changes a sign, which rounds nothing.
    result.rows.iter_mut().for_each(|row| row.errors.operations = 0);
    result
}

/// The larger or smaller of every element and a constant. With 0 it is the ReLU.
pub(super) fn with_constant(
    neurons: &mut Neurons,
    extreme: Extreme,
    data: AffineTensor,
    constant: &Constant,
    shape: &[usize],
) -> AffineTensor {
    let from = broadcast(&constant.shape, shape);
    let data = data.spread(shape);
    let clips = data.rows.into_iter().enumerate();
    let clips = clips.map(|(i, row)| clip(neurons, extreme, row, constant.values[from[i]]));
    let (rows, results): (Vec<Option<AffineRow>>, Vec<ClipResult>) =
        clips.collect::<Vec<_>>().into_iter().unzip();
    let relus = neurons.push(Activation::Relu, rows.into_iter().flatten().collect());
    let variables = neurons.variables();
    let mut relus = relus.into_iter();
    let mut sum = LinearCombination::new(variables);
    let rows = results.into_iter().map(|result| match result {
        ClipResult::Known(row) => row,
        ClipResult::Plus(base, factor) => {
            let relu = relus.next().expect("one for each");
            match base.as_constant() {
                Some(zero) if zero.is_zero() && factor == DoubleDouble::ONE => relu,
                _ => sum.difference(&base, &relu.times(factor.negated())),
            }
        }
    });
    AffineTensor { rows: rows.collect(), shape: shape.to_vec(), variables }
}

/// What a clipped element is.
enum ClipResult {
    /// Known without another neuron.
    Known(AffineRow),
    /// A row plus a factor times the new ReLU.
    Plus(AffineRow, DoubleDouble),
}

/// The larger (or smaller) of a row and a constant: the pre-activation that it needs, and what it is then.
///
/// Clipping what was clipped before needs no deeper layer: with `r = relu(g)` and `d ≥ 0`, `relu(r − d) = relu(g − d)`.
fn clip(
    neurons: &Neurons,
    extreme: Extreme,
    row: AffineRow,
    limit: f64,
) -> (Option<AffineRow>, ClipResult) {
    // From here on it is the larger of `row` and `limit`; the sign is taken back in the result.
    let sign = extreme.sign();
    let known = |row: AffineRow| (None, ClipResult::Known(row));
    let row = row.times(sign);
    let limit = limit * sign.to_f64();
    if let Some(value) = row.as_constant() {
        let larger = if value.to_f64() >= limit { row } else { AffineRow::constant(limit) };
        return known(larger.times(sign));
    }
    // The ReLU of a ReLU stays a layer of its own, as in the file.
    let is_plain = limit == 0.0 && row.as_variable().is_some();
    let before = match row.terms[..] {
        [(variable, factor)] if row.is_exact() && !factor.is_zero() && !is_plain => {
            neurons.relu_row(variable as usize).map(|g| (g.clone(), factor))
        }
        _ => None,
    };
    let constant = |value: f64| AffineRow::constant(value).times(sign);
    let Some((g, factor)) = before else {
        let difference = if limit == 0.0 { row } else { row.plus((-limit).into()).after(FOLDED) };
        return (Some(difference), ClipResult::Plus(constant(limit), sign));
    };
    // The row is `a + factor · r`, and `d = limit − a`.
    let d = row.constant.negated().plus(limit.into());
    match (factor.to_f64() > 0.0, d.to_f64() > 0.0) {
        (true, true) => {
            let difference = g.times(factor).plus(d.negated()).after(FOLDED);
            (Some(difference), ClipResult::Plus(constant(limit), sign))
        }
        (true, false) => known(row.times(sign)),
        (false, true) => known(constant(limit)),
        (false, false) => {
            let difference = g.times(factor.negated()).plus(d).after(FOLDED);
            (Some(difference), ClipResult::Plus(row.times(sign), sign))
        }
    }
}

/// The larger or smaller of two tensors of one shape, element by element.
pub(super) fn of_both(
    neurons: &mut Neurons,
    extreme: Extreme,
    a: AffineTensor,
    b: AffineTensor,
) -> AffineTensor {
    let shape = a.shape;
    let windows = a.rows.into_iter().zip(b.rows).map(|(a, b)| vec![a, b]).collect();
    tournament(neurons, extreme, windows, shape)
}

/// The largest or smallest element of every window; none is empty. Pairs first, then the winners: a window of `n` needs `log₂ n` layers.
pub(super) fn tournament(
    neurons: &mut Neurons,
    extreme: Extreme,
    mut windows: Vec<Vec<AffineRow>>,
    shape: Vec<usize>,
) -> AffineTensor {
    while windows.iter().any(|window| window.len() > 1) {
        windows = round(neurons, extreme, windows);
    }
    let rows = windows.into_iter().map(|mut window| window.pop().expect("no window is empty"));
    AffineTensor { rows: rows.collect(), shape, variables: neurons.variables() }
}

/// One round: of two elements that meet one is left, and the last of an odd number waits.
fn round(
    neurons: &mut Neurons,
    extreme: Extreme,
    windows: Vec<Vec<AffineRow>>,
) -> Vec<Vec<AffineRow>> {
    let mut sum = LinearCombination::new(neurons.variables());
    let sign = extreme.sign();
    let (mut differences, mut carried, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for window in &windows {
        for pair in window.chunks(2) {
            let [a, b] = pair else { continue };
            let (a, b) = if a.is_free() && !b.is_free() { (b, a) } else { (a, b) };
            differences.push(sum.difference(a, b).times(sign).after(FOLDED));
            carried.push(b.clone());
        }
        lengths.push(window.len());
    }
    let relus = neurons.push(Activation::Relu, differences);
    let carried = neurons.kept(carried);
    let waiting: Vec<AffineRow> = windows
        .into_iter()
        .filter_map(|mut window| if window.len() % 2 == 1 { window.pop() } else { None })
        .collect();
    let mut sum = LinearCombination::new(neurons.variables());
    let winners = relus.into_iter().zip(carried);
    let mut winners = winners.map(|(relu, b)| sum.difference(&b, &relu.times(sign.negated())));
    let mut waiting = waiting.into_iter();
    let next = lengths.into_iter().map(|length| {
        let mut next: Vec<AffineRow> = winners.by_ref().take(length / 2).collect();
        next.extend((length % 2 == 1).then(|| waiting.next().expect("one for each odd window")));
        next
    });
    next.collect()
}
