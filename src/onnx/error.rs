//! What can be wrong with a model file, always with the file's name and, where there is one, the node's.

use std::path::{Path, PathBuf};

use crate::network::NetworkError;

/// A model file that cannot be used, and why. One line.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), one_line(problem))]
pub struct OnnxError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: OnnxProblem,
}

/// Names in a damaged file may hold anything: control characters become blanks.
fn one_line(problem: &OnnxProblem) -> String {
    problem.to_string().replace(char::is_control, " ")
}

/// What is wrong with a model file.
#[derive(Debug, thiserror::Error)]
pub enum OnnxProblem {
    /// The file cannot be read.
    #[error("cannot read the model: {0}")]
    Unreadable(#[from] std::io::Error),
    /// The bytes are not an ONNX model.
    #[error("not an ONNX model: {0}")]
    NotOnnx(String),
    /// The graph as a whole is not a classifier we understand.
    #[error("{0}")]
    Graph(String),
    /// One node stands in the way.
    #[error("node '{node}' ({op}): {reason}")]
    Node {
        /// Its name in the file, or its first output when it has none.
        node: String,
        /// Its ONNX operator.
        op: String,
        /// What is wrong with it.
        reason: String,
    },
    /// tract refuses the graph.
    #[error("tract cannot load the model: {0}")]
    Tract(String),
    /// The extracted matrices do not make a network.
    #[error("{0}")]
    Network(#[from] NetworkError),
    /// The extracted network is not the function that the file computes.
    #[error(
        "the extracted network disagrees with tract's run of the file: logit {logit} of test input {input} \
         is {ours} against {theirs}, more than the {allowed:.1e} that f32 rounding explains; please report this model"
    )]
    Mismatch {
        /// Number of the seeded test input.
        input: usize,
        /// Index of the logit.
        logit: usize,
        /// Our value.
        ours: f64,
        /// tract's value.
        theirs: f64,
        /// The largest difference that rounding would explain.
        allowed: f64,
    },
}

impl OnnxProblem {
    /// This problem, in that file.
    pub(super) fn in_file(self, path: &Path) -> OnnxError {
        OnnxError { path: path.to_owned(), problem: self }
    }

    pub(super) fn graph(text: impl Into<String>) -> Self {
        Self::Graph(text.into())
    }

    pub(super) fn node(node: &str, op: &str, reason: impl Into<String>) -> Self {
        Self::Node { node: node.into(), op: op.into(), reason: reason.into() }
    }

    /// tract's error as one line: its chain of causes, without line breaks.
    pub(super) fn tract(error: &tract_onnx::prelude::TractError) -> Self {
        let chain = format!("{error:#}");
        Self::Tract(chain.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
