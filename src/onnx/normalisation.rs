//! Normalisation that is not in the file: `(x − mean) / std` is put before the graph.
//!
//! What comes out is a model file like any other. Its inputs are pixels in [0, 1], so that budgets, replays and proofs are about pixels,
//! and nothing that follows has to know.

use std::cmp::Ordering;
use std::path::Path;

use prost::Message;
use serde::Serialize;
use tract_onnx::pb::{GraphProto, NodeProto, TensorProto};

use super::error::{OnnxError, OnnxProblem};
use super::file;
use super::graph::{Dim, GraphInput};

/// Names that no exporter gives.
const PIXELS: &str = "rw_adv_pixels";
const CENTRED: &str = "rw_adv_centred";
/// ONNX's number for float32.
const FLOAT: i32 = 1;

/// What a model expects to be done to pixels in [0, 1]: `(x − mean) / std`, the same for all values or one for each channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Normalisation {
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Normalisation {
    /// `(x − mean) / std`; an empty list stands for 0, or 1.
    ///
    /// # Errors
    /// When a number is not finite, or a standard deviation not positive.
    pub fn new(mean: Vec<f64>, std: Vec<f64>) -> Result<Self, String> {
        let fits = |value: &f64| value.is_finite() && (*value as f32).is_finite();
        if let Some(mean) = mean.iter().find(|mean| !fits(mean)) {
            return Err(format!("mean must be finite, not {mean}"));
        }
        if let Some(std) = std.iter().find(|std| !(fits(std) && **std as f32 > 0.0)) {
            return Err(format!("std must be positive, not {std}"));
        }
        let or = |list: Vec<f64>, default: f64| if list.is_empty() { vec![default] } else { list };
        Ok(Self { mean: or(mean, 0.0), std: or(std, 1.0) })
    }

    /// What spreads [0, 1] over ranges: one for all values, or one for each channel.
    ///
    /// # Errors
    /// When a range has no width.
    pub fn of_ranges(ranges: &[(f64, f64)]) -> Result<Self, String> {
        if let Some((low, high)) =
            ranges.iter().find(|(low, high)| low.partial_cmp(high) != Some(Ordering::Less))
        {
            return Err(format!("a range must be two numbers in order, not {low} and {high}"));
        }
        let mean = ranges.iter().map(|(low, high)| -low / (high - low)).collect();
        Self::new(mean, ranges.iter().map(|(low, high)| 1.0 / (high - low)).collect())
    }

    /// The bytes of the model with the normalisation before it. Errors call the model by `name`.
    ///
    /// # Errors
    /// When it is no model, or has not as many channels.
    pub fn before(&self, name: &Path, model: &[u8]) -> Result<Vec<u8>, OnnxError> {
        self.put_before(name, model).map_err(|problem| problem.in_file(name))
    }

    fn put_before(&self, name: &Path, model: &[u8]) -> Result<Vec<u8>, OnnxProblem> {
        let mut proto = file::parse(name, model)?.proto;
        let graph = proto.graph.as_mut();
        let graph = graph.ok_or_else(|| OnnxProblem::NotOnnx("it holds no graph".into()))?;
        let input = GraphInput::of(graph)?;
        rename_input(graph, &input.name);
        for (name, values) in [("mean", &self.mean), ("std", &self.std)] {
            let constant = constant(name, values, &input.dims)?;
            graph.initializer.push(constant);
        }
        let node = |op: &str, inputs: [&str; 2], output: &str| NodeProto {
            name: format!("rw_adv_{}", op.to_lowercase()),
            op_type: op.into(),
            input: inputs.map(Into::into).to_vec(),
            output: vec![output.into()],
            ..Default::default()
        };
        graph.node.insert(0, node("Div", [CENTRED, "rw_adv_std"], &input.name));
        graph.node.insert(0, node("Sub", [PIXELS, "rw_adv_mean"], CENTRED));
        Ok(proto.encode_to_vec())
    }
}

/// The graph takes pixels; the old name is free for what it took before.
fn rename_input(graph: &mut GraphProto, name: &str) {
    for input in graph.input.iter_mut().filter(|input| input.name == name) {
        input.name = PIXELS.into();
    }
}

