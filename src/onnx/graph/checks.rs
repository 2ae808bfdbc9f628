//! Is the graph well formed, and of a kind that we read?

use std::collections::HashSet;

use tract_onnx::pb::{GraphProto, ModelProto};

use super::proto::{inputs_of, refuse};
use crate::onnx::error::OnnxProblem;

/// Before this opset Add and friends broadcast by an attribute instead of by NumPy's rule.
pub const OLDEST_OPSET: i64 = 7;

/// The file's opset.
///
/// # Errors
/// When it is too old.
pub(super) fn opset(proto: &ModelProto) -> Result<i64, OnnxProblem> {
    let mut imports = proto.opset_import.iter();
    let version =
        imports.find(|o| o.domain.is_empty() || o.domain == "ai.onnx").map_or(1, |o| o.version);
    if version < OLDEST_OPSET {
        let text = format!("opset {version} is too old: export with opset {OLDEST_OPSET} or later");
        return Err(OnnxProblem::graph(text));
    }
    Ok(version)
}

/// No subgraphs (If, Loop, Scan), and only operators that ONNX defines: tract goes by the name alone.
pub(super) fn check_kinds(graph: &GraphProto) -> Result<(), OnnxProblem> {
    for node in &graph.node {
        if let Some(inner) = node.attribute.iter().find(|a| a.g.is_some()) {
            let reason = format!("control flow (subgraph '{}') is not supported", inner.name);
            return Err(refuse(node, reason));
        }
        if !["", "ai.onnx", "ai.onnx.ml"].contains(&node.domain.as_str()) {
            let reason = format!("operators of domain '{}' are not supported", node.domain);
            return Err(refuse(node, reason));
        }
    }
    Ok(())
}

/// Every tensor is defined once, and before it is used: no cycles, nothing missing.
pub(super) fn check_definitions(graph: &GraphProto) -> Result<(), OnnxProblem> {
    if let Some(sparse) = graph.sparse_initializer.first() {
        let name = sparse.values.as_ref().map_or("", |v| v.name.as_str());
        return Err(OnnxProblem::graph(format!("sparse initializer '{name}' is not supported")));
    }
    let given = graph.input.iter().map(|i| i.name.as_str());
    let mut defined: HashSet<&str> =
        given.chain(graph.initializer.iter().map(|t| t.name.as_str())).collect();
    for node in &graph.node {
        if let Some(missing) = inputs_of(node).find(|name| !defined.contains(name.as_str())) {
            let reason = format!("uses tensor '{missing}', which nothing before it defines");
            return Err(refuse(node, reason));
        }
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            if !defined.insert(output) {
                return Err(refuse(node, format!("defines tensor '{output}' a second time")));
            }
        }
    }
    match graph.output.iter().find(|o| !defined.contains(o.name.as_str())) {
        Some(output) => {
            Err(OnnxProblem::graph(format!("output '{}' is computed by no node", output.name)))
        }
        None if graph.output.is_empty() => Err(OnnxProblem::graph("has no output")),
        None => Ok(()),
    }
}
