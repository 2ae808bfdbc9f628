//! The judge: a candidate becomes a [`Witness`] only by replay, on the very numbers that are handed out.
//!
//! The promise: a witness, as stored in `f32`, lies in [0, 1] and strictly inside the ball, and both the file's own
//! run and our `f64` network rank the target above the predicted label there. Whoever proposed the candidate is not
//! believed and nothing is shared with them: this file imports no LP, no encoding, no walk, no search.
//!
//! The trap is rounding. A search ends *on* the ball's surface, and to round a point to `f32` (or to 8 bits) may
//! carry it outside. So every changed value is rounded *towards* the original, which can only bring the point nearer,
//! and a perturbation that still reaches the surface is made shorter by a hair.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds::CertifiedBound;
use crate::network::{Label, Network};
use crate::sets::Norm;

/// How much shorter a perturbation that reaches the surface is made, relative to its length, and how far beyond the
/// surface it still counts as reaching it. Above the rounding of an `f64` sum of a million values and an LP's
/// tolerance, below what moves a margin.
const HAIR: f64 = 1e-7;

/// The model's file run as it is, in its own precision. Shared between threads.
pub trait Replay {
    /// The logits that the file gives for `x`.
    ///
    /// # Errors
    /// When the file cannot be run on `x`.
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure>;
}

/// What a replay says when it fails.
pub type ReplayFailure = Box<dyn Error + Send + Sync>;

/// What is asked about one image: can `target` be lifted above `predicted` within the budget?
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The image, in the model's own order and in [0, 1].
    pub original: &'a [f32],
    /// The norm of the budget.
    pub norm: Norm,
    /// The budget; the distance must stay strictly below it.
    pub delta: f64,
    /// The label the model gives to the image.
    pub predicted: Label,
    /// The label that should get more.
    pub target: Label,
}

impl fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { original, norm, delta, predicted, target } = self;
        write!(f, "Case({} values, {norm} < {delta}, {predicted} -> {target})", original.len())
    }
}

/// A case or candidate that makes no sense, or a model that does not run. Being harmless is no error.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// Image, candidate or logits have the wrong length.
    #[error("{what}: {found} values, the model has {wanted}")]
    Length {
        /// Which of them.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        wanted: usize,
    },
    /// A NaN or an infinity in the candidate.
    #[error("the candidate's value {position} is {value}, not a finite number")]
    NotFinite {
        /// Where, base 0.
        position: usize,
        /// What is there.
        value: f64,
    },
    /// The image itself is not in [0, 1].
    #[error("the image's value {position} is {value}, not in [0, 1]")]
    OriginalOutside {
        /// Where, base 0.
        position: usize,
        /// What is there.
        value: f32,
    },
    /// A budget that is zero, negative, infinite or NaN.
    #[error("the budget {0} is not a positive number")]
    Budget(f64),
    /// Labels that the model does not have, or one label twice.
    #[error(
        "cannot compare label {target} with {predicted}: two labels from 0 to {last} are needed"
    )]
    Labels {
        /// The predicted label.
        predicted: Label,
        /// The target.
        target: Label,
        /// The model's last label.
        last: usize,
    },
    /// The file could not be run.
    #[error(transparent)]
    Replay(ReplayFailure),
}

/// A point as it is stored, and what was measured on exactly these numbers.
#[derive(Clone, PartialEq)]
pub struct StoredPoint {
    pixels: Vec<f32>,
    margin: f64,
    margin_f32: f64,
    distance: f64,
    changed_pixels: usize,
}

impl StoredPoint {
    /// The values, in [0, 1] and strictly inside the ball.
    pub fn pixels(&self) -> &[f32] {
        &self.pixels
    }

    /// `y_target − y_predicted` in our `f64` network.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// The same in the file's own run.
    pub fn margin_f32(&self) -> f64 {
        self.margin_f32
    }

    /// Distance from the image.
    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// Number of values that differ from the image's.
    pub fn changed_pixels(&self) -> usize {
        self.changed_pixels
    }
}

impl fmt::Debug for StoredPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPoint")
            .field("pixels", &self.pixels.len())
            .field("margin", &self.margin)
            .field("margin_f32", &self.margin_f32)
            .field("distance", &self.distance)
            .field("changed_pixels", &self.changed_pixels)
            .finish()
    }
}

