//! The file's own forward pass, in its own precision: our second opinion.
//!
//! tract runs the file's graph up to the logits. Nothing here knows our matrices.

use std::sync::Arc;

use tract_onnx::prelude::*;

use super::error::OnnxProblem;
use crate::judge::{Replay, ReplayFailure};

/// Graphs of more nodes are run as they are: tract's optimisation takes time quadratic in them.
const MOST_OPTIMIZED: usize = 500;

/// tract's plan for the file.
pub struct TractRunner {
    plan: Arc<TypedRunnableModel>,
    /// The input's shape in the file, batch included.
    shape: Vec<usize>,
    /// Values of one image.
    inputs: usize,
    /// Logits of one image.
    outputs: usize,
    /// Whether the graph has so many nodes that each run takes long.
    is_long: bool,
}

/// tract failed on an input. It ran the model when it was loaded, so this is a fault, not bad input.
#[derive(Debug, thiserror::Error)]
#[error("tract cannot run the model: {0}")]
pub struct ReplayError(String);

impl TractRunner {
    /// `inputs` and `outputs` are those of the first image, if `shape` holds a batch of several.
    pub(super) fn new(
        model: TypedModel,
        shape: Vec<usize>,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, OnnxProblem> {
        let is_long = model.nodes.len() > MOST_OPTIMIZED;
        let optimized = if is_long { Ok(model) } else { model.into_optimized() };
        let plan = optimized.and_then(|model| model.into_runnable());
        let plan = plan.map_err(|e| OnnxProblem::tract(&e))?;
        Ok(Self { plan, shape, inputs, outputs, is_long })
    }

    /// Whether each run takes long.
    pub(super) fn is_long(&self) -> bool {
        self.is_long
    }

    /// The logits that the file gives for `x`, in the file's input order.
    ///
    /// # Errors
    /// When `x` has the wrong length, or tract fails.
    pub fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayError> {
        if x.len() != self.inputs {
            return Err(ReplayError(format!("it takes {} values, not {}", self.inputs, x.len())));
        }
        let fail = |e: TractError| ReplayError(format!("{e:#}"));
        // A batch that the file fixes is filled up with black images.
        let mut batch = x.to_vec();
        batch.resize(self.shape.iter().product(), 0.0);
        let input = Tensor::from_shape(&self.shape, &batch).map_err(fail)?;
        let output = self.plan.run(tvec!(input.into_tvalue())).map_err(fail)?;
        let logits = output[0].to_plain_array_view::<f32>().map_err(fail)?;
        Ok(logits.iter().copied().take(self.outputs).collect())
    }
}

impl Replay for TractRunner {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(TractRunner::logits(self, x)?)
    }
}

impl std::fmt::Debug for TractRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TractRunner({:?} -> {})", self.shape, self.outputs)
    }
}
