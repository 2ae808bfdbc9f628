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
mod runner;

use std::path::Path;
use std::sync::Arc;

use tract_onnx::prelude::*;

pub use check::Agreement;
pub use error::{OnnxError, OnnxProblem};
pub use graph::{NodeNote, Role};
pub use guard::catches_panics;
pub use runner::{ReplayError, TractRunner};

use crate::network::Network;
use graph::{Dim, Survey};

/// A classifier read from an ONNX file: our matrices, and tract's run of the same file. Clones share both, also between
/// threads.
#[derive(Clone, Debug)]
pub struct OnnxModel {
    /// The extracted network, in `f64`.
    pub network: Arc<Network>,
    /// The file itself, run by tract in `f32`.
    pub replay: Arc<TractRunner>,
    /// The input's dimensions without the batch, such as `[784]` or `[1, 28, 28]`.
    pub input_dims: Vec<usize>,
    /// What became of every node of the file.
    pub nodes: Arc<[NodeNote]>,
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
    let directory = path.parent().unwrap_or(Path::new(""));
    if let Some(graph) = &survey.proto.graph {
        file::check_external(graph, directory)?;
    }
    let directory = directory.to_str();
    let (shape, mut batched, typed) = load_typed(&survey, directory)?;
    let mut lowered = dense::lower(&typed).map_err(|refusal| {
        let (node, op) = survey.culprit(&refusal.node);
        OnnxProblem::Node { node, op, reason: refusal.reason }
    })?;
    if !batched && lowered.output_shape.len() > 1 && lowered.output_shape[0] == shape[0] {
        lowered = lowered
            .first_of_batch(shape[0])
            .ok_or_else(|| OnnxProblem::graph("mixes the images of its fixed batch"))?;
        batched = true;
    }
    let output_shape = &lowered.output_shape;
    if output_shape.iter().filter(|&&d| d != 1).count() > 1 {
        let logits = &survey.logits;
        return Err(OnnxProblem::graph(format!(
            "output '{logits}' has shape {output_shape:?}, expected one row of logits"
        )));
    }
    for tail in &survey.tails {
        tail.check_axis(survey.opset, output_shape)?;
    }
    let network = Network::from_layers(lowered.layers)?;
    let input_dims = shape[usize::from(batched)..].to_vec();
    let replay = Arc::new(TractRunner::new(typed, shape, network.inputs(), network.outputs())?);
    let agreement = check::compare(&network, &replay)?;
    log::info!(
        "{}: widths {:?}, largest difference to tract {:.1e}",
        path.display(),
        network.widths(),
        agreement.largest_difference
    );
    let Survey { notes: nodes, opset, .. } = survey;
    let (network, nodes) = (Arc::new(network), nodes.into());
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
    for (shape, batched) in input_shapes(&survey.input, &survey.dims)? {
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
fn input_shapes(input: &str, dims: &[Dim]) -> Result<Vec<(Vec<usize>, bool)>, OnnxProblem> {
    let known = |dims: &[Dim]| -> Result<Vec<usize>, OnnxProblem> {
        let fixed = dims.iter().map(|dim| match dim {
            Dim::Fixed(n) => Ok(*n),
            Dim::Open(name) => Err(OnnxProblem::graph(format!(
                "input '{input}': dimension '{name}' is not fixed, only the batch may be open"
            ))),
        });
        fixed.collect()
    };
    let of_one = |rest: &[Dim]| known(rest).map(|rest| [vec![1], rest].concat());
    match dims {
        [] => Err(OnnxProblem::graph(format!("input '{input}' is a single number, not an image"))),
        [_] => Ok(vec![(known(dims)?, false)]),
        [Dim::Open(_) | Dim::Fixed(1), rest @ ..] => Ok(vec![(of_one(rest)?, true)]),
        [Dim::Fixed(_), rest @ ..] => Ok(vec![(of_one(rest)?, true), (known(dims)?, false)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Python object or a server holds models and hands them to threads.
    #[test]
    fn a_model_is_shared_by_cloning() {
        fn is_shared<T: Clone + Send + Sync + 'static>() {}
        is_shared::<OnnxModel>();
        is_shared::<TractRunner>();
    }

    fn open(name: &str) -> Dim {
        Dim::Open(name.into())
    }

    #[test]
    fn the_batch_may_be_open_fixed_or_missing() {
        let shapes = |dims: &[Dim]| input_shapes("x", dims).ok();
        assert_eq!(shapes(&[open("N"), Dim::Fixed(784)]), Some(vec![(vec![1, 784], true)]));
        assert_eq!(shapes(&[Dim::Fixed(1), Dim::Fixed(784)]), Some(vec![(vec![1, 784], true)]));
        assert_eq!(shapes(&[Dim::Fixed(784)]), Some(vec![(vec![784], false)]));
        let either = vec![(vec![1, 6], true), (vec![6, 6], false)];
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
            let error = input_shapes("image", &dims).map_err(|e| e.to_string());
            assert!(error.is_err_and(|line| line.contains("image")), "{dims:?}");
        }
    }
}