/// A stored point that was seen to fool the model. Only the judge makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness(StoredPoint);

impl Witness {
    /// The point and its measurements.
    pub fn point(&self) -> &StoredPoint {
        &self.0
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It fools the model.
    Adversarial(Witness),
    /// It does not, or only in one of the two precisions.
    Harmless(StoredPoint),
}

impl Judgement {
    /// The stored point, whatever it does.
    pub fn point(&self) -> &StoredPoint {
        match self {
            Self::Adversarial(witness) => witness.point(),
            Self::Harmless(point) => point,
        }
    }

    /// The witness, if it is one.
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Self::Adversarial(witness) => Some(witness),
            Self::Harmless(_) => None,
        }
    }

    /// The answer, from this point and upper bounds of the margin over the whole input set. Robust takes a bound below zero
    /// that holds for the file's own f32 run, too.
    ///
    /// # Errors
    /// When the point's margin exceeds a bound: then one of them is wrong, and neither is an answer.
    pub fn verdict(&self, bounds: &[CertifiedBound]) -> Result<Verdict, Contradiction> {
        let point = self.point();
        for bound in bounds {
            let margins = [Some(point.margin), bound.holds_in_f32().then_some(point.margin_f32)];
            if let Some(margin) = margins.into_iter().flatten().find(|m| *m > bound.value()) {
                return Err(Contradiction { margin, bound: bound.value() });
            }
        }
        let below_zero = |bound: &CertifiedBound| bound.holds_in_f32() && bound.value() < 0.0;
        match self {
            Self::Adversarial(_) => Ok(Verdict::Adversarial),
            Self::Harmless(_) if bounds.iter().any(below_zero) => Ok(Verdict::Robust),
            Self::Harmless(_) => Ok(Verdict::Unknown),
        }
    }
}

/// A point above a bound that was said to be certified.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a point with margin {margin} contradicts the certified upper bound {bound}: please report this bug"
)]
pub struct Contradiction {
    /// The point's margin.
    pub margin: f64,
    /// The bound.
    pub bound: f64,
}

/// The answer for one image and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A witness was found.
    Adversarial,
    /// None exists: a certified upper bound of the margin is below zero.
    Robust,
    /// Neither.
    Unknown,
}

impl Verdict {
    /// All verdicts, in the order they are reported.
    pub const ALL: [Self; 3] = [Self::Adversarial, Self::Robust, Self::Unknown];

    /// The name in records: `adversarial`, `robust` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adversarial => "adversarial",
            Self::Robust => "robust",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A stored point as an 8-bit picture that is strictly inside the ball too.
#[derive(Clone, PartialEq)]
pub struct EightBit {
    bytes: Vec<u8>,
    margin: f64,
    distance: f64,
}

impl EightBit {
    /// One byte per value, in the model's own order; a byte `b` means the pixel `b / 255` in `f32`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `y_target − y_predicted` of the picture in the file's own run.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// Distance of the picture from the image.
    pub fn distance(&self) -> f64 {
        self.distance
    }
}

impl fmt::Debug for EightBit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EightBit({} bytes, margin {})", self.bytes.len(), self.margin)
    }
}

/// Our network and the file it came from: who must both be fooled.
pub struct Judge<'a, R> {
    network: &'a Network,
    replay: &'a R,
}

impl<R> fmt::Debug for Judge<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Judge({:?})", self.network)
    }
}

impl<'a, R: Replay> Judge<'a, R> {
    /// A judge for the network and the file it was read from.
    pub fn new(network: &'a Network, replay: &'a R) -> Self {
        Self { network, replay }
    }

