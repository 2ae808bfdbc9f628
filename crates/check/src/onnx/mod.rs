//! A reader of ONNX files: piecewise-linear functions. Everything else is refused by name.

mod graph;
mod linear;
mod moves;
mod nodes;
mod proto;
mod tensor;
mod windows;

use std::io::Read;
use std::path::Path;

use prost::Message;
use sha2::{Digest, Sha256};

use crate::affine::Arithmetic;
use crate::cells::Plan;
use crate::network::Network;

/// Gzipped files may unpack to so many bytes, or to so many times their own: what shrinks more is made to fill the memory.
const UNPACKED: u64 = 64 << 20;
const TIMES: u64 = 40;

/// A file's network and its SHA-256.
pub struct Model {
    /// What the file computes, up to the logits.
    function: graph::Function,
    /// The softmax or argmax that follows them, of which only the order is known.
    pub left_out: Option<&'static str>,
    /// SHA-256 of the file as it lies on disk, in hexadecimal. If weights lie in other files: that of a list of all files, see [`Model::read`].
    pub sha256: String,
}

impl Model {
    /// Reads a model, which may be gzipped. Where weights lie in other files, the hash is that of a text: a line with the model's own
    /// hash, then for each file, sorted by name, a line with its hash, two spaces and its name.
    ///
    /// # Errors
    /// What cannot be read or is not supported, with the node's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let stored = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::from_bytes(path, &stored)
    }

    /// The same for the bytes of a file that is called `path`; weights in other files are looked for beside that.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_bytes(path: &Path, stored: &[u8]) -> Result<Self, String> {
        let named = |what: String| format!("{}: {what}", path.display());
        let bytes = unpacked(stored).map_err(|e| named(e.to_string()))?;
        let proto = proto::ModelProto::decode(bytes.as_slice());
        let proto = proto.map_err(|e| named(format!("is not an ONNX file: {e}")))?;
        let graph = proto.graph.ok_or_else(|| named("holds no graph".into()))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let function = graph::read(&graph, directory).map_err(named)?;
        let left_out = function.left_out;
        let mut sha256 = hex::encode(Sha256::digest(stored));
        let others = graph::external_files(&graph);
        if !others.is_empty() {
            sha256.push('\n');
            for name in others {
                let file = std::fs::read(directory.join(name)).map_err(|e| named(e.to_string()))?;
                sha256 += &format!("{}  {name}\n", hex::encode(Sha256::digest(file)));
            }
            sha256 = hex::encode(Sha256::digest(sha256));
        }
        Ok(Self { function, left_out, sha256 })
    }

    /// The layers that compute the logits, and then some inputs.
    ///
    /// # Errors
    /// When logits of one image depend on others.
    pub fn plan(&self, inputs: &[usize]) -> Result<Plan, String> {
        let graph::Function { cells, logits, images, .. } = &self.function;
        cells.plan(logits, *images, inputs)
    }

    /// The number of inputs, of neurons in each hidden layer, and of outputs.
    ///
    /// # Errors
    /// When operations do not fit.
    pub fn widths(&self) -> Result<Vec<usize>, String> {
        let network = Network::<f64>::new(&self.plan(&[])?, Arithmetic::Exact)?;
        Ok([vec![network.inputs], network.widths].concat())
    }

    /// The outputs at a point, in exact arithmetic: at least and at most.
    ///
    /// # Errors
    /// When operations do not fit.
    pub fn outputs(&self, point: &[f64]) -> Result<Vec<(f64, f64)>, String> {
        let network = Network::<f64>::new(&self.plan(&[])?, Arithmetic::Exact)?;
        if point.len() != network.inputs {
            return Err(format!("takes {} inputs, not {}", network.inputs, point.len()));
        }
        Ok(network.values(point)?.into_iter().map(|v| (v.lower, v.upper)).collect())
    }
}

/// The bytes themselves, or what they unpack to if they are gzipped.
pub fn unpacked(stored: &[u8]) -> std::io::Result<Vec<u8>> {
    if !stored.starts_with(&[0x1f, 0x8b]) {
        return Ok(stored.to_vec());
    }
    let (mut bytes, most) = (Vec::new(), UNPACKED.max(TIMES * stored.len() as u64));
    flate2::read::MultiGzDecoder::new(stored).take(most + 1).read_to_end(&mut bytes)?;
    let fits = bytes.len() as u64 <= most;
    if fits { Ok(bytes) } else { Err(std::io::Error::other("unpacks to too many bytes")) }
}
