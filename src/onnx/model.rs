//! The model: read, extracted, and checked against tract's run of the file.

use std::path::Path;
use std::sync::Arc;

use tract_onnx::model::Onnx;
use tract_onnx::prelude::*;

use super::check::{self, Agreement};
use super::error::{OnnxError, OnnxProblem};
use super::file::ModelFile;
use super::graph::{InputShape, LogitGraph, NodeNote};
use super::lower::{self, LayerStack};
use super::runner::TractRunner;
use super::{file, guard, unfolded};
use crate::network::Network;

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
    /// The operators behind the logits that were cut off, such as `Softmax`: the network's outputs are not the file's, only their order is.
    pub final_ops: Vec<String>,
    /// What became of every node of the file.
    pub nodes: Arc<[NodeNote]>,
    /// How well network and file agreed.
    pub agreement: Agreement,
    /// The file's opset.
    pub opset: i64,
    /// What the file calls the classes, in the order of the outputs; none, if it has no names for them.
    pub class_names: Vec<String>,
    /// SHA-256 of the file as it lies on disk, in hexadecimal. If weights lie in other files, or one of several outputs was chosen, it covers
    /// these, too (docs/files.md).
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
        Self::load_output(path, None)
    }

    /// The same for one output of a file that has several.
    ///
    /// # Errors
    /// As [`load`](Self::load), and when the file has no output of this name.
    pub fn load_output(path: &Path, output: Option<&str>) -> Result<Self, OnnxError> {
        guarded(path, || load(path, &file::read(path)?, output))
    }

    /// The same for the bytes of a model file, plain or gzipped. Errors call it by `name`, and weights in files of their own are
    /// looked for beside that.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_bytes(name: &Path, bytes: &[u8]) -> Result<Self, OnnxError> {
        Self::from_bytes_output(name, bytes, None)
    }

    /// The same for one output of a file that has several.
    ///
    /// # Errors
    /// As [`load_output`](Self::load_output).
    pub fn from_bytes_output(
        name: &Path,
        bytes: &[u8],
        output: Option<&str>,
    ) -> Result<Self, OnnxError> {
        guarded(name, || load(name, bytes, output))
    }
}

/// A panic of tract becomes an error, and an error gets the file's name.
fn guarded(
    path: &Path,
    load: impl FnOnce() -> Result<OnnxModel, OnnxProblem>,
) -> Result<OnnxModel, OnnxError> {
    guard::catch(load)
        .unwrap_or_else(|panic| Err(OnnxProblem::Tract(format!("it panicked: {panic}"))))
        .map_err(|problem| problem.in_file(path))
}

fn load(path: &Path, stored: &[u8], output: Option<&str>) -> Result<OnnxModel, OnnxProblem> {
    let ModelFile { proto, sha256 } = file::parse(path, stored)?;
    let several = proto.graph.as_ref().is_some_and(|graph| graph.output.len() > 1);
    let sha256 = match output {
        Some(output) if several => file::with_output(&sha256, output),
        _ => sha256,
    };
    let mut graph = LogitGraph::new(proto, output)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let (InputShape { dims, batched }, unfolded) = load_unfolded(&graph, directory.to_str())?;
    let (stack, batched) = lower(&graph, &unfolded, &dims, batched)?;
    drop(unfolded);
    graph.place(&stack.depths);
    let zero_class = is_one_logit(&graph, &stack)?;
    let stack = if zero_class { stack.with_zero_class() } else { stack };
    // What is too large was refused above, so that tract does not run it.
    let running = load_running(&graph, directory.to_str(), &dims)?;
    let network = Network::from_layers(stack.layers)?;
    let input_dims = dims[usize::from(batched)..].to_vec();
    let (inputs, outputs) = (network.inputs(), network.outputs());
    let replay = Arc::new(TractRunner::new(running, dims, inputs, outputs, zero_class)?);
    let agreement = check::compare(&network, &replay)?;
    log::info!(
        "{}: widths {:?}, largest difference to tract {:.1e}",
        path.display(),
        network.widths(),
        agreement.largest_difference
    );
    let LogitGraph { notes, opset, final_ops, class_names, .. } = graph;
    let (network, nodes) = (Arc::new(network), notes.into());
    let final_ops = final_ops.iter().map(|op| op.op().to_owned()).collect();
    Ok(OnnxModel {
        network,
        replay,
        input_dims,
        final_ops,
        nodes,
        agreement,
        opset,
        class_names,
        sha256,
    })
}

