//! An operator of our own: each element times a factor, plus a shift, both more precise than f32. It is lowered, never run.

use tract_onnx::tract_core::internal::*;

use super::affine::{AffineTensor, FactorShift};
use super::indexing::broadcast;

/// Factors and shifts, broadcast to the data.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::onnx) struct ExactAffine {
    shape: Vec<usize>,
    values: Vec<FactorShift>,
}

impl Eq for ExactAffine {}

impl ExactAffine {
    /// `shape` has as many axes as the data; there is a value for each of its elements.
    pub fn new(shape: Vec<usize>, values: Vec<FactorShift>) -> Self {
        Self { shape, values }
    }

    /// What it makes of data.
    ///
    /// # Errors
    /// When a factor or shift is not a number, or they do not fit the data.
    pub(super) fn apply(
        &self,
        data: AffineTensor,
        shape: &[usize],
    ) -> Result<AffineTensor, String> {
        let numbers = self.values.iter().flat_map(|v| [v.factor.to_f64(), v.shift.to_f64()]);
        if let Some(v) = numbers.into_iter().find(|v| !v.is_finite()) {
            return Err(format!("a weight is {v}, not a finite number"));
        }
        let fits = |(&own, &len): (&usize, &usize)| own == 1 || own == len;
        if self.shape.len() != shape.len() || !self.shape.iter().zip(shape).all(fits) {
            return Err(format!("constants of shape {:?} do not fit {shape:?}", self.shape));
        }
        let from = broadcast(&self.shape, shape);
        Ok(data.spread(shape).scale_shift(|i| self.values[from[i]]))
    }
}

impl Op for ExactAffine {
    fn name(&self) -> StaticName {
        "ExactAffine".into()
    }

    op_as_typed_op!();
}

impl EvalOp for ExactAffine {
    not_out_of_plan!();

    fn eval(&self, _ctx: &EvalContext, _inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        bail!("it is lowered, never run")
    }
}

impl TypedOp for ExactAffine {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let own: TVec<TDim> = self.shape.iter().map(|d| d.to_dim()).collect();
        let shape =
            tract_onnx::tract_core::broadcast::multi_broadcast(&[&*own, &*inputs[0].shape])?;
        Ok(tvec!(inputs[0].datum_type.fact(shape)))
    }

    as_op!();
}
