//! Bytes of a model file: plain or gzipped, read once, hashed as they lie on disk.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use tract_onnx::pb::{GraphProto, ModelProto};
use tract_onnx::prelude::Framework;

use super::error::OnnxProblem;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A gzipped model may not unpack to more than this: protobuf itself stops at 2 GiB.
const LARGEST_MODEL: u64 = 2 << 30;

/// The model's protobuf and the SHA-256 of the file, in hexadecimal.
pub(super) fn read(path: &Path) -> Result<(ModelProto, String), OnnxProblem> {
    if path.is_dir() {
        return Err(OnnxProblem::graph("is a directory, not a model file"));
    }
    let stored = std::fs::read(path)?;
    let sha256 = hex::encode(Sha256::digest(&stored));
    if stored.is_empty() {
        return Err(OnnxProblem::NotOnnx("the file is empty".into()));
    }
    let bytes = if stored.starts_with(&GZIP_MAGIC) { gunzip(&stored)? } else { stored };
    let proto = tract_onnx::onnx().proto_model_for_read(&mut bytes.as_slice()).map_err(|e| {
        OnnxProblem::NotOnnx(format!("{e:#}, the file may be damaged or cut short"))
    })?;
    Ok((proto, sha256))
}

/// Are the weights that the model keeps in files of their own there, and long enough?
///
/// tract reads them; its message for a short file does not say which file it was.
pub(super) fn check_external(graph: &GraphProto, directory: &Path) -> Result<(), OnnxProblem> {
    for tensor in graph.initializer.iter().filter(|t| !t.external_data.is_empty()) {
        let entry = |key: &str| {
            tensor.external_data.iter().find(|e| e.key == key).map(|e| e.value.as_str())
        };
        let location = entry("location").unwrap_or_default();
        let complain = |what: String| {
            OnnxProblem::graph(format!("tensor '{}' is kept in '{location}': {what}", tensor.name))
        };
        let number = |key: &str| entry(key).map_or(Ok(None), |text| text.parse::<u64>().map(Some));
        let (Ok(offset), Ok(length)) = (number("offset"), number("length")) else {
            return Err(complain("its offset or length is not a number".into()));
        };
        let file =
            std::fs::metadata(directory.join(location)).map_err(|e| complain(e.to_string()))?;
        let end = offset.unwrap_or(0).checked_add(length.unwrap_or(0));
        if end.is_none_or(|end| end > file.len()) {
            return Err(complain(format!("the file has only {} bytes", file.len())));
        }
    }
    Ok(())
}

fn gunzip(stored: &[u8]) -> Result<Vec<u8>, OnnxProblem> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(stored).take(LARGEST_MODEL + 1).read_to_end(&mut bytes);
    read.map_err(|e| OnnxProblem::NotOnnx(format!("gzip: {e}")))?;
    if bytes.len() as u64 > LARGEST_MODEL {
        return Err(OnnxProblem::NotOnnx("unpacks to more than 2 GiB".into()));
    }
    Ok(bytes)
}
