//! Images: an image, the label it gets, another label and a budget become a [`Problem`](crate::problem::Problem).

use std::path::Path;
use std::sync::Arc;

use crate::budget::Budget;
use crate::data::{PictureLayout, Sample};
use crate::encode::MilpWriteError;
use crate::judge::{EightBit, Judge, JudgeError, Judgement, ReplayFailure, Verdict, Witness};
use crate::network::Label;
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::problem::{Objective, Property};
use crate::search::SearchOptions;
use crate::sets::{InputSet, Norm, PixelRange};
use crate::solve::{BranchLimits, Goal, Solution, SolveError, SolveOptions, Solver};

/// The labels that a model ranks first and second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
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
    Replay(ReplayFailure),
    /// There is nothing to compare with.
    #[error("the model has one output: a classifier needs at least two")]
    OneOutput,
    /// A logit is infinite or not a number: no label is the largest.
    #[error("image {image}: {error}")]
    NotFinite {
        /// Index of the image in the data.
        image: usize,
        /// Which logit.
        error: NotFinite,
        /// The two largest logits all the same. What is not a number counts as the smallest.
        labels: Classification,
    },
}

/// A logit that is infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the file, run in float32, gives {value} for label {label}")]
pub struct NotFinite {
    /// The first such label.
    pub label: Label,
    /// The logit.
    pub value: f32,
}

/// Classifies a sample by tract's run of the file.
///
/// # Errors
/// When tract fails, a logit is not finite, or the model is no classifier.
pub fn classify(model: &OnnxModel, sample: &Sample) -> Result<Classification, ClassifyError> {
    let logits = model.replay.logits(&sample.pixels);
    let theirs = logits.map_err(|error| ClassifyError::Replay(error.into()))?;
    let (predicted, runner_up) = best_two(&theirs).ok_or(ClassifyError::OneOutput)?;
    let labels = Classification { predicted: Label(predicted), runner_up: Label(runner_up) };
    match theirs.iter().position(|logit| !logit.is_finite()) {
        None => Ok(labels),
        Some(label) => {
            let error = NotFinite { label: Label(label), value: theirs[label] };
            Err(ClassifyError::NotFinite { image: sample.index, error, labels })
        }
    }
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
    /// What is wanted.
    pub goal: Goal,
    /// Whether to branch where one bound is not enough.
    pub branch: Option<BranchLimits>,
    /// Whether to keep what proves the bounds.
    pub proofs: bool,
}

impl Attack {
    /// The best adversary and the smallest bound within an L1 distance, searched as usual.
    pub fn within(delta: f64) -> Self {
        let search = SearchOptions::default();
        let (goal, branch, proofs) = (Goal::Optimum, None, false);
        Self { delta, norm: Norm::L1, search, goal, branch, proofs }
    }

    /// The same for the pipeline: a positive margin is an adversary.
    pub fn solve_options(&self) -> SolveOptions {
        let Self { search, goal, branch, proofs, .. } = *self;
        SolveOptions { search, goal, threshold: Some(0.0), branch, proofs }
    }

    /// Below this gap a margin counts as optimal.
    pub fn gap(&self) -> f64 {
        self.solve_options().gap()
    }

    /// Where inputs may lie around an image.
    pub fn set(&self, pixels: &[f32]) -> InputSet {
        InputSet::ball(self.norm, pixels, self.delta, PixelRange::UNIT)
    }
}

/// The answer for one image and target.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the judge says.
    pub verdict: Verdict,
    /// What is known.
    pub solution: Solution,
    /// The 8-bit picture of an adversarial point.
    pub picture: Option<EightBit>,
}

