//! Questions to protobuf nodes that every other file here asks.

use tract_onnx::pb::NodeProto;

use crate::onnx::error::OnnxProblem;

/// ONNX's number for 32-bit floats in `elem_type` and in Cast's `to`.
pub(super) const FLOAT: i64 = 1;

/// The same for 64-bit floats.
pub(super) const DOUBLE: i64 = 11;

/// The name of a node as we report it (and as tract names it).
pub(super) fn name_of(node: &NodeProto) -> String {
    if !node.name.is_empty() {
        return node.name.clone();
    }
    node.output.iter().find(|o| !o.is_empty()).unwrap_or(&node.op_type).clone()
}

/// The error that says what is wrong with a node.
pub(super) fn refuse(node: &NodeProto, reason: impl Into<String>) -> OnnxProblem {
    OnnxProblem::node(&name_of(node), &node.op_type, reason)
}

/// The integer attribute of this name.
pub(super) fn attribute(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute.iter().find(|a| a.name == name).map(|a| a.i)
}

/// The text attribute of this name.
pub(super) fn text<'n>(node: &'n NodeProto, name: &str) -> Option<&'n str> {
    let attribute = node.attribute.iter().find(|a| a.name == name)?;
    std::str::from_utf8(&attribute.s).ok()
}

/// The tensors that a node reads.
pub(super) fn inputs_of(node: &NodeProto) -> impl Iterator<Item = &String> {
    node.input.iter().filter(|name| !name.is_empty())
}

/// ONNX's number of an element type, in words.
pub(super) fn element_type(number: i32) -> String {
    match number {
        2 => "uint8 numbers".into(),
        3 => "int8 numbers".into(),
        6 => "int32 numbers".into(),
        7 => "int64 numbers".into(),
        8 => "strings".into(),
        9 => "booleans".into(),
        10 => "float16 numbers".into(),
        11 => "float64 numbers".into(),
        16 => "bfloat16 numbers".into(),
        other => format!("elements of ONNX type {other}"),
    }
}
