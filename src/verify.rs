//! The pipeline for one image and target: bounds, search, judge.

use std::ops::ControlFlow;

use crate::bounds;
use crate::budget::Budget;
use crate::input::{InputSet, Norm, PictureLayout, Sample};
use crate::network::Label;
use crate::onnx::{OnnxModel, ReplayError};
use crate::query::Query;
use crate::search::{Found, SearchOptions, search};
use crate::verdict::{Case, Contradiction, EightBit, Judge, JudgeError, Judged, Verdict};

/// Who wins at an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The label that the file, run by tract, gives; the lower one of equals.
    pub predicted: Label,
    /// The label with the second largest logit of that run.
    pub runner_up: Label,
}

/// Why an image cannot be classified.
#[derive(Debug, thiserror::Error)]
pub enum ClassifyError {
    /// The file's own run failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// There is nobody to compare with.
    #[error("the model has one output: a classifier needs at least two")]
    OneOutput,
}

/// Classifies a sample by tract's run of the file.
///
/// # Errors
/// When tract fails, or the model is no classifier.
pub fn classify(model: &OnnxModel, sample: &Sample) -> Result<Standing, ClassifyError> {
    let theirs = model.replay.logits(&sample.pixels)?;
    let (predicted, runner_up) = best_two(&theirs).ok_or(ClassifyError::OneOutput)?;
    Ok(Standing { predicted: Label(predicted), runner_up: Label(runner_up) })
}

/// What is asked of every image.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// How far an image may be changed.
    pub delta: f64,
    /// In which norm.
    pub norm: Norm,
    /// How to search.
    pub search: SearchOptions,
    /// End the search at the first point that the judge calls adversarial.
    pub first: bool,
}

/// The answer for one image and target.
#[derive(Debug)]
pub struct Answer {
    /// What the judge says.
    pub verdict: Verdict,
    /// The best point as it would be stored, adversarial or not.
    pub judged: Judged,
    /// The 8-bit picture of an adversarial point.
    pub picture: Option<EightBit>,
    /// What the search did.
    pub found: Found,
    /// The seed of this image and target.
    pub seed: u64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The judge could not judge.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Search and proof disagree.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
}

/// Searches for the input closest to fooling the model from `predicted` to `target`, and judges it.
///
/// # Errors
/// When the judge cannot run the model.
pub fn attack(
    model: &OnnxModel,
    sample: &Sample,
    (predicted, target): (Label, Label),
    attack: &Attack,
    budget: &Budget,
) -> Result<Answer, VerifyError> {
    let centre: Vec<f64> = sample.pixels.iter().copied().map(f64::from).collect();
    let set = match attack.norm {
        Norm::L1 => InputSet::l1_ball(&centre, attack.delta),
        Norm::Linf => InputSet::linf_ball(&centre, attack.delta),
    };
    let query = Query::margin(&model.network, set, predicted, target);
    let judge = Judge::new(&model.network, &model.replay);
    let case = Case {
        original: &sample.pixels,
        norm: attack.norm,
        delta: attack.delta,
        predicted,
        target,
    };
    let linear = bounds::LinearBounds::new(
        &model.network,
        &query.set,
        bounds::Above::Envelopes,
        bounds::Arithmetic::Exact,
    );
    let seed = item_seed(attack.search.seed, sample.index, target);
    let options = SearchOptions { seed, ..attack.search };
    let found = search(&query, linear.neurons(), &options, budget, |better| {
        let enough = attack.first && better.margin > 0.0;
        let fools =
            enough && judge.judge(&case, &better.point).is_ok_and(|j| j.witness().is_some());
        if fools { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let judged = judge.judge(&case, &found.best.point)?;
    let is_picture = PictureLayout::from_dims(&model.input_dims).is_some();
    let picture = match judged.witness() {
        Some(witness) if is_picture => judge.eight_bit(&case, witness.point())?,
        _ => None,
    };
    Ok(Answer { verdict: judged.verdict(None)?, judged, picture, found, seed })
}

/// A seed of its own for every image and target, whoever searches them and in whatever order (SplitMix64).
fn item_seed(seed: u64, image: usize, target: Label) -> u64 {
    [image as u64, target.0 as u64].iter().fold(seed, |state, part| {
        let mut z = state.wrapping_add(*part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The places of the largest and second largest value; of equals, the first. `None` below two values.
fn best_two(values: &[f32]) -> Option<(usize, usize)> {
    let largest = |skip: Option<usize>| {
        let places = (0..values.len()).filter(|&i| Some(i) != skip);
        places.reduce(|best, i| if values[i] > values[best] { i } else { best })
    };
    let first = largest(None)?;
    Some((first, largest(Some(first))?))
}

#[cfg(test)]
mod tests {
    use super::best_two;

    #[test]
    fn of_equals_the_first_wins() {
        assert_eq!(best_two(&[1.0, 3.0, 2.0]), Some((1, 2)));
        assert_eq!(best_two(&[2.0, 2.0, 2.0]), Some((0, 1)));
        assert_eq!(best_two(&[-1.0, -2.0]), Some((0, 1)));
        assert_eq!(best_two(&[1.0]), None);
        assert_eq!(best_two(&[]), None);
    }
}