/// Whether the file decides between two classes by the sign of one logit, which a Sigmoid makes a probability.
fn is_one_logit(graph: &LogitGraph, stack: &LayerStack) -> Result<bool, OnnxProblem> {
    let sigmoid = graph.final_ops.iter().any(|op| op.op() == "Sigmoid");
    let is_one = stack.output_shape.iter().all(|&d| d == 1);
    match graph.final_ops.iter().find(|op| op.has_two_classes()) {
        Some(op) if !is_one => {
            Err(op.refuse("has more than one probability beside its complement"))
        }
        _ => Ok(sigmoid && is_one),
    }
}

/// The graph with the file's own operators for one image, and the input shape it was made for.
fn load_unfolded(
    graph: &LogitGraph,
    directory: Option<&str>,
) -> Result<(InputShape, TypedModel), OnnxProblem> {
    let parsed = parse(unfolded::reader(), graph, directory)?;
    let mut first_error = None;
    for shape in graph.input.shapes()? {
        let fact = input_type(graph).fact(&shape.dims).into();
        match parsed.clone().with_input_fact(0, fact).and_then(|m| m.into_typed()) {
            Ok(typed) => return Ok((shape, typed)),
            Err(error) => _ = first_error.get_or_insert(error),
        }
    }
    Err(OnnxProblem::tract(&first_error.expect("there is at least one shape to try")))
}

/// The graph as tract runs it.
fn load_running(
    graph: &LogitGraph,
    directory: Option<&str>,
    dims: &[usize],
) -> Result<TypedModel, OnnxProblem> {
    let parsed = parse(unfolded::standard_reader(), graph, directory)?;
    let fact = input_type(graph).fact(dims).into();
    let typed = parsed.with_input_fact(0, fact).and_then(|m| m.into_typed());
    typed.map_err(|e| OnnxProblem::tract(&e))
}

fn input_type(graph: &LogitGraph) -> DatumType {
    if graph.input.is_double { f64::datum_type() } else { f32::datum_type() }
}

fn parse(
    reader: &Onnx,
    graph: &LogitGraph,
    directory: Option<&str>,
) -> Result<InferenceModel, OnnxProblem> {
    let parsed = reader.parse(&graph.proto, directory);
    parsed.map(|parsed| parsed.model).map_err(|e| OnnxProblem::tract(&e))
}

/// The layers of one image, and whether `dims` starts with a batch after all: a batch that the file fixes shows in the
/// logits.
fn lower(
    graph: &LogitGraph,
    typed: &TypedModel,
    dims: &[usize],
    mut batched: bool,
) -> Result<(LayerStack, bool), OnnxProblem> {
    let mut stack = lower::lower(typed).map_err(|unsupported| {
        let (node, op) = graph.origin(&unsupported.node);
        OnnxProblem::Node { node, op, reason: unsupported.reason }
    })?;
    if !batched && stack.output_shape.len() > 1 && stack.output_shape[0] == dims[0] {
        stack = stack
            .first_of_batch(dims[0])
            .ok_or_else(|| OnnxProblem::graph("mixes the images of its fixed batch"))?;
        batched = true;
    }
    let output_shape = &stack.output_shape;
    if output_shape.iter().filter(|&&d| d != 1).count() > 1 {
        let logits = &graph.logits;
        return Err(OnnxProblem::graph(format!(
            "output '{logits}' has shape {output_shape:?}, expected one row of logits"
        )));
    }
    for final_op in &graph.final_ops {
        final_op.check_axis(graph.opset, output_shape)?;
    }
    Ok((stack, batched))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Python object or a server holds models and hands them to threads.
    #[test]
    fn a_model_is_shared_by_cloning() {
        fn is_shared<T: Clone + Send + Sync + 'static>() {}
        is_shared::<OnnxModel>();
    }

    #[test]
    fn bytes_are_a_model_as_their_file_is() {
        let path = Path::new("models/mnist_2x16.onnx");
        let bytes = std::fs::read(path).expect("it is in the repository");
        let (from_file, from_bytes) = (OnnxModel::load(path), OnnxModel::from_bytes(path, &bytes));
        let (from_file, from_bytes) = (from_file.expect("loads"), from_bytes.expect("loads"));
        assert_eq!(from_file.sha256, from_bytes.sha256);
        let grey = vec![0.5; 784];
        assert_eq!(from_file.network.logits(&grey), from_bytes.network.logits(&grey));
        let broken = OnnxModel::from_bytes(Path::new("<bytes>"), &bytes[..1000]).expect_err("cut");
        assert!(broken.to_string().starts_with("<bytes>: not an ONNX model"), "{broken}");
        let empty = OnnxModel::from_bytes(Path::new("<bytes>"), &[]).expect_err("empty");
        assert_eq!(empty.to_string(), "<bytes>: not an ONNX model: the file is empty");
    }
}
