//! The one input, and the shapes it may mean for one image.

use std::collections::HashSet;
use std::fmt;

use tract_onnx::pb::tensor_shape_proto::dimension::Value as Dimension;
use tract_onnx::pb::type_proto::Value as TypeValue;
use tract_onnx::pb::{GraphProto, ValueInfoProto};

use super::proto::{DOUBLE, FLOAT, element_type};
use crate::onnx::error::OnnxProblem;

/// The input of the graph.
pub(in crate::onnx) struct GraphInput {
    pub name: String,
    /// Its dimensions with the batch.
    pub dims: Vec<Dim>,
    /// Whether its numbers are float64, not float32.
    pub is_double: bool,
}

/// A dimension of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::onnx) enum Dim {
    Fixed(usize),
    /// Left open by the exporter, under this name.
    Open(String),
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => size.fmt(f),
            Self::Open(name) => f.write_str(name),
        }
    }
}

/// A shape that the input may have for one image.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::onnx) struct InputShape {
    pub dims: Vec<usize>,
    /// Whether the first dimension is the batch.
    pub batched: bool,
}

impl GraphInput {
    /// The one input that is not an initializer.
    pub fn of(graph: &GraphProto) -> Result<Self, OnnxProblem> {
        let initialized: HashSet<&str> =
            graph.initializer.iter().map(|t| t.name.as_str()).collect();
        let real = graph.input.iter().filter(|i| !initialized.contains(i.name.as_str()));
        let real: Vec<&ValueInfoProto> = real.collect();
        let [input] = real[..] else {
            let names: Vec<&str> = real.iter().map(|i| i.name.as_str()).collect();
            let (many, names) = (names.len(), names.join(", "));
            let text = format!("has {many} inputs ({names}), expected one image");
            return Err(OnnxProblem::graph(text));
        };
        let complain = |what: String| OnnxProblem::graph(format!("input '{}' {what}", input.name));
        let Some(TypeValue::TensorType(tensor)) =
            input.r#type.as_ref().and_then(|t| t.value.as_ref())
        else {
            return Err(complain("is not a tensor".into()));
        };
        let kind = i64::from(tensor.elem_type);
        if ![FLOAT, DOUBLE].contains(&kind) {
            let kind = element_type(tensor.elem_type);
            return Err(complain(format!("holds {kind}: export the model with float32 numbers")));
        }
        let shape = tensor.shape.as_ref().ok_or_else(|| complain("has no shape".into()))?;
        let dims = shape.dim.iter().map(|d| match &d.value {
            Some(Dimension::DimValue(v)) if *v > 0 => Dim::Fixed(*v as usize),
            Some(Dimension::DimValue(_)) | None => Dim::Open("?".into()),
            Some(Dimension::DimParam(name)) => Dim::Open(name.clone()),
        });
        Ok(Self { name: input.name.clone(), dims: dims.collect(), is_double: kind == DOUBLE })
    }

    /// The shapes that the input may mean for one image, likeliest first.
    ///
    /// `[?, 784]` and `[1, 784]` are one batch axis and the image. `[64, 784]` may be a batch that the
    /// exporter fixed, or an image without batch. The first that the graph accepts is it; when that is the
    /// whole batch and 64 rows of logits come out, the first image and row are taken.
    pub fn shapes(&self) -> Result<Vec<InputShape>, OnnxProblem> {
        let name = &self.name;
        let known = |dims: &[Dim]| -> Result<Vec<usize>, OnnxProblem> {
            let fixed = dims.iter().map(|dim| match dim {
                Dim::Fixed(n) => Ok(*n),
                Dim::Open(open) => Err(OnnxProblem::graph(format!(
                    "input '{name}': dimension '{open}' is not fixed, only the batch may be open"
                ))),
            });
            fixed.collect()
        };
        let of_one = |rest: &[Dim]| {
            known(rest).map(|rest| InputShape { dims: [vec![1], rest].concat(), batched: true })
        };
        let as_it_is = |dims: &[Dim]| known(dims).map(|dims| InputShape { dims, batched: false });
        match &self.dims[..] {
            [] => {
                Err(OnnxProblem::graph(format!("input '{name}' is a single number, not an image")))
            }
            dims @ [_] => Ok(vec![as_it_is(dims)?]),
            [Dim::Open(_) | Dim::Fixed(1), rest @ ..] => Ok(vec![of_one(rest)?]),
            dims @ [Dim::Fixed(_), rest @ ..] => Ok(vec![of_one(rest)?, as_it_is(dims)?]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(name: &str) -> Dim {
        Dim::Open(name.into())
    }

    fn shapes(name: &str, dims: &[Dim]) -> Result<Vec<InputShape>, OnnxProblem> {
        GraphInput { name: name.into(), dims: dims.to_vec(), is_double: false }.shapes()
    }

    #[test]
    fn the_batch_may_be_open_fixed_or_missing() {
        let shapes = |dims: &[Dim]| shapes("x", dims).ok();
        let with_batch = |dims: &[usize]| InputShape { dims: dims.to_vec(), batched: true };
        let without = |dims: &[usize]| InputShape { dims: dims.to_vec(), batched: false };
        let one = || Some(vec![with_batch(&[1, 784])]);
        assert_eq!(shapes(&[open("N"), Dim::Fixed(784)]), one());
        assert_eq!(shapes(&[Dim::Fixed(1), Dim::Fixed(784)]), one());
        assert_eq!(shapes(&[Dim::Fixed(784)]), Some(vec![without(&[784])]));
        let either = vec![with_batch(&[1, 6]), without(&[6, 6])];
        assert_eq!(shapes(&[Dim::Fixed(6), Dim::Fixed(6)]), Some(either));
    }

    #[test]
    fn any_other_open_dimension_is_named() {
        for dims in [
            vec![],
            vec![open("N")],
            vec![open("N"), open("width")],
            vec![Dim::Fixed(2), open("width")],
        ] {
            let error = shapes("image", &dims).map_err(|e| e.to_string());
            assert!(error.is_err_and(|line| line.contains("image")), "{dims:?}");
        }
    }
}
