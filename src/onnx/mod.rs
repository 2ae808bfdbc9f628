//! A file becomes a [`Network`].
//!
//! The promise: what comes out computes what the file computes. [`OnnxModel::load`] extracts dense
//! layers from tract's graph and then compares them with tract's own run of the file on seeded
//! inputs; a network that disagrees is an error, never a warning. What is not understood is refused by name.
//!
//! The trap: tract rewrites graphs and renames nodes, so errors are traced back to the file's own names.

mod affine;
mod check;
mod conv;
mod dense;
mod error;
mod file;
mod graph;
mod guard;
mod replay;

use std::path::Path;

use tract_onnx::prelude::*;

pub use check::Agreement;
pub use error::{OnnxError, OnnxProblem};
pub use graph::{NodeNote, Role};
pub use replay::{Replay, ReplayError};

use crate::network::Network;
use graph::Survey;

/// A classifier read from an ONNX file: our matrices, and tract's run of the same file.
#[derive(Debug)]
pub struct OnnxModel {
    /// The extracted network, in `f64`.
    pub network: Network,
    /// The file itself, run by tract in `f32`.
    pub replay: Replay,
    /// The input's dimensions without the batch, such as `[784]` or `[1, 28, 28]`.
    pub input_dims: Vec<usize>,
    /// What became of every node of the file.
    pub nodes: Vec<NodeNote>,
    /// How well network and file agreed.
    pub agreement: Agreement,
    /// The file's opset.
    pub opset: i64,
    /// SHA-256 of the file as it lies on disk, in hexadecimal.
    pub sha256: String,
}

impl OnnxModel {
    /// Reads, extracts and checks a model (`.onnx` or `.onnx.gz`).
    ///
    /// ```
    /// let model = rw_adv::onnx::OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
    /// assert_eq!(model.network.widths(), [784, 16, 16, 10]);
    /// # Ok::<(), rw_adv::onnx::OnnxError>(())
    /// ```
    ///
    /// # Errors
    /// One line naming the file and, where there is one, the node: when the file cannot be read, is
    /// no ONNX, holds an operator that is not supported, or does not compute what was extracted.
    pub fn load(path: &Path) -> Result<Self, OnnxError> {
        guard::catch(|| load(path))
            .unwrap_or_else(|panic| Err(OnnxProblem::Tract(format!("it panicked: {panic}"))))
            .map_err(|problem| problem.in_file(path))
    }
}

fn load(path: &Path) -> Result<OnnxModel, OnnxProblem> {
    let (proto, sha256) = file::read(path)?;
    let survey = Survey::new(proto)?;
    let directory = path.parent().and_then(Path::to_str);
    let (shape, mut batched, typed) = load_typed(&survey, directory)?;
    let mut lowered = dense::lower(&typed).map_err(|refusal| {
        let (node, op) = survey.culprit(&refusal.node);
        OnnxProblem::Node { node, op, reason: refusal.reason }
    })?;
    if !batched && shape.len() > 1 && lowered.output_shape.first() == shape.first() {
        lowered = lowered
            .first_of_batch(shape[0])
            .ok_or_else(|| OnnxProblem::graph("mixes the images of its fixed batch"))?;
        batched = true;
    }
    let output_shape = &lowered.output_shape;
    if output_shape.iter().filter(|&&d| d != 1).count() > 1 {
        return Err(OnnxProblem::graph(format!(
            "its output has shape {output_shape:?}, expected one row of logits"
        )));
    }
    for tail in &survey.tails {
        tail.check_axis(survey.opset, output_shape)?;
    }
    let network = Network::new(lowered.layers)?;
    let input_dims = shape[usize::from(batched)..].to_vec();
    let replay = Replay::new(typed, shape, network.inputs(), network.outputs())?;
    let agreement = check::compare(&network, &lowered.conditioning, &replay)?;
    let Survey { notes: nodes, opset, .. } = survey;
    Ok(OnnxModel { network, replay, input_dims, nodes, agreement, opset, sha256 })
}

/// tract's typed graph for a batch of one, the input shape it was made for, and whether that shape
/// starts with the batch.
fn load_typed(
    survey: &Survey,
    directory: Option<&str>,
) -> Result<(Vec<usize>, bool, TypedModel), OnnxProblem> {
    let parse = tract_onnx::onnx().with_ignore_value_info(true).parse(&survey.proto, directory);
    let parsed = parse.map_err(|e| OnnxProblem::tract(&e))?;
    let mut first_error = None;
    for (shape, batched) in input_shapes(&survey.dims)? {
        let fact = f32::fact(&shape).into();
        let typed = parsed
            .model
            .clone()
            .with_input_fact(0, fact)
            .and_then(|m| m.into_typed()?.into_decluttered());
        match typed {
            Ok(typed) => return Ok((shape, batched, typed)),
            Err(error) => _ = first_error.get_or_insert(error),
        }
    }
    Err(OnnxProblem::tract(&first_error.expect("there is at least one shape to try")))
}

/// The shapes an input may mean for one image, likeliest first, and whether each starts with the batch.
///
/// `[?, 784]` and `[1, 784]` are one batch axis and the image. `[64, 784]` may be a batch that the
/// exporter fixed, or an image without batch. The first that the graph accepts is it; when that is the
/// whole batch and 64 rows of logits come out, the first image and row are taken.
fn input_shapes(dims: &[Option<usize>]) -> Result<Vec<(Vec<usize>, bool)>, OnnxProblem> {
    let known = |dims: &[Option<usize>]| -> Result<Vec<usize>, OnnxProblem> {
        let dims: Option<Vec<usize>> = dims.iter().copied().collect();
        dims.ok_or_else(|| OnnxProblem::graph("an input dimension other than the batch is not fixed: export with a fixed image size"))
    };
    let of_one = |rest: &[Option<usize>]| known(rest).map(|rest| [vec![1], rest].concat());
    match dims {
        [] => Err(OnnxProblem::graph("the input is a single number, not an image")),
        [Some(n)] => Ok(vec![(vec![*n], false)]),
        [None | Some(1), rest @ ..] if !rest.is_empty() => Ok(vec![(of_one(rest)?, true)]),
        [Some(_), rest @ ..] => Ok(vec![(of_one(rest)?, true), (known(dims)?, false)]),
        _ => known(dims).map(|dims| vec![(dims, false)]),
    }
}
