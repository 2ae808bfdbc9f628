//! Operators that tract would take apart, kept as the file has them.
//!
//! tract turns a BatchNormalization into a rounded slope and shift, the `beta` of a Gemm into a rounded bias, and a PRelu into a
//! comparison and a choice. For the run of the file that is right: it is what tract computes. The network that bounds are proven for is the
//! exact function, so its graph is read with the operators below instead.

use std::sync::LazyLock;

use tract_onnx::model::{Onnx, ParsingContext};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_hir::infer::InferenceOp;
use tract_onnx::tract_hir::internal::*;
use tract_onnx::tract_hir::ops::expandable::{Expansion, expand};

use super::lower::{DoubleDouble, ExactAffine, FactorShift, LeakySlopes};

/// f32 roundings of a slope and shift of a BatchNormalization, and of the two operations with them.
const BATCH_NORM_OPERATIONS: usize = 8;

/// f32 roundings of `alpha · ab + beta · c`.
const GEMM_OPERATIONS: usize = 3;

/// Below this a variance counts as 0: what flushing takes from it would matter.
const SMALLEST_VARIANCE: f64 = 1e-30;

/// tract's reader of ONNX files. It is made once: filling its table of operators takes longer than reading a small file.
pub(super) fn standard_reader() -> &'static Onnx {
    static STANDARD: LazyLock<Onnx> = LazyLock::new(|| {
        let mut onnx = tract_onnx::onnx().with_ignore_value_info(true);
        super::upsample::register(&mut onnx);
        onnx
    });
    &STANDARD
}

/// The same with the operators that are not folded.
pub(super) fn reader() -> &'static Onnx {
    static UNFOLDED: LazyLock<Onnx> = LazyLock::new(|| {
        let mut onnx = standard_reader().clone();
        onnx.op_register.insert("Gemm", gemm);
        onnx.op_register.insert("BatchNormalization", batch_normalization);
        onnx.op_register.insert("PRelu", |ctx, node| unfolded(ctx, node, Kind::PRelu));
        onnx
    });
    &UNFOLDED
}

type ParsedOp = (Box<dyn InferenceOp>, Vec<String>);

fn gemm(ctx: &ParsingContext, node: &NodeProto) -> TractResult<ParsedOp> {
    let flag = |name| node.attribute.iter().any(|a| a.name == name && a.i != 0);
    let (alpha, beta) = (float(node, "alpha", 1.0), float(node, "beta", 1.0));
    let kind = Kind::Gemm { alpha, beta, transposed: [flag("transA"), flag("transB")] };
    unfolded(ctx, node, kind)
}

fn batch_normalization(ctx: &ParsingContext, node: &NodeProto) -> TractResult<ParsedOp> {
    unfolded(ctx, node, Kind::BatchNorm { epsilon: float(node, "epsilon", 1e-5) })
}

fn float(node: &NodeProto, name: &str, default: f32) -> f32 {
    node.attribute.iter().find(|a| a.name == name).map_or(default, |a| a.f)
}

/// tract's own operator, wired by us.
fn unfolded(ctx: &ParsingContext, node: &NodeProto, kind: Kind) -> TractResult<ParsedOp> {
    let builder = standard_reader()
        .op_register
        .0
        .get(&node.op_type)
        .context("an operator that tract knows")?;
    let (op, closures) = builder(ctx, node)?;
    let expansion = op.as_op().downcast_ref::<Box<dyn Expansion>>();
    let standard = expansion.context("an operator that tract expands")?.clone();
    Ok((expand(Unfolded { standard, kind }), closures))
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Gemm { alpha: f32, beta: f32, transposed: [bool; 2] },
    BatchNorm { epsilon: f32 },
    PRelu,
}

/// An operator with tract's rules for shapes and types.
#[derive(Clone, Debug)]
struct Unfolded {
    standard: Box<dyn Expansion>,
    kind: Kind,
}

