//! The file's own forward pass, in its own precision: our second opinion.
//!
//! tract runs the file's graph up to the logits. Nothing here knows our matrices.

use std::sync::Arc;

use tract_onnx::prelude::*;

use super::error::OnnxProblem;
use crate::judge::{Replay, ReplayFailure};
use crate::network::widened;

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
    /// Whether the file has one logit for two classes: that of the first class is 0.
    zero_class: bool,
    /// Whether the file computes in f64.
    is_double: bool,
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
        zero_class: bool,
    ) -> Result<Self, OnnxProblem> {
        let fact = model.input_fact(0).map_err(|e| OnnxProblem::tract(&e))?;
        let is_double = fact.datum_type == f64::datum_type();
        let is_long = model.nodes.len() > MOST_OPTIMIZED;
        let optimized = if is_long { Ok(model) } else { model.into_optimized() };
        let plan = optimized.and_then(|model| model.into_runnable());
        let plan = plan.map_err(|e| OnnxProblem::tract(&e))?;
        Ok(Self { plan, shape, inputs, outputs, zero_class, is_double, is_long })
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
        let input = match self.is_double {
            true => Tensor::from_shape(&self.shape, &widened(&batch)),
            false => Tensor::from_shape(&self.shape, &batch),
        };
        let output = self.plan.run(tvec!(input.map_err(fail)?.into_tvalue())).map_err(fail)?;
        // Rounding f64 logits to f32 never turns their order around.
        let logits = output[0].cast_to::<f32>().map_err(fail)?;
        let logits = logits.to_plain_array_view::<f32>().map_err(fail)?;
        let own = self.outputs - usize::from(self.zero_class);
        let first = self.zero_class.then_some(0.0);
        Ok(first.into_iter().chain(logits.iter().copied().take(own)).collect())
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
