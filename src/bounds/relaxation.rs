//! The relaxation of one ReLU: a linear function above `q · relu(g)`.
//!
//! It is a line in `g`, and maybe a share of the neuron's [envelope](super::envelope). All terms go into a [`RowSum`], which adds up the
//! magnitudes that rounding errors are proportional to.

use super::interval::{Interval, Stability};

/// Makes up for a handful of roundings of a factor.
pub(super) const A_HAIR_MORE: f64 = 1.0 + 8.0 * f64::EPSILON;

/// A neuron is taken to be rather on than off from this ratio of its bounds: below 1, so that equal bounds, which are common, are not told
/// apart by rounding. Checkers of proofs do the same.
pub(super) const RATHER_ON: f64 = 1.0 - 1e-6;

/// What lies above unstable ReLUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpperRelaxation {
    /// Chords alone: CROWN.
    Chords,
    /// Chords and envelopes.
    Envelopes,
}

/// How one ReLU is relaxed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReluRelaxation {
    /// An unstable one by lines, a stable one by what it is.
    Lines {
        /// Slope of the line below, in [0, 1].
        below: f64,
        /// Share of the envelope above, in [0, 1]; the chord gets the rest.
        envelope: f64,
        /// How much of the envelope goes on as the neuron itself, in [0, 1].
        theta: f64,
    },
    /// By multipliers: any numbers will do, those of an LP are the best.
    Duals(NeuronDuals),
}

/// How one unstable neuron was bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReluLine {
    /// Its place in the layer.
    pub index: usize,
    /// Slope of the line below, in [0, 1].
    pub below: f64,
    /// Share of the envelope above, in [0, 1]; the chord gets the rest.
    pub envelope: f64,
    /// How much of the envelope goes on as the neuron itself, in [0, 1].
    pub theta: f64,
}

impl ReluLine {
    /// The line with what it may be: a number outside [0, 1] is 0.
    pub(super) fn valid(self) -> Self {
        let share = |v: f64| if (0.0..=1.0).contains(&v) { v } else { 0.0 };
        let (below, envelope, theta) = (self.below, self.envelope, self.theta);
        let (below, envelope, theta) = (share(below), share(envelope), share(theta));
        Self { index: self.index, below, envelope, theta }
    }

    pub(super) fn relaxation(self) -> ReluRelaxation {
        let Self { below, envelope, theta, .. } = self.valid();
        ReluRelaxation::Lines { below, envelope, theta }
    }
}

/// The multipliers of a neuron.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NeuronDuals {
    /// Of its pre-activation, on top of the coefficient where it is on. That is also how a sign counts that is demanded of it.
    pub multiplier: f64,
    /// How much of its output is bounded by its envelope; at least 0.
    pub envelope: f64,
}

/// What a bound by weak duality is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Multipliers {
    /// Of the neurons, one list per hidden layer.
    pub neurons: Vec<Vec<NeuronDuals>>,
    /// Of the set's constraints, if it has any: positive against upper sides, negative against lower ones.
    pub prices: Vec<f64>,
}

/// The constant of a linear function, and what its rounding errors are proportional to.
#[derive(Clone, Copy)]
pub(super) struct RowSum {
    constant: f64,
    /// The magnitudes of the terms of the constant.
    terms: f64,
    /// The magnitudes of sums that went into other numbers.
    passed: f64,
}

impl RowSum {
    /// With a constant and the magnitudes added up so far.
    pub fn new(constant: f64, magnitude: f64) -> Self {
        Self { constant, terms: magnitude, passed: 0.0 }
    }

    /// Adds a term to the constant.
    #[inline]
    pub fn add(&mut self, term: f64) {
        self.constant += term;
        self.terms += term.abs();
    }

    /// Adds a magnitude alone.
    #[inline]
    pub fn pass(&mut self, magnitude: f64) {
        self.passed += magnitude;
    }

    /// The constant, and all magnitudes.
    pub fn finish(self) -> (f64, f64) {
        (self.constant, self.terms + self.passed)
    }
}

impl ReluRelaxation {
    /// The `θ` of the envelope.
    pub fn theta(self) -> f64 {
        match self {
            Self::Lines { theta, .. } => theta,
            Self::Duals(_) => 0.0,
        }
    }
}

/// A neuron's envelope as the relaxation sees it: `θ g` and a function of the moves.
#[derive(Clone, Copy)]
pub(super) struct NeuronEnvelope {
    /// 0 where the envelope has none.
    pub theta: f64,
    /// The value at the centre, rounding included.
    pub at_centre: f64,
    /// At least `Σ |slope| p` anywhere in the set.
    pub reach: f64,
}

/// What is known of a neuron.
#[derive(Clone, Copy)]
pub(super) struct BoundedRelu {
    pub interval: Interval,
    pub stability: Stability,
    pub envelope: Option<NeuronEnvelope>,
}

