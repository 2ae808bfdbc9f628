//! What the file calls its classes: scikit-learn's converter keeps them where the answer is put into words.

use tract_onnx::pb::{GraphProto, NodeProto, TensorProto};

/// ONNX's number for 64-bit integers.
const INT64: i32 = 7;

/// The names of the classes, in the order of the logits; none, if the file has none.
///
/// `ZipMap` has them as an attribute, `classlabels_strings` or `classlabels_int64s`; `ArrayFeatureExtractor` takes them from a constant.
pub(super) fn of(graph: &GraphProto) -> Vec<String> {
    let attributes = graph.node.iter().flat_map(|node| &node.attribute);
    for attribute in attributes.filter(|attribute| attribute.name.starts_with("classlabels_")) {
        let strings = attribute.strings.iter().map(|text| String::from_utf8_lossy(text).into());
        let names: Vec<String> = strings.chain(attribute.ints.iter().map(i64::to_string)).collect();
        if !names.is_empty() {
            return names;
        }
    }
    let extractors = graph.node.iter().filter(|node| node.op_type == "ArrayFeatureExtractor");
    let constant = |node: &NodeProto| {
        let name = node.input.first()?;
        graph.initializer.iter().find(|tensor| tensor.name == *name).map(entries)
    };
    extractors.filter_map(constant).next().unwrap_or_default()
}

/// The entries of a tensor of texts or integers.
fn entries(tensor: &TensorProto) -> Vec<String> {
    let strings = tensor.string_data.iter().map(|text| String::from_utf8_lossy(text).into());
    let int32 = tensor.int32_data.iter().map(i32::to_string);
    let int64 = tensor.int64_data.iter().map(i64::to_string);
    // Integers may also be kept as bytes; of texts and integers, only those of eight bytes are.
    let bytes = tensor.raw_data.chunks_exact(8).filter(|_| tensor.data_type == INT64);
    let raw = bytes.map(|eight| i64::from_le_bytes(eight.try_into().expect("eight")).to_string());
    strings.chain(int32).chain(int64).chain(raw).collect()
}

#[cfg(test)]
mod tests {
    use tract_onnx::pb::AttributeProto;

    use super::*;

    fn node(op_type: &str, input: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
        let input = input.iter().map(|&name| name.into()).collect();
        NodeProto { op_type: op_type.into(), input, attribute, ..Default::default() }
    }

    #[test]
    fn names_come_from_the_answers_form() {
        let labels = |name: &str| AttributeProto { name: name.into(), ..Default::default() };
        let texts = vec![b"cat".to_vec(), b"dog".to_vec()];
        let strings = AttributeProto { strings: texts.clone(), ..labels("classlabels_strings") };
        let ints = AttributeProto { ints: vec![3, -7], ..labels("classlabels_int64s") };
        let graph = |node| GraphProto { node: vec![node], ..Default::default() };
        assert_eq!(of(&graph(node("ZipMap", &["p"], vec![strings]))), ["cat", "dog"]);
        assert_eq!(of(&graph(node("ZipMap", &["p"], vec![ints]))), ["3", "-7"]);
        assert!(of(&graph(node("Softmax", &["p"], vec![labels("axis")]))).is_empty());
        let looked_up = |tensor: TensorProto| {
            let tensor = TensorProto { name: "classes".into(), ..tensor };
            let node = node("ArrayFeatureExtractor", &["classes", "place"], Vec::new());
            of(&GraphProto { node: vec![node], initializer: vec![tensor], ..Default::default() })
        };
        let tensor = TensorProto { string_data: texts, ..Default::default() };
        assert_eq!(looked_up(tensor), ["cat", "dog"]);
        let raw_data = [3i64, 7].iter().flat_map(|number| number.to_le_bytes()).collect();
        let tensor = TensorProto { data_type: INT64, raw_data, ..Default::default() };
        assert_eq!(looked_up(tensor), ["3", "7"]);
    }
}