    /// Stores a candidate in `f32`, inside box and ball, and measures what is stored.
    ///
    /// A candidate outside the box is clamped into it, one that reaches the ball's surface or lies beyond is pulled
    /// straight towards the image until it is strictly inside; what counts is how the stored point fares.
    ///
    /// ```
    /// use rw_adv::sets::Norm;
    /// use rw_adv::network::Label;
    /// use rw_adv::onnx::OnnxModel;
    /// use rw_adv::judge::{Case, Judge};
    ///
    /// let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
    /// let black = vec![0.0; 784];
    /// let case = Case { original: &black, norm: Norm::L1, delta: 5.0, predicted: Label(1), target: Label(7) };
    /// let judged = Judge::new(&model.network, &model.replay).judge(&case, &vec![0.5; 784])?;
    /// assert!(judged.point().distance() < 5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When case or candidate make no sense, or the file cannot be run.
    pub fn judge(&self, case: &Case, candidate: &[f64]) -> Result<Judgement, JudgeError> {
        self.check(case)?;
        let inputs = self.network.inputs();
        if candidate.len() != inputs {
            let found = candidate.len();
            return Err(JudgeError::Length { what: "the candidate", found, wanted: inputs });
        }
        if let Some(position) = candidate.iter().position(|value| !value.is_finite()) {
            return Err(JudgeError::NotFinite { position, value: candidate[position] });
        }
        let pixels = store(case, candidate);
        // Looked at once more, whatever `store` promises: nothing below this line may be outside.
        let distance = distance_inside(case, &pixels).filter(|_| in_box(&pixels));
        let distance = distance.expect("what is stored lies in the box and strictly in the ball");
        let ours = self.network.logits(&widened(&pixels));
        let margin = ours[case.target.0] - ours[case.predicted.0];
        let margin_f32 = self.replayed_margin(case, &pixels)?;
        let changed_pixels = pixels.iter().zip(case.original).filter(|(x, o)| x != o).count();
        let point = StoredPoint { pixels, margin, margin_f32, distance, changed_pixels };
        Ok(if point.margin > 0.0 && point.margin_f32 > 0.0 {
            Judgement::Adversarial(Witness(point))
        } else {
            Judgement::Harmless(point)
        })
    }

    /// The point as an 8-bit picture, every changed value rounded towards the image, replayed.
    ///
    /// For an image that was 8-bit itself the picture is always inside the ball. Another image (floats, 16-bit PNG)
    /// cannot be drawn exactly, so the picture differs from it even where the point does not; when that
    /// carries the picture to the surface or beyond, there is none: `None`.
    ///
    /// # Errors
    /// When the case makes no sense, or the file cannot be run.
    pub fn eight_bit(
        &self,
        case: &Case,
        point: &StoredPoint,
    ) -> Result<Option<EightBit>, JudgeError> {
        self.check(case)?;
        let pairs = point.pixels.iter().zip(case.original);
        let bytes: Vec<u8> = pairs.map(|(&x, &original)| byte_towards(original, x)).collect();
        let shown: Vec<f32> = bytes.iter().copied().map(pixel).collect();
        let Some(distance) = distance_inside(case, &shown) else {
            return Ok(None);
        };
        let margin = self.replayed_margin(case, &shown)?;
        Ok(Some(EightBit { bytes, margin, distance }))
    }

    fn check(&self, case: &Case) -> Result<(), JudgeError> {
        let (inputs, outputs) = (self.network.inputs(), self.network.outputs());
        let Case { original, delta, predicted, target, .. } = *case;
        if original.len() != inputs {
            let found = original.len();
            return Err(JudgeError::Length { what: "the image", found, wanted: inputs });
        }
        if let Some(position) = original.iter().position(|&value| !is_pixel(value)) {
            return Err(JudgeError::OriginalOutside { position, value: original[position] });
        }
        if !(delta > 0.0 && delta.is_finite()) {
            return Err(JudgeError::Budget(delta));
        }
        if predicted == target || predicted.0.max(target.0) >= outputs {
            return Err(JudgeError::Labels { predicted, target, last: outputs - 1 });
        }
        Ok(())
    }

    fn replayed_margin(&self, case: &Case, x: &[f32]) -> Result<f64, JudgeError> {
        let theirs = self.replay.logits(x).map_err(JudgeError::Replay)?;
        let (found, wanted) = (theirs.len(), self.network.outputs());
        if found != wanted {
            return Err(JudgeError::Length { what: "the file's logits", found, wanted });
        }
        Ok(f64::from(theirs[case.target.0]) - f64::from(theirs[case.predicted.0]))
    }
}