/// A function above `q · relu(g)`: `slope · g + share · envelope`, and a constant that is in a [`RowSum`].
pub(super) struct RelaxedRelu {
    pub slope: f64,
    /// The envelope's share and its `θ`, which is in the slope. `None` without an envelope.
    pub share: Option<(f64, f64)>,
}

impl RelaxedRelu {
    fn line(slope: f64) -> Self {
        Self { slope, share: None }
    }
}

impl BoundedRelu {
    /// Relaxes `q · relu(g)`.
    #[inline]
    pub fn relax(&self, q: f64, by: ReluRelaxation, sum: &mut RowSum) -> RelaxedRelu {
        match by {
            ReluRelaxation::Lines { .. } if q == 0.0 => RelaxedRelu::line(q),
            ReluRelaxation::Lines { below, envelope, .. } => match self.stability {
                Stability::On => RelaxedRelu::line(q),
                Stability::Off => RelaxedRelu::line(0.0),
                Stability::Unstable if q < 0.0 => RelaxedRelu::line(q * below),
                Stability::Unstable => self.by_upper_line(q, envelope, sum),
            },
            ReluRelaxation::Duals(duals) => self.by_duals(q, duals, sum),
        }
    }

    /// A share by the envelope, the rest by the chord; `q` is positive.
    #[inline]
    fn by_upper_line(&self, q: f64, envelope: f64, sum: &mut RowSum) -> RelaxedRelu {
        let (mut rest, mut share, mut passed_on) = (q, None, 0.0);
        if let Some(NeuronEnvelope { theta, at_centre, reach }) = self.envelope {
            let of_envelope = envelope * q;
            // The parts together are at least the whole: a ReLU is never negative.
            rest = if of_envelope >= q { 0.0 } else { (q - of_envelope) * A_HAIR_MORE };
            sum.add(of_envelope * at_centre);
            sum.pass(of_envelope * reach);
            if theta != 0.0 {
                passed_on = of_envelope * theta;
                // The sum of both slopes is rounded, and `g` is at most so large.
                sum.pass(of_envelope * self.interval.magnitude());
            }
            share = Some((of_envelope, theta));
        }
        let Interval { lower, upper } = self.interval;
        let width = upper - lower;
        if rest == 0.0 && width.is_finite() {
            return RelaxedRelu { slope: passed_on, share };
        }
        let chord = if width.is_finite() { upper / width } else { f64::NAN };
        let slope = rest * (chord * A_HAIR_MORE);
        sum.add(-slope * lower);
        RelaxedRelu { slope: slope + passed_on, share }
    }

    /// By multipliers: weak duality.
    fn by_duals(&self, q: f64, duals: NeuronDuals, sum: &mut RowSum) -> RelaxedRelu {
        let NeuronDuals { multiplier, envelope: share } = duals;
        let envelope = self.envelope.filter(|_| share > 0.0);
        let mut rest = q;
        if let Some(NeuronEnvelope { at_centre, reach, .. }) = envelope {
            rest = q - share;
            sum.add(share * at_centre);
            sum.pass(share * reach);
            sum.pass(q.abs() * self.interval.upper.max(0.0));
        }
        let line = DualLine::new(self.interval, self.stability, rest, multiplier);
        sum.add(line.constant);
        sum.pass(line.magnitude);
        RelaxedRelu { slope: line.slope, share: envelope.map(|_| (share, 0.0)) }
    }
}

/// A line above `q · relu(g)`, whatever its slope: what is left of it is largest at a corner of the ReLU's hull.
struct DualLine {
    slope: f64,
    constant: f64,
    /// The magnitudes of what the constant is the difference of.
    magnitude: f64,
}

impl DualLine {
    fn new(interval: Interval, stability: Stability, q: f64, multiplier: f64) -> Self {
        let Interval { lower, upper } = interval;
        let furthest = upper.max(-lower);
        let (slope, constant) = match stability {
            Stability::On if multiplier == 0.0 => return Self::exact(q),
            Stability::Off if multiplier == 0.0 => return Self::exact(0.0),
            _ if !furthest.is_finite() => (multiplier, f64::INFINITY),
            Stability::On => (q + multiplier, (-multiplier * lower).max(-multiplier * upper)),
            Stability::Off => (multiplier, (-multiplier * lower).max(-multiplier * upper)),
            Stability::Unstable => {
                (multiplier, (-multiplier * lower).max((q - multiplier) * upper).max(0.0))
            }
        };
        Self { slope, constant, magnitude: (q.abs() + multiplier.abs()) * furthest }
    }

    fn exact(slope: f64) -> Self {
        Self { slope, constant: 0.0, magnitude: 0.0 }
    }
}

/// Whichever of 0 and `g` leaves the smaller triangle above it.
pub(super) fn default_slope(interval: Interval) -> f64 {
    if interval.upper > -interval.lower * RATHER_ON { 1.0 } else { 0.0 }
}