impl Expansion for Unfolded {
    fn name(&self) -> StaticName {
        self.standard.name()
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        s: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> InferenceResult {
        self.standard.rules(s, inputs, outputs)
    }

    fn wire(
        &self,
        prefix: &str,
        model: &mut TypedModel,
        inputs: &[OutletId],
    ) -> TractResult<TVec<OutletId>> {
        let constants: Option<Vec<Vec<f64>>> = match self.kind {
            Kind::Gemm { .. } => inputs[2..].iter().map(|&i| constant(model, i)).collect(),
            Kind::BatchNorm { .. } | Kind::PRelu => {
                inputs[1..].iter().map(|&i| constant(model, i)).collect()
            }
        };
        let Some(constants) = constants else {
            if matches!(self.kind, Kind::Gemm { beta, .. } if beta != 0.0 && beta != 1.0) {
                bail!("a beta for a bias that is not a constant is not supported");
            }
            return self.standard.wire(prefix, model, inputs);
        };
        match self.kind {
            Kind::Gemm { alpha, beta, transposed: [a, b] } => {
                let axes = AxesMapping::for_numpy_matmul(2, a, b, false)?;
                let datum_type = model.outlet_fact(inputs[0])?.datum_type;
                let product = EinSum::new(axes, datum_type);
                let product = model.wire_node(format!("{prefix}.ab"), product, &inputs[..2])?;
                let shape = match inputs.get(2) {
                    Some(&c) => broadcast_shape(model, c)?,
                    None => vec![1, 1],
                };
                let bias = constants.into_iter().next().unwrap_or(vec![0.0]);
                let values = bias.iter().map(|&c| gemm_values(alpha.into(), beta.into(), c));
                let op = ExactAffine::new(shape, values.collect());
                model.wire_node(prefix, op, &product)
            }
            Kind::PRelu => {
                let shape = model.outlet_fact(inputs[1])?.shape.as_concrete();
                let shape = shape.context("slopes of a known shape")?.to_vec();
                let slopes = constants.into_iter().next().context("slopes")?;
                model.wire_node(prefix, LeakySlopes::new(shape, slopes), &inputs[..1])
            }
            Kind::BatchNorm { epsilon } => {
                let rank = model.outlet_fact(inputs[0])?.rank();
                ensure!(rank >= 2 && constants.len() == 4, "a batch, channels and four constants");
                let channels = constants[0].len();
                let mut shape = vec![1; rank];
                shape[1] = channels;
                let of = |k: usize, c: usize| constants[k][c];
                let values = (0..channels).map(|c| {
                    batch_norm_values([of(0, c), of(1, c), of(2, c), of(3, c)], epsilon.into())
                });
                let op = ExactAffine::new(shape, values.collect());
                model.wire_node(prefix, op, &inputs[..1])
            }
        }
    }
}

/// The values of a constant; `None` when it is none.
fn constant(model: &TypedModel, outlet: OutletId) -> Option<Vec<f64>> {
    let tensor = model.outlet_fact(outlet).ok()?.konst.clone()?;
    let values = tensor.cast_to::<f64>().ok()?;
    Some(values.to_plain_array_view::<f64>().ok()?.iter().copied().collect())
}

/// The shape of Gemm's third operand with two axes.
fn broadcast_shape(model: &TypedModel, outlet: OutletId) -> TractResult<Vec<usize>> {
    let shape = model.outlet_fact(outlet)?.shape.as_concrete().context("a known shape")?.to_vec();
    ensure!(shape.len() <= 2, "a bias of at most two axes");
    Ok([vec![1; 2 - shape.len()], shape].concat())
}

/// `alpha · ab + beta · c`.
fn gemm_values(alpha: f64, beta: f64, c: f64) -> FactorShift {
    FactorShift {
        // Splitting infinity gives NaN; whoever meets the number refuses it as what it is.
        shift: match c.is_finite() {
            true => DoubleDouble::from(beta).times(c.into()),
            false => c.into(),
        },
        shift_offset: (beta * c).abs(),
        shift_reach: beta.abs().max(1.0) * c.abs().max(1.0),
        operations: GEMM_OPERATIONS,
        ..FactorShift::plain(alpha, 0.0)
    }
}

/// `scale · (x − mean) / √(variance + epsilon) + bias`.
fn batch_norm_values([scale, bias, mean, variance]: [f64; 4], epsilon: f64) -> FactorShift {
    let deviation = DoubleDouble::from(variance).plus(epsilon.into()).square_root();
    let factor = DoubleDouble::from(scale).over(deviation);
    let moved = factor.times(mean.into());
    let factor_reach = match variance + epsilon >= SMALLEST_VARIANCE {
        true => scale.abs().max(1.0) * (1.0 / deviation.to_f64()).max(1.0),
        false => f64::INFINITY,
    };
    FactorShift {
        factor,
        shift: DoubleDouble::from(bias).plus(moved.negated()),
        factor_reach,
        shift_offset: bias.abs() + moved.abs(),
        shift_reach: bias.abs().max(1.0) + mean.abs().max(1.0) * factor_reach,
        operations: BATCH_NORM_OPERATIONS,
    }
}
