//! The judge: a candidate becomes a [`Witness`] only by replay, on the very numbers that are handed out.
//!
//! The promise: a witness, as stored in `f32`, lies in the set (strictly inside, where the set is a ball), and both the file's own
//! run and our `f64` network have the property there. The judge does not believe whoever proposed the candidate and shares nothing with
//! them: this room imports no LP, no encoding, no walk, no search, no branch and bound.
//!
//! The trap is rounding. A search ends *on* the surface of a ball, and rounding a point to `f32` (or to 8 bits) may carry it outside.
//! `store.rs` says how that is prevented; what comes out is checked once more here.

mod error;
mod picture;
mod point;
mod replay;
mod store;
#[cfg(test)]
mod tests;
mod verdict;

use std::fmt;
use std::sync::Arc;

use crate::network::{Network, widened};
use crate::problem::{Objective, Property};
use crate::sets::InputSet;

pub use error::JudgeError;
pub use picture::{EightBit, nearest_byte};
pub use point::{Judgement, StoredPoint, Witness};
pub use replay::{Replay, ReplayFailure};
pub use verdict::{Contradiction, Verdict};

use store::Storage;

/// Our network and the file it came from: a witness must convince both.
#[derive(Clone)]
pub struct Judge {
    network: Arc<Network>,
    replay: Arc<dyn Replay>,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Judge({:?})", self.network)
    }
}

/// A point in `f64` and what both runs say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The network's outputs at the point, in `f64`.
    pub outputs: Vec<f64>,
    /// The objective there.
    pub value: f64,
    /// The objective when the file is run on the point, both in `f32`.
    pub value_f32: f64,
}

impl Judge {
    /// A judge for the network and the file it was read from.
    pub fn new(network: Arc<Network>, replay: Arc<dyn Replay>) -> Self {
        Self { network, replay }
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Stores a candidate in `f32`, inside the set, and measures what is stored.
    ///
    /// A candidate outside the set is put back: into the box by clamping, into the ball by pulling it straight towards the centre. What
    /// counts is the stored point. Where no `f32` point of the set is near (a fixed input that `f32` does not hold, a
    /// constraint that rounding breaks), the nearest one is measured and is no witness.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rw_adv::judge::Judge;
    /// use rw_adv::network::Label;
    /// use rw_adv::onnx::OnnxModel;
    /// use rw_adv::problem::{Objective, Property};
    /// use rw_adv::sets::{InputSet, Norm, PixelRange};
    ///
    /// let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
    /// let set = InputSet::ball(Norm::L1, &[0.0; 784], 5.0, PixelRange::UNIT);
    /// let seven_beats_one = Property::positive(Objective::margin(10, Label(1), Label(7)));
    /// let judge = Judge::new(model.network, model.replay);
    /// let judgement = judge.judge(&set, &seven_beats_one, &[0.5; 784])?;
    /// assert!(judgement.point().distance() < 5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When set or candidate make no sense, or the file cannot be run.
    pub fn judge(
        &self,
        set: &InputSet,
        property: &Property,
        candidate: &[f64],
    ) -> Result<Judgement, JudgeError> {
        let storage = self.storage(set)?.within(&property.of_inputs);
        let inputs = self.network.inputs();
        if candidate.len() != inputs {
            let found = candidate.len();
            return Err(JudgeError::Length { what: "the candidate", found, wanted: inputs });
        }
        if let Some(position) = candidate.iter().position(|value| !value.is_finite()) {
            return Err(JudgeError::NotFinite { position, value: candidate[position] });
        }
        let values = storage.store_admitted(candidate, property);
        // Looked at once more, whatever `store` promises: nothing below this line may be outside.
        let inside = storage.holds(&values);
        let admitted = inside && property.admits(&widened(&values));
        let (ours, theirs) = (self.network.logits(&widened(&values)), self.replayed(&values)?);
        let both = [property.value(&ours), property.value(&theirs)];
        let point = StoredPoint::new(values, both, inside, set);
        Ok(if admitted && property.holds(&ours) && property.holds(&theirs) {
            Judgement::Witness(Witness::new(point))
        } else {
            Judgement::Harmless(point)
        })
    }

    /// The point as an 8-bit picture, every changed value rounded towards the centre, replayed.
    ///
    /// For an image that was 8-bit itself the picture is always inside the ball. Another image (floats, 16-bit PNG)
    /// has no exact picture, so the picture differs from it even where the point does not. When that
    /// carries the picture to the surface or beyond, there is none: `None`.
    ///
    /// # Errors
    /// When the set makes no sense, or the file cannot be run.
    pub fn eight_bit(
        &self,
        set: &InputSet,
        property: &Property,
        point: &StoredPoint,
    ) -> Result<Option<EightBit>, JudgeError> {
        let storage = self.storage(set)?;
        let bytes = picture::bytes_towards(set.centre(), point.values());
        let shown = picture::pixels(&bytes);
        let Some(distance) = storage.distance_inside(&shown) else {
            return Ok(None);
        };
        let value = property.value(&self.replayed(&shown)?);
        Ok(Some(EightBit::new(bytes, value, distance)))
    }

    /// What both runs say about a point as it is, in or outside of any set.
    ///
    /// # Errors
    /// When the file cannot be run.
    pub fn measure(&self, objective: &Objective, point: &[f64]) -> Result<Measurement, JudgeError> {
        let outputs = self.network.logits(point);
        let rounded: Vec<f32> = point.iter().map(|&x| x as f32).collect();
        let value_f32 = objective.value(&self.replayed(&rounded)?);
        Ok(Measurement { value: objective.value(&outputs), value_f32, outputs })
    }

    /// The outputs of the file's own run.
    ///
    /// # Errors
    /// When the file cannot be run.
    pub fn replay(&self, x: &[f32]) -> Result<Vec<f32>, JudgeError> {
        let theirs = self.replay.logits(x).map_err(JudgeError::Replay)?;
        let (found, wanted) = (theirs.len(), self.network.outputs());
        if found != wanted {
            return Err(JudgeError::Length { what: "the file's logits", found, wanted });
        }
        Ok(theirs)
    }

    fn storage<'s>(&self, set: &'s InputSet) -> Result<Storage<'s>, JudgeError> {
        let (found, wanted) = (set.dimension(), self.network.inputs());
        if found != wanted {
            return Err(JudgeError::Length { what: "the image", found, wanted });
        }
        Storage::new(set)
    }

    /// The same in `f64`.
    fn replayed(&self, x: &[f32]) -> Result<Vec<f64>, JudgeError> {
        Ok(widened(&self.replay(x)?))
    }
}
