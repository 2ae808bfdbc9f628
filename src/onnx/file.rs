//! Bytes of a model file: plain or gzipped, read once, hashed as they lie on disk, with the weights that lie in files beside it.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use tract_onnx::pb::{GraphProto, ModelProto, TensorProto};
use tract_onnx::prelude::Framework;

use super::error::{OnnxError, OnnxProblem};
use super::unfolded::standard_reader;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A gzipped model may always unpack to this many bytes,
const UNPACKED_FREE: u64 = 64 << 20;
/// and to this many times its own. Weights shrink to a half or a quarter; what shrinks more is made to fill the memory.
const UNPACKED_TIMES: u64 = 20;

/// A model file as it was read.
pub(super) struct ModelFile {
    pub proto: ModelProto,
    /// SHA-256 of all that defines the function, in hexadecimal.
    pub sha256: String,
}

/// The bytes of a model file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, OnnxProblem> {
    if path.is_dir() {
        return Err(OnnxProblem::graph("is a directory, not a model file"));
    }
    Ok(std::fs::read(path)?)
}

/// Reads the bytes of a model, and hashes them and the files with weights that they name.
pub(super) fn parse(path: &Path, stored: &[u8]) -> Result<ModelFile, OnnxProblem> {
    let sha256 = hex::encode(Sha256::digest(stored));
    if stored.is_empty() {
        return Err(OnnxProblem::NotOnnx("the file is empty".into()));
    }
    let unpacked = stored.starts_with(&GZIP_MAGIC).then(|| gunzip(stored)).transpose()?;
    let mut bytes = unpacked.as_deref().unwrap_or(stored);
    let proto = standard_reader().proto_model_for_read(&mut bytes).map_err(|e| {
        OnnxProblem::NotOnnx(format!("{e:#}, the file may be damaged or cut short"))
    })?;
    drop(unpacked);
    let directory = path.parent().unwrap_or(Path::new(""));
    let external = match &proto.graph {
        Some(graph) => external_files(graph, directory)?,
        None => BTreeSet::new(),
    };
    let sha256 = with_external(sha256, &external, directory)?;
    Ok(ModelFile { proto, sha256 })
}

/// The SHA-256 of all that defines a model's function, in hexadecimal; `None` if that cannot be read.
pub fn sha256(path: &Path) -> Option<String> {
    parse(path, &read(path).ok()?).ok().map(|file| file.sha256)
}

/// The files beside a model that hold weights of it, relative to its directory. `bytes` are those of its file.
///
/// # Errors
/// When they are no model, or such a file is missing or too short.
pub fn weight_files(path: &Path, bytes: &[u8]) -> Result<BTreeSet<String>, OnnxError> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let files = parse(path, bytes).and_then(|file| match &file.proto.graph {
        Some(graph) => external_files(graph, directory),
        None => Ok(BTreeSet::new()),
    });
    files.map_err(|problem| problem.in_file(path))
}

/// The SHA-256 of one output of a model: that of two lines, the model's own and `output NAME`.
pub(super) fn with_output(sha256: &str, output: &str) -> String {
    hex::encode(Sha256::digest(format!("{sha256}\noutput {output}\n")))
}

/// The SHA-256 of a model that keeps weights in other files: that of a list of all files, in the format of `sha256sum`, the model's own first
/// and without its name. A model that keeps none has the SHA-256 of its file.
fn with_external(
    sha256: String,
    external: &BTreeSet<String>,
    directory: &Path,
) -> Result<String, OnnxProblem> {
    if external.is_empty() {
        return Ok(sha256);
    }
    let mut list = sha256 + "\n";
    for location in external {
        let sha256 = Sha256::digest(std::fs::read(directory.join(location))?);
        list += &format!("{}  {location}\n", hex::encode(sha256));
    }
    Ok(hex::encode(Sha256::digest(list)))
}

/// The files that weights lie in, each of them there and long enough.
///
/// tract reads them; its message for a short file does not say which file it was.
fn external_files(graph: &GraphProto, directory: &Path) -> Result<BTreeSet<String>, OnnxProblem> {
    let in_nodes = graph.node.iter().flat_map(|node| &node.attribute);
    let in_nodes = in_nodes.flat_map(|attribute| attribute.t.iter().chain(&attribute.tensors));
    let tensors = graph.initializer.iter().chain(in_nodes);
    let external = tensors.filter(|tensor| !tensor.external_data.is_empty());
    external.map(|tensor| external_file(tensor, directory)).collect()
}

fn external_file(tensor: &TensorProto, directory: &Path) -> Result<String, OnnxProblem> {
    let entry =
        |key: &str| tensor.external_data.iter().find(|e| e.key == key).map(|e| e.value.as_str());
    let location = entry("location").unwrap_or_default();
    let complain = |what: String| {
        OnnxProblem::graph(format!("tensor '{}' is kept in '{location}': {what}", tensor.name))
    };
    let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(location).components().all(inside) {
        return Err(complain("that is outside the model's directory".into()));
    }
    let number = |key: &str| entry(key).map_or(Ok(None), |text| text.parse::<u64>().map(Some));
    let (Ok(offset), Ok(length)) = (number("offset"), number("length")) else {
        return Err(complain("its offset or length is not a number".into()));
    };
    let file = std::fs::metadata(directory.join(location)).map_err(|e| complain(e.to_string()))?;
    let end = offset.unwrap_or(0).checked_add(length.unwrap_or(0));
    if end.is_none_or(|end| end > file.len()) {
        return Err(complain(format!("the file has only {} bytes", file.len())));
    }
    Ok(location.to_owned())
}

fn gunzip(stored: &[u8]) -> Result<Vec<u8>, OnnxProblem> {
    let most = UNPACKED_FREE.max(UNPACKED_TIMES * stored.len() as u64);
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(stored).take(most + 1).read_to_end(&mut bytes);
    read.map_err(|e| OnnxProblem::NotOnnx(format!("gzip: {e}")))?;
    if bytes.len() as u64 > most {
        return Err(OnnxProblem::NotOnnx(format!(
            "unpacks to more than {} MiB, {UNPACKED_TIMES} times its size: unpack it yourself",
            most >> 20
        )));
    }
    Ok(bytes)
}