/// The candidate in `f32`, in the box and strictly in the ball.
fn store(case: &Case, candidate: &[f64]) -> Vec<f32> {
    // + 0.0 turns −0 into 0.
    let clamped: Vec<f64> = candidate.iter().map(|value| value.clamp(0.0, 1.0) + 0.0).collect();
    let towards = |share: f64| -> Vec<f32> {
        let pairs = clamped.iter().zip(case.original);
        pairs.map(|(&x, &original)| stored_value(original, x, share)).collect()
    };
    let inside = |x: &Vec<f32>| distance_inside(case, x).is_some();
    let unshrunk = towards(1.0);
    if inside(&unshrunk) {
        return unshrunk;
    }
    if let Some(trimmed) = trim(case, &unshrunk).filter(inside) {
        return trimmed;
    }
    let length = case.norm.distance(&clamped, &widened(case.original));
    let mut hair = HAIR;
    // Ends at the latest with the image itself, whose distance is 0.
    loop {
        let share = (case.delta / length).min(1.0) * (1.0 - hair).max(0.0);
        let shrunk = towards(share);
        if inside(&shrunk) {
            return shrunk;
        }
        hair *= 2.0;
    }
}

/// A point that is on the surface of the L1 ball, or hardly beyond, with the excess taken from its largest change.
///
/// Shrinking the whole perturbation would move every pixel off 0 and 1, each by a whole step of `f32`; this costs one
/// step at most.
fn trim(case: &Case, x: &[f32]) -> Option<Vec<f32>> {
    let distance = case.norm.distance(&widened(x), &widened(case.original));
    let excess = distance - case.delta;
    if case.norm != Norm::L1 || excess > HAIR * case.delta {
        return None;
    }
    let change = |i: usize| f64::from(x[i]) - f64::from(case.original[i]);
    let largest = (0..x.len()).max_by(|&i, &j| change(i).abs().total_cmp(&change(j).abs()))?;
    let cut = excess + 2.0 * allowance(x.len()) * case.delta;
    let share = 1.0 - cut / change(largest).abs();
    let mut trimmed = x.to_vec();
    trimmed[largest] = stored_value(case.original[largest], x[largest].into(), share.max(0.0));
    Some(trimmed)
}

/// The value that lies `share` of the way from the original to `x`, rounded towards the original.
fn stored_value(original: f32, x: f64, share: f64) -> f32 {
    let from = f64::from(original);
    // The sum is rounded too, so it is kept on the way from the original to x.
    let (low, high) = (from.min(x), from.max(x));
    let wanted = if share < 1.0 { (from + share * (x - from)).clamp(low, high) } else { x };
    let nearest = wanted as f32;
    let rounded = f64::from(nearest);
    if wanted > from && rounded > wanted {
        nearest.next_down()
    } else if wanted < from && rounded < wanted {
        nearest.next_up()
    } else {
        nearest
    }
}

/// The byte for `x` on the side of the original, so that the picture is no farther away than `x` is.
///
/// An original between two bytes has no exact picture: its nearest byte stands for it, and a change that does not
/// reach another byte is not shown.
fn byte_towards(original: f32, x: f32) -> u8 {
    let base = nearest_byte(original);
    let nearest = nearest_byte(x);
    if x > original {
        let below = if pixel(nearest) > x { nearest.saturating_sub(1) } else { nearest };
        below.max(base)
    } else if x < original {
        let above = if pixel(nearest) < x { nearest.saturating_add(1) } else { nearest };
        above.min(base)
    } else {
        base
    }
}

/// The byte whose pixel is nearest to a value in [0, 1].
pub fn nearest_byte(value: f32) -> u8 {
    // `as` saturates.
    (f64::from(value) * 255.0).round() as u8
}

/// What a byte means to the network: as the readers of `input` have it.
fn pixel(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

fn is_pixel(value: f32) -> bool {
    (0.0..=1.0).contains(&value)
}

fn in_box(x: &[f32]) -> bool {
    x.iter().all(|&value| is_pixel(value))
}

fn widened(x: &[f32]) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}

/// The distance from the original, if it is strictly below the budget for whoever adds it up in `f64`.
///
/// Each difference of two `f32` has a relative error of at most 2⁻⁵³, a sum of n of them, in any order, at most n·2⁻⁵³
/// to first order. Two people who add up may therefore differ by 2(n + 1)·2⁻⁵³; twice that is allowed for.
fn distance_inside(case: &Case, x: &[f32]) -> Option<f64> {
    let distance = case.norm.distance(&widened(x), &widened(case.original));
    (distance * (1.0 + allowance(x.len())) < case.delta).then_some(distance)
}