impl Answer {
    /// How much better an adversary could at most be.
    pub fn gap(&self) -> Option<f64> {
        self.solution.bound.map(|bound| bound.value() - self.solution.judgement.point().value())
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AttackError {
    /// The pipeline gave none.
    #[error(transparent)]
    Solve(#[from] SolveError),
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
}

impl From<JudgeError> for AttackError {
    fn from(error: JudgeError) -> Self {
        Self::Solve(error.into())
    }
}

/// An image under attack. All its targets share the neurons' bounds.
pub struct ImageAttack {
    solver: Solver,
    /// Index of the image in the data.
    image: usize,
    predicted: Label,
    /// Whether the model looks at pictures.
    has_pictures: bool,
}

impl ImageAttack {
    /// Nothing is computed yet.
    pub fn new(model: &OnnxModel, sample: &Sample, predicted: Label, attack: &Attack) -> Self {
        let judge = Judge::new(Arc::clone(&model.network), model.replay.clone());
        Self {
            solver: Solver::new(judge, attack.set(&sample.pixels), &attack.solve_options()),
            image: sample.index,
            predicted,
            has_pictures: PictureLayout::from_dims(&model.input_dims).is_some(),
        }
    }

    /// `y_target − y_predicted`.
    fn margin(&self, target: Label) -> Result<Objective, AttackError> {
        let (predicted, last) = (self.predicted, self.solver.judge().network().outputs() - 1);
        if predicted == target || predicted.0.max(target.0) > last {
            return Err(AttackError::Labels { predicted, target, last });
        }
        Ok(Objective::margin(last + 1, predicted, target))
    }

    /// Searches for the input closest to fooling the model into `target`, bounds how close any input can come, and judges.
    ///
    /// # Errors
    /// When the judge cannot run the model, or there is no such target.
    pub fn attack(
        &self,
        target: Label,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Answer, AttackError> {
        let margin = self.margin(target)?;
        let seed = item_seed(self.solver.options().search.seed, self.image, target);
        let solution = self.solver.solve(&margin, seed, budget, observer)?;
        let picture = match solution.judgement.witness() {
            Some(witness) => self.picture(target, witness)?,
            None => None,
        };
        let verdict = solution.verdict.expect("an attack has a threshold");
        Ok(Answer { verdict, solution, picture })
    }

    /// Writes the problem as a MILP for other solvers. The columns `up_7` and `down_7` are how far pixel 7 is moved from the image.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When the model has no such labels.
    pub fn write_milp(
        &self,
        target: Label,
        path: &Path,
        budget: &Budget,
    ) -> Result<(), MilpWriteError> {
        let margin = self.margin(target).expect("labels of the model");
        self.solver.write_milp(&self.solver.problem(&margin), path, budget)
    }

    /// Whether a bound that holds in f32 proves that no point of the set fools the model into `target`.
    ///
    /// # Errors
    /// When there is no such target.
    pub fn excludes(&self, target: Label, budget: &Budget) -> Result<bool, AttackError> {
        Ok(self.solver.excludes(&self.margin(target)?, budget))
    }

    /// The cheap attack alone, judged: one climb, from the image or from the point of the set nearest to `start`.
    ///
    /// # Errors
    /// When the judge cannot run the model, or there is no such target.
    pub fn climb(
        &self,
        target: Label,
        start: Option<&[f64]>,
        budget: &Budget,
    ) -> Result<Judgement, AttackError> {
        Ok(self.solver.climb(&self.margin(target)?, start, budget)?)
    }

    /// How a point fares once it is stored.
    ///
    /// # Errors
    /// When the point makes no sense, or the judge cannot run the model.
    pub fn judge(&self, target: Label, point: &[f64]) -> Result<Judgement, AttackError> {
        let property = Property::positive(self.margin(target)?);
        Ok(self.solver.judge().judge(self.solver.set(), &property, point)?)
    }

    /// A witness as an 8-bit picture, if the model looks at pictures and there is one in the set.
    ///
    /// # Errors
    /// When the judge cannot run the model.
    pub fn picture(
        &self,
        target: Label,
        witness: &Witness,
    ) -> Result<Option<EightBit>, AttackError> {
        if !self.has_pictures {
            return Ok(None);
        }
        let property = Property::positive(self.margin(target)?);
        let (judge, set) = (self.solver.judge(), self.solver.set());
        Ok(judge.eight_bit(set, &property, witness.point())?)
    }
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

/// The places of the largest and second largest value; of equals, the first. NaN counts as the smallest. `None` below two values.
fn best_two(values: &[f32]) -> Option<(usize, usize)> {
    let is_larger =
        |i: usize, j: usize| values[i] > values[j] || values[j].is_nan() && !values[i].is_nan();
    let largest = |skip: Option<usize>| {
        let places = (0..values.len()).filter(|&i| Some(i) != skip);
        places.reduce(|best, i| if is_larger(i, best) { i } else { best })
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
        assert_eq!(best_two(&[f32::NAN, 1.0, f32::INFINITY]), Some((2, 1)));
        assert_eq!(best_two(&[f32::NAN, f32::NAN]), Some((0, 1)));
    }
}
