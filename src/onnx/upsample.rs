//! Upsample, which ONNX replaced by Resize in opset 10 and tract does not know: every element is repeated along its axes.

use tract_onnx::model::{Onnx, ParsingContext};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::array::MultiBroadcastTo;
use tract_onnx::tract_hir::infer::InferenceOp;
use tract_onnx::tract_hir::internal::*;
use tract_onnx::tract_hir::ops::expandable::{Expansion, expand};

/// Teaches a reader the operator.
pub(super) fn register(onnx: &mut Onnx) {
    onnx.op_register.insert("Upsample", upsample);
}

fn upsample(
    _ctx: &ParsingContext,
    node: &NodeProto,
) -> TractResult<(Box<dyn InferenceOp>, Vec<String>)> {
    let scales = node.attribute.iter().find(|a| a.name == "scales").map(|a| a.floats.clone());
    Ok((expand(Upsample { scales }), vec![]))
}

/// Nearest-neighbour upsampling by whole numbers.
#[derive(Clone, Debug)]
struct Upsample {
    /// `None` if they are the second input.
    scales: Option<Vec<f32>>,
}

impl Upsample {
    fn times(scales: &[f32]) -> TractResult<TVec<usize>> {
        let whole = |&scale: &f32| {
            let is_whole = scale >= 1.0 && scale.fract() == 0.0 && scale <= 65536.0;
            ensure!(is_whole, "Upsample by {scale} is not supported: only by whole numbers");
            Ok(scale as usize)
        };
        scales.iter().map(whole).collect()
    }
}

impl Expansion for Upsample {
    fn name(&self) -> StaticName {
        "Upsample".into()
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        s: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> InferenceResult {
        check_output_arity(outputs, 1)?;
        s.equals(&inputs[0].datum_type, &outputs[0].datum_type)?;
        s.equals(&inputs[0].rank, &outputs[0].rank)?;
        let shape_by = move |s: &mut Solver<'r>, shape: TVec<TDim>, times: TVec<usize>| {
            ensure!(shape.len() == times.len(), "one scale for each axis");
            let scaled: TVec<TDim> =
                shape.iter().zip(times).map(|(d, times)| d.clone() * times).collect();
            s.equals(&outputs[0].shape, scaled)
        };
        match &self.scales {
            Some(scales) => {
                let times = Self::times(scales)?;
                s.given(&inputs[0].shape, move |s, shape| shape_by(s, shape, times.clone()))
            }
            None => s.given_2(&inputs[0].shape, &inputs[1].value, move |s, shape, scales| {
                shape_by(s, shape, Self::times(&floats(&scales)?)?)
            }),
        }
    }

    fn wire(
        &self,
        prefix: &str,
        model: &mut TypedModel,
        inputs: &[OutletId],
    ) -> TractResult<TVec<OutletId>> {
        let scales = match &self.scales {
            Some(scales) => scales.clone(),
            None => {
                let scales = model.outlet_fact(inputs[1])?.konst.clone();
                floats(scales.context("scales that are constants")?.as_ref())?
            }
        };
        let mut wire = inputs[0];
        for (axis, times) in Self::times(&scales)?.into_iter().enumerate() {
            let length = model.outlet_fact(wire)?.shape[axis].clone();
            let name = |step: &str| format!("{prefix}.{step}-{axis}");
            wire = model.wire_node(name("add"), AxisOp::Add(axis + 1), &[wire])?[0];
            let mut shape: TVec<TDim> = model.outlet_fact(wire)?.shape.to_tvec();
            shape[axis + 1] = times.to_dim();
            let repeat = MultiBroadcastTo { shape: shape.into() };
            wire = model.wire_node(name("repeat"), repeat, &[wire])?[0];
            let merged = tvec!(length.clone() * times);
            let merge = AxisOp::Reshape(axis, tvec!(length, times.to_dim()), merged);
            wire = model.wire_node(name("merge"), merge, &[wire])?[0];
        }
        Ok(tvec!(wire))
    }
}

fn floats(scales: &Tensor) -> TractResult<Vec<f32>> {
    Ok(scales.cast_to::<f32>()?.to_plain_array_view::<f32>()?.iter().copied().collect())
}
