//! Points as they are stored, and what was measured on exactly these numbers.

use std::fmt;

use super::verdict::{Contradiction, Verdict};
use crate::bounds::CertifiedBound;
use crate::network::widened;
use crate::sets::{InputSet, Norm};

/// A point as it is stored, and what was measured on exactly these numbers.
#[derive(Clone, PartialEq)]
pub struct StoredPoint {
    values: Vec<f32>,
    value: f64,
    value_f32: f64,
    distance: f64,
    changed: usize,
    inside: bool,
}

impl StoredPoint {
    pub(super) fn new(
        values: Vec<f32>,
        [value, value_f32]: [f64; 2],
        inside: bool,
        set: &InputSet,
    ) -> Self {
        let wide = widened(&values);
        let norm = set.as_ball().map_or(Norm::L1, |ball| ball.norm);
        let distance = norm.distance(&wide, set.centre());
        let changed = wide.iter().zip(set.centre()).filter(|(x, centre)| x != centre).count();
        Self { values, value, value_f32, distance, changed, inside }
    }

    /// The values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The property's value in our `f64` network: for an attack, the margin `y_target − y_predicted`.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The same in the file's own run.
    pub fn value_f32(&self) -> f64 {
        self.value_f32
    }

    /// Distance from the set's centre, in the norm of the ball, or in L1 where the set is none.
    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// Whether it lies in the set. Where `f32` holds no point of the set nearby, it does not.
    pub fn is_inside(&self) -> bool {
        self.inside
    }

    /// Number of values that differ from the centre's.
    pub fn changed(&self) -> usize {
        self.changed
    }
}

impl fmt::Debug for StoredPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPoint")
            .field("values", &self.values.len())
            .field("value", &self.value)
            .field("value_f32", &self.value_f32)
            .field("distance", &self.distance)
            .field("changed", &self.changed)
            .finish()
    }
}

/// A stored point of the set that was seen to have the property, in both precisions. Only the judge makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness(StoredPoint);

impl Witness {
    pub(super) fn new(point: StoredPoint) -> Self {
        Self(point)
    }

    /// The point and its measurements.
    pub fn point(&self) -> &StoredPoint {
        &self.0
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It has the property.
    Witness(Witness),
    /// It does not, or only in one of the two precisions, or only outside the set.
    Harmless(StoredPoint),
}

impl Judgement {
    /// The stored point, witness or not.
    pub fn point(&self) -> &StoredPoint {
        match self {
            Self::Witness(witness) => witness.point(),
            Self::Harmless(point) => point,
        }
    }

    /// The witness, if it is one.
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Self::Witness(witness) => Some(witness),
            Self::Harmless(_) => None,
        }
    }

    /// The answer, from this point and upper bounds of the property's value over the whole set. Robust takes a bound below zero
    /// that holds for the file's own f32 run, too.
    ///
    /// # Errors
    /// When the point's value exceeds a bound: then one of them is wrong, and neither is an answer.
    pub fn verdict(&self, bounds: &[CertifiedBound]) -> Result<Verdict, Contradiction> {
        self.check(bounds)?;
        let below_zero = |bound: &CertifiedBound| bound.holds_in_f32() && bound.value() < 0.0;
        Ok(match self {
            Self::Witness(_) => Verdict::Adversarial,
            Self::Harmless(_) if bounds.iter().any(below_zero) => Verdict::Robust,
            Self::Harmless(_) => Verdict::Unknown,
        })
    }

    /// Whether the point's value exceeds one of these bounds. What is outside may.
    fn check(&self, bounds: &[CertifiedBound]) -> Result<(), Contradiction> {
        let point = self.point();
        if !point.inside {
            return Ok(());
        }
        for bound in bounds {
            let values = [Some(point.value), bound.holds_in_f32().then_some(point.value_f32)];
            if let Some(margin) = values.into_iter().flatten().find(|m| *m > bound.value()) {
                return Err(Contradiction { margin, bound: bound.value() });
            }
        }
        Ok(())
    }
}
