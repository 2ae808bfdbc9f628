//! Many rows relaxed by the same lines, several of them side by side.
//!
//! The sums are those of single rows, in the same order, to the last bit: where a row has nothing to add, it adds 0 here. That needs finite
//! numbers, so a layer where some are not is left to single rows.

use faer::{Mat, MatMut};
use pulp::{Arch, NullaryFnOnce};

use super::interval::{Interval, Stability};
use super::relaxation::{A_HAIR_MORE, BoundedRelu, NeuronEnvelope, ReluRelaxation, RowSum};

/// Rows side by side.
pub(super) const LANES: usize = 8;

/// What `q · g` of a neuron has in it besides the outputs below it.
#[derive(Clone, Copy)]
pub(super) struct OwnTerms {
    /// What `g` is without them.
    pub constant: Interval,
    pub noise: f64,
    /// What its sum's rounding errors are proportional to.
    pub magnitude: f64,
}

impl OwnTerms {
    /// Adds them.
    #[inline(always)]
    pub fn add(&self, q: f64, sum: &mut RowSum) {
        let Interval { lower, upper } = self.constant;
        sum.add(q * if q > 0.0 { upper } else { lower });
        sum.add(q.abs() * self.noise);
        sum.pass(q.abs() * self.magnitude);
    }
}

/// A neuron that is relaxed by lines, with finite numbers.
#[derive(Clone, Copy)]
pub(super) struct LineRelu {
    stability: Stability,
    /// The slope of the line below.
    below: f64,
    /// The envelope's column, what goes to it, and what it is: zeros without one.
    column: Option<usize>,
    share: f64,
    envelope: NeuronEnvelope,
    /// The largest magnitude of what goes on as the neuron itself, if anything does.
    furthest: f64,
    /// What makes up for the roundings of the rest, which gets the chord above; the chord's slope, and where it is 0.
    hair: f64,
    chord: f64,
    lower: f64,
    own: OwnTerms,
}

impl LineRelu {
    /// `None` if it is relaxed by multipliers, or by numbers that are not finite.
    pub fn new(
        BoundedRelu { interval, stability, envelope }: BoundedRelu,
        by: ReluRelaxation,
        column: Option<usize>,
        own: OwnTerms,
    ) -> Option<Self> {
        let ReluRelaxation::Lines { below, envelope: share, .. } = by else { return None };
        let Interval { lower, upper } = interval;
        let nothing = NeuronEnvelope { theta: 0.0, at_centre: 0.0, reach: 0.0 };
        let (share, hair) = if envelope.is_some() { (share, A_HAIR_MORE) } else { (0.0, 1.0) };
        let envelope = envelope.unwrap_or(nothing);
        let relu = Self {
            stability,
            below,
            column,
            share,
            envelope,
            furthest: if envelope.theta == 0.0 { 0.0 } else { interval.magnitude() },
            hair,
            chord: upper / (upper - lower) * A_HAIR_MORE,
            lower,
            own,
        };
        let own = [own.constant.lower, own.constant.upper, own.noise, own.magnitude];
        let NeuronEnvelope { theta, at_centre, reach } = envelope;
        // Finite ends may be so far apart that their distance is not: the chord's slope would come out as 0.
        let width = upper - lower;
        let lines = [below, share, theta, at_centre, reach, lower, upper, width, relu.chord];
        let is_unstable = stability == Stability::Unstable;
        let lines = lines.into_iter().filter(|_| is_unstable);
        own.into_iter().chain(lines).all(f64::is_finite).then_some(relu)
    }
}

/// Turns coefficients of a layer's outputs, one column for each row, into those of its pre-activations. `mix` is told what goes to envelopes: the
/// envelope's column, the first row of some, the shares of these and their `θ`. The rows are relaxed in whole groups of [`LANES`]; returns how many
/// that are.
pub(super) fn relax_rows(
    relus: &[LineRelu],
    coefficients: &mut Mat<f64>,
    constants: &mut [f64],
    magnitudes: &mut [f64],
    mut mix: impl FnMut(usize, usize, [f64; LANES], f64),
) -> usize {
    let groups = constants.as_chunks_mut::<LANES>().0;
    let groups = groups.iter_mut().zip(magnitudes.as_chunks_mut::<LANES>().0);
    let mut done = 0;
    for (constants, magnitudes) in groups {
        let mix = |column, shares, theta| mix(column, done, shares, theta);
        let rows = columns(coefficients.as_mut().subcols_mut(done, LANES));
        Arch::new().dispatch(RelaxGroup { relus, rows, constants, magnitudes, mix });
        done += LANES;
    }
    done
}