/// Relative rounding of a distance over so many values.
fn allowance(values: usize) -> f64 {
    2.0 * (values as f64 + 2.0) * f64::EPSILON
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::network::AffineMap;

    /// Two values; `y_0 = slope · relu(x_0)`, `y_1 = slope · relu(threshold)`, so that label 0 wins where
    /// `x_0` is above the threshold.
    fn threshold_network(threshold: f64) -> Network {
        let hidden = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 0.0]], vec![0.0, threshold]);
        let output = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 1.0]], vec![0.0, 0.0]);
        Network::new(vec![hidden, output]).unwrap()
    }

    /// A file that says what it is told to.
    struct Says(Vec<f32>);

    impl Replay for Says {
        fn logits(&self, _: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
            Ok(self.0.clone())
        }
    }

    /// A file that computes what the network does.
    struct Agrees(Network);

    impl Replay for Agrees {
        fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
            Ok(self.0.logits(&widened(x)).into_iter().map(|y| y as f32).collect())
        }
    }

    struct Fails;

    impl Replay for Fails {
        fn logits(&self, _: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
            Err("the file is gone".into())
        }
    }

    const GREY: &[f32] = &[0.2, 0.6];

    /// Predicted 1, target 0.
    fn case(original: &[f32], delta: f64) -> Case<'_> {
        Case { original, norm: Norm::L1, delta, predicted: Label(1), target: Label(0) }
    }

    fn judge(threshold: f64, case: &Case, candidate: &[f64]) -> Judgement {
        let network = threshold_network(threshold);
        let replay = Agrees(network.clone());
        Judge::new(&network, &replay).judge(case, candidate).unwrap()
    }

    #[test]
    fn a_true_witness_is_recognised_and_measured() {
        let judged = judge(0.4, &case(GREY, 0.5), &[0.5, 0.6]);
        let point = judged.witness().unwrap().point();
        assert!((point.margin() - 0.1).abs() < 1e-6 && (point.margin_f32() - 0.1).abs() < 1e-6);
        assert!((point.distance() - 0.3).abs() < 1e-6);
        // 0.6 as f64 is no f32: it is stored as the original's 0.6, not as a change of one ulp.
        assert_eq!((point.changed_pixels(), point.pixels()[1]), (1, 0.6));
        assert_eq!(judged.verdict(&[]), Ok(Verdict::Adversarial));
        assert_eq!(judged.verdict(&[CertifiedBound::forged(2.0, true)]), Ok(Verdict::Adversarial));
    }

    #[test]
    fn a_point_outside_the_box_is_judged_where_the_box_ends() {
        let judged = judge(1.5, &case(GREY, 5.0), &[3.0, -1.0]);
        assert!(judged.witness().is_none());
        assert_eq!(judged.point().pixels(), [1.0, 0.0]);
    }

    #[test]
    fn a_point_outside_the_ball_is_judged_where_the_ball_ends() {
        let judged = judge(0.5, &case(GREY, 0.1), &[0.9, 0.6]);
        assert!(judged.witness().is_none());
        let point = judged.point();
        assert!(point.distance() < 0.1 && point.distance() > 0.0999, "{point:?}");
    }

    #[test]
    fn a_point_on_the_surface_is_shrunk_inside_and_hardly_moved() {
        for norm in [Norm::L1, Norm::Linf] {
            let case = Case { norm, ..case(&[0.25, 0.5], 0.5) };
            let judged = judge(0.7, &case, &[0.75, 0.5]);
            let point = judged.witness().unwrap().point();
            assert!(point.distance() < 0.5, "{point:?}");
            assert!(point.distance() > 0.5 * (1.0 - 3.0 * HAIR), "{point:?}");
        }
    }

    #[test]
    fn on_the_surface_pixels_that_are_black_or_white_stay_so_but_for_one() {
        let original: Vec<f32> = [0, 255, 0, 255, 100].map(pixel).to_vec();
        let case = case(&original, 4.0);
        let stored = store(&case, &[1.0, 0.0, 1.0, 0.0, f64::from(original[4])]);
        let moved = stored.iter().zip([1.0, 0.0, 1.0, 0.0, original[4]]).filter(|(x, y)| *x != y);
        assert_eq!(moved.count(), 1);
        let distance = distance_inside(&case, &stored).unwrap();
        assert!(distance > 4.0 - 1e-7, "{distance}");
    }

    #[test]
    fn a_point_strictly_inside_is_not_shrunk() {
        let candidate = [0.2 + 0.25, 0.6 - 0.125];
        let judged = judge(0.7, &case(GREY, 0.4), &candidate);
        for (&stored, wanted) in judged.point().pixels().iter().zip(candidate) {
            assert!((f64::from(stored) - wanted).abs() < 1e-7);
        }
    }

    #[test]
    fn a_nan_and_an_infinity_are_refused_with_their_place() {
        let network = threshold_network(0.4);
        let judge_it = |candidate: &[f64]| {
            let replay = Says(vec![1.0, 0.0]);
            let judged = Judge::new(&network, &replay).judge(&case(GREY, 1.0), candidate);
            judged.unwrap_err().to_string()
        };
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                judge_it(&[0.5, value]),
                format!("the candidate's value 1 is {value}, not a finite number")
            );
        }
        assert_eq!(judge_it(&[0.5]), "the candidate: 1 values, the model has 2");
    }

    #[test]
    fn a_margin_that_lives_only_in_f64_is_lost_by_rounding() {
        // The threshold lies above the last f32 below the candidate.
        let threshold = 0.5 + 1e-9;
        let candidate = [0.5 + 2e-9, 0.6];
        assert!(threshold_network(threshold).logits(&candidate)[0] > threshold);
        let judged = judge(threshold, &case(GREY, 1.0), &candidate);
        assert!(judged.witness().is_none() && judged.point().margin() < 0.0);
        assert_eq!(judged.point().pixels()[0], 0.5);
    }

    #[test]
    fn a_witness_for_the_wrong_label_is_none() {
        // Label 0 wins, but the case asks whether label 1 beats label 0.
        let case = Case { predicted: Label(0), target: Label(1), ..case(GREY, 0.5) };
        let judged = judge(0.4, &case, &[0.5, 0.6]);
        assert!(judged.witness().is_none() && judged.point().margin() < 0.0);
    }

    #[test]
    fn both_precisions_must_be_fooled_and_a_tie_fools_nobody() {
        let network = threshold_network(0.4);
        for (candidate, logits) in [
            ([0.5, 0.6], vec![0.0, 1.0]),      // only our network is fooled
            ([0.3, 0.6], vec![1.0, 0.0]),      // only the file is
            ([0.5, 0.6], vec![1.0, 1.0]),      // the file has a tie
            ([0.5, 0.6], vec![f32::NAN, 0.0]), // the file says nothing
            ([0.5, 0.6], vec![f32::INFINITY; 2]),
        ] {
            let replay = Says(logits.clone());
            let judged = Judge::new(&network, &replay).judge(&case(GREY, 0.5), &candidate).unwrap();
            assert!(judged.witness().is_none(), "{logits:?}");
            assert_eq!(judged.verdict(&[]), Ok(Verdict::Unknown));
        }
        let judged = judge(0.25, &case(&[0.125, 0.5], 0.5), &[0.25, 0.5]);
        assert!(judged.witness().is_none() && judged.point().margin() == 0.0);
    }

    #[test]
    fn cases_that_make_no_sense_are_refused() {
        let network = threshold_network(0.4);
        let replay = Says(vec![1.0, 0.0]);
        let good = case(GREY, 0.5);
        for (bad, line) in [
            (Case { delta: 0.0, ..good }, "the budget 0 is not a positive number"),
            (Case { delta: f64::NAN, ..good }, "the budget NaN is not a positive number"),
            (Case { delta: f64::INFINITY, ..good }, "the budget inf is not a positive number"),
            (
                Case { target: Label(2), ..good },
                "cannot compare label 2 with 1: two labels from 0 to 1 are needed",
            ),
            (
                Case { target: Label(1), ..good },
                "cannot compare label 1 with 1: two labels from 0 to 1 are needed",
            ),
            (Case { original: &[0.5], ..good }, "the image: 1 values, the model has 2"),
            (Case { original: &[0.5, 1.5], ..good }, "the image's value 1 is 1.5, not in [0, 1]"),
            (
                Case { original: &[f32::NAN, 0.5], ..good },
                "the image's value 0 is NaN, not in [0, 1]",
            ),
        ] {
            let judged = Judge::new(&network, &replay).judge(&bad, &[0.5, 0.5]);
            assert_eq!(judged.unwrap_err().to_string(), line);
        }
    }

    #[test]
    fn a_file_that_fails_or_gives_other_logits_is_an_error() {
        let network = threshold_network(0.4);
        let failed = Judge::new(&network, &Fails).judge(&case(GREY, 0.5), &[0.5, 0.6]);
        assert_eq!(failed.unwrap_err().to_string(), "the file is gone");
        let short = Says(vec![1.0]);
        let failed = Judge::new(&network, &short).judge(&case(GREY, 0.5), &[0.5, 0.6]);
        assert_eq!(failed.unwrap_err().to_string(), "the file's logits: 1 values, the model has 2");
    }

    #[test]
    fn robust_needs_a_bound_below_zero_and_no_witness() {
        let harmless = judge(0.9, &case(GREY, 0.1), &[0.2, 0.6]);
        let forged = CertifiedBound::forged;
        for (bounds, verdict) in [
            (vec![], Verdict::Unknown),
            (vec![forged(-0.1, true)], Verdict::Robust),
            (vec![forged(-0.1, false)], Verdict::Unknown),
            (vec![forged(-0.2, false), forged(-0.1, true)], Verdict::Robust),
            (vec![forged(-0.2, false), forged(0.1, true)], Verdict::Unknown),
            (vec![forged(0.0, true)], Verdict::Unknown),
            (vec![forged(-0.0, true)], Verdict::Unknown),
            (vec![forged(f64::NAN, true)], Verdict::Unknown),
        ] {
            assert_eq!(harmless.verdict(&bounds), Ok(verdict), "{bounds:?}");
        }
        let fooled = judge(0.4, &case(GREY, 0.5), &[0.5, 0.6]);
        for for_f32 in [false, true] {
            let contradiction = fooled.verdict(&[forged(-0.1, for_f32)]).unwrap_err();
            assert_eq!(contradiction.bound, -0.1);
        }
        assert!(harmless.verdict(&[forged(-10.0, false)]).is_err(), "its margin is above that");
        // What only the file's own run gives must not exceed a bound of such runs.
        let network = threshold_network(0.9);
        let replay = Says(vec![0.0, 0.001]);
        let judge = Judge::new(&network, &replay);
        let only_f32 = judge.judge(&case(GREY, 0.1), &[0.2, 0.6]).unwrap();
        assert!(only_f32.witness().is_none());
        assert!(only_f32.verdict(&[forged(-0.1, true)]).is_err());
        assert_eq!(only_f32.verdict(&[forged(-0.1, false)]), Ok(Verdict::Unknown));
    }

    #[test]
    fn verdicts_are_stored_as_they_are_shown() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{verdict}\""));
        }
        assert_eq!(format!("{:>8}|", Verdict::Robust), "  robust|");
    }

    #[test]
    fn bytes_are_rounded_towards_the_original() {
        let original = pixel(51);
        for (x, byte) in [
            (original, 51),
            (pixel(60), 60),
            (pixel(60).next_down(), 59),
            (pixel(60).next_up(), 60),
            (pixel(40), 40),
            (pixel(40).next_up(), 41),
            (pixel(40).next_down(), 40),
            (1.0, 255),
            (0.0, 0),
        ] {
            assert_eq!(byte_towards(original, x), byte, "{x}");
        }
        for byte in 0..=255 {
            assert_eq!(nearest_byte(pixel(byte)), byte);
        }
    }

    #[test]
    fn the_picture_is_replayed() {
        let network = threshold_network(0.4);
        let replay = Agrees(network.clone());
        let judge = Judge::new(&network, &replay);
        let original = [pixel(51), pixel(153)];
        // 102.5 / 255 is above the threshold of 0.4 = 102 / 255, its byte is not.
        let case = case(&original, 0.5);
        let judged = judge.judge(&case, &[102.5 / 255.0, f64::from(original[1])]).unwrap();
        assert!(judged.witness().is_some());
        let picture = judge.eight_bit(&case, judged.point()).unwrap().unwrap();
        assert_eq!(picture.bytes(), [102, 153]);
        assert!(picture.margin() <= 1e-7 && picture.distance() < judged.point().distance());
    }

    #[test]
    fn an_original_that_is_no_picture_may_have_no_picture_inside_the_ball() {
        let network = threshold_network(0.4);
        let replay = Agrees(network.clone());
        let judge = Judge::new(&network, &replay);
        let original = [0.5, 0.5]; // 127.5 / 255: half a byte away from any picture
        let (near, far) = (case(&original, 0.003), case(&original, 0.1));
        let judged = judge.judge(&near, &[0.501, 0.5]).unwrap();
        assert_eq!(judge.eight_bit(&near, judged.point()).unwrap(), None);
        let picture = judge.eight_bit(&far, judged.point()).unwrap().unwrap();
        assert!(picture.distance() > judged.point().distance());
    }

    /// An image of bytes, a candidate in the closed ball ∩ box (mostly on the surface), norm and budget.
    fn any_candidate() -> impl Strategy<Value = (Vec<u8>, Vec<f64>, Norm, f64)> {
        let norm = prop_oneof![Just(Norm::L1), Just(Norm::Linf)];
        let size = prop_oneof![1usize..6, 100usize..900];
        let delta = prop_oneof![1e-9..1e-3f64, 0.01..8.0f64];
        // A share of 1 is the surface, above it lies outside.
        let share = prop_oneof![3 => Just(1.0f64), 1 => 0.0..1.0f64];
        (size, norm, delta, share, 1usize..40)
            .prop_flat_map(|(size, norm, delta, share, every)| {
                let bytes = prop::collection::vec(any::<u8>(), size);
                let moves = prop::collection::vec(-1.0..1.0f64, size);
                (bytes, moves, Just((norm, delta, share, every)))
            })
            .prop_map(
                |(bytes, moves, (norm, delta, share, every)): (
                    Vec<u8>,
                    Vec<f64>,
                    (Norm, f64, f64, usize),
                )| {
                    let original: Vec<f64> = bytes.iter().map(|&b| f64::from(pixel(b))).collect();
                    let moved: Vec<f64> = original
                        .iter()
                        .zip(&moves)
                        .enumerate()
                        .map(
                            |(i, (o, m))| if i % every == 0 { (o + m).clamp(0.0, 1.0) } else { *o },
                        )
                        .collect();
                    let length = norm.distance(&moved, &original);
                    let scale = if length > 0.0 { share * (delta / length).min(1.0) } else { 0.0 };
                    let candidate =
                        original.iter().zip(&moved).map(|(o, m)| o + scale * (m - o)).collect();
                    (bytes, candidate, norm, delta)
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_is_stored_is_strictly_inside_and_never_farther_than_the_candidate(
            (bytes, candidate, norm, delta) in any_candidate(),
        ) {
            let original: Vec<f32> = bytes.iter().copied().map(pixel).collect();
            let hidden = AffineMap::from_fn(1, bytes.len(), |_, _| 0.0, vec![0.0]);
            let output = AffineMap::from_rows(&[[0.0], [0.0]], vec![0.0, 0.0]);
            let network = Network::new(vec![hidden, output]).unwrap();
            let replay = Says(vec![1.0, 0.0]);
            let judge = Judge::new(&network, &replay);
            let case = Case { original: &original, norm, delta, predicted: Label(1), target: Label(0) };
            let judged = judge.judge(&case, &candidate).unwrap();
            let picture = judge.eight_bit(&case, judged.point()).unwrap();
            let picture = picture.expect("an 8-bit image always has a picture inside");
            let stored = judged.point().pixels();
            let shown: Vec<f32> = picture.bytes().iter().copied().map(pixel).collect();
            for x in [stored, &shown] {
                prop_assert!(in_box(x));
                // Added up forwards and backwards, as somebody else might.
                let forwards = norm.distance(&widened(x), &widened(&original));
                let reversed = |x: &[f32]| widened(x).into_iter().rev().collect::<Vec<_>>();
                let backwards = norm.distance(&reversed(x), &reversed(&original));
                prop_assert!(forwards < delta && backwards < delta);
            }
            let mut changed = 0;
            for i in 0..original.len() {
                let from = f64::from(original[i]);
                let (wanted, got) = (candidate[i].clamp(0.0, 1.0) - from, f64::from(stored[i]) - from);
                let seen = f64::from(shown[i]) - from;
                prop_assert!(got * wanted >= 0.0 && got.abs() <= wanted.abs(), "{got} {wanted}");
                prop_assert!(seen * got >= 0.0 && seen.abs() <= got.abs(), "{seen} {got}");
                prop_assert!((wanted - got).abs() <= 1e-6 * wanted.abs() + 1.2e-7, "{got} {wanted}");
                changed += usize::from(got != 0.0);
            }
            prop_assert_eq!(judged.point().changed_pixels(), changed);
        }
    }
}
