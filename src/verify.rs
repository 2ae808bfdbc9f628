//! The pipeline for one image. So far: who wins at the image itself, by the file's own word.

use crate::input::Sample;
use crate::network::Label;
use crate::onnx::{OnnxModel, ReplayError};

/// Who wins at a point, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The label that the file, run by tract, gives; the lower one of equals.
    pub predicted: Label,
    /// The label with the second largest logit of that run.
    pub runner_up: Label,
    /// `y_runner_up − y_predicted` in our `f64` network: what an attack would have to lift above 0.
    pub margin: f64,
    /// The same in tract's `f32` run.
    pub margin_f32: f64,
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

/// Classifies a sample by tract's run of the file, and measures the margin in both precisions.
///
/// # Errors
/// When tract fails, or the model is no classifier.
pub fn classify(model: &OnnxModel, sample: &Sample) -> Result<Standing, ClassifyError> {
    let theirs = model.replay.logits(&sample.pixels)?;
    let (predicted, runner_up) = best_two(&theirs).ok_or(ClassifyError::OneOutput)?;
    let x: Vec<f64> = sample.pixels.iter().copied().map(f64::from).collect();
    let ours = model.network.logits(&x);
    Ok(Standing {
        predicted: Label(predicted),
        runner_up: Label(runner_up),
        margin: ours[runner_up] - ours[predicted],
        margin_f32: f64::from(theirs[runner_up]) - f64::from(theirs[predicted]),
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
