//! Gemm of float64 numbers, written as Transpose, MatMul, Mul and Add: tract's own works with float32 only.

use std::collections::HashSet;

use tract_onnx::pb::{AttributeProto, GraphProto, NodeProto, TensorProto};

use super::proto::{DOUBLE, name_of};

/// Replaces every Gemm with a float64 initializer.
pub(super) fn expand_double_gemms(graph: &mut GraphProto) {
    let doubles = graph.initializer.iter().filter(|t| i64::from(t.data_type) == DOUBLE);
    let doubles: HashSet<String> = doubles.map(|t| t.name.clone()).collect();
    for node in std::mem::take(&mut graph.node) {
        let is_double = node.input.iter().any(|name| doubles.contains(name));
        match node.op_type == "Gemm" && is_double && node.input.len() >= 2 {
            true => expand(graph, &node),
            false => graph.node.push(node),
        }
    }
}

fn expand(graph: &mut GraphProto, gemm: &NodeProto) {
    let name = name_of(gemm);
    let attribute = |name: &str| gemm.attribute.iter().find(|a| a.name == name);
    let factor = |name: &str| attribute(name).map_or(1.0, |a| f64::from(a.f));
    let flag = |name: &str| attribute(name).is_some_and(|a| a.i != 0);
    let mut add = |step: &str, op: &str, inputs: [&str; 2], attributes: Vec<AttributeProto>| {
        let output = format!("{name}.{step}");
        graph.node.push(NodeProto {
            name: output.clone(),
            op_type: op.into(),
            input: inputs.iter().filter(|i| !i.is_empty()).map(|&i| i.into()).collect(),
            output: vec![output.clone()],
            attribute: attributes,
            ..Default::default()
        });
        output
    };
    let turn = || AttributeProto {
        name: "perm".into(),
        ints: vec![1, 0],
        r#type: 7,
        ..Default::default()
    };
    let [mut a, mut b] = [0, 1].map(|i| gemm.input[i].clone());
    if flag("transA") {
        a = add("a", "Transpose", [&a, ""], vec![turn()]);
    }
    if flag("transB") {
        b = add("b", "Transpose", [&b, ""], vec![turn()]);
    }
    let mut result = add("ab", "MatMul", [&a, &b], vec![]);
    let (alpha, beta) = (format!("{name}.alpha"), format!("{name}.beta"));
    if factor("alpha") != 1.0 {
        result = add("scaled", "Mul", [&result, &alpha], vec![]);
    }
    if let Some(c) = gemm.input.get(2).filter(|c| !c.is_empty()) {
        let mut c = c.clone();
        if factor("beta") != 1.0 {
            c = add("c", "Mul", [&c, &beta], vec![]);
        }
        add("sum", "Add", [&result, &c], vec![]);
    }
    for (name, value) in [(alpha, factor("alpha")), (beta, factor("beta"))] {
        let double_data = vec![value];
        let data_type = DOUBLE as i32;
        graph.initializer.push(TensorProto { name, data_type, double_data, ..Default::default() });
    }
    if let (Some(last), Some(output)) = (graph.node.last_mut(), gemm.output.first()) {
        last.output = vec![output.clone()];
        last.name = name;
    }
}