fn columns(block: MatMut<'_, f64>) -> [&mut [f64]; LANES] {
    let mut columns = block.col_iter_mut();
    std::array::from_fn(|_| {
        let column = columns.next().and_then(|column| column.try_as_col_major_mut());
        column.expect("a column that lies together for each row").as_slice_mut()
    })
}

/// One group of rows, compiled for the machine at hand.
struct RelaxGroup<'g, M> {
    relus: &'g [LineRelu],
    rows: [&'g mut [f64]; LANES],
    constants: &'g mut [f64; LANES],
    magnitudes: &'g mut [f64; LANES],
    mix: M,
}

impl<M: FnMut(usize, [f64; LANES], f64)> NullaryFnOnce for RelaxGroup<'_, M> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { relus, rows, constants, magnitudes, mut mix } = self;
        let rows = rows.map(|row| &mut row[..relus.len()]);
        let mut sums = LaneSums { constants: *constants, terms: *magnitudes, passed: [0.0; LANES] };
        for (j, relu) in relus.iter().enumerate() {
            let mut q: [f64; LANES] = std::array::from_fn(|lane| rows[lane][j]);
            if q == [0.0; LANES] {
                continue;
            }
            match relu.stability {
                Stability::On => {}
                Stability::Off => {
                    (0..LANES).for_each(|lane| rows[lane][j] = 0.0);
                    continue;
                }
                Stability::Unstable => {
                    let shares = relu.relax(&mut q, &mut sums);
                    if let Some(column) = relu.column {
                        mix(column, shares, relu.envelope.theta);
                    }
                }
            }
            let OwnTerms { constant: Interval { lower, upper }, noise, magnitude } = relu.own;
            sums.add(q.map(|q| q * if q > 0.0 { upper } else { lower }));
            sums.add(q.map(|q| q.abs() * noise));
            sums.pass(q.map(|q| q.abs() * magnitude));
            (0..LANES).for_each(|lane| rows[lane][j] = q[lane]);
        }
        let LaneSums { constants: sums, terms, passed } = sums;
        *constants = sums;
        *magnitudes = std::array::from_fn(|lane| terms[lane] + passed[lane]);
    }
}

/// A [`RowSum`] for each row.
struct LaneSums {
    constants: [f64; LANES],
    terms: [f64; LANES],
    passed: [f64; LANES],
}

impl LaneSums {
    #[inline(always)]
    fn add(&mut self, terms: [f64; LANES]) {
        for (lane, term) in terms.into_iter().enumerate() {
            self.constants[lane] += term;
            self.terms[lane] += term.abs();
        }
    }

    #[inline(always)]
    fn pass(&mut self, magnitudes: [f64; LANES]) {
        self.passed.iter_mut().zip(magnitudes).for_each(|(sum, magnitude)| *sum += magnitude);
    }
}

impl LineRelu {
    /// The slopes in `g` of functions above `q · relu(g)` of an unstable neuron, as [`BoundedRelu::relax`] has them, and what goes to its envelope.
    #[inline(always)]
    fn relax(&self, q: &mut [f64; LANES], sums: &mut LaneSums) -> [f64; LANES] {
        let NeuronEnvelope { theta, at_centre, reach } = self.envelope;
        let shares = q.map(|q| if q > 0.0 { self.share * q } else { 0.0 });
        sums.add(shares.map(|share| share * at_centre));
        sums.pass(shares.map(|share| share * reach));
        sums.pass(shares.map(|share| share * self.furthest));
        let slope = |lane: usize| {
            let (q, share) = (q[lane], shares[lane]);
            let rest = if share >= q { 0.0 } else { (q - share) * self.hair };
            rest * self.chord
        };
        let slopes: [f64; LANES] = std::array::from_fn(slope);
        sums.add(slopes.map(|slope| -slope * self.lower));
        for (lane, q) in q.iter_mut().enumerate() {
            let above = slopes[lane] + shares[lane] * theta;
            *q = if *q > 0.0 { above } else { *q * self.below };
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::random::point;

    /// Neurons of all kinds: stable, without an envelope, with a share of it, with a `θ`.
    fn neuron(j: usize, drawn: &[f64]) -> (BoundedRelu, ReluRelaxation, Option<usize>, OwnTerms) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| drawn[4 * j + k].abs());
        let interval = Interval { lower: -a, upper: b };
        let stability = [Stability::On, Stability::Off, Stability::Unstable, Stability::Unstable];
        let stability = stability[j % 4];
        let theta = if j.is_multiple_of(3) { 0.0 } else { c.min(1.0) };
        let envelope = NeuronEnvelope { theta, at_centre: d, reach: a + d };
        let envelope = (!j.is_multiple_of(5)).then_some(envelope);
        let share = [0.0, 0.75, 1.0][j % 3];
        let by = ReluRelaxation::Lines { below: c.min(1.0), envelope: share, theta };
        let constant = Interval { lower: drawn[4 * j], upper: drawn[4 * j] + 1e-9 };
        let own = OwnTerms { constant, noise: 1e-12 * a, magnitude: b + d };
        (BoundedRelu { interval, stability, envelope }, by, envelope.map(|_| j), own)
    }