/// A constant that is broadcast over the input: one number, or one for each channel.
fn constant(name: &str, values: &[f64], dims: &[Dim]) -> Result<TensorProto, OnnxProblem> {
    let count = values.len();
    let is_count = |dim: Option<&Dim>| dim == Some(&Dim::Fixed(count));
    // Channels come first, behind a batch, or last.
    let dims: Vec<i64> = match dims {
        _ if count == 1 => Vec::new(),
        [_, _, _, _] if is_count(dims.get(1)) => vec![count as i64, 1, 1],
        [_, _, _] if is_count(dims.first()) => vec![count as i64, 1, 1],
        [.., last] if is_count(Some(last)) => vec![count as i64],
        _ => {
            let shape: Vec<String> = dims.iter().map(Dim::to_string).collect();
            let shape = shape.join("x");
            let problem = format!("{count} values of {name} for an input of {shape}");
            return Err(OnnxProblem::graph(format!(
                "{problem}: give one, or one for each channel"
            )));
        }
    };
    Ok(TensorProto {
        name: format!("rw_adv_{name}"),
        data_type: FLOAT,
        dims,
        raw_data: values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
        ..Default::default()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::onnx::OnnxModel;

    #[test]
    fn a_normalised_model_computes_what_the_model_does_with_normalised_values() {
        let path = Path::new("models/mnist_2x16.onnx");
        let bytes = std::fs::read(path).unwrap();
        let plain = OnnxModel::load(path).unwrap();
        let pixels: Vec<f32> = (0..784).map(|k| (k % 11) as f32 / 10.0).collect();
        for (normalisation, expected) in [
            (Normalisation::new(vec![0.5], vec![0.25]), [0.5, 0.25]),
            (Normalisation::new(vec![], vec![2.0]), [0.0, 2.0]),
            (Normalisation::of_ranges(&[(-1.0, 3.0)]), [0.25, 0.25]),
        ] {
            let bytes = normalisation.unwrap().before(path, &bytes).unwrap();
            let model = OnnxModel::from_bytes(path, &bytes).unwrap();
            assert_ne!(model.sha256, plain.sha256);
            let [mean, std] = expected;
            let values: Vec<f32> = pixels.iter().map(|x| (x - mean) / std).collect();
            let (ours, theirs) = (model.replay.logits(&pixels), plain.replay.logits(&values));
            for (ours, theirs) in ours.unwrap().iter().zip(theirs.unwrap()) {
                assert!((ours - theirs).abs() < 1e-3, "{ours} {theirs}");
            }
        }
    }

    #[test]
    fn every_channel_gets_its_own_values() {
        let open = || Dim::Open("N".into());
        let fixed = Dim::Fixed;
        for (dims, shape) in [
            (vec![open(), fixed(3), fixed(8), fixed(9)], vec![3, 1, 1]),
            (vec![fixed(3), fixed(8), fixed(9)], vec![3, 1, 1]),
            (vec![open(), fixed(8), fixed(9), fixed(3)], vec![3]),
        ] {
            assert_eq!(constant("mean", &[0.1, 0.2, 0.3], &dims).unwrap().dims, shape);
            assert!(constant("mean", &[0.1, 0.2, 0.3, 0.4], &dims).is_err());
            assert!(constant("mean", &[0.1], &dims).unwrap().dims.is_empty());
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (mean, std, problem) in [
            (vec![f64::NAN], vec![], "mean must be finite, not NaN"),
            (vec![], vec![0.0], "std must be positive, not 0"),
            (vec![], vec![1.0, -1.0], "std must be positive, not -1"),
        ] {
            assert_eq!(Normalisation::new(mean, std).unwrap_err(), problem);
        }
        assert!(Normalisation::of_ranges(&[(1.0, 1.0)]).unwrap_err().contains("in order"));
        let path = Path::new("models/mnist_2x16.onnx");
        let bytes = std::fs::read(path).unwrap();
        let three = Normalisation::new(vec![0.1, 0.2, 0.3], vec![]).unwrap();
        let error = three.before(path, &bytes).unwrap_err().to_string();
        assert!(error.contains("3 values of mean for an input of Nx784"), "{error}");
        assert!(three.before(path, b"<html>").is_err());
    }
}
