//! An operator of our own in place of PRelu, which tract takes apart into a comparison and a choice. It is lowered, never run.

use tract_onnx::tract_core::internal::*;

use super::affine::AffineTensor;
use super::indexing::broadcast;
use super::neurons::Neurons;
use super::piecewise;

/// Slopes for negative elements, broadcast to the data.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::onnx) struct LeakySlopes {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Eq for LeakySlopes {}

impl LeakySlopes {
    /// There is a value for each element of `shape`.
    pub fn new(shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { shape, values }
    }

    /// What it makes of data.
    ///
    /// # Errors
    /// When a slope is not a number, or they do not fit the data.
    pub(super) fn apply(
        &self,
        neurons: &mut Neurons,
        data: AffineTensor,
        shape: &[usize],
    ) -> Result<AffineTensor, String> {
        if let Some(slope) = self.values.iter().find(|v| !v.is_finite()) {
            return Err(format!("a slope is {slope}, not a finite number"));
        }
        let axes = shape
            .len()
            .checked_sub(self.shape.len())
            .ok_or("has slopes of more axes than the data")?;
        let fits = |(&own, &len): (&usize, &usize)| own == 1 || own == len;
        if !self.shape.iter().zip(&shape[axes..]).all(fits) {
            return Err(format!("slopes of shape {:?} do not fit {shape:?}", self.shape));
        }
        let from = broadcast(&self.shape, shape);
        Ok(piecewise::leaky(neurons, data, |i| self.values[from[i]]))
    }
}

impl Op for LeakySlopes {
    fn name(&self) -> StaticName {
        "LeakySlopes".into()
    }

    op_as_typed_op!();
}

impl EvalOp for LeakySlopes {
    not_out_of_plan!();

    fn eval(&self, _ctx: &EvalContext, _inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        bail!("it is lowered, never run")
    }
}

impl TypedOp for LeakySlopes {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec!(inputs[0].without_value()))
    }

    as_op!();
}
