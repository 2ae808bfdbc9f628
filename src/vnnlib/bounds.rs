//! Bounds of single inputs, as conditions give them.

use super::condition::{Condition, Requirement};

/// One side of an input's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoundSide {
    pub value: f64,
    /// Whether the value itself is left out.
    pub strict: bool,
}

/// Between which values an input lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InputBound {
    pub lower: BoundSide,
    pub upper: BoundSide,
}

impl InputBound {
    /// Any value.
    pub const NONE: Self = Self {
        lower: BoundSide { value: f64::NEG_INFINITY, strict: false },
        upper: BoundSide { value: f64::INFINITY, strict: false },
    };

    /// What a condition `weight · x + constant` leaves of an input, rounded outwards; and whether that says it all.
    pub fn of_condition(weight: f64, condition: &Condition) -> (Self, bool) {
        let Condition { constant, slack, requirement, .. } = *condition;
        // + 0.0 turns −0 into 0.
        let quotient = -constant / weight + 0.0;
        // A remainder of 0 is exact, unless it is too small for an f64.
        let large = constant == 0.0 || constant.abs() > 1e-290;
        let exact = slack == 0.0 && quotient.mul_add(weight, constant) == 0.0 && large;
        let strict = exact && requirement == Requirement::Positive;
        let (below, above) = if exact {
            (quotient, quotient)
        } else {
            let off = (slack / weight).abs().next_up();
            ((quotient - off).next_down().next_down(), (quotient + off).next_up().next_up())
        };
        let mut bound = Self::NONE;
        if requirement == Requirement::Zero || weight > 0.0 {
            bound.lower = BoundSide { value: below, strict };
        }
        if requirement == Requirement::Zero || weight < 0.0 {
            bound.upper = BoundSide { value: above, strict };
        }
        (bound, exact)
    }

    /// What both leave.
    pub fn and(self, other: Self) -> Self {
        Self {
            lower: tighter(self.lower, other.lower, self.lower.value < other.lower.value),
            upper: tighter(self.upper, other.upper, self.upper.value > other.upper.value),
        }
    }

    /// Whether both sides are no further from 0 than this.
    pub fn is_within(&self, farthest: f64) -> bool {
        self.lower.value >= -farthest && self.upper.value <= farthest
    }

    /// Whether no value is left.
    pub fn is_empty(&self) -> bool {
        let (lower, upper) = (self.lower, self.upper);
        lower.value > upper.value || lower.value == upper.value && (lower.strict || upper.strict)
    }
}

fn tighter(one: BoundSide, other: BoundSide, other_is_tighter: bool) -> BoundSide {
    match () {
        () if other_is_tighter => other,
        () if one.value == other.value => BoundSide { strict: one.strict || other.strict, ..one },
        () => one,
    }
}
