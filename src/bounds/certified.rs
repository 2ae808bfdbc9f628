//! Proven upper bounds: of a part of a set, and of a whole set.
//!
//! A [`PartBound`] comes from [`LinearBounds`](super::LinearBounds) alone, which knows what part it was made for. A [`CertifiedBound`] is
//! the bound of a whole set: one that was proven for it at once, or the largest of a [`Cover`](super::Cover).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bounded_part::BoundedPart;
use super::neurons::CutGoal;
use super::part::Part;

/// How a bound was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundMethod {
    /// Backward linear bounds with chords and fixed slopes.
    Crown,
    /// The same with optimised slopes.
    Alpha,
    /// Chords and envelopes, slopes and shares optimised.
    Envelope,
    /// The same for each of the parts that the set was split into.
    Branch,
}

impl BoundMethod {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crown => "crown",
            Self::Alpha => "alpha",
            Self::Envelope => "envelope",
            Self::Branch => "branch",
        }
    }
}

/// A proven upper bound of a function over a whole set.
#[derive(Clone, Copy, Debug)]
pub struct CertifiedBound {
    value: f64,
    for_f32: bool,
    method: BoundMethod,
}

impl CertifiedBound {
    pub(super) fn new(value: f64, for_f32: bool, method: BoundMethod) -> Self {
        Self { value, for_f32, method }
    }

    /// The bound of what two parts with these bounds cover.
    pub(super) fn of_both(self, other: Self) -> Self {
        Self {
            value: self.value.max(other.value),
            for_f32: self.for_f32 && other.for_f32,
            method: BoundMethod::Branch,
        }
    }

    /// No point of the set has a larger value in exact arithmetic.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The bound of the same function plus a constant.
    pub fn plus(self, constant: f64) -> Self {
        // The sum may have been rounded down.
        let value = if constant == 0.0 { self.value } else { (self.value + constant).next_up() };
        Self { value, ..self }
    }

    /// Whether the same is true of the network computed in f32.
    pub fn holds_in_f32(&self) -> bool {
        self.for_f32
    }

    /// How it was proven.
    pub fn method(&self) -> BoundMethod {
        self.method
    }

    /// A bound that nobody has proven, to see what others make of it.
    #[cfg(test)]
    pub(crate) fn forged(value: f64, for_f32: bool) -> Self {
        Self { value, for_f32, method: BoundMethod::Crown }
    }
}

/// A proven upper bound of `objective · y` over a part of a set.
#[derive(Clone, Debug)]
pub struct PartBound {
    part: Part,
    objective: Arc<[f64]>,
    bound: CertifiedBound,
}

impl PartBound {
    pub(super) fn new(part: &Part, objective: &[f64], bound: CertifiedBound) -> Self {
        Self::shared(part, &objective.into(), bound)
    }

    /// The same for an objective that many bounds share.
    pub(super) fn shared(part: &Part, objective: &Arc<[f64]>, bound: CertifiedBound) -> Self {
        Self { part: part.clone(), objective: Arc::clone(objective), bound }
    }

    /// The part.
    pub fn part(&self) -> &Part {
        &self.part
    }

    pub(super) fn objective(&self) -> &Arc<[f64]> {
        &self.objective
    }

    /// The bound as it counts in a cover.
    pub(super) fn in_cover(&self) -> CertifiedBound {
        self.bound
    }

    /// No point of the part has a larger value in exact arithmetic.
    pub fn value(&self) -> f64 {
        self.bound.value()
    }

    /// Whether the same is true of the network computed in f32.
    pub fn holds_in_f32(&self) -> bool {
        self.bound.holds_in_f32()
    }

    /// The bound of the whole set, if that is the part.
    pub fn certified(&self) -> Option<CertifiedBound> {
        (self.part.depth() == 0).then_some(self.bound)
    }

    /// The bound of the same part that follows from another bound of it, or of what it is a part of. `None` if that is not lower, or about
    /// something else.
    pub fn lowered_by(&self, other: &Self) -> Option<Self> {
        let lower = other.value() < self.value();
        let follows =
            || self.part.sides_from(&other.part).is_some() && self.objective == other.objective;
        (lower && follows()).then(|| Self { bound: other.bound, ..self.clone() })
    }
}

/// A part that is proven to be empty: no input leads to the signs that its neurons have or, after a cut, none of those with a value of at
/// least the goal does.
#[derive(Clone, Debug)]
pub struct EmptyPart {
    part: Part,
    for_f32: bool,
    bounded: Arc<BoundedPart>,
    goal: Option<CutGoal>,
}

impl EmptyPart {
    pub(super) fn new(
        part: Part,
        for_f32: bool,
        bounded: &Arc<BoundedPart>,
        goal: Option<&CutGoal>,
    ) -> Self {
        Self { part, for_f32, bounded: Arc::clone(bounded), goal: goal.cloned() }
    }

    /// What shows that it is empty.
    pub fn bounded_part(&self) -> &Arc<BoundedPart> {
        &self.bounded
    }

    /// The bound of a function over it: minus infinity or, for the objective of the cut, its goal.
    pub fn bound(&self, objective: &[f64]) -> PartBound {
        let nothing = f64::NEG_INFINITY;
        let value = self.goal.as_ref().map_or(nothing, |goal| goal.bound(objective, nothing));
        let bound = CertifiedBound::new(value, self.for_f32, BoundMethod::Branch);
        PartBound::new(&self.part, objective, bound)
    }
}
