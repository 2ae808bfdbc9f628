//! What a pre-activation may be.

/// `lower ≤ g ≤ upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Smallest value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
}

/// What bounds say about a ReLU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Passes its input everywhere in the set.
    On,
    /// Gives 0 everywhere in the set.
    Off,
    /// May be either.
    Unstable,
}

impl Interval {
    /// What is in both.
    pub(super) fn and(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }

    /// Leaves what is between these bounds, too.
    pub(super) fn tighten(&mut self, lower: f64, upper: f64) {
        *self = self.and(Self { lower, upper });
    }

    /// The same, where a bound that overflowed says nothing.
    pub(super) fn without_nan(self) -> Self {
        let lower = if self.lower.is_nan() { f64::NEG_INFINITY } else { self.lower };
        let upper = if self.upper.is_nan() { f64::INFINITY } else { self.upper };
        Self { lower, upper }
    }

    /// The largest magnitude in it.
    pub(super) fn magnitude(self) -> f64 {
        self.lower.abs().max(self.upper.abs())
    }

    /// The state of a ReLU whose pre-activation stays in this interval.
    pub(super) fn stability(&self) -> Stability {
        if self.lower >= 0.0 {
            Stability::On
        } else if self.upper <= 0.0 {
            Stability::Off
        } else {
            Stability::Unstable
        }
    }
}