    #[test]
    fn rows_side_by_side_are_single_rows_bit_for_bit() {
        let (neurons, rows) = (61, 2 * LANES + 3);
        let drawn = point(4 * neurons, 1);
        let neurons: Vec<_> = (0..neurons).map(|j| neuron(j, &drawn)).collect();
        let relus: Option<Vec<LineRelu>> = neurons
            .iter()
            .map(|&(relu, by, column, own)| LineRelu::new(relu, by, column, own))
            .collect();
        let relus = relus.expect("finite lines");
        let entries = point(neurons.len() * rows, 2);
        // Some neurons count for nothing, in one row or in all.
        let entry = |j: usize, row: usize| {
            let is_used = !j.is_multiple_of(7) && !(j + row).is_multiple_of(6);
            if is_used { entries[j * rows + row] } else { 0.0 }
        };
        let before = Mat::from_fn(neurons.len(), rows, entry);
        let mut coefficients = before.clone();
        let (mut constants, mut magnitudes) = (point(rows, 3), vec![2.0; rows]);
        let (constants_before, magnitudes_before) = (constants.clone(), magnitudes.clone());
        let mut mixed = Vec::new();
        let mix = |column, row, shares: [f64; LANES], theta| {
            let shares = shares.into_iter().enumerate().filter(|(_, share)| *share != 0.0);
            mixed.extend(shares.map(|(lane, share)| (row + lane, column, share, theta)));
        };
        let done = relax_rows(&relus, &mut coefficients, &mut constants, &mut magnitudes, mix);
        assert_eq!(done, 2 * LANES);
        let mut expected = Vec::new();
        for row in 0..done {
            let mut sum = RowSum::new(constants_before[row], magnitudes_before[row]);
            for (j, &(relu, by, column, own)) in neurons.iter().enumerate() {
                let q = before[(j, row)];
                let relaxed = relu.relax(q, by, &mut sum);
                if let (Some(column), Some((share, theta))) = (column, relaxed.share)
                    && share != 0.0
                {
                    expected.push((row, column, share, theta));
                }
                assert_eq!(coefficients[(j, row)], relaxed.slope);
                if relaxed.slope != 0.0 {
                    own.add(relaxed.slope, &mut sum);
                }
            }
            assert_eq!((constants[row], magnitudes[row]), sum.finish());
        }
        mixed.sort_by_key(|&(row, column, ..)| (row, column));
        assert_eq!(mixed, expected);
        assert!(mixed.len() > done);
        // What is left over is as it was.
        assert_eq!(constants[done..], constants_before[done..]);
        assert!((0..neurons.len()).all(|j| coefficients[(j, done)] == before[(j, done)]));
    }

    #[test]
    fn what_is_not_finite_is_left_to_single_rows() {
        let drawn = point(400, 1);
        let (relu, by, column, own) = neuron(2, &drawn);
        assert!(LineRelu::new(relu, by, column, own).is_some());
        let without_end = Interval { upper: f64::INFINITY, ..relu.interval };
        let loose = BoundedRelu { interval: without_end, ..relu };
        assert!(LineRelu::new(loose, by, column, own).is_none());
        // Its width overflows, and a chord with slope 0 through (lower, 0) would be no bound.
        let widest = Interval { lower: -1e308, upper: 1e308 };
        let wide = BoundedRelu { interval: widest, ..relu };
        assert!(LineRelu::new(wide, by, column, own).is_none());
        // What stays on needs no lines.
        let on = BoundedRelu { stability: Stability::On, ..loose };
        assert!(LineRelu::new(on, by, column, own).is_some());
        let noisy = OwnTerms { noise: f64::INFINITY, ..own };
        assert!(LineRelu::new(relu, by, column, noisy).is_none());
        let duals = ReluRelaxation::Duals(super::super::relaxation::NeuronDuals::default());
        assert!(LineRelu::new(relu, duals, column, own).is_none());
    }
}
